"""``--matcher sql`` on the command line: rows, the report, and what goes wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.commands import check_account, report, rows, run
from tests.support.databases import execute
from tests.support.stock_subscriptions import DOCUMENTS, stock_scheme, table_scheme

pytest.importorskip("duckdb", reason="DuckDB is not installed")


@pytest.fixture
def documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "docs"
    folder.mkdir()
    for name, document in DOCUMENTS:
        (folder / f"{name}.xml").write_bytes(document)
    return folder


@pytest.mark.parametrize("select", ["doc", "nodes"])
def test_run(documents: Path, database: str, select: str) -> None:
    stock_scheme().save(database)
    for matcher in ("sql", "auto"):
        arguments = ("--matcher", matcher, "--select", select, "-o", matcher)
        result = run("run", "--scheme", database, str(documents), *arguments)
        assert result.exit_code == 1, result.output  # a document is broken
    assert rows("sql") == rows("auto")
    assert rows("sql", "rejected") == rows("auto", "rejected")
    check_account("sql")
    facts, other = report("sql"), report("auto")
    assert facts["matcher"] == "sql"
    assert facts["figures"]["sql_questions"] > 20
    for key in ("documents", "queries", "matches", "bytes", "notes"):
        assert facts[key] == other[key]


def test_match_and_metadata(documents: Path, database: str) -> None:
    stock_scheme().save(database)
    one = str(documents / "m1.xml")
    found = [
        run("match", "--scheme", database, one, "--matcher", matcher, "--format", "tsv").stdout
        for matcher in ("sql", "auto")
    ]
    assert found[0] == found[1] != ""
    only = run("match", "--scheme", database, one, "--matcher", "sql", "--query", "all")
    assert [json.loads(line)["query"] for line in only.stdout.splitlines()] == ["all"]
    output = run("run", "--scheme", database, one, "--matcher", "sql", "--select", "doc", "-o", "-")
    assert output.exit_code == 0, output.output
    assert '"query"' in output.stdout


def test_a_scheme_file_works_too(documents: Path) -> None:
    stock_scheme().save("scheme.json")
    result = run("match", "--scheme", "scheme.json", str(documents / "m1.xml"), "--matcher", "sql")
    assert result.exit_code == 0, result.output
    assert result.stdout


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("duckdb:nothing.duckdb", "there is no such database"),
        ("duckdb:docs/m1.xml", "is not a file of DuckDB"),
        ("postgresql://nobody@localhost:1/none", "cannot connect"),
    ],
)
def test_a_database_that_cannot_be_used(documents: Path, url: str, said: str) -> None:
    result = run("run", "--scheme", url, str(documents), "--matcher", "sql", "-o", "out")
    assert result.exit_code == 2
    assert said in result.stderr
    assert "Hint:" in result.stderr
    assert not Path("out").exists()


def test_tables_are_explained_and_refused(documents: Path, database: str) -> None:
    table_scheme(database)
    execute(database, "DROP TABLE watchlist")
    said = run("explain", "--scheme", database, "listed").stdout
    assert "joins the table watchlist by its column symbol" in said
    facts = json.loads(run("explain", "--scheme", database, "plain", "--json").stdout)
    assert facts["sql"] == {"decided": True, "indexed": True, "tables": []}
    refused = run("run", "--scheme", database, str(documents), "-o", "out")
    assert refused.exit_code == 2
    assert "joins the table 'watchlist'" in refused.stderr
    missing = run("run", "--scheme", database, str(documents), "-o", "out", "--matcher", "sql")
    assert missing.exit_code == 2
    assert "there is no table 'watchlist'" in missing.stderr
    listed = run("subs", "--scheme", database, "list").stdout
    assert "table('watchlist', 'symbol')" in listed
