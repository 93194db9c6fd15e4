"""Positions of elements whose siblings are missing in a chunk.

The unique path of a node, ``/db[1]/student[3]/name[1]``, counts siblings that a chunk may not have
(TRAPS 18). Inside a subtree that the chunk keeps whole no sibling is missing. So a chunk comes with
the positions of its other elements: ancestors, elements of which it keeps only the tags, and the
    tops
of subtrees.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from extract.chunktool.automaton.automaton import Automaton
from extract.chunktool.scan.node_table import within
from extract.chunktool.scan.protocol import Batch, Elements, Numbers, Smalls

_OPEN: Final = np.iinfo(np.int64).max  # the end of an element that has not ended


class Loose(NamedTuple):
    """The loose elements of one output in one batch: in no subtree, or at the top of one.

    Attributes:
        start: Offsets of the loose elements in the document.
        position: Their numbers among siblings of the same name, in the document.
        elements: The number of all elements of the output in the batch, loose or not.
    """

    start: Numbers
    position: Smalls
    elements: int


_NONE: Final = Loose(np.empty(0, np.int64), np.empty(0, np.int32), 0)


class Positions:
    """Finds the loose elements of all outputs of one scan, batch by batch.

    Args:
        automaton: The automaton of the scan.
    """

    def __init__(self, automaton: Automaton) -> None:
        self._automaton = automaton
        self._tops = np.zeros((len(automaton.outputs), 0), np.bool_)
        self.restart()

    def restart(self) -> None:
        """Drops everything but the automaton."""
        self._rows = 0
        self._open: dict[int, tuple[int, int]] = {}  # by row: offset and position
        # For each output, the row of the subtree's top that is open at the end of the last batch.
        self._inside = [-1] * len(self._automaton.outputs)

    def take(self, window_start: int, batch: Batch) -> list[Loose]:
        """Returns the loose elements of each output.

        Args:
            window_start: Offset of the batch's window in the document.
            batch: The batch, with its node table.
        """
        elements, ends = batch.elements, batch.ends
        assert elements is not None
        assert ends is not None
        self._learn_states()
        end = np.where(elements.end < 0, _OPEN, elements.end)
        before = dict(zip(ends.row.tolist(), ends.end.tolist(), strict=True))
        loose = [
            self._of_output(number, window_start, ranges, elements, end, before)
            for number, ranges in enumerate(batch.ranges)
        ]
        self._go_on(elements, end, before)
        return loose

    def _learn_states(self) -> None:
        """Adds the automaton's new states to the table of subtree tops by output."""
        before, states = self._tops.shape[1], self._automaton.states
        if before < states:
            more = np.zeros((len(self._tops), states - before), np.bool_)
            for state in range(before, states):
                more[list(self._automaton.info(state).subtree), state - before] = True
            self._tops = np.concatenate((self._tops, more), axis=1)

    def _of_output(
        self,
        number: int,
        window_start: int,
        ranges: Numbers,
        elements: Elements,
        end: Numbers,
        before: dict[int, int],
    ) -> Loose:
        if not len(ranges):
            return _NONE
        inside_output = within(elements.start, ranges)
        early = self._early(window_start, ranges)
        count = int(inside_output.sum()) + len(early)
        if self._automaton.outputs[number].whole:
            return _NONE._replace(elements=count)
        inside = np.zeros(len(inside_output), np.bool_)
        carried = self._inside[number]
        if carried >= 0:
            inside = elements.start < before.get(carried, _OPEN)
            if carried in before:
                self._inside[number] = -1
        at_top = self._tops[number][elements.state] & inside_output
        tops = np.flatnonzero(at_top)
        if len(tops):
            last = np.cumsum(at_top) - at_top - 1  # the last top before each element, or -1
            inside |= (last >= 0) & (elements.start < end[tops[last]])
            if end[tops[-1]] == _OPEN:
                self._inside[number] = self._rows + int(tops[-1])
        loose = inside_output & ~inside
        return Loose(
            _with(early, 0, elements.start[loose], np.int64),
            _with(early, 1, elements.position[loose], np.int32),
            count,
        )

    def _early(self, window_start: int, ranges: Numbers) -> list[tuple[int, int]]:
        """Returns elements of earlier batches whose tags the output has only now."""
        if not len(ranges) or ranges[0, 0] >= window_start:
            return []
        pairs = ranges[: np.searchsorted(ranges[:, 0], window_start)].tolist()
        return [
            element
            for element in self._open.values()
            if any(start <= element[0] < stop for start, stop in pairs)
        ]

    def _go_on(self, elements: Elements, end: Numbers, before: dict[int, int]) -> None:
        for row in before:
            self._open.pop(row, None)
        still = np.flatnonzero(end == _OPEN)
        rows = (still + self._rows).tolist()
        places = zip(elements.start[still].tolist(), elements.position[still].tolist(), strict=True)
        self._open.update(zip(rows, places, strict=True))
        self._rows += len(end)


def _with(early: list[tuple[int, int]], column: int, others: Any, kind: Any) -> Any:
    """Puts elements of earlier batches before a column."""
    if not early:
        return others
    return np.concatenate((np.array([element[column] for element in early], kind), others))
