"""Positions among siblings that cannot be counted in a chunk, for siblings are missing there.

The unique path of a node, ``/db[1]/student[3]/name[1]``, counts siblings that a chunk may not have
(TRAPS 18). Inside a subtree that the chunk keeps whole nothing is missing. So the positions to be
written down with a chunk are those of the other elements: ancestors, tags, and the tops of subtrees
themselves.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from extract.chunktool.automaton.automaton import Automaton
from extract.chunktool.scan.node_table import within
from extract.chunktool.scan.protocol import Batch, Elements, Numbers, Smalls

_OPEN: Final = np.iinfo(np.int64).max  # where an element ends that has not ended


class Loose(NamedTuple):
    """Elements of one output in one batch.

    Attributes:
        start: Of those that are in no subtree that is kept whole, or at the top of one: where they
            begin.
        position: Their number among siblings of the same name, in the document.
        elements: How many elements the output has here, these and others.
    """

    start: Numbers
    position: Smalls
    elements: int


_NONE: Final = Loose(np.empty(0, np.int64), np.empty(0, np.int32), 0)


class Positions:
    """Finds the loose elements of all outputs of one scan, batch by batch.

    Args:
        automaton: The one that the scan follows.
    """

    def __init__(self, automaton: Automaton) -> None:
        self._automaton = automaton
        self._tops = np.zeros((len(automaton.outputs), 0), np.bool_)
        self.restart()

    def restart(self) -> None:
        """Forgets all but the automaton."""
        self._rows = 0
        self._open: dict[int, tuple[int, int]] = {}  # row: where it begins, its position
        # For each output, the row of the subtree's top that is open where the last batch ended.
        self._inside = [-1] * len(self._automaton.outputs)

    def take(self, window_start: int, batch: Batch) -> list[Loose]:
        """The loose elements of each output.

        Args:
            window_start: Where in the document the window of the batch begins.
            batch: What was found there; it must have the node table.
        """
        elements, ends = batch.elements, batch.ends
        assert elements is not None
        assert ends is not None
        self._learn_states()
        end = np.where(elements.end < 0, _OPEN, elements.end)
        before = dict(zip(ends.row.tolist(), ends.end.tolist(), strict=True))
        found = [
            self._of_output(number, window_start, ranges, elements, end, before)
            for number, ranges in enumerate(batch.ranges)
        ]
        self._go_on(elements, end, before)
        return found

    def _learn_states(self) -> None:
        """Brings up to date which states are tops of subtrees, for which outputs."""
        known, states = self._tops.shape[1], self._automaton.states
        if known < states:
            more = np.zeros((len(self._tops), states - known), np.bool_)
            for state in range(known, states):
                more[list(self._automaton.info(state).subtree), state - known] = True
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
        kept = within(elements.start, ranges)
        early = self._early(window_start, ranges)
        count = int(kept.sum()) + len(early)
        if self._automaton.outputs[number].whole:
            return _NONE._replace(elements=count)
        inside = np.zeros(len(kept), np.bool_)
        carried = self._inside[number]
        if carried >= 0:
            inside = elements.start < before.get(carried, _OPEN)
            if carried in before:
                self._inside[number] = -1
        at_top = self._tops[number][elements.state] & kept
        tops = np.flatnonzero(at_top)
        if len(tops):
            last = np.cumsum(at_top) - at_top - 1  # the last top before each element, or -1
            inside |= (last >= 0) & (elements.start < end[tops[last]])
            if end[tops[-1]] == _OPEN:
                self._inside[number] = self._rows + int(tops[-1])
        loose = kept & ~inside
        return Loose(
            _with(early, 0, elements.start[loose], np.int64),
            _with(early, 1, elements.position[loose], np.int32),
            count,
        )

    def _early(self, window_start: int, ranges: Numbers) -> list[tuple[int, int]]:
        """Elements of batches before, whose tags the output has only now."""
        if not len(ranges) or ranges[0, 0] >= window_start:
            return []
        pairs = ranges[: np.searchsorted(ranges[:, 0], window_start)].tolist()
        return [
            known
            for known in self._open.values()
            if any(start <= known[0] < stop for start, stop in pairs)
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
    """A column with the elements of batches before in front."""
    if not early:
        return others
    return np.concatenate((np.array([each[column] for each in early], kind), others))
