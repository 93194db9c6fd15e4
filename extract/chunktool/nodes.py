"""The node table of a document: what a scan learnt of each element that is kept, in columns.

With it nothing has to be parsed a second time: parents, extents, states of the automaton and
positions among siblings are there for every row, as numpy arrays.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np

from extract.chunktool.automaton import Automaton
from extract.chunktool.scan import Batch, Elements, Leaves, Numbers, Smalls


@dataclass(frozen=True, slots=True)
class NodeTable:
    """Elements and leaves that some output of a scan keeps, in document order.

    Attributes:
        automaton: Whose states ``elements.state`` numbers.
        elements: The elements.
        leaves: Texts, comments and processing instructions.
    """

    automaton: Automaton
    elements: Elements
    leaves: Leaves

    def __len__(self) -> int:
        return len(self.elements.start)

    def rows(self, ranges: Numbers) -> Smalls:
        """The rows of the elements that an output keeps, given its ranges."""
        return np.flatnonzero(within(self.elements.start, ranges)).astype(np.int32)


def within(offsets: Numbers, ranges: Numbers) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which of some bytes lie in ranges.

    >>> within(np.array([0, 5, 9]), np.array([[0, 3], [9, 12]])).tolist()
    [True, False, True]
    """
    if not len(ranges):
        return np.zeros(len(offsets), np.bool_)
    before = np.searchsorted(ranges[:, 0], offsets, "right") - 1
    found: np.ndarray[Any, np.dtype[np.bool_]] = (before >= 0) & (offsets < ranges[before, 1])
    return found


class Ranges:
    """The ranges of all batches of one output, put together so that no two touch.

    >>> ranges = Ranges()
    >>> ranges.add(np.array([[0, 3], [5, 7]])); ranges.add(np.array([[7, 9], [12, 13]]))
    >>> ranges.array().tolist()
    [[0, 3], [5, 9], [12, 13]]
    """

    def __init__(self) -> None:
        # Grows in place: a list of small arrays would leave holes in memory between other things.
        self._flat = array("q")

    def add(self, ranges: Numbers) -> None:
        """Adds those of the next batch, among which no two touch."""
        if not len(ranges):
            return
        if self._flat and self._flat[-1] == ranges[0, 0]:
            self._flat[-1] = int(ranges[0, 1])
            ranges = ranges[1:]
        self._flat.frombytes(ranges.tobytes())

    def array(self) -> Numbers:
        """All of them, shape (n, 2); nothing can be added afterwards."""
        if not self._flat:
            return np.empty((0, 2), np.int64)
        return np.frombuffer(self._flat, np.int64).reshape(-1, 2)


class NodeCollector:
    """Puts the node tables of all batches together."""

    def __init__(self) -> None:
        self._batches: list[Batch] = []

    def restart(self) -> None:
        """Forgets everything."""
        self._batches.clear()

    def take(self, batch: Batch) -> None:
        """Adds the rows of a batch."""
        self._batches.append(Batch([], {}, batch.elements, batch.ends, batch.leaves))

    def table(self, automaton: Automaton) -> NodeTable:
        """The table of the whole document."""
        elements = _joined(Elements, [b.elements for b in self._batches if b.elements is not None])
        leaves = _joined(Leaves, [b.leaves for b in self._batches if b.leaves is not None])
        for batch in self._batches:
            if batch.ends is not None and len(batch.ends.row):
                elements.close[batch.ends.row] = batch.ends.close
                elements.end[batch.ends.row] = batch.ends.end
        return NodeTable(automaton, elements, leaves)


_Columns = TypeVar("_Columns", Elements, Leaves)


def _joined(kind: type[_Columns], parts: list[_Columns]) -> _Columns:
    if len(parts) == 1:
        return parts[0]
    names = [field.name for field in fields(kind)]
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
