"""``extract bench real``: real queries on real documents, next to a loop over lxml's XPaths."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from lxml import etree

from extract.bench.made_sets import made_sets
from extract.bench.plain_lxml import PlainLoop
from extract.bench.real_part import measured_part
from extract.bench.real_run import is_quick, run_seconds
from extract.bench.real_sets import RealSet, real_sets, whole_sets
from extract.bench.table import ResultTable
from extract.errors import ExtractError
from extract.filtertool.job import Job
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.matchers.registry import AUTO, load_matcher
from extract.filtertool.options import Options
from extract.live_filter import Filter
from extract.preptool.prepare import prepare
from extract.scheme import Scheme

_OTHERS: Final = ("push", "columnar", "lxml")
_SELECTS: Final[tuple[Select, ...]] = ("doc", "count", "nodes")
_LOOP_SECONDS: Final = 0.2  # that the loop may take for all documents of a set, about
_TURNS: Final = 5
_LONG: Final = 1.5  # seconds after which there are no more turns
_SHORT: Final = 0.05  # seconds of a single matcher for a document, from which on one turn is enough
_ENOUGH: Final = 1.0  # seconds for a single matcher; from there on the rest is extrapolated
_FEW: Final = 10  # queries, on documents that are not large
_SMALL: Final = 32_000  # bytes of such a document
_NOISE: Final = 0.05  # seconds; less than that cannot be told from how starting varies
_LARGE_PIECE: Final = 1 << 16
_RUN_SECONDS: Final = 10.0  # that the loop may take in a whole run; else a part is run
_STAGES: Final = ("push", "excluded", "columns", "lxml", "whole")
_COLUMNS: Final = ("set", "documents", "KB", "queries", "prepare", "select", "loop ms")

Work = Callable[[], object]
Row = list[str | int | float]


def run(data: Path | None, scale: float = 1.0) -> ResultTable:
    """Every set of real data: what a loop takes, and how many times as long extract takes.

    Next to several sets there are two of made data (`made_sets`).

    Raises:
        ExtractError: There is no real data.
    """
    if data is None:
        reason = "bench real measures real data, and there is none"
        raise ExtractError(reason, "name a folder with --data DIR: docs, schema and queries")
    sets = [list(_rows_of(one, scale)) for one in real_sets(data, scale)]
    if not sets:
        raise ExtractError(f"{data} has no folder with docs, a schema and queries")
    if len(sets) > 1:  # not for someone's own set
        sets += [list(_rows_of(one, scale)) for one in made_sets(scale)]
    rows = [row for own in sets for row in own]
    rows += [_run_row(one, scale) for one in whole_sets(data)]
    shares = [f"% {stage}" for stage in _STAGES]
    columns = (*_COLUMNS, "each", "batch", "table", "best", *_OTHERS, *shares)
    remarks = (
        "Processor time of one core, from bytes to rows, warm; medians of turns that alternate.",
        "Loop: etree.XPath for each query, compiled before, on the parsed document; for nodes with",
        "the same columns, but for offsets. Each, batch: how many times as long extract takes,",
        "document by document, and all in one call; below 1 is faster. Table: Filter.table for",
        "each document, next to the loop with a pyarrow.Table of its rows. Best: auto next to the",
        "best single matcher, each the least of some turns. Then these next to the loop, document",
        "by document; what takes longer than a second is extrapolated from the first documents,",
        "by bytes; - where they are not measured. Where queries are some of many, the loop would",
        "take minutes for all: the rest is left out on both sides. Few: ten queries, documents of",
        "less than 32 KB. Run: `extract run --engine local` next to a script that has the loop in",
        "as many processes and writes Parquet, processor time of all processes, without that for",
        "the smallest document; noise where what is left is less than 0.05 s.",
        "Prepare: in units of compiling all queries with etree.XPath. Percent: what answered pairs",
        "of query and document: push, also where it excludes a match; the others the rest.",
    )
    return ResultTable("Real queries next to plain lxml", columns, rows, remarks)


def _rows_of(whole: RealSet, scale: float) -> Iterator[Row]:
    started = time.process_time()
    scheme = prepare(whole.schema, whole.queries, "auto")
    units = (time.process_time() - started) / _compiling_seconds(whole)
    one = measured_part(whole, _LOOP_SECONDS * scale)
    if len(one.queries) < len(whole.queries):
        scheme = prepare(one.schema, one.queries, "auto")
    for own, others in ((one, _OTHERS), (one.broken(), ())):
        for select in _SELECTS:
            yield _row(own, whole, units, select, _measured(own, scheme, select, others))
    few = whole.small(_SMALL).part(_FEW, _FEW)
    if few.documents:
        few = replace(few, name=f"{whole.name}, few")
        scheme = prepare(few.schema, few.queries, "auto")
        for own in (few, few.broken()):
            for select in _SELECTS:
                yield _row(own, whole, "-", select, _measured(own, scheme, select, ()))


def _run_row(whole: RealSet, scale: float) -> Row:
    one = whole.part(int(len(whole.queries) * scale), len(whole.documents))
    if not is_quick(one, _RUN_SECONDS):
        one = measured_part(one, _LOOP_SECONDS)
    spent = run_seconds(one, prepare(one.schema, one.queries, "auto"))
    loop: str | float = "noise" if spent.loop < _NOISE else spent.loop * 1e3
    ratio: str | float = "noise" if min(spent) < _NOISE else spent.ours / spent.loop
    others: Row = ["-"] * (2 + len(_OTHERS) + len(_STAGES))
    return [*_facts(one, whole, "-"), "run", loop, "-", ratio, *others]


def _facts(own: RealSet, whole: RealSet, units: str | float) -> Row:
    return [
        own.name,
        len(own.documents),
        round(sum(map(len, own.documents)) / len(own.documents) / 1000),
        _some_of(len(own.queries), len(whole.queries)),
        units,
    ]


def _row(
    own: RealSet, whole: RealSet, units: str | float, select: Select, measured: _Measured
) -> Row:
    facts = _facts(own, whole, units)
    return [*facts, select, measured.loop * 1e3, *measured.ratios, *measured.shares]


def _some_of(measured: int, every: int) -> str:
    """How many queries were measured.

    >>> _some_of(3, 3), _some_of(8, 2000)
    ('3', '8 of 2,000')
    """
    return f"{measured:,}" if measured == every else f"{measured:,} of {every:,}"


def _compiling_seconds(one: RealSet) -> float:
    started = time.process_time()
    for query in one.queries:
        try:
            etree.XPath(query.xpath, namespaces=dict(query.namespaces))
        except etree.XPathError:
            continue
    return time.process_time() - started


class _Measured(NamedTuple):
    """Seconds of the loop, the ratios of extract to it, and what part each stage has answered."""

    loop: float
    ratios: Sequence[str | float]
    shares: Sequence[float]


def _measured(one: RealSet, scheme: Scheme, select: Select, others: Sequence[str]) -> _Measured:
    loop = PlainLoop(one.queries, select)
    named = [(str(number), document) for number, document in enumerate(one.documents)]
    ready = Job(scheme, load_matcher(AUTO), Options(select)).filter()
    tables = Filter(scheme, select)

    def plain() -> None:
        for document in one.documents:
            loop.rows(document)

    def plain_tables() -> None:
        for name, document in named:
            loop.table(name, document)

    main: list[Work] = [
        plain,
        lambda: [ready.process([document]) for document in named],
        lambda: ready.process(named),
        plain_tables,
        lambda: [tables.table([document]) for document in named],
    ]
    for learning in (*main[1:3], main[4], *main[1:3], main[4]):
        learning()  # compiles, and learns what documents cost
    before = dict(ready.figures())
    seconds = _medians(main, _TURNS)
    shares = _shares(before, ready.figures())
    auto, *single = [
        _bounded(Job(scheme, load_matcher(name), Options(select)).filter().process, named)
        for name in (AUTO, *others)
    ]
    ratios: list[str | float] = [seconds[1] / seconds[0], seconds[2] / seconds[0]]
    ratios.append(seconds[4] / seconds[3])
    ratios.append(auto / min(single) if single else "-")
    ratios += [spent / seconds[0] for spent in single] or ["-"] * len(_OTHERS)
    return _Measured(seconds[0], ratios, shares)


def _bounded(
    process: Callable[[Sequence[tuple[str, bytes]]], object], named: Sequence[tuple[str, bytes]]
) -> float:
    """Seconds for documents one by one, warm; extrapolated if they are many."""
    spent = read = 0.0
    for document in named:
        process([document])  # compiles
        spent += _least(lambda: process([document]))  # noqa: B023
        read += len(document[1])
        if spent > _ENOUGH:
            break
    return spent * sum([len(data) for _, data in named]) / read


def _least(work: Work) -> float:
    """The least seconds of some turns, or of one that takes long: a turn of a millisecond, alone,
    may take several times as long as the next."""
    turns: list[float] = []
    while len(turns) < _TURNS and sum(turns) < _SHORT:
        turns.append(_seconds(work))
    return min(turns)


def _medians(works: Sequence[Work], most: int) -> list[float]:
    """The median seconds of each work, measured in turns."""
    turns: list[list[float]] = [[] for _ in works]
    started = time.process_time()
    for _ in range(most):
        for own, work in zip(turns, works, strict=True):
            own.append(_seconds(work))
        if time.process_time() - started > _LONG:
            break
    return [median(own) for own in turns]


def _seconds(work: Work) -> float:
    started = time.process_time()
    work()
    # The C library puts the pieces of a freed tree together when somebody next asks for a large
    # piece: that takes a third as long as to parse, and is the work of who has freed the tree.
    bytearray(_LARGE_PIECE)
    return time.process_time() - started


def _shares(before: Mapping[str, float], after: Mapping[str, float]) -> list[float]:
    """What part of the pairs of query and document each stage has answered, in percent."""
    names = [f"pairs_{stage}" for stage in _STAGES]
    pairs = [after.get(name, 0) - before.get(name, 0) for name in names]
    total = max(1.0, sum(pairs))
    return [100 * float(number) / total for number in pairs]
