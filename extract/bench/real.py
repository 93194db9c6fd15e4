"""``extract bench real``: real queries on real documents, next to a loop over lxml's XPaths."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Final

from lxml import etree

from extract.bench.plain_lxml import PlainLoop
from extract.bench.real_sets import RealSet, real_sets
from extract.bench.table import ResultTable
from extract.errors import ExtractError
from extract.filtertool.job import Job
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.matchers.registry import AUTO, load_matcher
from extract.filtertool.options import Options
from extract.preptool.prepare import prepare
from extract.scheme import Scheme

_OTHERS: Final = ("push", "columnar", "lxml")
_SELECTS: Final[tuple[Select, ...]] = ("doc", "count", "nodes")
_TURNS: Final = 5
_LONG: Final = 2.0  # seconds from which on one turn is enough
_COLUMNS: Final = (
    "set",
    "documents",
    "queries",
    "prepare",
    "select",
    "together",
    "loop ms",
    "auto ms",
)
_STAGES: Final = ("push", "excluded", "columns", "lxml", "whole")

Work = Callable[[], object]


def run(data: Path | None, scale: float = 1.0) -> ResultTable:
    """Every set of real data: what a loop takes, and how many times as long extract takes.

    Raises:
        ExtractError: There is no real data.
    """
    if data is None:
        reason = "bench real measures real data, and there is none"
        raise ExtractError(reason, "name a folder with --data DIR: docs, schema and queries")
    rows = [row for one in real_sets(data, scale) for row in _rows_of(one)]
    if not rows:
        raise ExtractError(f"{data} has no folder with docs, a schema and queries")
    shares = [f"% {stage}" for stage in _STAGES]
    columns = (*_COLUMNS, AUTO, *_OTHERS, *shares)
    remarks = (
        "Processor time of one core, from bytes to rows, warm; medians of turns that alternate.",
        "Loop: etree.XPath for each query, compiled before, on the parsed document. From auto on,",
        "columns say how many times as long extract takes with a matcher: below 1 is faster.",
        "Prepare: in units of compiling the same queries with etree.XPath. Percent: what answered",
        "pairs of query and document: push, also where it excludes a match; the others the rest.",
    )
    return ResultTable("Real queries next to plain lxml", columns, rows, remarks)


def _rows_of(one: RealSet) -> Iterator[list[str | int | float]]:
    started = time.process_time()
    scheme = prepare(one.schema, one.queries, "auto")
    units = (time.process_time() - started) / _compiling_seconds(one)
    for select in _SELECTS:
        yield from _selected(one, scheme, units, select, _OTHERS)
    for select in _SELECTS:
        yield from _selected(one.broken(), scheme, units, select, ())


def _compiling_seconds(one: RealSet) -> float:
    started = time.process_time()
    for query in one.queries:
        try:
            etree.XPath(query.xpath, namespaces=dict(query.namespaces))
        except etree.XPathError:
            continue
    return time.process_time() - started


def _selected(
    one: RealSet, scheme: Scheme, units: float, select: Select, others: Sequence[str]
) -> Iterator[list[str | int | float]]:
    loop = PlainLoop(one.queries, select)
    named = [(str(number), document) for number, document in enumerate(one.documents)]
    filters = [Job(scheme, load_matcher(n), Options(select)).filter() for n in (AUTO, *others)]

    def plain() -> None:
        for document in one.documents:
            loop.rows(document)

    for together in (False, True) if len(named) > 1 else (False,):
        batches = [named] if together else [[document] for document in named]
        works = [_filtering(ready.process, batches) for ready in filters]
        before = dict(filters[0].figures())
        lxml, auto, *rest = _medians([plain, *works])
        shares = _shares(before, filters[0].figures())
        how = "batch" if together else "each"
        ratios = [seconds / lxml for seconds in (auto, *rest)]
        none = ["-"] * (len(_OTHERS) - len(rest))
        head: list[str | int | float] = [
            one.name,
            len(one.documents),
            len(loop),
            units,
            select,
            how,
        ]
        yield [*head, lxml * 1e3, auto * 1e3, *ratios, *none, *shares]


def _filtering(process: Callable[..., object], batches: Sequence[object]) -> Work:
    def work() -> None:
        for batch in batches:
            process(batch)

    return work


def _medians(works: Sequence[Work]) -> list[float]:
    """The median seconds of each work, measured in turns, after one that compiles.

    Compiling counts for nothing where the first turn takes long: then it is the only one.
    """
    first = [_seconds(work) for work in works]
    turns = [[seconds] if seconds > _LONG else [] for seconds in first]
    for _ in range(_TURNS):
        for number, work in enumerate(works):
            if first[number] <= _LONG:
                turns[number].append(_seconds(work))
    return [median(seconds) for seconds in turns]


def _seconds(work: Work) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def _shares(before: Mapping[str, float], after: Mapping[str, float]) -> list[float]:
    """What part of the pairs of query and document each stage has answered, in percent."""
    names = [f"pairs_{stage}" for stage in _STAGES]
    pairs = [after.get(name, 0) - before.get(name, 0) for name in names]
    total = max(1.0, sum(pairs))
    return [100 * number / total for number in pairs]
