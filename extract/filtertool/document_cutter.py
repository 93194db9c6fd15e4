"""Cuts documents into units.

A document of usual size is read into memory, and its units are views of it: their tables hold
    offsets
in the document. Of a large document only the parts' bytes stay in memory: there, tables hold
offsets in the part, and an *origin* maps these to offsets in the document.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from extract.chunktool.automaton.automaton import Automaton
from extract.chunktool.automaton.outputs import Output
from extract.chunktool.chunks import ChunkSink
from extract.chunktool.input.source import Document, Source, open_source
from extract.chunktool.input.spill import read_all
from extract.chunktool.manifest import ChunkMap
from extract.chunktool.scan.byte_ranges import gather
from extract.chunktool.scan.driver import (
    BatchSink,
    Outcome,
    Sink,
    Verdict,
    kernel_scanner,
    scan,
)
from extract.chunktool.scan.node_table import NodeTable
from extract.chunktool.scan.protocol import HandOver, Numbers
from extract.errors import DocumentError
from extract.filtertool.matchers.protocol import Unit
from extract.filtertool.options import IN_MEMORY, Options
from extract.filtertool.query_plan import QueryPlan
from extract.filtertool.units import DocumentUnits, Origin
from extract.limits import Limits
from extract.scheme.model import Scheme

if TYPE_CHECKING:
    from extract.chunktool.scan.kernel import KernelScanner


class DocumentCutter:
    """Cuts documents into units.

    Args:
        scheme: The scheme, with the schema that documents are checked against.
        outputs: The parts, one for each unit.
        assume_valid: Trust that documents keep to the schema.
        limits: The largest document, depth and so on.
        kernel: Which scanner to use; None for the fastest.
        in_memory: The largest document, in bytes, that is read into memory.
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
        """Makes the cutter for the parts of a plan."""
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
            name: The document's name in messages; empty for its path.
            document: The document.

        Raises:
            DocumentError: The document cannot be read, is not well-formed, or exceeds a limit.
        """
        with open_source(document, name, self._limits) as source:
            data = source.load(self._in_memory)
            return self._cut_large(source) if data is None else self._cut_loaded(source, data)

    def table_of(self, data: bytes) -> NodeTable:
        """Returns the table of a document in memory that is known to conform, if there is one part.

        Raises:
            DocumentError: The document is not well-formed, or exceeds a limit.
        """
        kernel = self._native
        if kernel is not None:
            scanner = kernel(self._automaton, self._limits, True)
            try:
                scanner.feed(data)
                scanner.finish()
            except (HandOver, DocumentError):
                pass  # whoever cuts it says why
            else:
                if scanner.violation is None:
                    return NodeTable.of_batches(self._automaton, [scanner.take()], data)
        return self.cut("", data).units[0].table

    @cached_property
    def _native(self) -> type[KernelScanner] | None:
        return None if self._kernel is False else kernel_scanner()

    def _cut_loaded(self, source: Source, data: bytes) -> DocumentUnits:
        sink = BatchSink()
        outcome = self._scan(source, sink)
        name, size = source.name, len(data)
        if not outcome.conforming:
            return DocumentUnits(name, size, outcome, lambda: data, reason=outcome.reason)
        (batch,) = sink.batches  # a document in memory is one window
        table = NodeTable.of_batches(self._automaton, sink.batches, data)
        units = [_unit(table, ranges, len(batch.ranges)) for ranges in batch.ranges]
        return DocumentUnits(name, size, outcome, lambda: data, units, [None] * len(units))

    def _scan(self, source: Source, sink: Sink) -> Outcome:
        outcome = scan(source, self._automaton, sink, self._limits, True, self._kernel)
        if outcome.verdict is Verdict.WHOLE:
            self._automaton = self._new_automaton()  # the old one may be full
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
        table = sink.nodes.table(sink.automaton)
        ranges = [part.array() for part in sink.ranges]
        units = [
            Unit(moved, moved.data)
            for moved in (
                table.subset(part).relative_to(part, read_all(sink.piles[number]))
                for number, part in enumerate(ranges)
            )
        ]
        origins = [_origin(part) for part in ranges]
        return DocumentUnits(source.name, outcome.size, outcome, read, units, origins)


def _unit(table: NodeTable, ranges: Numbers, parts: int) -> Unit:
    own = table.subset(ranges) if parts > 1 else table
    return Unit(own, lambda: gather(memoryview(table.data), ranges))


def _origin(ranges: Numbers) -> Origin:
    none = np.empty(0, np.int64)
    return ChunkMap(ranges, none, none.astype(np.int32)).original
