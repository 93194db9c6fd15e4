"""``extract bench prep``: what each number of chunks costs, and how near auto comes to the best.

For each scheme a document is cut, each chunk parsed with lxml, and each of its branches evaluated
as one compiled XPath. Sequential cost is the sum; parallel cost is the cutting and then the chunks
on two workers, the longest first, computed from the same times.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TypeAlias

from lxml import etree

from extract.bench.cases import Case, cases
from extract.bench.table import ResultTable
from extract.chunktool.chunks import chunk
from extract.markup.lxml_parser import parse_tree
from extract.preptool.costing.cost import makespan
from extract.preptool.prepare import prepare
from extract.scheme.model import Scheme

_CHUNKS = range(1, 13)
_WORKERS = 2
_TURNS = 5

Key: TypeAlias = tuple[object, ...]  # a document and a chunk of it


def run(data: Path | None, scale: float = 1.0) -> ResultTable:
    """Measures 1 to 12 chunks and ``auto`` on each case."""
    rows: list[list[str | int | float]] = []
    for case in cases(data, scale):
        rows.extend(_rows(case))
    columns = ("case", "chunks", "cut ms", "sequential ms", "x best", "parallel ms", "x best par.")
    remarks: tuple[str, ...] = (
        "Milliseconds of processor time for all documents of a case. x best: against the best of 1",
        "to 12 chunks. auto, 1 worker: chosen for the least work, to compare in the sequential",
        f"column; auto, {_WORKERS} workers: for the parallel one. A scheme reduced to what is",
        "looked at (projected) may be better than any of the fixed ones.",
    )
    if data is None:
        remarks = (*remarks, "Only the scenarios: ../shared/data is not there.")
    return ResultTable("PREPTOOL: chunks and their cost", columns, rows, remarks)


def _rows(case: Case) -> Iterator[list[str | int | float]]:
    schemes: dict[str, Scheme] = {}
    for count in _CHUNKS:
        scheme = _scheme(case, count)
        if len(scheme.chunks) == count:  # else the queries give no more
            schemes[str(count)] = scheme
    for workers in (1, _WORKERS):
        scheme = _scheme(case, "auto", workers)
        label = f"auto, {workers} worker{'s' if workers > 1 else ''}: {len(scheme.chunks)}"
        schemes[label] = scheme
    costs = _Stopwatch(case.documents).costs(schemes)
    fixed = [cost for name, cost in costs.items() if name.isdecimal()]
    best = [min(cost[column] for cost in fixed) for column in (1, 2)]
    for name, (cut, sequential, parallel) in costs.items():
        yield [
            case.name,
            name,
            cut * 1000,
            sequential * 1000,
            _ratio(sequential / best[0]),
            parallel * 1000,
            _ratio(parallel / best[1]),
        ]


def _ratio(value: float) -> str:
    return "best" if value == 1.0 else f"{value:.2f}"


def _scheme(case: Case, chunks: int | Literal["auto"], workers: int = 1) -> Scheme:
    samples = case.samples if chunks == "auto" else ()
    return prepare(case.schema, case.queries, chunks, sample=samples, workers=workers)


class _Stopwatch:
    """Measures schemes of the same queries; a chunk that several of them have is measured once.

    Everything is measured in turn, and then again, and the best counts: so that all schemes have
    had a quiet moment of a machine that others use as well.
    """

    def __init__(self, documents: list[bytes]) -> None:
        self._documents = documents
        self._chunks: dict[Key, bytes] = {}
        self._queries: dict[Key, list[etree.XPath]] = {}
        self._compiled: dict[str, etree.XPath] = {}
        self._seconds: dict[Key, float] = {}

    def costs(self, schemes: dict[str, Scheme]) -> dict[str, tuple[float, float, float]]:
        """Seconds for all documents: to cut them; all in all; and the same on several workers."""
        cuts: dict[tuple[str, int], float] = {}
        keys: dict[tuple[str, int], list[Key]] = {}
        for turn in range(_TURNS):
            for name, scheme in schemes.items():
                for number in range(len(self._documents)):
                    seconds, parts = self._cut(scheme, number)
                    place = (name, number)
                    cuts[place] = min(seconds, cuts.get(place, seconds))
                    if not turn:
                        keys[place] = [self._add(scheme, number, *part) for part in parts]
            for key in self._chunks:
                seconds = self._filter(key)
                self._seconds[key] = min(seconds, self._seconds.get(key, seconds))
        timings = {}
        for name in schemes:
            cut = sequential = parallel = 0.0
            for number in range(len(self._documents)):
                times = [self._seconds[key] for key in keys[name, number]]
                cut += cuts[name, number]
                sequential += cuts[name, number] + sum(times)
                parallel += cuts[name, number] + makespan(times, _WORKERS)
            timings[name] = (cut, sequential, parallel)
        return timings

    def _cut(self, scheme: Scheme, number: int) -> tuple[float, list[tuple[str, bytes]]]:
        started = time.process_time()
        parts = [(part.id, part.xml()) for part in chunk(scheme, self._documents[number])]
        return time.process_time() - started, parts

    def _add(self, scheme: Scheme, number: int, name: str, xml: bytes) -> Key:
        """Registers a chunk of a document."""
        [one] = [one for one in scheme.every_chunk if one.id == name]
        key = (number, one.prefix, one.whole, one.wants, one.branches)
        if key not in self._chunks:
            namespaces = dict(scheme.namespaces)
            xpaths = scheme.directory.xpaths_in(one)
            for xpath in xpaths:
                if xpath not in self._compiled:
                    self._compiled[xpath] = etree.XPath(xpath, namespaces=namespaces)
            self._queries[key] = [self._compiled[xpath] for xpath in xpaths]
            self._chunks[key] = xml
        return key

    def _filter(self, key: Key) -> float:
        """The time to parse a chunk and to evaluate its branches."""
        started = time.process_time()
        tree = parse_tree(self._chunks[key])
        for query in self._queries[key]:
            query(tree)
        return time.process_time() - started
