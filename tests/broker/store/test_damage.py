"""Damaged stores: a broker starts with all that was acknowledged, or says what is wrong."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from extract.broker.broker import Broker
from extract.broker.store.acknowledged import FILE as ACKNOWLEDGED
from extract.broker.store.sqlite_database import FILE, SqliteDatabase
from extract.broker.store.store import BrokerStore
from extract.broker.store.tables import TABLES, DamagedStore, StoreError
from tests.support.broker_server import AskedBroker, served
from tests.support.commands import run

LOG, INDEX = f"{FILE}-wal", f"{FILE}-shm"
FILES = (FILE, LOG, INDEX, ACKNOWLEDGED)
PAGE = 4_096
TEXT = "x" * 6_000  # a document with pages of its own

Rows = dict[str, list[str]]


class Stores(NamedTuple):
    """States of one store: as it was first, killed later with its log, and ended in order."""

    older: Path
    killed: Path
    ended: Path


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Stores:
    root = tmp_path_factory.mktemp("stores")
    made = Stores(root / "older", root / "killed", root / "ended")
    with served(made.ended, synchronous=False) as asked:
        asked.put_feed()
        for number in range(5):
            asked.put(f"s{number}", xpath="//b", select="nodes" if number % 2 else "doc")
        _send(asked, 20, 0)
        _checkpoint(made.ended)
        _copy(made.ended, made.older)
        _send(asked, 60, 20)
        _checkpoint(made.ended)
        _send(asked, 20, 80)
        _copy(made.ended, made.killed)
    return made


def _send(asked: AskedBroker, count: int, before: int) -> None:
    for number in range(before, before + count):
        text = f"<a><b>{number}</b>{TEXT if number % 3 else ''}</a>"
        assert asked.post(text, f"d{number}").status == 202
    for number in range(5):
        asked.all_notifications(f"s{number}", before + count)


def _checkpoint(folder: Path) -> None:
    connection = sqlite3.connect(folder / FILE, timeout=60)
    connection.execute("PRAGMA wal_checkpoint(FULL)")
    connection.close()


def _copy(source: Path, target: Path) -> Path:
    target.mkdir()
    for name in FILES:
        if (source / name).exists():
            shutil.copy(source / name, target / name)
    return target


def _rows(folder: Path) -> Rows:
    """All that a broker finds."""
    store = BrokerStore.open(str(folder), synchronous=False)
    try:
        broker = Broker(store)
        broker.load()
        with store.reader() as connection:
            rows = {
                table: sorted(map(repr, connection.query(f"SELECT * FROM {table}")))
                for table in TABLES
                if table != "meta"
            }
        registry = broker.registry
        numbers = [registry.last_number(key) for key in sorted(registry.by_key)]
        rows["numbers"] = [repr((numbers, registry.position, registry.revision))]
        return rows
    finally:
        store.close()


@pytest.fixture(scope="module")
def rows(stores: Stores, tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Rows]:
    root = tmp_path_factory.mktemp("whole")
    return {one: _rows(_copy(one, root / one.name)) for one in (stores.killed, stores.ended)}


# -- damages: of a copy of a state, with the older state beside it


def overwritten(name: str, fill: Callable[[random.Random], bytes]) -> Any:
    def damage(folder: Path, stores: Stores, rng: random.Random) -> None:
        file = folder / name
        if not file.exists():
            return
        content = bytearray(file.read_bytes())
        place = rng.randrange(max(1, len(content) // PAGE)) * PAGE
        part = fill(rng)
        if len(part) < PAGE:
            place += rng.randrange(PAGE - len(part))
        content[place : place + len(part)] = part
        file.write_bytes(content[: file.stat().st_size])

    return damage


def truncated(name: str, part: float) -> Any:
    def damage(folder: Path, stores: Stores, rng: random.Random) -> None:
        if (folder / name).exists():
            os.truncate(folder / name, int((folder / name).stat().st_size * part))

    return damage


def removed(*names: str) -> Any:
    def damage(folder: Path, stores: Stores, rng: random.Random) -> None:
        for name in names:
            (folder / name).unlink(missing_ok=True)

    return damage


def older(*names: str) -> Any:
    def damage(folder: Path, stores: Stores, rng: random.Random) -> None:
        for name in names:
            (folder / name).unlink(missing_ok=True)
            if (stores.older / name).exists():
                shutil.copy(stores.older / name, folder / name)

    return damage


def page(rng: random.Random) -> bytes:
    return rng.randbytes(PAGE)


def zeros(rng: random.Random) -> bytes:
    return bytes(PAGE)


def some_bytes(rng: random.Random) -> bytes:
    return rng.randbytes(8)


DAMAGES: dict[str, Any] = {
    **{f"{what.__name__} of {name}": overwritten(name, what)
       for what in (page, zeros, some_bytes) for name in (FILE, LOG, INDEX)},
    "database cut": truncated(FILE, 0.6),
    "database empty": truncated(FILE, 0),
    "log cut": truncated(LOG, 0.6),
    "log empty": truncated(LOG, 0),
    "index cut": truncated(INDEX, 0.5),
    "no database": removed(FILE),
    "no log": removed(LOG),
    "no log and index": removed(LOG, INDEX),
    "no index": removed(INDEX),
    "older database": older(FILE),
    "older log": older(LOG),
    "all older but the number": older(FILE, LOG, INDEX),
}  # fmt: skip
REFUSED = {  # of a store that was killed
    "database empty": "broker.sqlite is missing or empty",
    "log empty": "transaction .* was acknowledged",
    "no database": "broker.sqlite is missing or empty",
    "no log": "broker.sqlite-wal is missing",
    "no log and index": "broker.sqlite-wal is missing",
    "all older but the number": "transaction .* was acknowledged",
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_start_has_everything_or_is_refused(
    stores: Stores, rows: dict[Path, Rows], tmp_path: Path, name: str
) -> None:
    for number, state in enumerate((stores.killed, stores.ended) * 3):
        folder = _copy(state, tmp_path / str(number))
        DAMAGES[name](folder, stores, random.Random(number))
        try:
            found = _rows(folder)
        except StoreError:
            continue
        assert found == rows[state]


@pytest.mark.parametrize("names", [(LOG,), (FILE, LOG)])
def test_files_of_another_store_are_refused(
    stores: Stores, tmp_path: Path, names: tuple[str, ...]
) -> None:
    """A log has all pages that were written since the last checkpoint: here of a whole store."""
    with served(tmp_path / "other", synchronous=False) as asked:
        for number in range(200):
            assert asked.put_feed(f"other{number}").status == 201
        other = _copy(tmp_path / "other", tmp_path / "copy")
    folder = _copy(stores.killed, tmp_path / "store")
    for name in names:
        shutil.copy(other / name, folder / name)
    with pytest.raises(DamagedStore, match="not of the store"):
        BrokerStore.open(str(folder))


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_lost_is_said(stores: Stores, tmp_path: Path, name: str) -> None:
    folder = _copy(stores.killed, tmp_path / "store")
    DAMAGES[name](folder, stores, random.Random(1))
    before = {one: (folder / one).read_bytes() for one in FILES if (folder / one).exists()}
    with pytest.raises(DamagedStore, match=REFUSED[name]) as caught:
        BrokerStore.open(str(folder))
    assert "extract serve --backup" in caught.value.hint
    kept = {one: (folder / one).read_bytes() for one in before if one != INDEX}
    assert kept == {one: content for one, content in before.items() if one != INDEX}
    told = run("serve", "--store", str(folder), "--check")
    assert told.exit_code == 2
    assert "Traceback" not in told.output
    assert " ".join(caught.value.reason.split()) in " ".join(told.output.split())


def test_damage_of_a_value_is_seen(stores: Stores, tmp_path: Path) -> None:
    """SQLite does not: the pages are sound."""
    folder = _copy(stores.ended, tmp_path / "store")
    content = (folder / FILE).read_bytes()
    assert content.count(b"<b>41</b>") > 0
    (folder / FILE).write_bytes(content.replace(b"<b>41</b>", b"<b>14</b>"))
    with pytest.raises(DamagedStore, match="checksum"):
        BrokerStore.open(str(folder))


def test_a_store_without_a_number_is_taken_as_it_is(
    stores: Stores, rows: dict[Path, Rows], tmp_path: Path
) -> None:
    """As it is after an older extract, or where somebody gave up what is lost."""
    folder = _copy(stores.killed, tmp_path / "store")
    (folder / ACKNOWLEDGED).unlink()
    assert _rows(folder) == rows[stores.killed]
    with served(folder, synchronous=False) as asked:
        assert asked.post("<a/>").status == 202
    assert (folder / ACKNOWLEDGED).exists()


def test_a_damaged_number_is_refused(stores: Stores, tmp_path: Path) -> None:
    folder = _copy(stores.ended, tmp_path / "store")
    (folder / ACKNOWLEDGED).write_text("00000000000000000001 00000000\n")
    with pytest.raises(StoreError, match="does not tell") as caught:
        BrokerStore.open(str(folder))
    assert str(folder / ACKNOWLEDGED) in caught.value.hint


def test_a_copy_is_refused_where_transactions_are_lost(stores: Stores, tmp_path: Path) -> None:
    folder = _copy(stores.killed, tmp_path / "store")
    (folder / LOG).unlink()
    with pytest.raises(DamagedStore):
        SqliteDatabase(folder).backup(tmp_path / "copy")


@pytest.mark.parametrize("name", [FILE, LOG, ACKNOWLEDGED])
def test_a_copy_goes_where_nothing_of_a_store_is(stores: Stores, tmp_path: Path, name: str) -> None:
    """A log that was left behind would become part of the copy."""
    folder, target = _copy(stores.killed, tmp_path / "store"), tmp_path / "copy"
    target.mkdir()
    shutil.copy(stores.killed / name, target / name)
    with pytest.raises(StoreError, match="has a store already"):
        SqliteDatabase(folder).backup(target)


def test_a_copy_starts_without_a_number(stores: Stores, tmp_path: Path) -> None:
    SqliteDatabase(_copy(stores.killed, tmp_path / "store")).backup(tmp_path / "copy")
    with served(tmp_path / "copy", synchronous=False) as asked:
        asked.post("<a><b/></a>", "new")
        assert asked.all_notifications("s0", 101)[-1]["seq"] == 101


@pytest.fixture
def damaged_while_served(stores: Stores, tmp_path: Path) -> Iterator[AskedBroker]:
    folder = _copy(stores.ended, tmp_path / "store")
    with served(folder, synchronous=False) as asked:
        size = (folder / FILE).stat().st_size
        with (folder / FILE).open("r+b") as file:
            file.seek(PAGE)
            file.write(random.Random(1).randbytes(size - PAGE))
        yield asked


def test_damage_is_told_while_the_broker_runs(damaged_while_served: AskedBroker) -> None:
    asked = damaged_while_served
    answers = [
        asked.ask("GET", f"/subscriptions/s{number}/notifications?limit=1000")
        for number in range(5)
    ]
    assert {one.status for one in answers} == {503}
    assert "damaged" in answers[0].json["reason"]
    health = asked.ask("GET", "/health")
    assert health.status == 503
    assert "damaged" in health.json["reason"]
    taken = asked.post("<a><b>1</b></a>")
    assert taken.status == 503
    assert "damaged" in taken.json["reason"]
    assert asked.put("other", xpath="//a").status == 503
    assert b"Traceback" not in b"".join([one.body for one in (*answers, health, taken)])


@pytest.mark.parametrize("name", [FILE, LOG])
@pytest.mark.parametrize("is_replaced", [True, False])
def test_nothing_is_taken_into_files_that_are_gone(
    stores: Stores, tmp_path: Path, name: str, is_replaced: bool
) -> None:
    """The system still writes to them, but the next start would not find it."""
    folder = _copy(stores.killed, tmp_path / "store")
    with served(folder, synchronous=False) as asked:
        assert asked.post("<a><b/></a>", "new").status == 202
        (folder / name).unlink()
        if is_replaced:
            shutil.copy(stores.older / name, folder / name)
        taken = asked.post("<a><b/></a>", "lost")
        assert taken.status == 503
        assert "removed or replaced" in taken.json["reason"]
        assert asked.ask("GET", "/health").status == 503
