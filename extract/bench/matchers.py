"""``extract bench matchers``: where columns lose to libxml2, and what ``auto`` makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from extract.bench.match import best
from extract.bench.table import ResultTable
from extract.filtertool.document_filter import document_filter
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.matchers.registry import AUTO, load_matcher
from extract.filtertool.options import Options
from extract.preptool.prepare import prepare
from extract.scenarios import scenario
from extract.scheme import Scheme

_NAMES = ("columnar", "lxml", AUTO)
_QUERIES = (1, 3, 10, 30, 100)


def run(data: Path | None, scale: float = 1.0) -> ResultTable:
    """Few and more queries, on one small document, many at once, and a large one."""
    university = scenario("university")
    small = [b"".join(university.document(4_000, seed=n)) for n in range(max(2, int(50 * scale)))]
    large = [b"".join(university.document(max(20_000, int(1_000_000 * scale))))]
    cases = {"one of 4 KB": small[:1], f"{len(small)} of 4 KB": small, "one of 1 MB": large}
    rows: list[list[str | int | float]] = []
    for name, documents in cases.items():
        for queries in _QUERIES:
            scheme = prepare(university.schema(), university.queries(queries), 3)
            for select in ("doc", "nodes"):
                columnar, lxml, chosen = _times(scheme, documents, select)
                rows.append([name, queries, select, columnar, lxml, lxml / columnar, chosen])
    columns = ("documents", "queries", "select", "columnar ms", "lxml ms", "x lxml", "auto ms")
    remarks = (
        "Milliseconds a document, scan included. Columns lose (x lxml below 1) where a batch is",
        "one small document and queries are few: some hundred calls of numpy cost more than",
        "libxml2 needs to parse and answer. There auto takes lxml.",
    )
    return ResultTable("Which matcher is cheaper, one core", columns, rows, remarks)


def _times(scheme: Scheme, documents: Sequence[bytes], select: Select) -> list[float]:
    return [_time(scheme, documents, select, name) for name in _NAMES]


def _time(scheme: Scheme, documents: Sequence[bytes], select: Select, matcher: str) -> float:
    ready = document_filter(scheme, load_matcher(matcher), Options(select=select))
    named = [(str(number), document) for number, document in enumerate(documents)]
    return best(lambda: ready.process(named)) * 1e3 / len(documents)
