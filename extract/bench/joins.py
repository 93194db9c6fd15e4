"""``extract bench joins``: the paper's workloads, next to one query at a time."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from extract.bench.join_data import (
    complex_document,
    complex_queries,
    rss_items,
    rss_queries,
    simple_document,
    simple_queries,
)
from extract.bench.join_engines import engine_remarks
from extract.bench.table import ResultTable
from extract.filtertool.joins.documents import JoinDocument
from extract.filtertool.joins.engine import JoinEngine
from extract.filtertool.joins.members import JoinMember
from extract.filtertool.joins.plan import StreamCounts
from extract.limits import DEFAULTS
from extract.xscl.ast import XsclQuery
from extract.xscl.parser import parse_xscl

_COUNTS = (1_000, 10_000, 100_000)
_SAMPLE = 100  # queries that are evaluated one at a time
_ITEMS = 1_000
_WINDOW = 300  # seconds; an item a second
_BEST_OF = 3
_FEEDS = ((1_000, 2_000), (100_000, 300))  # queries and items for all engines
_LARGE = 0.1  # the scale from which on Spark is measured
_MANY = 20_000  # queries from which on things are measured once

Row = list[str | int | float]


class _Times(NamedTuple):
    """What documents took: seconds of the processor, and how many rows there were."""

    read: float
    join: float
    rows: int

    @property
    def both(self) -> float:
        return self.read + self.join


def run(data: Path | None, scale: float = 1.0) -> ResultTable:
    """Joins documents for many queries at once, and for each alone; one core."""
    del data  # the paper's feeds are not to be had
    rows: list[Row] = []
    items = list(rss_items(max(20, int(_ITEMS * scale))))
    workloads: list[tuple[str, Callable[[int, int], dict[str, str]], list[bytes]]] = [
        ("simple schema, 2 documents", simple_queries, [simple_document()] * 2),
        ("complex schema, 2 documents", complex_queries, [complex_document()] * 2),
        ("RSS items, window of 300", rss_queries, items),
    ]
    for name, queries, documents in workloads:
        for count in _COUNTS:
            many = max(10, int(count * scale))
            rows.append(_row(name, list(queries(many, _WINDOW).values()), documents))
    for window in (30, 300, 3_000):
        texts = list(rss_queries(max(10, int(10_000 * scale)), window).values())
        rows.append(_row(f"RSS items, window of {window:,}", texts, items))
    for leaves in (4, 8, 12):
        texts = list(simple_queries(max(10, int(10_000 * scale)), _WINDOW, leaves).values())
        rows.append(_row(f"{leaves} leaves, 2 documents", texts, [simple_document(leaves)] * 2))
    for zipf in (0.0, 1.6):
        many = max(10, int(10_000 * scale))
        texts = list(simple_queries(many, _WINDOW, zipf=zipf).values())
        rows.append(_row(f"Zipf {zipf:g}, 2 documents", texts, [simple_document()] * 2))
    columns = (
        "workload", "queries", "graphs", "templates", "register s", "documents a second",
        "rows", "kept, bytes each", "x one at a time", "x, joins alone", "x, views not shared",
    )  # fmt: skip
    remarks = (
        "x one at a time: against an engine for each query, which reads each document for itself;",
        f"measured on {_SAMPLE} of the queries, and multiplied. Joins alone: without the time in",
        "which patterns are evaluated, as in the paper. Views not shared: against join graphs that",
        "each look for the documents with their values, with the same index.",
        "Documents and queries are made after the description in the paper.",
        f"Items of the feed have {sum(map(len, items)) // len(items)} bytes each.",
        *engine_remarks(
            [(max(10, int(q * scale)), max(10, int(items * scale))) for q, items in _FEEDS],
            scale >= _LARGE,
        ),
    )
    return ResultTable("Joins between documents, one core", columns, rows, remarks)


def _row(name: str, texts: Sequence[str], documents: Sequence[bytes]) -> Row:
    started = time.process_time()
    known: dict[str, XsclQuery] = {}
    parsed = [known.get(text) or known.setdefault(text, parse_xscl(text, {})) for text in texts]
    engine = _engine(parsed)
    register = time.process_time() - started
    gc.collect()
    gc.freeze()  # the queries: else each collection goes through all of them
    together, state = _measure(engine, documents), engine.state
    if len(parsed) <= _MANY:
        together = min([together, *_more(parsed, documents)], key=_total)
    step = max(1, len(parsed) // _SAMPLE)
    sample = parsed[::step]
    each = [_measure(_engine([query]), documents) for query in sample]
    times = len(parsed) / len(sample)
    alone = sum([one.both for one in each]) * times
    joins_alone = sum([one.join for one in each]) * times
    apart: str | float = "-"
    if len(parsed) <= _MANY:
        apart = _measure(_engine(parsed, shared=False), documents).join / together.join
    gc.unfreeze()
    return [
        name, len(parsed), engine.graphs(), engine.templates(), register,
        len(documents) / together.both, together.rows, state.bytes // max(1, state.documents),
        alone / together.both, joins_alone / together.join, apart,
    ]  # fmt: skip


def _engine(queries: Iterable[XsclQuery], shared: bool = True) -> JoinEngine:
    engine = JoinEngine(DEFAULTS, shared)
    for number, query in enumerate(queries):
        engine.add(JoinMember(number, f"q{number}", query.window.size, 0, ""), query)
    return engine


def _more(queries: Sequence[XsclQuery], documents: Sequence[bytes]) -> list[_Times]:
    """The same measurement again."""
    return [_measure(_engine(queries), documents) for _ in range(_BEST_OF - 1)]


def _total(times: _Times) -> float:
    return times.both


def _all_alike(moment: int, stream: str, published: bool) -> int:
    return moment


def _measure(engine: JoinEngine, documents: Sequence[bytes]) -> _Times:
    """Joins documents that come once a second; what is past its window is dropped."""
    counts, latest, rows = StreamCounts(), None, 0
    read = join = 0.0
    for number, data in enumerate(documents):
        moment = number * 1_000_000
        document = JoinDocument("S", str(number), moment, number, number, number, False, data)
        started = time.process_time()
        engine.read(document)
        between = time.process_time()
        rows += len(engine.join(document, counts, latest).rows)
        engine.keep(document)
        engine.release(partial(_all_alike, moment), counts)
        join += time.process_time() - between
        read += between - started
        latest = moment
        counts.inputs += 1
        counts.places["S"] += 1
    return _Times(read, join, rows)
