"""Commands on a scheme in a database: the same as on a file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pyarrow import csv, parquet

from extract import Scheme, Subscriptions
from extract.preptool.prepare import prepare
from extract.scheme.database import store as store_module
from extract.scheme.database.location import location_of
from tests.support.commands import SCHEMA, rows, run
from tests.support.databases import execute, query
from tests.support.scheme_facts import facts
from tests.support.schemes import UNIVERSITY


def prep(url: str) -> None:
    result = run("prep", *SCHEMA, "--queries", "q.tsv", "--chunks", "2", "-o", url)
    assert result.exit_code == 0, result.output
    assert result.stdout == ""


def ids(url: str) -> list[str]:
    return [one.id for one in Scheme.load(url).subscribers]


def test_from_prep_to_rows(here: Path, database: str) -> None:
    prep(database)
    run("prep", *SCHEMA, "--queries", "q.tsv", "--chunks", "2", "-o", "scheme.json")
    for scheme, folder in ((database, "one"), ("scheme.json", "other")):
        result = run("run", "--scheme", scheme, "docs", "-o", folder)
        assert result.exit_code == 0, result.output
    assert rows("one") == rows("other")
    assert rows("one")
    for command in (
        ("match", "--scheme", database, "docs/0.xml"),
        ("explain", "--scheme", database, "mail"),
        ("chunk", "--scheme", database, "docs/0.xml", "-o", "chunks"),
        ("filter", "--scheme", database, "chunks", "-o", "matches.jsonl"),
        ("project", "--scheme", database, "docs/0.xml"),
    ):
        done = run(*command)
        assert done.exit_code == 0, done.output
    assert json.loads(Path("matches.jsonl").read_text(encoding="utf-8").splitlines()[0])["query"]


def test_a_change_gives_the_scheme_that_prep_would_give(here: Path, database: str) -> None:
    prep(database)
    added = run("subs", "--scheme", database, "add", "new", "//url[. = 'x']", "bad", "//[")
    assert added.exit_code == 1
    assert "2 queries added" in added.stderr
    assert run("subs", "--scheme", database, "remove", "many").exit_code == 0
    assert run("subs", "--scheme", database, "replace", "names", "//professor").exit_code == 0
    expected = {
        "mail": "//*[email]",
        "none": "/db/zzz",
        "new": "//url[. = 'x']",
        "bad": "//[",
        "names": "//professor",
    }
    fresh = prepare(UNIVERSITY, Subscriptions.of(expected), 2)
    found = facts(Scheme.load(database))
    assert {**found, "rejected": 0} == {**facts(fresh), "rejected": 0}
    log = query(database, "SELECT action FROM revision ORDER BY number")
    assert log == [("prep",), ("add",), ("remove",), ("replace",)]


@pytest.mark.parametrize(
    "command",
    [("remove", "mail", "mial"), ("add", "x", "//a", "mail", "//b"), ("replace", "q", "//a")],
)
def test_what_cannot_be_done_changes_nothing(
    here: Path, database: str, command: tuple[str, ...]
) -> None:
    prep(database)
    result = run("subs", "--scheme", database, *command)
    assert result.exit_code == 2
    assert "Hint:" in result.stderr
    assert query(database, "SELECT revision FROM scheme") == [(1,)]
    assert len(ids(database)) == 4


def test_the_revised_scheme_goes_elsewhere(here: Path, database: str) -> None:
    prep(database)
    assert run("subs", "--scheme", database, "remove", "-o", "less.json", "mail").exit_code == 0
    assert len(ids(database)) == 4
    assert len(ids("less.json")) == 3
    assert run("subs", "--scheme", "less.json", "remove", "-o", database, "none").exit_code == 0
    assert ids(database) == ["names", "many"]


# -- import and export

LINES = [
    {"id": "a", "xpath": '//student[name = "it\'s"]', "owner": "sales", "weight": 2.0},
    {"id": "b", "xpath": "//student[name = 'x,\"y\"']"},
    {"id": "c", "xpath": "//p:z", "namespaces": {"p": "urn:p"}, "tags": ["x", 1]},
    {"id": "d", "xpath": "for $x in //name return $x", "version": "3.1"},
    {"id": "e", "xpath": "//["},
    {"id": "f", "flwr": "for $s in //student return <s>{ $s/name }</s>"},
]


def meaning(path: str) -> dict[str, tuple[str, float, str]]:
    scheme = Scheme.load(path)
    members = {
        one.id: (one.absolute, one.weight, json.dumps(one.metadata)) for one in scheme.subscribers
    }
    outputs = {f"output of {name}": (one.flwr, 0.0, "") for name, one in scheme.outputs.items()}
    return members | outputs | {one.id: (one.xpath, 0, "") for one in scheme.rejected}


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_an_export_can_be_imported(here: Path, database: str, suffix: str) -> None:
    prep(database)
    Path("more.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in LINES))
    assert run("subs", "--scheme", database, "import", "more.jsonl").exit_code == 1
    before = meaning(database)
    assert len(before) == 11
    exported = run("subs", "--scheme", database, "export", f"all.{suffix}")
    assert exported.exit_code == 0, exported.output
    assert "10 queries exported" in exported.stderr
    Path("one.tsv").write_text("one\t/db\n")
    for target in (database, "other.json"):
        run("prep", *SCHEMA, "--queries", "one.tsv", "-o", target)
        imported = run("subs", "--scheme", target, "import", f"all.{suffix}")
        assert imported.exit_code == 1, imported.output
        assert run("subs", "--scheme", target, "remove", "one").exit_code == 0
        assert meaning(target) == before


def test_formats_of_an_export(here: Path, database: str) -> None:
    prep(database)
    run("subs", "--scheme", database, "export", "all.csv")
    run("subs", "--scheme", database, "export", "all.parquet")
    assert csv.read_csv("all.csv")["id"].to_pylist() == ["names", "mail", "many", "none"]
    table = parquet.read_table("all.parquet")
    assert table["status"].to_pylist() == ["satisfiable"] * 3 + ["unsatisfiable"]
    lines = run("subs", "--scheme", database, "export", "-").stdout.splitlines()
    assert json.loads(lines[0]) == {"id": "names", "xpath": "//student/name"}
    assert run("subs", "--scheme", database, "export", "all.xls").exit_code == 2


def test_an_import_is_all_or_nothing(here: Path, database: str) -> None:
    prep(database)
    Path("more.csv").write_text("id,xpath\nx,//name\nmail,//email\n")
    result = run("subs", "--scheme", database, "import", "more.csv")
    assert result.exit_code == 2
    assert "already has a query 'mail'" in result.stderr
    assert "more.csv:3" in result.stderr
    assert len(ids(database)) == 4


# -- tables


def test_the_tables_are_shown_as_sql(here: Path, database: str) -> None:
    prep(database)
    result = run("subs", "--scheme", database, "list", "--sql")
    assert result.exit_code == 0
    statements = [line for line in result.stdout.split(";\n") if line]
    tables = {line.split('"')[3] for line in statements if line.startswith("CREATE TABLE")}
    assert {"member", "template", "chunk", "scheme", "revision"} <= tables
    # They are what makes these tables, elsewhere too.
    schema = location_of(database).schema
    again = [line.replace(f'"{schema}".', '"copy".') for line in statements]
    execute(database, "CREATE SCHEMA copy", *again, "DROP SCHEMA copy CASCADE")
    run("prep", *SCHEMA, "--queries", "q.tsv", "-o", "scheme.json")
    wrong = run("subs", "--scheme", "scheme.json", "list", "--sql")
    assert wrong.exit_code == 2
    assert "duckdb:FILE" in wrong.stderr


def test_upgrade(here: Path, database: str) -> None:
    prep(database)
    assert run("subs", "--scheme", database, "upgrade").exit_code == 0
    assert run("subs", "--scheme", "q.tsv", "upgrade").exit_code == 2


# -- errors


@pytest.mark.parametrize(
    "command", [("run", "docs", "-o", "out"), ("match", "docs/0.xml"), ("explain",)]
)
def test_no_database_is_exit_2(here: Path, command: tuple[str, ...]) -> None:
    name, *rest = command
    result = run(name, "--scheme", "duckdb:none.duckdb", *rest)
    assert result.exit_code == 2
    assert "duckdb:none.duckdb: there is no such database" in result.stderr
    assert "Hint: make it with `extract prep" in result.stderr
    assert not Path("out").exists()
    assert not Path("none.duckdb").exists()


def test_locked_is_exit_2(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("duckdb")
    prep("duckdb:x.duckdb")
    monkeypatch.setattr(store_module, "PATIENCE", 0.1)
    code = (
        "import duckdb, sys; c = duckdb.connect('x.duckdb'); print(1, flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        result = run("subs", "--scheme", "duckdb:x.duckdb", "add", "x", "//name")
    assert result.exit_code == 2
    assert "another program has the database open" in result.stderr


@pytest.mark.parametrize(
    ("module", "url"), [("duckdb", "duckdb:x"), ("psycopg", "postgresql://h/d")]
)
def test_a_package_that_is_not_installed(
    here: Path, monkeypatch: pytest.MonkeyPatch, module: str, url: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    result = run("subs", "--scheme", url, "list")
    assert result.exit_code == 2
    assert f"the package {module} is not installed" in result.stderr
    assert "pip install 'extract-xpath[database]'" in result.stderr
