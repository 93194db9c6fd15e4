"""Joins spines with filters and tails in C: sets of rows as bit sets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extract.filtertool.matchers.columnar.columns import NOTHING, Bools, Ints
from extract.filtertool.matchers.columnar.dense import SeedRows
from extract.filtertool.matchers.columnar.evaluator import Evaluator
from extract.filtertool.matchers.columnar.native import native_module

if TYPE_CHECKING:
    from extract.filtertool.matchers.columnar.plan import BranchPlan, Layout


# How the rows of a branch are used, other than being counted by one of the fans; as in C.
ROWS: Final = -1
PAIRS: Final = -2


class Counted(NamedTuple):
    """Branches of which only the number of nodes is needed.

    Attributes:
        how: For each branch `PAIRS` if it is not counted, `ROWS` if its rows are, otherwise the
            index of the fan with the number of nodes that its tail selects.
        fans: For each counted tail, the number of nodes that it selects from each row.
        counts: The result, by unit and question.
    """

    how: Ints
    fans: Sequence[Ints]
    counts: Ints


_NOT_COUNTED: Final = Counted(NOTHING, (), np.empty((0, 0), np.int64))


class NativeRun:
    """The branches of a plan on one batch.

    Args:
        plan: The branches.
        run: The batch.
        seeds: The seeds of the plan's program.
        layout: The rows of each spine.
    """

    def __init__(self, plan: BranchPlan, run: Evaluator, seeds: SeedRows, layout: Layout) -> None:
        columns, program = run.columns, plan.program
        rows = [seeds.of(number) for number in range(len(seeds))]
        distinct = {id(seed.rows): seed.rows for seed in rows}  # equal sets are the same array
        places = {identity: place for place, identity in enumerate(distinct)}
        named, named_at = run.axes.by_name
        self._sets = native_module("sets").Sets(
            np.asarray(program.op),
            np.asarray(program.name),
            np.asarray(program.first),
            np.asarray(program.second),
            np.array([places[id(seed.rows)] for seed in rows], np.int64),
            *_joined(list(distinct.values()), columns.rows),
            *_joined([seed.without for seed in rows], columns.rows),
            named_at,
            named,
            columns.name,
            columns.up,
            layout.item,
            layout.position,
            layout.parent,
        )
        self._columns = columns
        self._layout = layout
        self._plan = plan
        self._here = np.flatnonzero(layout.counts[:-1])

    def some(self, numbers: Ints) -> Bools:
        """Returns a mask of the operations that have rows."""
        out = np.empty(len(numbers), np.bool_)
        self._sets.some(np.ascontiguousarray(numbers), out.view(np.uint8))
        return out

    def matching(self, questions: int) -> Iterator[tuple[Ints, Ints]]:
        """Yields pairs of a unit and a question that matches there, in this order."""
        bits = np.zeros((len(self._columns.documents), (questions + 7) // 8), np.uint8)
        self._search(bits, np.empty((2, 0), np.int64), _NOT_COUNTED)
        found = np.empty((2, native_module("sets").count_bits(bits)), np.int64)
        native_module("sets").list_bits(bits, found)
        yield found[0], found[1]

    def pairs(self, counted: Counted | None = None) -> tuple[Ints, Ints]:
        """Returns branches, and the selected rows from which their tails select nodes.

        Args:
            counted: The branches to count instead, and the array for their counts.
        """
        room = 1 << 20 if counted is None else 1 << 16
        while True:
            if counted is not None:
                counted.counts[:] = 0
            pairs = np.empty((2, room), np.int64)
            bits = np.empty((0, 0), np.uint8)
            count = self._search(bits, pairs, counted or _NOT_COUNTED)
            if count <= room:
                return pairs[0, :count], pairs[1, :count]
            room = count

    def _search(
        self,
        bits: NDArray[np.uint8],
        pairs: Ints,
        counted: Counted,
    ) -> int:
        plan = self._plan
        fans = np.empty((len(counted.fans), len(self._layout.item)), np.int32)
        for number, fan in enumerate(counted.fans):
            native_module("spines").arrange(fan, self._layout.item, fans[number])
        count: int = self._sets.matching(
            self._here,
            plan.above,
            self._layout.at,
            self._layout.counts,
            plan.stems.at,
            plan.stems.items,
            plan.stem_above,
            plan.stem_filter,
            plan.branches.at,
            plan.stem,
            plan.leading,
            plan.question,
            self._columns.unit,
            bits,
            pairs,
            counted.how,
            fans,
            counted.counts,
        )
        return count


def _joined(arrays: list[Ints], rows: int) -> tuple[Ints, Ints]:
    """Concatenates arrays; returns the start of each, and all together."""
    at = np.cumsum([0, *map(len, arrays)], dtype=np.int64)
    every = np.concatenate([NOTHING, *arrays])
    if every.size and not 0 <= every.min() <= every.max() < rows:
        raise IndexError("a row that is none")  # the C code does not check
    return at, every
