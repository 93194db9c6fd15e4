"""A block of a document for the reference scanner: its elements in columns, and their outputs.

Elements are numbered within a block: 0 is the document node, then come the elements that are open
    at
the beginning of the block, by depth, then the elements that begin in it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from extract.chunktool.scan.protocol import Numbers
from extract.chunktool.scan.reference.automaton_arrays import Bits, StateArrays
from extract.chunktool.scan.reference.tokens import Nesting


@dataclass(slots=True)
class Open:
    """The elements that are open at the beginning of a block, the document node first.

    Attributes:
        start, stop: Offsets of their start tags.
        name: Their numbers in `TagNames`.
        written: By word and element, the outputs that have the start tag.
        inside: By word and element, the outputs that keep the whole element.
    """

    start: Numbers
    stop: Numbers
    state: Numbers
    name: Numbers
    written: Bits
    inside: Bits


@dataclass(slots=True)
class ElementBlock:
    """The elements of a block; columns by element, but for the last three.

    Attributes:
        count: The number of elements that were open before, including the document node.
        parent: The element's parent.
        start, stop: Offsets of the start tag.
        first, end: Offsets of the end tag; -1 if it is not in the block.
        written: By word and element, the outputs that have the tags but not the whole element.
        inside: By word and element, the outputs that keep the whole element.
        element: By event, the element that begins or ends.
        around: By event, the innermost element that is open after it.
        at, after: By event, the offsets of the tag.
    """

    count: int
    state: Numbers
    name: Numbers
    parent: Numbers
    start: Numbers
    stop: Numbers
    first: Numbers
    end: Numbers
    written: Bits
    inside: Bits
    element: Numbers
    around: Numbers
    at: Numbers
    after: Numbers
    opened: Numbers = field(default_factory=lambda: np.zeros(0, np.int64))


def nothing(opened: Open) -> ElementBlock:
    """Returns a block in which no element begins or ends."""
    none = np.zeros(0, np.int64)
    count = len(opened.start)
    parent = np.maximum(np.arange(count) - 1, 0)
    never = np.full(count, -1, np.int64)
    columns = opened.state, opened.name, parent, opened.start, opened.stop, never, never
    return ElementBlock(count, *columns, opened.written, opened.inside, none, none, none, none)


def wanted(
    arrays: StateArrays, opened: Open, state: Numbers, nesting: Nesting
) -> tuple[Bits, Bits]:
    """Returns, by word and element, the outputs with the tags, and the outputs with all of it.

    An output has the tags of the elements that it wants, and of all their ancestors.
    """
    count, parent = len(opened.start), nesting.parent
    inside, written = arrays.subtree[:, state], arrays.own[:, state]
    inside[:, :count] = opened.inside
    written[:, :count] = opened.written
    if inside.any():
        for elements in nesting.levels:
            inside[:, elements] |= inside[:, parent[elements]]
    for elements in reversed(nesting.levels):
        above = parent[elements]
        heads = np.concatenate([[0], np.flatnonzero(above[1:] != above[:-1]) + 1])
        written[:, above[heads]] |= np.bitwise_or.reduceat(written[:, elements], heads, axis=1)
    for depth in range(count - 1, 0, -1):
        written[:, depth - 1] |= written[:, depth]
    written[:, 0] = 0
    return written, inside


class OutputRanges:
    """The ranges of an output: starts and ends in turn, in parts.

    The last range may be open: a start without an end.

    >>> spans = OutputRanges()
    >>> spans.add(np.array([0, 3, 5, 9])); spans.add(np.array([9]))
    >>> spans.take(12).tolist(), spans.take(20).tolist()
    ([[0, 3], [5, 12]], [[12, 20]])
    """

    def __init__(self) -> None:
        self._parts: list[Numbers] = []

    def add(self, offsets: Numbers) -> None:
        """Appends starts and ends; ranges that touch are merged."""
        parts = self._parts
        while parts and len(offsets) and parts[-1][-1] == offsets[0]:
            offsets = offsets[1:]
            parts[-1] = parts[-1][:-1]
            if not len(parts[-1]):
                parts.pop()
        if len(offsets):
            parts.append(offsets)

    def end(self, length: int) -> None:
        """Ends the open range, if there is one, at the end of the document."""
        if sum(map(len, self._parts)) % 2:
            self.add(np.array([length], np.int64))

    def take(self, consumed: int) -> Numbers:
        """Returns the ranges up to a byte, and drops them."""
        bounds = np.concatenate([np.zeros(0, np.int64), *self._parts])
        self._parts.clear()
        if len(bounds) & 1:
            self._parts.append(np.array([consumed], np.int64))
            bounds = bounds[:-1] if bounds[-1] == consumed else np.append(bounds, consumed)
        return bounds.reshape(-1, 2)


def without_pairs(offsets: Numbers) -> Numbers:
    """Removes the offsets that occur an even number of times from a sorted array."""
    same = offsets[1:] == offsets[:-1]
    if not same.any():
        return offsets
    runs = np.flatnonzero(np.concatenate([[True], ~same]))
    lengths = np.diff(np.append(runs, len(offsets)))
    left: Numbers = offsets[runs[lengths % 2 == 1]]
    return left
