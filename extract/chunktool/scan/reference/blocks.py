"""A block of a document for the reference scanner: its elements in columns, and what is kept.

Elements are numbered within a block: 0 is the document node, then come the elements that are open
where the block begins, by depth, then those that begin in it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from extract.chunktool.scan.protocol import Numbers
from extract.chunktool.scan.reference.automaton_arrays import Atlas, Bits
from extract.chunktool.scan.reference.tokens import Nesting


@dataclass(slots=True)
class Open:
    """The elements that are open where a block begins, the document node first.

    Attributes:
        start, stop: Where their start tags begin and end.
        name: Their numbers in `TagNames`.
        written: By word and element, the outputs that have the start tag.
        inside: By word and element, the outputs that keep all of it.
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
        count: How many were open before, with the document node.
        parent: The element's parent.
        start, stop: Where its start tag begins and ends.
        first, end: Where its end tag begins and ends; -1 if that is not in the block.
        written: By word and element, the outputs that have its tags, but for those that keep all
            of it.
        inside: By word and element, the outputs that keep all of it.
        element: By event, which element begins or ends.
        around: By event, which element one is in after it.
        at, after: By event, where the tag begins and ends.
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
    """A block in which no element begins or ends."""
    none = np.zeros(0, np.int64)
    count = len(opened.start)
    parent = np.maximum(np.arange(count) - 1, 0)
    never = np.full(count, -1, np.int64)
    columns = opened.state, opened.name, parent, opened.start, opened.stop, never, never
    return ElementBlock(count, *columns, opened.written, opened.inside, none, none, none, none)


def wanted(atlas: Atlas, opened: Open, state: Numbers, nesting: Nesting) -> tuple[Bits, Bits]:
    """By word and element, the outputs that have its tags, and those that keep all of it.

    An output has the tags of what it wants, and those of all ancestors of that.
    """
    count, parent = len(opened.start), nesting.parent
    inside, written = atlas.subtree[:, state], atlas.own[:, state]
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
    """The ranges of an output: starts and ends one after the other, in parts.

    There is a start without an end where a range is open.

    >>> spans = OutputRanges()
    >>> spans.add(np.array([0, 3, 5, 9])); spans.add(np.array([9]))
    >>> spans.take(12).tolist(), spans.take(20).tolist()
    ([[0, 3], [5, 12]], [[12, 20]])
    """

    def __init__(self) -> None:
        self._parts: list[Numbers] = []

    def add(self, offsets: Numbers) -> None:
        """Goes on with starts and ends; what touches becomes one."""
        parts = self._parts
        while parts and len(offsets) and parts[-1][-1] == offsets[0]:
            offsets = offsets[1:]
            parts[-1] = parts[-1][:-1]
            if not len(parts[-1]):
                parts.pop()
        if len(offsets):
            parts.append(offsets)

    def end(self, length: int) -> None:
        """Ends the range that is open, if there is one, with the document."""
        if sum(map(len, self._parts)) % 2:
            self.add(np.array([length], np.int64))

    def take(self, consumed: int) -> Numbers:
        """The ranges up to a byte; they are forgotten."""
        found = np.concatenate([np.zeros(0, np.int64), *self._parts])
        self._parts.clear()
        if len(found) & 1:
            self._parts.append(np.array([consumed], np.int64))
            found = found[:-1] if found[-1] == consumed else np.append(found, consumed)
        return found.reshape(-1, 2)


def without_pairs(offsets: Numbers) -> Numbers:
    """Offsets in order, without those that are there an even number of times."""
    same = offsets[1:] == offsets[:-1]
    if not same.any():
        return offsets
    runs = np.flatnonzero(np.concatenate([[True], ~same]))
    lengths = np.diff(np.append(runs, len(offsets)))
    left: Numbers = offsets[runs[lengths % 2 == 1]]
    return left
