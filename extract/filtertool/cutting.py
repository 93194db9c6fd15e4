"""From a document to units: the parts that questions are asked of.

A document of usual size is read into memory, and units are views of it: their tables count bytes of
the document. Of a large one only what the parts keep stays in memory: there, tables count bytes of
the part, and an *origin* says where in the document those are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from extract.chunktool.automaton import Automaton
from extract.chunktool.chunks import ChunkSink
from extract.chunktool.cut import Window, gather
from extract.chunktool.manifest import ChunkMap
from extract.chunktool.nodes import NodeTable, Ranges
from extract.chunktool.outputs import Output
from extract.chunktool.pile import read_all
from extract.chunktool.scan import Batch, Numbers
from extract.chunktool.scanner import Outcome, Verdict, scan
from extract.chunktool.source import Document, Source, open_source, unpacked_source
from extract.filtertool.matcher import Unit
from extract.limits import Limits
from extract.scheme.model import Scheme

Origin: TypeAlias = Callable[[NDArray[np.int64]], NDArray[np.int64]]

IN_MEMORY: Final = 1 << 27  # bytes of a document that are read into memory


@dataclass(frozen=True, slots=True)
class Cut:
    """A document that was scanned.

    Attributes:
        name: What it is called.
        size: Its bytes; -1 if it was not read to its end.
        outcome: What the scan said.
        units: Its parts, in the order of the outputs; none unless it conforms.
        origins: For each unit where in the document the offsets of its table are; None if they are
            of the document.
        read: Reads the whole document.
        reason: Why it is to be evaluated whole; empty if it is not.
    """

    name: str
    size: int
    outcome: Outcome
    read: Callable[[], bytes] = field(repr=False)
    units: Sequence[Unit] = field(default=(), repr=False)
    origins: Sequence[Origin | None] = field(default=(), repr=False)
    reason: str = ""


class DocumentCutter:
    """Cuts documents.

    Args:
        scheme: Whose schema documents are to keep to.
        outputs: The parts.
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

    def _new_automaton(self) -> Automaton:
        return Automaton(self._scheme, self._outputs, self._assume_valid)

    def cut(self, name: str, document: Document) -> Cut:
        """Cuts one document.

        Args:
            name: What messages call it; empty for its path.
            document: The document.

        Raises:
            DocumentError: It cannot be read, is not well-formed, or passes a limit.
        """
        with open_source(document, name, self._limits) as source:
            data = read_up_to(source, self._in_memory)
            if data is None:
                return self._cut_large(source)
        with unpacked_source(data, source.name) as source:
            sink = _Kept(len(self._outputs))
            outcome = self._scan(source, sink)
        units: list[Unit] = []
        if outcome.conforming:
            table = NodeTable.of_batches(self._automaton, sink.batches, data)
            units = [_unit(table, ranges.array(), len(sink.ranges)) for ranges in sink.ranges]
        return Cut(
            source.name,
            len(data),
            outcome,
            lambda: data,
            units,
            [None] * len(units),
            outcome.reason,
        )

    def _scan(self, source: Source, sink: _Kept | ChunkSink) -> Outcome:
        outcome = scan(source, self._automaton, sink, self._limits, True, self._kernel)
        if outcome.verdict is Verdict.WHOLE:
            self._automaton = self._new_automaton()  # it may be full
        return outcome

    def _cut_large(self, source: Source) -> Cut:
        sink = ChunkSink(self._automaton, True)
        outcome = self._scan(source, sink)
        source.keep()

        def read() -> bytes:
            return b"".join([bytes(window) for window in source.windows()])

        if not outcome.conforming:
            size = sum(map(len, source.windows())) if outcome.size < 0 else outcome.size
            return Cut(source.name, size, outcome, read, reason=outcome.reason)
        table = sink.nodes.table(sink.automaton)
        ranges = [each.array() for each in sink.ranges]
        units = [
            Unit(moved, moved.data)
            for moved in (
                table.subset(each).relative_to(each, read_all(sink.piles[number]))
                for number, each in enumerate(ranges)
            )
        ]
        origins = [_origin(each) for each in ranges]
        return Cut(source.name, outcome.size, outcome, read, units, origins)


def read_up_to(source: Source, most: int) -> bytes | None:
    """The bytes of a document, or None if there are more than so many."""
    if source.memory is not None:
        whole = source.memory.obj
        return whole if isinstance(whole, bytes) else bytes(source.memory)
    parts: list[bytes] = []
    size = 0
    for window in source.windows():
        size += len(window)
        if size > most:
            return None
        parts.append(bytes(window))
    return b"".join(parts)


class _Kept:
    """Keeps what a scan finds."""

    def __init__(self, outputs: int) -> None:
        self._outputs = outputs
        self.restart()

    def restart(self) -> None:
        """Forgets everything."""
        self.batches: list[Batch] = []
        self.ranges = [Ranges() for _ in range(self._outputs)]

    def take(self, window: Window, batch: Batch) -> None:
        """Takes what was found in a window."""
        self.batches.append(batch)
        for number, ranges in enumerate(batch.ranges):
            self.ranges[number].add(ranges)


def _unit(table: NodeTable, ranges: Numbers, parts: int) -> Unit:
    own = table.subset(ranges) if parts > 1 else table
    return Unit(own, lambda: gather(memoryview(table.data), ranges))


def _origin(ranges: Numbers) -> Origin:
    none = np.empty(0, np.int64)
    return ChunkMap(ranges, none, none.astype(np.int32)).original
