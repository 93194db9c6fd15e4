"""``extract filter`` as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import QUERIES, SCHEMA, rows, run


@pytest.fixture
def chunks(here: Path) -> Path:
    """Chunks of the documents."""
    Path("docs/wrong.xml").write_text("<db><zzz/></db>")
    Path("q.tsv").write_text(QUERIES + "ns\t//name/namespace::*\n", encoding="utf-8")
    run("prep", *SCHEMA, "--queries", "q.tsv", "--chunks", "3", "-o", "scheme.json")
    assert run("chunk", "--scheme", "scheme.json", "docs", "-o", "chunks").exit_code == 0
    return here


@pytest.mark.parametrize("select", ["nodes", "count", "doc"])
def test_filter_gives_what_run_gives(chunks: Path, select: str) -> None:
    result = run("filter", "--scheme", "scheme.json", "chunks", "--select", select)
    assert result.exit_code == 0, result.stderr
    found = [json.loads(line) for line in result.stdout.splitlines()]
    args = ["--scheme", "scheme.json", "docs", "--select", select, "--format", "jsonl"]
    assert run("run", *args, "-o", "out").exit_code == 0

    def order(row: dict[str, Any]) -> Any:
        return (row["document"], row["query"], row.get("ordinal"))

    assert sorted(found, key=order) == sorted(rows(), key=order)


def test_filter_takes_one_document_and_writes_a_file(chunks: Path) -> None:
    args = ["filter", "--scheme", "scheme.json", "chunks/1", "-o", "rows.jsonl", "--json"]
    result = run(*args)
    assert result.exit_code == 0
    assert result.stdout == ""
    found = [json.loads(line) for line in Path("rows.jsonl").read_text().splitlines()]
    assert {row["document"] for row in found} == {"docs/1.xml"}
    assert json.loads(result.stderr)["documents"]["seen"] == 1


@pytest.mark.parametrize(
    ("directory", "message"),
    [("nowhere", "nowhere"), ("docs", "the directory has no chunks")],
)
def test_filter_without_chunks_is_exit_2(chunks: Path, directory: str, message: str) -> None:
    result = run("filter", "--scheme", "scheme.json", directory)
    assert result.exit_code == 2
    assert message in result.stderr


def test_chunks_of_another_scheme_are_not_filtered(chunks: Path) -> None:
    run("prep", *SCHEMA, "--queries", "q.tsv", "--chunks", "1", "-o", "other.json")
    result = run("filter", "--scheme", "other.json", "chunks", "-o", "rows.jsonl")
    assert result.exit_code == 2
    assert "cut for another scheme" in result.stderr
    assert not Path("rows.jsonl").exists()


def test_damaged_chunks_are_rejected(chunks: Path) -> None:
    Path("chunks/1/1.xml").unlink()
    Path("chunks/2/1.xml").write_text("<db/>")
    Path("chunks/3/manifest.json").write_text("{}")
    result = run("filter", "--scheme", "scheme.json", "chunks", "--json")
    assert result.exit_code == 1
    facts = json.loads(result.stderr.splitlines()[-1])
    assert facts["documents"]["rejected"] == 3
    assert "write the chunks again" in result.stderr


def test_queries_without_results_have_no_rows(chunks: Path) -> None:
    result = run("filter", "--scheme", "scheme.json", "chunks", "--select", "output")
    assert (result.exit_code, result.stdout) == (0, "")
