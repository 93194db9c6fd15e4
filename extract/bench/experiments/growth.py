"""How time grows with documents, their size, and the number of queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lxml import etree

from extract.bench.experiments.clock import best
from extract.bench.experiments.ours import seconds_of
from extract.bench.experiments.results import Line, LineChart, Section
from extract.bench.experiments.subject import Subject, described, megabytes
from extract.bench.table import ResultTable
from extract.markup.lxml_parser import parse_tree
from extract.subscriptions import Subscription

_LXML: Final = 50  # queries that lxml is measured with
_LARGEST: Final = 20_000_000  # bytes of a document, or of documents together
_QUERIES: Final = 2_000  # for documents and sizes, where a scenario has very many

Points = list[tuple[float, float, float]]  # how many, our seconds, lxml's


def growth(subject: Subject) -> Section:
    """Three lines for us and three for lxml, on logarithmic axes."""
    queries = _queries(subject)
    sizes, documents = _sizes(subject), _documents(subject)
    columns = ("how many", "extract ms", "lxml ms", "x extract")
    few = min(len(subject.queries), _QUERIES)
    titles = (
        (f"Queries, on {described(subject.few_documents)}", "queries", queries),
        (f"Size of one document, {few:,} queries", "MB", sizes),
        (f"Number of documents, {few:,} queries", "documents", documents),
    )
    tables = tuple(
        ResultTable(title, (x, *columns[1:]), [[n, o * 1e3, t * 1e3, t / o] for n, o, t in points])
        for title, x, points in titles
    )
    charts = tuple(
        LineChart(
            title,
            x,
            "seconds",
            (
                Line("extract", tuple((n, o) for n, o, _ in points), ours=True),
                Line("lxml", tuple((n, t) for n, _, t in points)),
            ),
        )
        for title, x, points in titles
    )
    words = (
        "Processor time of one core from the bytes to the numbers of nodes; both axes are "
        "logarithmic. lxml parses and counts with one compiled XPath a query: it is measured with "
        f"{_LXML} queries and multiplied, where there are more."
    )
    return Section("How it grows", words, charts, tables)


def _queries(subject: Subject) -> Points:
    every = len(subject.queries)
    numbers = sorted({n for n in (10, 100, 1_000, 10_000) if n < every} | {every})
    documents = subject.few_documents
    return [
        (n, seconds_of(subject.scheme(n), documents), _lxml(subject, n, documents)) for n in numbers
    ]


def _sizes(subject: Subject) -> Points:
    usual = subject.scenario.generator.SIZE_BYTES
    most = max(20_000.0, min(_LARGEST, 64 * usual, max(4 * usual, 5e6)) * subject.scale)
    sizes = [most / 4**power for power in range(4, -1, -1)]
    count = min(len(subject.queries), _QUERIES)
    points: Points = []
    for size in sizes:
        documents = subject.scenario.documents(1, int(size))
        measured = seconds_of(subject.scheme(count), documents), _lxml(subject, count, documents)
        points.append((megabytes(documents), *measured))
    return points


def _documents(subject: Subject) -> Points:
    """The documents of the scenario, and the same again and again if there are not so many."""
    given = subject.documents
    size = len(given[0])
    most = max(4, min(1_024, int(_LARGEST * subject.scale / size)))
    count = min(len(subject.queries), _QUERIES)
    points: Points = []
    number = 1
    while number <= most:
        documents = [given[n % len(given)] for n in range(number)]
        few = documents[:8]  # for lxml each takes as long as the one before
        lxml = _lxml(subject, count, few) * number / len(few)
        points.append((number, seconds_of(subject.scheme(count), documents), lxml))
        number *= 2 if most < 64 else 4
    return points


def _lxml(subject: Subject, queries: int, documents: Sequence[bytes]) -> float:
    every: Sequence[Subscription] = subject.subscriptions(queries)
    some = every[:: max(1, len(every) // _LXML)]
    compiled = [etree.XPath(f"count({q.xpath})", namespaces=q.namespaces) for q in some]
    parsing, trees = best(lambda: [parse_tree(one) for one in documents])

    def evaluate() -> None:
        for tree in trees:
            for query in compiled:
                query(tree)

    return parsing + best(evaluate)[0] * len(every) / len(some)
