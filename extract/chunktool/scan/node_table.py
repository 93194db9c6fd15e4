"""The node table of a document: all nodes that some output of a scan keeps, in columns.

With the table no document is parsed twice: parents, extents, states of the automaton and positions
among siblings are numpy columns. It is the one form in which nodes go from a scan to a matcher.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

import numpy as np

from extract.chunktool.automaton.automaton import Automaton
from extract.chunktool.scan.protocol import Batch, Elements, Leaves, Numbers, Smalls

_Columns = TypeVar("_Columns", Elements, Leaves)


@dataclass(frozen=True, slots=True)
class NodeTable:
    """Elements and leaves that some output of a scan keeps, in document order.

    A parent comes before its children.

    Attributes:
        automaton: The automaton that numbers the states in ``elements.state``.
        elements: The elements.
        leaves: Texts, comments and processing instructions.
        data: The bytes that all offsets refer to: the document, or a part of it. Empty where they
            are not in memory.
    """

    automaton: Automaton
    elements: Elements
    leaves: Leaves
    data: bytes = field(default=b"", repr=False)

    @classmethod
    def of_batches(
        cls, automaton: Automaton, batches: Sequence[Batch], data: bytes = b""
    ) -> NodeTable:
        """Joins the batches of one scan."""
        elements = _joined(Elements, [b.elements for b in batches if b.elements is not None])
        leaves = _joined(Leaves, [b.leaves for b in batches if b.leaves is not None])
        for batch in batches:
            # Only documents of several windows have ends in later batches.
            if batch.ends is not None and len(batch.ends.row):
                elements.close[batch.ends.row] = batch.ends.close
                elements.end[batch.ends.row] = batch.ends.end
        return cls(automaton, elements, leaves, data)

    def __len__(self) -> int:
        """The number of elements."""
        return len(self.elements.start)

    def rows(self, ranges: Numbers) -> Smalls:
        """Returns the rows of the elements in an output, by the output's ranges."""
        return np.flatnonzero(within(self.elements.start, ranges)).astype(np.int32)

    def subset(self, ranges: Numbers) -> NodeTable:
        """Returns the table of one output, with new row numbers.

        Args:
            ranges: The bytes that the output keeps.
        """
        rows = within(self.elements.start, ranges)
        leaf_rows = within(self.leaves.start, ranges)
        if rows.all() and leaf_rows.all():
            return self
        # An output keeps the parent of each of its nodes; -1 (no parent) stays.
        number = np.append(np.cumsum(rows, dtype=np.int32) - 1, np.int32(-1))
        elements, leaves = _select(self.elements, rows), _select(self.leaves, leaf_rows)
        return replace(
            self,
            elements=replace(elements, parent=number[elements.parent]),
            leaves=replace(leaves, parent=number[leaves.parent]),
        )

    def relative_to(self, ranges: Numbers, data: bytes) -> NodeTable:
        """Returns the same rows with offsets into the bytes of one output.

        Args:
            ranges: The output's ranges in the document; all rows must be in the output.
            data: The bytes of these ranges.
        """
        ends = np.cumsum(ranges[:, 1] - ranges[:, 0])

        def first(offsets: Numbers) -> Numbers:
            which = np.searchsorted(ranges[:, 0], offsets, "right") - 1
            moved: Numbers = ends[which] - (ranges[which, 1] - offsets)
            return moved

        def after(offsets: Numbers) -> Numbers:
            return first(offsets - 1) + 1  # the byte at the offset may not be in the output

        elements, leaves = self.elements, self.leaves
        close = first(np.minimum(elements.close, elements.end - 1))
        end = after(elements.end)
        moved = replace(
            elements,
            start=first(elements.start),
            content=after(elements.content),
            close=np.where(elements.close == elements.end, end, close),
            end=end,
        )
        parts = replace(leaves, start=first(leaves.start), end=after(leaves.end))
        return replace(self, elements=moved, leaves=parts, data=data)

    def with_positions(self, position: Smalls) -> NodeTable:
        """Returns the same rows with other positions among siblings."""
        return replace(self, elements=replace(self.elements, position=position))


def _select(columns: _Columns, chosen: np.ndarray[Any, np.dtype[np.bool_]]) -> _Columns:
    """Returns the rows for which a mask is true, in all columns."""
    return replace(columns, **{f.name: getattr(columns, f.name)[chosen] for f in fields(columns)})


def _joined(kind: type[_Columns], parts: list[_Columns]) -> _Columns:
    if len(parts) == 1:
        return parts[0]
    names = [column.name for column in fields(kind)]
    if not parts:
        return kind(*[np.empty(0, _TYPES.get(name, np.int32)) for name in names])
    return kind(*[np.concatenate([getattr(part, name) for part in parts]) for name in names])


_TYPES: dict[str, Any] = {
    "start": np.int64,
    "content": np.int64,
    "close": np.int64,
    "end": np.int64,
    "kind": np.int8,
}


def within(offsets: Numbers, ranges: Numbers) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Returns a mask of the offsets that lie in ranges.

    >>> within(np.array([0, 5, 9]), np.array([[0, 3], [9, 12]])).tolist()
    [True, False, True]
    """
    if not len(ranges):
        return np.zeros(len(offsets), np.bool_)
    before = np.searchsorted(ranges[:, 0], offsets, "right") - 1
    inside: np.ndarray[Any, np.dtype[np.bool_]] = (before >= 0) & (offsets < ranges[before, 1])
    return inside


class Ranges:
    """The ranges of one output over all batches, merged so that no two touch.

    >>> ranges = Ranges()
    >>> ranges.add(np.array([[0, 3], [5, 7]])); ranges.add(np.array([[7, 9], [12, 13]]))
    >>> ranges.array().tolist()
    [[0, 3], [5, 9], [12, 13]]
    """

    def __init__(self) -> None:
        # Grows in place: a list of small arrays would fragment memory.
        self._flat = array("q")

    def add(self, ranges: Numbers) -> None:
        """Adds the ranges of the next batch, of which no two touch."""
        if not len(ranges):
            return
        if self._flat and self._flat[-1] == ranges[0, 0]:
            self._flat[-1] = int(ranges[0, 1])
            ranges = ranges[1:]
        self._flat.frombytes(ranges.tobytes())

    def array(self) -> Numbers:
        """Returns all ranges, shape (n, 2); no more can be added afterwards."""
        if not self._flat:
            return np.empty((0, 2), np.int64)
        return np.frombuffer(self._flat, np.int64).reshape(-1, 2)


class NodeCollector:
    """Joins the node tables of all batches."""

    def __init__(self) -> None:
        self._batches: list[Batch] = []

    def restart(self) -> None:
        """Drops all rows."""
        self._batches.clear()

    def take(self, batch: Batch) -> None:
        """Adds the rows of a batch."""
        self._batches.append(Batch([], {}, batch.elements, batch.ends, batch.leaves))

    def table(self, automaton: Automaton) -> NodeTable:
        """Returns the table of the whole document."""
        return NodeTable.of_batches(automaton, self._batches)
