"""``extract bench match``: what FILTERTOOL costs, next to one compiled lxml XPath a query."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from lxml import etree

from extract.bench.table import ResultTable
from extract.filtertool.document_filter import document_filter
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.matchers.registry import AUTO, load_matcher
from extract.filtertool.options import Options
from extract.preptool.prepare import prepare
from extract.scenarios import scenario
from extract.schema.model import Schema
from extract.scheme import Scheme
from extract.subscriptions import Subscriptions

_SIZES = (1_000, 10_000, 100_000)
_TURNS = 3
_LXML = 200  # queries that lxml is measured with; it takes as long for each of the others


def run(data: Path | None, scale: float = 1.0) -> ResultTable:
    """Counts, rows and booleans, of many queries on a large document and on small messages."""
    rows = [*_university(scale), *_messages(data, scale)]
    columns = (
        "documents",
        "queries",
        "select",
        "ms a document",
        "documents/s",
        "lxml ms",
        "x lxml",
    )
    remarks = [
        "Scan and match, from the bytes to the rows in memory. lxml: one compiled XPath for each",
        f"query on the parsed document, extrapolated from {_LXML} queries; the parse not counted.",
        "YFilter 1.0 on the same messages: 14 ms each at 100,000 queries with one nested path.",
    ]
    if data is None:
        remarks[2:] = ["Without messages: ../shared/data is not there."]
    return ResultTable("FILTERTOOL, one core", columns, rows, tuple(remarks))


def _university(scale: float) -> list[list[str | int | float]]:
    university = scenario("university")
    queries = university.queries(max(10, int(2_000 * scale)))
    document = b"".join(university.document(max(50_000, int(5_088_000 * scale))))
    scheme = prepare(university.schema(), queries, 5)
    lxml = _lxml_seconds([document], queries)
    return [
        ["university", len(queries), select, *_figures(scheme, [document], select, lxml)]
        for select in ("doc", "count", "nodes")
    ]


def _messages(data: Path | None, scale: float) -> list[list[str | int | float]]:
    if data is None:
        return []
    schema = Schema.load(data / "nitf" / "nitf.dtd", "nitf")
    every = Subscriptions.load(data / "nitf" / "nested1.tsv.gz")
    documents = [path.read_bytes() for path in sorted((data / "nitf" / "docs").glob("*.xml"))]
    rows: list[list[str | int | float]] = []
    for size in _SIZES:
        part = Subscriptions.of(every[: max(10, int(size * scale))])
        lxml = _lxml_seconds(documents[:20], part)
        figures = _figures(prepare(schema, part, 5), documents, "doc", lxml)
        rows.append(["nitf messages", len(part), "doc", *figures])
    return rows


def _figures(
    scheme: Scheme, documents: Sequence[bytes], select: Select, lxml: float
) -> list[float | int]:
    """Milliseconds a document and what follows from them."""
    filter_ = document_filter(scheme, load_matcher(AUTO), Options(select=select))
    named = [(str(number), document) for number, document in enumerate(documents)]
    seconds = best(lambda: filter_.process(named)) / len(documents)
    return [seconds * 1e3, 1 / seconds, lxml * 1e3, lxml / seconds]


def _lxml_seconds(documents: Sequence[bytes], queries: Subscriptions) -> float:
    """What evaluating all queries on one parsed document takes, on average."""
    step = max(1, len(queries) // _LXML)
    some = [etree.XPath(one.xpath) for one in queries[::step]]
    trees = [etree.fromstring(document).getroottree() for document in documents]

    def evaluate() -> None:
        for tree in trees:
            for query in some:
                query(tree)

    return best(evaluate, 1) / len(trees) * len(queries) / len(some)


def best(work: Callable[[], object], turns: int = _TURNS) -> float:
    """The least time of some turns, in seconds of this process."""
    best = float("inf")
    for _ in range(turns + 1):  # the first one also compiles
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
    return best
