"""The survey of a large document: whether it keeps to the schema, and where it may be cut.

One scan that keeps only upper elements and their children (see `divide`) gives pieces of about the
same size. A piece is a range of the document between two children of upper elements, enclosed in
the tags of the elements that are open there: a well-formed document, on which queries select what
    they
select in that range. The piece comes with the numbers of siblings before it, which it cannot know
(TRAPS 18).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extract.chunktool.automaton.automaton import Automaton
from extract.chunktool.input.source import Document, open_source
from extract.chunktool.scan.byte_ranges import Window
from extract.chunktool.scan.driver import scan
from extract.chunktool.scan.protocol import Batch, Elements
from extract.chunktool.split.divide import Division
from extract.limits import Limits
from extract.markup.tags import tag_name
from extract.scheme.model import Scheme

PIECE_BYTES: Final = 1 << 23  # of a piece, about: it ends with the record that reaches this size
_MOST: Final = 1 << 26  # bytes of a piece; documents with larger records are not cut
_PROLOG: Final = 1 << 16  # bytes before the root that are worth repeating in every piece

Longs = NDArray[np.int64]
Read = Callable[[int, int], bytes]


class Above(NamedTuple):
    """An upper element that is open at the beginning of a piece.

    Attributes:
        start, content: Offsets of its start tag in the piece's head.
        position: Its number among siblings of the same name.
        before: For each name of records, the number of its children with that name before the
            piece.
    """

    start: int
    content: int
    position: int
    before: tuple[int, ...]


class Piece(NamedTuple):
    """A part of a document that queries can be evaluated on.

    Attributes:
        number: Index of the piece, from 0.
        start, end: Offsets in the document.
        head: The bytes put before the range: the document's prolog, and start tags.
        tail: The bytes put after it: end tags.
        above: The elements of these tags.
        records: For each name of records, the number of records.
    """

    number: int
    start: int
    end: int
    head: bytes
    tail: bytes
    above: tuple[Above, ...]
    records: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of bytes, without head and tail."""
        return self.end - self.start


class Survey(NamedTuple):
    """The result of a survey.

    Attributes:
        size: Bytes of the document.
        pieces: Its pieces; none if it cannot be evaluated piece by piece.
        conforming: Whether the document is well-formed and keeps to the schema, as far as it was
            checked.
        checked: Whether all of it was checked. Otherwise the pieces are to be checked: if all of
            them are well-formed and keep to the schema, then so does the document.
    """

    size: int
    pieces: tuple[Piece, ...]
    conforming: bool = False
    checked: bool = True


def survey(
    scheme: Scheme,
    division: Division,
    document: Document,
    read: Read,
    name: str = "",
    *,
    size: int = PIECE_BYTES,
    assume_valid: bool = False,
    skip_records: bool = False,
    limits: Limits | None = None,
) -> Survey:
    """Finds where a document may be cut.

    Args:
        scheme: The scheme.
        division: The queries that can be evaluated on pieces.
        document: The document.
        read: Reads the bytes between two offsets of the document.
        name: The document's name in messages.
        size: The approximate size of a piece, in bytes.
        assume_valid, limits: As for `extract.chunk`.
        skip_records: Do not check inside records: the tasks that read the pieces do.

    Raises:
        DocumentError: The document cannot be read, is not well-formed, or exceeds a limit.
    """
    automaton = Automaton(scheme, [division.output], assume_valid or skip_records)
    sink = _Boundaries([automaton.symbol(*name) for name in division.names], size)
    with open_source(document, name, limits) as source:
        outcome = scan(source, automaton, sink, limits, table=True)
    # A document that the kernel handed over may be in another encoding, or have entities.
    if not outcome.conforming or outcome.scanner != "kernel" or sink.root > _PROLOG:
        return Survey(max(0, outcome.size), (), outcome.conforming)
    pieces = tuple(_pieces(sink, outcome.size, read))
    fit = max(piece.size for piece in pieces) <= _MOST
    return Survey(outcome.size, pieces if fit else (), True, assume_valid or not skip_records)


class _Open(NamedTuple):
    """An open element; ``name`` is an index of a record name, or -1."""

    parent: int
    start: int
    content: int
    position: int
    name: int


class _Boundary(NamedTuple):
    """The beginning of a piece.

    Attributes:
        at: The offset.
        open: The open elements, each with the number of its children so far, by name.
        records: The number of records before it, by name.
    """

    at: int
    open: tuple[tuple[_Open, tuple[int, ...]], ...]
    records: tuple[int, ...]


class _Boundaries:
    """A sink that finds where a document may be cut, and stores nothing else.

    Args:
        symbols: The symbols of the record names.
        size: The least number of bytes in a piece.
    """

    def __init__(self, symbols: list[int], size: int) -> None:
        self._symbols = symbols
        self._size = size
        self.restart()

    def restart(self) -> None:
        """Drops everything: a scan begins."""
        self.root = 0
        self.boundaries: list[_Boundary] = []
        self.records = np.zeros(len(self._symbols), np.int64)
        self._rows = 0
        self._last = 0
        self._open: dict[int, _Open] = {}
        self._before: dict[int, Longs] = {}

    def take(self, window: Window, batch: Batch) -> None:
        """Reads the elements of a window."""
        elements, ends = batch.elements, batch.ends
        assert elements is not None
        assert ends is not None
        if not self._rows and len(elements.start):
            self.root = int(elements.start[0])
        which = np.full(max(int(elements.symbol.max(initial=0)), *self._symbols, 0) + 1, -1)
        which[self._symbols] = np.arange(len(self._symbols))
        name = which[elements.symbol]
        at = 0
        while True:
            places = np.flatnonzero(
                (elements.start[at:] >= self._last + self._size) & (elements.parent[at:] >= 0)
            )
            if not places.size:
                break
            row = at + int(places[0])
            self._count(elements, name, at, row)
            self._last, at = int(elements.start[row]), row
            self.boundaries.append(self._boundary(elements, name, row))
        self._count(elements, name, at, len(name))
        self._go_on(elements, name, ends.row)

    def _count(self, elements: Elements, name: Any, first: int, last: int) -> None:
        """Counts the children of upper elements, by name."""
        rows = np.flatnonzero(name[first:last] >= 0) + first
        if not rows.size:
            return
        self.records += np.bincount(name[rows], minlength=len(self.records))
        key = elements.parent[rows].astype(np.int64) * len(self.records) + name[rows]
        _, behind = np.unique(key[::-1], return_index=True)  # the last ones have the positions
        for row in rows[len(rows) - 1 - behind].tolist():
            parent = int(elements.parent[row])
            counts = self._before.setdefault(parent, np.zeros(len(self.records), np.int64))
            counts[name[row]] = elements.position[row]

    def _boundary(self, elements: Elements, name: Any, row: int) -> _Boundary:
        open_ = []
        parent, child = int(elements.parent[row]), -1
        while parent >= 0:
            element = self._element(elements, name, parent)
            counts = self._before.get(parent)
            before = np.zeros_like(self.records) if counts is None else counts.copy()
            if child >= 0:
                before[child] -= 1  # the child itself is in the piece's head, and counted there
            open_.append((element, tuple(before.tolist())))
            parent, child = element.parent, element.name
        return _Boundary(self._last, tuple(open_[::-1]), tuple(self.records.tolist()))

    def _element(self, elements: Elements, name: Any, row: int) -> _Open:
        index = row - self._rows
        if index < 0:
            return self._open[row]
        return _Open(
            int(elements.parent[index]),
            int(elements.start[index]),
            int(elements.content[index]),
            int(elements.position[index]),
            int(name[index]),
        )

    def _go_on(self, elements: Elements, name: Any, ended: Any) -> None:
        for row in ended.tolist():
            self._open.pop(row, None)
        for row in (np.flatnonzero(elements.end < 0) + self._rows).tolist():
            self._open[row] = self._element(elements, name, row)
        self._before = {row: counts for row, counts in self._before.items() if row in self._open}
        self._rows += len(elements.start)


def _pieces(sink: _Boundaries, size: int, read: Read) -> list[Piece]:
    prolog = read(0, sink.root)
    tags: dict[tuple[int, int], bytes] = {}

    def tag(element: _Open) -> bytes:
        span = (element.start, element.content)
        if span not in tags:
            tags[span] = read(*span)
        return tags[span]

    first = _Boundary(0, (), (0,) * len(sink.records))
    last = _Boundary(size, (), tuple(sink.records.tolist()))
    bounds = [first, *sink.boundaries, last]
    made = []
    for number, (begin, end) in enumerate(pairwise(bounds)):
        head, above = prolog if begin.open else b"", []
        for element, before in begin.open:
            start = len(head)
            head += tag(element)
            above.append(Above(start, len(head), element.position, before))
        tail = b"".join([b"</%s>" % tag_name(tag(element)) for element, _ in reversed(end.open)])
        pairs = zip(end.records, begin.records, strict=True)
        records = tuple([after - before for after, before in pairs])
        made.append(Piece(number, begin.at, end.at, head, tail, tuple(above), records))
    return made
