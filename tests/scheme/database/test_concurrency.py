"""Several processes at one database, and processes that are killed there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from extract import Scheme, Subscriptions
from extract.preptool.prepare import prepare
from extract.scheme.database.errors import LockedDatabase
from extract.scheme.database.file_gate import passed_gate
from extract.scheme.database.location import location_of
from extract.scheme.database.store import open_store
from tests.support.databases import change, query
from tests.support.paths import ROOT
from tests.support.postgres_server import PostgresServer
from tests.support.scheme_facts import facts
from tests.support.schemes import UNIVERSITY

WRITER = """
import sys
from tests.support.databases import change
url, name, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
for n in range(rounds):
    # Two that belong together, one of them of a shape of its own.
    change(url, {f"{name}-{n}-a": f"//student[name = '{name}{n}']",
                 f"{name}-{n}-b": f"//student[{n + 1}][url = '{name}']"})
    print(f"{name}-{n}", flush=True)
"""
IMPORTER = """
import sys
from extract import Subscriptions
from tests.support.databases import change
print("ready", flush=True)
many = {f"many{n}": f"//student[name = 'm{n}']" for n in range(20000)}
change(sys.argv[1], Subscriptions.of(many))
print("done", flush=True)
"""


def start(code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )


def ids(url: str) -> set[str]:
    return {one.id for one in Scheme.load(url).subscribers}


@pytest.fixture
def filled(database: str) -> str:
    prepare(UNIVERSITY, Subscriptions.of({"first": "//name"}), 2).save(database)
    return database


def test_reading_beside_a_writer_of_the_same_process_keeps_its_lock(filled: str) -> None:
    """On POSIX, whoever closes a file ends all locks that the process has on it."""
    location = location_of(filled)
    if location.engine != "duckdb":
        pytest.skip("locks of PostgreSQL are the server's")
    with open_store(location, write=True):
        assert ids(filled) == {"first"}
        code = "import duckdb, sys; duckdb.connect(sys.argv[1])"
        other = subprocess.run(
            [sys.executable, "-c", code, location.target], capture_output=True, text=True
        )
        assert "lock" in other.stderr


def test_a_file_is_not_opened_while_another_process_may_write_its_headers(filled: str) -> None:
    location = location_of(filled)
    if location.engine != "duckdb":
        pytest.skip("a server needs no gate")
    with (
        passed_gate(location.target),
        pytest.raises(LockedDatabase, match="it is being written"),
        open_store(location, patience=0.05),
    ):
        raise AssertionError("it was opened")
    assert ids(filled) == {"first"}


def test_writers_do_not_lose_each_others_changes(filled: str) -> None:
    """And readers beside them see whole revisions, one after the other."""
    writers = [start(WRITER, filled, name, "6") for name in ("x", "y", "z")]
    seen = -1
    while any(one.poll() is None for one in writers):
        found = ids(filled)
        halves = {name for name in found if name[-2:] == "-a" and f"{name[:-1]}b" not in found}
        assert not halves
        assert len(found) >= seen
        seen = len(found)
    assert [one.wait() for one in writers] == [0, 0, 0]
    for one in writers:
        assert one.stdout is not None
        one.stdout.close()
    expected = {f"{w}-{n}-{half}" for w in "xyz" for n in range(6) for half in "ab"}
    assert ids(filled) == {"first", *expected}
    assert query(filled, "SELECT revision FROM scheme") == [(19,)]
    everybody = {one.id: one.xpath for one in Scheme.load(filled).subscribers}
    again = prepare(UNIVERSITY, Subscriptions.of(everybody), 2)
    assert facts(Scheme.load(filled)) == facts(again)


def test_threads_of_one_process_take_turns(filled: str) -> None:
    errors: list[Exception] = []

    def add(name: str) -> None:
        try:
            for n in range(4):
                change(filled, {f"{name}{n}": f"//student[name = '{name}{n}']"})
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=add, args=(name,)) for name in ("a", "b", "c")]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not errors
    assert len(ids(filled)) == 13


def test_a_reader_sees_the_revision_of_its_start(postgres: PostgresServer) -> None:
    """A file of DuckDB has no readers while somebody writes it."""
    url = postgres.url(schema="snapshot")
    prepare(UNIVERSITY, Subscriptions.of({"first": "//name"}), 2).save(url)
    with open_store(location_of(url)) as reader:
        before = reader.rows("SELECT COUNT(*) FROM member")
        change(url, {"second": "//email"})
        assert reader.rows("SELECT COUNT(*) FROM member") == before
        assert reader.rows("SELECT revision FROM scheme") == [(1,)]
    assert ids(url) == {"first", "second"}


@pytest.mark.parametrize("moment", range(4))
def test_what_was_reported_survives_kill(filled: str, moment: int) -> None:
    writer = start(WRITER, filled, "w", "1000")
    assert writer.stdout is not None
    reported = [writer.stdout.readline().strip() for _ in range(2)]
    time.sleep(0.03 * moment)  # anywhere in the next change
    os.kill(writer.pid, signal.SIGKILL)
    writer.wait()
    reported += [line.strip() for line in writer.stdout]
    writer.stdout.close()
    found = ids(filled)
    assert {f"{name}-{half}" for name in reported for half in "ab"} <= found
    assert len([name for name in found if name.startswith("w-")]) % 2 == 0
    change(filled, {"after": "//email"})  # nothing is locked, nothing is half
    assert "after" in ids(filled)


@pytest.mark.parametrize("moment", [0.0, 0.15, 0.4])
def test_a_killed_import_leaves_all_or_nothing(filled: str, moment: float) -> None:
    importer = start(IMPORTER, filled)
    assert importer.stdout is not None
    assert importer.stdout.readline() == "ready\n"
    time.sleep(moment)
    os.kill(importer.pid, signal.SIGKILL)
    importer.wait()
    done = "done" in importer.stdout.read()
    importer.stdout.close()
    count = len(ids(filled))
    assert count in (1, 20_001)
    assert count == 20_001 or not done


def test_a_file_that_could_not_be_filled_is_not_there(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    url = f"duckdb:{tmp_path / 'new.duckdb'}"
    with pytest.raises(ZeroDivisionError), open_store(location_of(url), write=True):
        raise ZeroDivisionError
    assert not list(tmp_path.iterdir())
