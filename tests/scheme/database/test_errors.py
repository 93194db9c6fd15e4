"""Databases that cannot be used: an error that says what to do, and nothing half."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from extract import Scheme, Subscriptions
from extract.errors import SchemeError, SubscriptionsError
from extract.preptool.prepare import prepare
from extract.scheme.database import store as store_module
from extract.scheme.database.errors import DatabaseError, LockedDatabase, LostConnection
from extract.scheme.database.location import location_of
from extract.scheme.database.migrations import migrate
from extract.scheme.database.store import open_store
from extract.scheme.database.tables import VERSION
from extract.scheme.database.write import scheme_change, upgrade_tables
from tests.support.databases import change, execute, query
from tests.support.postgres_server import PostgresServer
from tests.support.schemes import UNIVERSITY

HOLDER = """
import sys, duckdb
connection = duckdb.connect(sys.argv[1])
print("open", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def filled(database: str) -> str:
    prepare(UNIVERSITY, Subscriptions.of({"first": "//name"}), 2).save(database)
    return database


def load_error(url: str) -> SchemeError:
    with pytest.raises(SchemeError) as caught:
        Scheme.load(url)
    assert caught.value.hint
    return caught.value


# -- missing


def test_a_database_that_is_not_there(tmp_path: Path) -> None:
    url = f"duckdb:{tmp_path / 'none.duckdb'}"
    assert "no such database" in load_error(url).reason
    with pytest.raises(DatabaseError, match="has no subscriptions"):
        change(url, {"a": "//a"})
    assert not list(tmp_path.iterdir())
    deep = f"duckdb:{tmp_path / 'no' / 'x.duckdb'}"
    with pytest.raises(DatabaseError, match="directory of the database does not exist"):
        prepare(UNIVERSITY, Subscriptions.of({"a": "//name"}), 1).save(deep)


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    error = load_error(f"postgresql:///db?host={tmp_path}")
    assert isinstance(error, LostConnection)
    assert "cannot connect" in error.reason
    assert "check the URL" in error.hint


def test_a_database_of_a_server_that_is_not_there(postgres: PostgresServer) -> None:
    assert "nowhere" in load_error(postgres.url(database="nowhere")).reason


def test_a_database_without_a_scheme(database: str) -> None:
    if database.startswith("duckdb"):
        execute(database, "CREATE TABLE own (a INTEGER)")
    error = load_error(database)
    assert "has no subscriptions" in error.reason
    assert "extract prep" in error.hint
    with pytest.raises(DatabaseError, match="has no subscriptions"), scheme_change(database):
        pass
    with pytest.raises(DatabaseError, match="has no subscriptions"):
        upgrade_tables(database)


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    file = tmp_path / "scheme.json"
    file.write_text("{}" * 5000)
    assert "not a file of DuckDB" in load_error(f"duckdb:{file}").reason
    with pytest.raises(DatabaseError, match="not a file of DuckDB"):
        prepare(UNIVERSITY, Subscriptions.of({"a": "//name"}), 1).save(f"duckdb:{file}")
    assert file.read_text().startswith("{}")
    assert "directory" in load_error(f"duckdb:{tmp_path}").reason


# -- foreign tables


def test_tables_of_somebody_else_are_left_alone(database: str) -> None:
    location = location_of(database)
    with open_store(location, write=True) as store:
        store.execute("CREATE TABLE member (a INTEGER)")
        store.execute("CREATE TABLE scheme (b INTEGER)")
        store.execute("INSERT INTO member (a) VALUES (7)")
    scheme = prepare(UNIVERSITY, Subscriptions.of({"a": "//name"}), 1)
    with pytest.raises(DatabaseError, match="not of extract: member, scheme") as caught:
        scheme.save(database)
    assert "?schema=" in caught.value.hint
    assert query(database, "SELECT a FROM member") == [(7,)]
    assert "has no subscriptions" in load_error(database).reason


def test_other_tables_beside_ours_do_not_matter(filled: str) -> None:
    execute(filled, "CREATE TABLE watchlist (symbol TEXT)")
    change(filled, {"second": "//email"})
    assert len(Scheme.load(filled).subscribers) == 2


# -- changed by hand


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("DELETE FROM template", "template or wording 0, which is not there"),
        ("DELETE FROM branch", "there is no branch 0"),
        ("DELETE FROM chunk", "is not a JSON object"),
        ("UPDATE member SET constants = ARRAY['a']", "not as many constants"),
        ("UPDATE member SET weight = -1", "weight is not a number above zero"),
        ("DELETE FROM scheme", "has no subscriptions"),
        ("ALTER TABLE branch DROP COLUMN steps", "steps"),
    ],
)
def test_tables_that_contradict_each_other(filled: str, statement: str, reason: str) -> None:
    execute(filled, statement)
    assert reason in load_error(filled).reason


# -- version


@pytest.mark.parametrize("version", [VERSION - 1, VERSION + 1])
def test_another_version_is_refused(filled: str, version: int) -> None:
    execute(filled, f"UPDATE scheme SET schema_version = {version}")
    error = load_error(filled)
    assert f"are of version {version}" in error.reason
    assert ("upgrade" in error.hint) is (version < VERSION)
    if version > VERSION:
        with pytest.raises(DatabaseError, match="newer version"):
            change(filled, {"second": "//email"})
        with pytest.raises(DatabaseError, match="newer version"):
            prepare(UNIVERSITY, Subscriptions.of({"a": "//name"}), 1).save(filled)
    assert query(filled, "SELECT COUNT(*) FROM member") == [(1,)]


STEPS = {
    VERSION: (
        "ALTER TABLE member ADD COLUMN note TEXT",
        "UPDATE member SET note = 'from ' || id",
    ),
    VERSION + 1: ("CREATE TABLE extra (a INTEGER)", "INSERT INTO extra (a) VALUES (1)"),
}


def test_older_tables_are_brought_up_to_date(filled: str) -> None:
    with open_store(location_of(filled), write=True) as store:
        assert migrate(store, STEPS, VERSION + 2)
    assert query(filled, "SELECT note FROM member") == [("from first",)]
    assert query(filled, "SELECT a FROM extra") == [(1,)]
    assert query(filled, "SELECT schema_version FROM scheme") == [(VERSION + 2,)]


def test_a_step_that_fails_changes_nothing(filled: str) -> None:
    broken = {**STEPS, VERSION + 1: ("CREATE TABLE extra (a INTEGER)", "DROP TABLE nowhere")}
    with (
        pytest.raises(DatabaseError, match="nowhere"),
        open_store(location_of(filled), write=True) as store,
    ):
        migrate(store, broken, VERSION + 2)
    assert query(filled, "SELECT schema_version FROM scheme") == [(VERSION,)]
    assert Scheme.load(filled).subscribers[0].id == "first"


def test_a_missing_step_is_an_error(filled: str) -> None:
    with (
        pytest.raises(DatabaseError, match=f"are of version {VERSION}"),
        open_store(location_of(filled), write=True) as store,
    ):
        migrate(store, {VERSION + 1: STEPS[VERSION + 1]}, VERSION + 2)


# -- locked


def test_a_file_that_another_process_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("duckdb")
    file = tmp_path / "subs.duckdb"
    url = f"duckdb:{file}"
    prepare(UNIVERSITY, Subscriptions.of({"first": "//name"}), 2).save(url)
    monkeypatch.setattr(store_module, "PATIENCE", 0.1)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    try:
        holder.stdout.readline()
        with pytest.raises(LockedDatabase, match=f"PID {holder.pid}") as caught:
            Scheme.load(url)
        assert "try again" in caught.value.hint
        with pytest.raises(LockedDatabase, match=f"PID {holder.pid}"):
            change(url, {"a": "//email"})
        monkeypatch.setattr(store_module, "PATIENCE", 60)
        threading.Timer(0.2, holder.stdin.close).start()
        change(url, {"a": "//email"})  # waits until it is free
    finally:
        holder.stdin.close()
        holder.wait()
        holder.stdout.close()
    assert len(Scheme.load(url).subscribers) == 2


def test_a_writer_that_takes_too_long(filled: str) -> None:
    with open_store(location_of(filled), write=True):
        with pytest.raises(LockedDatabase), scheme_change(filled, patience=0.1):
            pass
        if filled.startswith("postgresql"):
            Scheme.load(filled)  # readers do not wait


def test_the_owner_has_the_file_open_in_this_process(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    url = f"duckdb:{tmp_path / 'subs.duckdb'}"
    prepare(UNIVERSITY, Subscriptions.of({"first": "//name"}), 2).save(url)
    with duckdb.connect(str(tmp_path / "subs.duckdb")) as own:
        change(url, {"second": "//email"})
        assert own.execute("SELECT COUNT(*) FROM member").fetchall() == [(2,)]
        assert len(Scheme.load(url).subscribers) == 2


# -- settings


@pytest.mark.parametrize("setting", ["memory_limit=banana", "threads=0"])
def test_a_setting_that_duckdb_does_not_take(tmp_path: Path, setting: str) -> None:
    pytest.importorskip("duckdb")
    url = f"duckdb:{tmp_path / 'subs.duckdb'}"
    prepare(UNIVERSITY, Subscriptions.of({"first": "//name"}), 2).save(url)
    name, _, value = setting.partition("=")
    with pytest.raises(DatabaseError, match=f"'{value}' cannot be the {name}") as caught:
        Scheme.load(f"{url}?{setting}")
    assert "?memory_limit=2GB" in caught.value.hint


# -- read-only


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="root can act for others")
def test_a_file_that_may_not_be_written(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    file = tmp_path / "subs.duckdb"
    url = f"duckdb:{file}"
    prepare(UNIVERSITY, Subscriptions.of({"first": "//name"}), 2).save(url)
    change(url, {"second": "//email"})  # the other user may not read our modules either
    for folder in (tmp_path, *list(tmp_path.parents)[:3]):  # one more under xdist
        folder.chmod(0o755)
    file.chmod(0o444)
    pid = os.fork()
    if pid == 0:  # not a new process: another user may not read our environment
        status = 1
        try:
            os.setuid(65534)
            assert len(Scheme.load(url).subscribers) == 2
            with pytest.raises(DatabaseError, match="cannot write"):
                change(url, {"a": "//email"})
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0


def test_a_user_who_may_only_read(postgres: PostgresServer) -> None:
    url = postgres.url(schema="readable")
    prepare(UNIVERSITY, Subscriptions.of({"first": "//name"}), 2).save(url)
    with postgres.connect() as owner:
        owner.execute("CREATE ROLE reader LOGIN")
        owner.execute("GRANT USAGE ON SCHEMA readable TO reader")
        owner.execute("GRANT SELECT ON ALL TABLES IN SCHEMA readable TO reader")
    own = postgres.url(schema="readable", user="reader")
    assert len(Scheme.load(own).subscribers) == 1
    with pytest.raises(DatabaseError, match="permission denied") as caught:
        change(own, {"a": "//email"})
    assert "ask the owner" in caught.value.hint
    assert len(Scheme.load(url).subscribers) == 1


def test_a_user_who_may_not_even_read(postgres: PostgresServer) -> None:
    url = postgres.url(schema="secret")
    prepare(UNIVERSITY, Subscriptions.of({"first": "//name"}), 2).save(url)
    with postgres.connect() as owner:
        owner.execute("CREATE ROLE stranger LOGIN")
    own = postgres.url(schema="secret", user="stranger")
    with pytest.raises(DatabaseError, match="permission denied") as caught:
        Scheme.load(own)
    assert "ask the owner" in caught.value.hint
    with pytest.raises(DatabaseError, match="permission denied"):
        change(own, {"a": "//email"})


def test_a_server_that_only_reads(postgres: PostgresServer) -> None:
    url = postgres.url(schema="standby")
    prepare(UNIVERSITY, Subscriptions.of({"first": "//name"}), 2).save(url)
    only = f"{url}&options=-c%20default_transaction_read_only%3Don"
    assert len(Scheme.load(only).subscribers) == 1
    with pytest.raises(DatabaseError, match="read-only transaction"):
        change(only, {"a": "//email"})


# -- lost


def test_a_connection_that_breaks_in_the_middle(postgres: PostgresServer) -> None:
    url = postgres.url(schema="lost")
    prepare(UNIVERSITY, Subscriptions.of({"first": "//name"}), 2).save(url)

    def broken_change() -> None:
        with scheme_change(url) as database, postgres.connect() as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name = 'extract'"
            )
            kept = np.arange(len(database.stored.scheme.members))
            database.write(database.stored.scheme, kept, "test")

    with pytest.raises(LostConnection, match="lost") as caught:
        broken_change()
    assert "nothing was written" in caught.value.hint
    assert query(url, "SELECT revision FROM scheme") == [(1,)]


def test_an_id_that_is_too_long_for_an_index(postgres: PostgresServer) -> None:
    url = postgres.url(schema="long")
    prepare(UNIVERSITY, Subscriptions.of({"first": "//name"}), 2).save(url)
    with pytest.raises(SubscriptionsError, match="an id has 3,000 bytes"):
        change(url, {"x" * 3000: "//email"})
    change(url, {"x" * 2600: "//email"})
    assert len(Scheme.load(url).subscribers) == 2
