"""Limits of time and memory where a database matches: a child ends, and the connection stays."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import extract
from extract.filtertool.batch_filter import BatchFilter
from extract.filtertool.job import Job
from extract.filtertool.load_scheme import scheme_for
from extract.filtertool.local import run_local
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.options import Options
from extract.filtertool.processes.workers import FORKS
from extract.filtertool.results.account import Account
from extract.filtertool.results.batch_outcome import document_outcomes
from extract.filtertool.results.outcome import DocumentOutcome
from extract.limits import Limits
from tests.support.databases import execute
from tests.support.stock_subscriptions import DOCUMENTS, STOCK, stock_scheme

pytest.importorskip("duckdb", reason="DuckDB is not installed")
pytestmark = pytest.mark.skipif(not FORKS, reason="only where a process can be forked")

LIMITS = Limits(document_seconds=0.5, document_memory=1 << 30)
QUERIES = {
    "joined": "/stock[symbol = 'S1']",
    "left": "/stock[normalize-space(symbol) = 'S1']",
    "listed": "/stock[symbol = table('watchlist', 'symbol')]",
}


class Greedy(BatchFilter):
    """Takes time or memory on a document that says so."""

    def process(self, documents: Iterable[tuple[str, Any]]) -> list[Any]:
        named = list(documents)
        for _, document in named:
            data = document if isinstance(document, bytes) else Path(document).read_bytes()
            while b"spin" in data:
                pass
            if b"eat" in data:
                bytes(1 << 31)
        return super().process(named)


def outcomes(url: str, select: Select, documents: list[str]) -> list[DocumentOutcome]:
    job = Job(scheme_for("sql", url, select), load_matcher("sql"), Options(select, limits=LIMITS))
    return list(document_outcomes(run_local(job, documents)))


@pytest.fixture
def stored(database: str) -> str:
    stock_scheme().save(database)
    execute(
        database,
        "CREATE TABLE watchlist (symbol TEXT)",
        "INSERT INTO watchlist VALUES ('S1')",
    )
    queries = extract.Subscriptions.of(QUERIES)
    extract.prepare(STOCK, queries, database=database).save(database)
    return database


@pytest.mark.parametrize("select", ["doc", "count", "nodes"])
def test_a_document_that_takes_too_much_is_rejected_alone(
    stored: str, select: Select, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("extract.filtertool.sql_filter.BatchFilter", Greedy)
    for name, text in {"good": "", "slow": "spin", "large": "eat", "other": ""}.items():
        inside = f"<symbol>S1</symbol><price>1</price><!--{text}-->"
        (tmp_path / f"{name}.xml").write_text(f"<stock>{inside}</stock>")
    files = [str(tmp_path / f"{name}.xml") for name in ("good", "slow", "large", "other")]
    done = outcomes(stored, select, files)
    assert [one.document for one in done] == files
    limits = [[], ["document_seconds"], ["document_memory"], []]
    assert [[each.reason for each in one.rejections] for one in done] == [
        [LIMITS.passed(limit) for limit in one] for one in limits
    ]
    assert [len(one.findings) for one in done] == [3, 0, 0, 3]


def test_standard_input_can_be_too_large_for_the_memory(
    stored: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then it is in a file that has no name, which the child opens."""
    monkeypatch.setattr("extract.filtertool.sql_filter.MOST_BYTES", 10)
    document = b"<stock><symbol>S1</symbol><price>1</price></stock>"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(document)))
    extract.prepare(STOCK, extract.Subscriptions.of({"joined": QUERIES["joined"]})).save(stored)
    (done,) = outcomes(stored, "nodes", ["-"])
    assert (done.document, len(done.findings), done.rejections) == ("<stdin>", 1, ())


def test_rows_and_figures_do_not_depend_on_it(database: str, tmp_path: Path) -> None:
    stock_scheme().save(database)
    files = []
    for name, document in DOCUMENTS:
        files.append(str(tmp_path / f"{name}.xml"))
        Path(files[-1]).write_bytes(document)
    found: list[Any] = []
    for select in ("doc", "nodes"):
        account, rows = Account(), []
        filter_ = extract.Filter(database, select=select, matcher="sql")
        filter_.table([(name, Path(name)) for name in files])
        job = Job(scheme_for("sql", database, select), load_matcher("sql"), Options(select))
        for done in run_local(job, files):
            account.add(done)
            rows += [(one.document, len(one.findings)) for one in document_outcomes([done])]
        inside = {k: v for k, v in filter_.figures().items() if not k.endswith("seconds")}
        figures = {k: v for k, v in account.figures().items() if not k.endswith("seconds")}
        assert figures == inside
        found.append(rows)
    assert [name for name, _ in found[0]] == files
    assert sum(count for _, count in found[1]) > sum(count for _, count in found[0]) > 20
