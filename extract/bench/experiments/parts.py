"""Our own parts against each other: columnar against lxml, the kernel against the reference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from extract.bench.experiments.clock import best
from extract.bench.experiments.results import Bar, BarChart, Check, Section
from extract.bench.experiments.subject import Subject, described, megabytes, named
from extract.bench.table import ResultTable
from extract.chunktool.scan.driver import kernel_available
from extract.filtertool.document_filter import Options, document_filter
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.results.outcome import DocumentOutcome
from extract.scheme import Scheme

_QUERIES = 2_000  # one XPath for each of more would take too long
_PAIRS = "pairs of document and query"
_Answers = tuple[NDArray[np.int64], ...]


def parts(subject: Subject) -> Section:
    """The two matchers and the two scanners on the same scheme and documents."""
    queries, documents = min(len(subject.queries), _QUERIES), subject.few_documents
    scheme = subject.scheme(queries)
    size = megabytes(documents)
    rows: list[list[str | int | float]] = []
    bars, checks = [], []
    selects: tuple[Select, ...] = ("count", "nodes")
    for select in selects:
        what = "numbers" if select == "count" else "every node"
        unit = _PAIRS if select == "count" else "nodes, by their bytes"
        by_matcher: dict[str, list[_Answers]] = {}
        for matcher in ("columnar", "lxml"):
            seconds, by_matcher[matcher] = _measure(scheme, documents, matcher, Options(select))
            ours = matcher == "columnar"
            rows.append([f"matcher {matcher}", what, seconds * 1e3, size / seconds])
            bars.append(Bar(f"{matcher}, {what}", (("", seconds),), ours=ours))
        checks.append(
            _same(
                f"matchers columnar and lxml, {what}",
                unit,
                by_matcher["columnar"],
                by_matcher["lxml"],
            )
        )
    if kernel_available():
        scanned: list[list[_Answers]] = []
        for name, kernel in (("in C (kernel)", True), ("in Python (reference)", False)):
            options = Options("count", kernel=kernel)
            seconds, answers = _measure(scheme, documents, "columnar", options)
            scanned.append(answers)
            rows.append([f"scanner {name}", "numbers", seconds * 1e3, size / seconds])
        bars.append(Bar("scanner in Python, numbers", (("", seconds),)))
        checks.append(_same("scanners in C and in Python, numbers", _PAIRS, *scanned))
    columns = ("what", "select", "ms", "MB/s")
    remarks = () if kernel_available() else ("The kernel is not built here: Python scans.",)
    title = f"{queries:,} queries, {described(documents)}"
    words = (
        "The same scheme and the same documents, all in all: cut and match. The columnar matcher "
        "evaluates a condition that many queries share once, on columns; the lxml matcher one "
        "XPath for each different query and chunk. The kernel is the scanner in C, the reference "
        "the one in Python that does what the kernel leaves to it."
    )
    table = ResultTable(title, columns, rows, remarks)
    chart = BarChart(title, "s", tuple(bars), log=True)
    return Section("Our own parts, side by side", words, (chart,), (table,), tuple(checks))


def _measure(
    scheme: Scheme, documents: Sequence[bytes], matcher: str, options: Options
) -> tuple[float, list[_Answers]]:
    filter_ = document_filter(scheme, load_matcher(matcher), options)
    # The first turn also builds what is kept for all documents; the best one is another.
    seconds, done = best(lambda: filter_.process(named(documents)))
    return seconds, [_answers(one) for one in done]


def _answers(done: DocumentOutcome) -> tuple[NDArray[np.int64], ...]:
    """Who has found how many nodes, and where they are."""
    findings = done.findings
    spans = findings.described.lists()
    start, end = (np.array([-1 if n is None else n for n in ns]) for ns in (spans.start, spans.end))
    node = findings.node
    where = (start[node], end[node]) if len(node) else ()
    return tuple(np.asarray(n, np.int64) for n in (findings.subscriber, findings.count, *where))


def _same(what: str, unit: str, one: Sequence[_Answers], other: Sequence[_Answers]) -> Check:
    holds = len(one) == len(other) and all(
        len(ours) == len(theirs) and all(map(np.array_equal, ours, theirs))
        for ours, theirs in zip(one, other, strict=True)
    )
    return Check(what, holds, f"{sum(len(answers[0]) for answers in one):,} {unit}")
