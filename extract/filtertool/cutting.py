"""Cuts documents into units.

A document of usual size is read into memory, and units are views of it: their tables count bytes of
the document. Of a large one only what the parts keep stays in memory: there, tables count bytes of
the part, and an *origin* turns these into bytes of the document.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from extract.chunktool.automaton import Automaton
from extract.chunktool.chunks import ChunkSink
from extract.chunktool.cut import gather
from extract.chunktool.manifest import ChunkMap
from extract.chunktool.nodes import within
from extract.chunktool.outputs import Output
from extract.chunktool.pile import read_all
from extract.chunktool.scan import Numbers
from extract.chunktool.scanner import BatchSink, Outcome, Sink, Verdict, scan
from extract.chunktool.source import Document, Source, open_source
from extract.filtertool.matcher import Unit
from extract.filtertool.options import IN_MEMORY, Options
from extract.filtertool.query_plan import QueryPlan
from extract.filtertool.table import NodeTable
from extract.filtertool.units import DocumentUnits, Origin
from extract.limits import Limits
from extract.scheme.model import Scheme


class DocumentCutter:
    """Cuts documents into units.

    Args:
        scheme: The scheme, whose schema documents are to keep to.
        outputs: The parts, one for each unit.
        assume_valid: Trust that documents keep to the schema.
        limits: How large documents may be.
        kernel: Which scanner to use; None for the fastest.
        in_memory: Up to how many bytes a document is read into memory.
    """

    def __init__(
        self,
        scheme: Scheme,
        outputs: Sequence[Output],
        assume_valid: bool = False,
        limits: Limits | None = None,
        kernel: bool | None = None,
        in_memory: int = IN_MEMORY,
    ) -> None:
        self._scheme = scheme
        self._outputs = tuple(outputs)
        self._assume_valid = assume_valid
        self._limits = limits
        self._kernel = kernel
        self._in_memory = in_memory
        self._automaton = self._new_automaton()

    @classmethod
    def of(cls, plan: QueryPlan, options: Options) -> DocumentCutter:
        """Makes the cutter that gives the units of a plan."""
        return cls(
            plan.scheme,
            plan.outputs,
            options.assume_valid,
            options.limits,
            options.kernel,
            options.in_memory,
        )

    def _new_automaton(self) -> Automaton:
        return Automaton(self._scheme, self._outputs, self._assume_valid)

    def cut(self, name: str, document: Document) -> DocumentUnits:
        """Reads and scans one document.

        Args:
            name: What messages call it; empty for its path.
            document: The document.

        Raises:
            DocumentError: It cannot be read, is not well-formed, or passes a limit.
        """
        with open_source(document, name, self._limits) as source:
            data = source.load(self._in_memory)
            return self._cut_large(source) if data is None else self._cut_loaded(source, data)

    def _cut_loaded(self, source: Source, data: bytes) -> DocumentUnits:
        sink = BatchSink()
        outcome = self._scan(source, sink)
        name, size = source.name, len(data)
        if not outcome.conforming:
            return DocumentUnits(name, size, outcome, lambda: data, reason=outcome.reason)
        (batch,) = sink.batches  # a document in memory is one window
        table = NodeTable.of(data, self._automaton, sink.batches)
        units = [_unit(table, ranges, len(batch.ranges)) for ranges in batch.ranges]
        return DocumentUnits(name, size, outcome, lambda: data, units, [None] * len(units))

    def _scan(self, source: Source, sink: Sink) -> Outcome:
        outcome = scan(source, self._automaton, sink, self._limits, True, self._kernel)
        if outcome.verdict is Verdict.WHOLE:
            self._automaton = self._new_automaton()  # it may be full
        return outcome

    def _cut_large(self, source: Source) -> DocumentUnits:
        sink = ChunkSink(self._automaton, True)
        outcome = self._scan(source, sink)
        source.keep()

        def read() -> bytes:
            return b"".join([bytes(window) for window in source.windows()])

        if not outcome.conforming:
            size = sum(map(len, source.windows())) if outcome.size < 0 else outcome.size
            return DocumentUnits(source.name, size, outcome, read, reason=outcome.reason)
        found = sink.nodes.table(sink.automaton)
        elements, leaves = found.elements, found.leaves
        table = NodeTable(
            b"",
            sink.automaton,
            elements.state,
            elements.parent,
            elements.start,
            elements.content,
            elements.close,
            elements.end,
            elements.position,
            elements.symbol,
            leaves.parent,
            leaves.kind,
            leaves.start,
            leaves.end,
            leaves.number,
        )
        ranges = [each.array() for each in sink.ranges]
        units = [
            Unit(moved, moved.data)
            for moved in (
                _moved(subtable(table, each), each, read_all(sink.piles[number]))
                for number, each in enumerate(ranges)
            )
        ]
        origins = [_origin(each) for each in ranges]
        return DocumentUnits(source.name, outcome.size, outcome, read, units, origins)


def _unit(table: NodeTable, ranges: Numbers, parts: int) -> Unit:
    own = subtable(table, ranges) if parts > 1 else table
    return Unit(own, lambda: gather(memoryview(table.data), ranges))


def subtable(table: NodeTable, ranges: Numbers) -> NodeTable:
    """The rows of what an output keeps.

    Args:
        table: The rows of all outputs of a scan.
        ranges: The bytes that the output keeps.
    """
    rows = within(table.start, ranges)
    leaves = within(table.leaf_start, ranges)
    if rows.all() and leaves.all():
        return table
    number = np.cumsum(rows, dtype=np.int32) - 1
    # With an element its parent is kept, and so is that of a leaf; -1 is none and stays.
    parent, leaf_parent = table.parent[rows], table.leaf_parent[leaves]
    return NodeTable(
        table.data,
        table.automaton,
        table.state[rows],
        np.where(parent < 0, -1, number[parent]).astype(np.int32),
        table.start[rows],
        table.content[rows],
        table.close[rows],
        table.end[rows],
        table.position[rows],
        table.symbol[rows],
        np.where(leaf_parent < 0, -1, number[leaf_parent]).astype(np.int32),
        table.leaf_kind[leaves],
        table.leaf_start[leaves],
        table.leaf_end[leaves],
        table.leaf_number[leaves],
    )


def _moved(table: NodeTable, ranges: Numbers, data: bytes) -> NodeTable:
    """The table of a part, with offsets into the part instead of the document."""
    ends = np.cumsum(ranges[:, 1] - ranges[:, 0])

    def first(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        which = np.searchsorted(ranges[:, 0], offsets, "right") - 1
        found: NDArray[np.int64] = ends[which] - (ranges[which, 1] - offsets)
        return found

    def after(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        return first(offsets - 1) + 1  # the byte itself may not be there

    return NodeTable(
        data,
        table.automaton,
        table.state,
        table.parent,
        first(table.start),
        after(table.content),
        np.where(
            table.close == table.end,
            after(table.end),
            first(np.minimum(table.close, table.end - 1)),
        ),
        after(table.end),
        table.position,
        table.symbol,
        table.leaf_parent,
        table.leaf_kind,
        first(table.leaf_start),
        after(table.leaf_end),
        table.leaf_number,
    )


def _origin(ranges: Numbers) -> Origin:
    none = np.empty(0, np.int64)
    return ChunkMap(ranges, none, none.astype(np.int32)).original
