"""Splitting: one huge chunk as many pieces of bounded size, each a well-formed document.

The *records* of a chunk are its elements at the chunk's prefix. Where no query looks beyond the
record that it is in (TRAPS 24; the scheme says so), records can be evaluated apart. A piece has
whole records that follow one another, and their ancestors' tags with all attributes; together the
pieces have every record once. Like a chunk, a piece consists of ranges of the original.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from extract.chunktool.chunks import (
    ChunkSink,
    DocumentChunk,
    OnNonconforming,
    borrowed_automaton,
    chunks_of,
    whole_document,
)
from extract.chunktool.cut import Window
from extract.chunktool.nodes import Ranges, within
from extract.chunktool.pile import Content
from extract.chunktool.scan import Batch, Elements, Ends, Numbers, Smalls
from extract.chunktool.scanner import Outcome, Verdict, scan
from extract.chunktool.source import Document, open_source
from extract.limits import Limits
from extract.scheme.model import Chunk, Scheme


class Pieces:
    """The pieces of all chunks of one document, made one at a time.

    Attributes:
        outcome: What the scan said of the document.
    """

    def __init__(self, outcome: Outcome, made: Iterator[DocumentChunk]) -> None:
        self.outcome = outcome
        self._made = made

    def __iter__(self) -> Iterator[DocumentChunk]:
        return self._made


def pieces(
    scheme: Scheme,
    document: Document,
    size: int,
    *,
    on_nonconforming: OnNonconforming = "fallback",
    assume_valid: bool = False,
    limits: Limits | None = None,
    name: str = "",
) -> Pieces:
    """Cuts a document into chunks, and those that can be split into pieces.

    A chunk that cannot be split, or has no record, comes as it is, and so does a document that is
    to be evaluated whole.

    Args:
        scheme: How to cut.
        document: Bytes, a path, ``"-"`` or a file object, as for `extract.chunk`.
        size: About how many bytes a piece has: a piece ends with the record that reaches it.
        on_nonconforming, assume_valid, limits, name: As for `extract.chunk`.

    Raises:
        DocumentError: As for `extract.chunk`; before the first piece is given out.
    """
    if size < 1:
        raise ValueError("a piece has at least one byte")
    with (
        open_source(document, name, limits) as source,
        borrowed_automaton(scheme, "chunks", assume_valid) as automaton,
    ):
        depths = [_depth(one) for one in scheme.every_chunk]
        sink = _PieceSink(ChunkSink(automaton, False), depths, size)
        outcome = scan(source, automaton, sink, limits, table=any(depths))
        if outcome.conforming:
            chunks = list(chunks_of(scheme, source, sink.chunks, outcome, None))
            return Pieces(outcome, _all(chunks, sink))
        if on_nonconforming == "reject" and outcome.verdict is Verdict.NONCONFORMING:
            raise outcome.rejection(source.name)
        return Pieces(outcome, iter([whole_document(scheme, source, outcome)]))


def _all(chunks: list[DocumentChunk], sink: _PieceSink) -> Iterator[DocumentChunk]:
    for one, splitter in zip(chunks, sink.splitters, strict=True):
        if splitter is None:
            yield one
        else:
            yield from _split(one, splitter, sink.ends)


def _depth(chunk: Chunk) -> int:
    """How deep the records of a chunk are; 0 if it cannot be split."""
    return chunk.prefix.count("/") if chunk.splittable and chunk.prefix and not chunk.whole else 0


class _Piece(NamedTuple):
    """Where a piece is, in bytes of the original.

    Attributes:
        above: Start tags of the first record's ancestors, from the root down.
        start: Where its first record begins.
        end: Where its last record ends.
        below: Rows of the last record's ancestors, from the root down: their end tags close it.
    """

    above: list[tuple[int, int]]
    start: int
    end: int
    below: list[int]


class _Near(NamedTuple):
    """The elements of a batch, as far as pieces are about them.

    Attributes:
        first: Row of the first of them.
        depth: How deep each is, 1 for the root; 0 for what is below the records.
        parent, start, content, close, end: As in the node table; the last two are -1 for elements
            that do not end in this batch.
        before: Close and end of elements of batches before that end in this one.
        open: Elements of batches before that were open at the beginning of this one and are not
            below records: parent, start, content, depth.
    """

    first: int
    depth: Numbers
    parent: Numbers
    start: Numbers
    content: Numbers
    close: Numbers
    end: Numbers
    before: dict[int, tuple[int, int]]
    open: dict[int, tuple[int, int, int, int]]

    def ancestors(self, record: int) -> list[tuple[int, int, int]]:
        """Row, start and content of an element's ancestors, from the root down."""
        found: list[tuple[int, int, int]] = []
        row = int(self.parent[record])
        while row >= 0:
            if row >= self.first:
                here = row - self.first
                found.append((row, int(self.start[here]), int(self.content[here])))
                row = int(self.parent[here])
            else:
                above, start, content, _ = self.open[row]
                found.append((row, start, content))
                row = above
        return found[::-1]


class _Splitter:
    """Decides where one chunk is split, while it is scanned. Keeps pieces, not records.

    Args:
        depth: How deep the chunk's records are.
        size: About how many bytes a piece has.
        ends: Close and end of elements, by row, as far as somebody asked for them (None: not yet
            ended). Shared by all.
    """

    def __init__(self, depth: int, size: int, ends: dict[int, tuple[int, int] | None]) -> None:
        self._depth = depth
        self._size = size
        self._ends = ends
        self._found: list[_Piece] = []
        self._total = 0  # bytes of the chunk so far
        self._begun: tuple[list[tuple[int, int]], int, int] | None = None  # ancestors, start, place
        # The last record so far: its row while it is open, else -1; its end; its ancestors.
        self._last: tuple[int, int, list[int]] = (-1, 0, [])

    def take(self, near: _Near, ranges: Numbers) -> None:
        """Looks at the records of a batch."""
        if self._last[0] in near.before:
            self._last = (-1, near.before[self._last[0]][1], self._last[2])
        if not len(ranges):
            return
        records = np.flatnonzero((near.depth == self._depth) & within(near.start, ranges))
        if len(records):
            places = self._total + _Placement(ranges).of(near.start[records])
            self._divide(near, records, places)
        self._total += int((ranges[:, 1] - ranges[:, 0]).sum())

    def _divide(self, near: _Near, records: Numbers, places: Numbers) -> None:
        first = 0
        if self._begun is not None:  # the piece of the last batch may go on
            first = int(np.searchsorted(places, self._begun[2] + self._size))
        while first < len(records):
            if self._begun is not None:
                last = self._last if not first else self._ending(near, int(records[first - 1]))
                self._finish(last)
            above = [(start, content) for _, start, content in near.ancestors(int(records[first]))]
            place = int(places[first])
            self._begun = (above, int(near.start[records[first]]), place)
            first = max(first + 1, int(np.searchsorted(places, place + self._size)))
        self._last = self._ending(near, int(records[-1]))

    def _ending(self, near: _Near, record: int) -> tuple[int, int, list[int]]:
        """What is needed of a record should it be the last of a piece."""
        rows = [row for row, _, _ in near.ancestors(record)]
        for row in rows:
            here = row - near.first
            if here >= 0 and near.end[here] >= 0:
                self._ends[row] = (int(near.close[here]), int(near.end[here]))
            elif row in near.before:
                self._ends[row] = near.before[row]
            else:
                self._ends.setdefault(row)
        end = int(near.end[record])
        return (near.first + record if end < 0 else -1, end, rows)

    def _finish(self, last: tuple[int, int, list[int]]) -> None:
        assert self._begun is not None
        assert last[0] < 0, "a record begins inside another"
        above, start, _ = self._begun
        self._found.append(_Piece(above, start, last[1], last[2]))
        self._begun = None

    def pieces(self) -> list[_Piece]:
        """All pieces, once the scan has ended; none if there is no record."""
        if self._begun is not None:
            self._finish(self._last)
        return self._found


class _PieceSink:
    """Takes the chunks, and decides how they are split."""

    def __init__(self, chunks: ChunkSink, depths: list[int], size: int) -> None:
        self.chunks = chunks
        self._depths = depths
        self._deepest = max(depths, default=0)
        self._size = size
        self._begin()

    def _begin(self) -> None:
        self.ends: dict[int, tuple[int, int] | None] = {}
        self.splitters = [
            _Splitter(depth, self._size, self.ends) if depth else None for depth in self._depths
        ]
        self._rows = 0
        self._open: dict[int, tuple[int, int, int, int]] = {}

    def restart(self) -> None:
        """Forgets everything."""
        self.chunks.restart()
        self._begin()

    def take(self, window: Window, batch: Batch) -> None:
        """Takes what was found in a window."""
        self.chunks.take(window, batch)
        if batch.elements is None or batch.ends is None or not self._deepest:
            return
        near = self._near(batch.elements, batch.ends)
        for row in near.before.keys() & self.ends.keys():
            self.ends[row] = near.before[row]
        for splitter, ranges in zip(self.splitters, batch.ranges, strict=True):
            if splitter is not None:
                splitter.take(near, ranges)
        for row in near.before:
            self._open.pop(row, None)
        still = np.flatnonzero((near.depth > 0) & (near.end < 0))
        columns = (near.parent, near.start, near.content, near.depth)
        rows = zip(*[column[still].tolist() for column in columns], strict=True)
        self._open.update(zip((still + self._rows).tolist(), rows, strict=True))
        self._rows += len(near.depth)

    def _near(self, elements: Elements, ends: Ends) -> _Near:
        pairs = zip(ends.close.tolist(), ends.end.tolist(), strict=True)
        before = dict(zip(ends.row.tolist(), pairs, strict=True))
        depth = self._depths_of(elements.parent)
        parent = elements.parent.astype(np.int64)
        columns = (parent, elements.start, elements.content, elements.close, elements.end)
        return _Near(self._rows, depth, *columns, before, self._open)

    def _depths_of(self, parent: Smalls) -> Numbers:
        """How deep each element of a batch is; 0 for what is below the records."""
        depth = np.zeros(len(parent), np.int64)
        depth[parent < 0] = 1
        inner = parent >= self._rows
        for before in np.unique(parent[(parent >= 0) & ~inner]).tolist():
            above = self._open[before][3] if before in self._open else self._deepest
            if above < self._deepest:
                depth[parent == before] = above + 1
        local = np.where(inner, parent - self._rows, 0)
        for level in range(1, self._deepest):
            depth[inner & (depth == 0) & (depth[local] == level)] = level + 1
        return depth


def _split(
    chunk: DocumentChunk,
    splitter: _Splitter,
    ends: dict[int, tuple[int, int] | None],
) -> Iterator[DocumentChunk]:
    """The pieces of one chunk."""
    found = splitter.pieces()
    if not found:
        yield chunk
        return
    place = _Placement(chunk.ranges)
    root = found[0].above[0][0] if found[0].above else found[0].start
    prolog = [0, int(place.of(np.array([root]))[0])]
    for number, (above, start, end, below) in enumerate(found, 1):
        tails = [ends[row] for row in reversed(below)]
        parts = [*above, (start, end), *[tail for tail in tails if tail is not None]]
        flat = np.array(parts, np.int64)
        spans = np.stack((place.of(flat[:, 0]), place.of(flat[:, 1] - 1) + 1), axis=1).tolist()
        joined = _joined([span for span in [prolog, *spans] if span[0] < span[1]])
        ranges = Ranges()
        for span in joined:
            ranges.add(place.original(*span))
        content = _Spans(chunk.content, joined)
        yield replace(chunk, ranges=ranges.array(), content=content, piece=number)


def _joined(spans: list[list[int]]) -> list[list[int]]:
    """Spans where those that touch have become one."""
    found = spans[:1]
    for start, end in spans[1:]:
        if found[-1][1] == start:
            found[-1] = [found[-1][0], end]
        else:
            found.append([start, end])
    return found


class _Placement:
    """Where the bytes of the original are in a chunk, and the other way round."""

    def __init__(self, ranges: Numbers) -> None:
        self._ranges = ranges
        lengths = ranges[:, 1] - ranges[:, 0]
        self._at = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))

    def of(self, offsets: Numbers) -> Numbers:
        """Places in the chunk of bytes of the original that it has."""
        which = np.searchsorted(self._ranges[:, 0], offsets, "right") - 1
        found: Numbers = self._at[which] + offsets - self._ranges[which, 0]
        return found

    def original(self, start: int, end: int) -> Numbers:
        """The ranges of the original that a part of the chunk consists of."""
        first = int(np.searchsorted(self._at, start, "right")) - 1
        last = int(np.searchsorted(self._at, end, "left"))
        found = self._ranges[first:last].copy()
        found[0, 0] += start - self._at[first]
        found[-1, 1] -= self._at[last] - end
        return found


class _Spans:
    """Parts of a content, one after the other."""

    def __init__(self, content: Content, spans: list[list[int]]) -> None:
        self._content = content
        self._spans = spans
        self.size = sum(end - start for start, end in self._spans)

    def parts(self, start: int = 0, end: int | None = None) -> Iterator[bytes | memoryview]:
        at, end = 0, self.size if end is None else end
        for first, last in self._spans:
            low, high = max(first, first + start - at), min(last, first + end - at)
            if low < high:
                yield from self._content.parts(low, high)
            at += last - first
