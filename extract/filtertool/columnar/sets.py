"""Runs a program in C: sets of rows as bit sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extract.filtertool.columnar.columns import NOTHING, Bools, Ints
from extract.filtertool.columnar.dense import GivenRows
from extract.filtertool.columnar.evaluator import Evaluator
from extract.filtertool.columnar.native import native_module
from extract.filtertool.columnar.program import Program

if TYPE_CHECKING:
    from extract.filtertool.columnar.plan import Lists, Plan


# What becomes of the rows of a branch, besides being counted by one of the fans; as in C.
ROWS: Final = -1
PAIRS: Final = -2


class Counted(NamedTuple):
    """Branches of which only the number of nodes is asked for.

    Attributes:
        how: For each branch `PAIRS` if it is not counted, `ROWS` if its rows are, else which of the
            fans says how many nodes its tail leads to.
        fans: For each of some tails, to how many nodes it leads from each row.
        counts: Where the numbers go, by unit and question.
    """

    how: Ints
    fans: Ints
    counts: Ints


_NOTHING: Final = np.empty((0, 0), np.int64)
_NOT_COUNTED: Final = Counted(NOTHING, _NOTHING, _NOTHING)


class NativeRun:
    """A program on one batch."""

    def __init__(self, program: Program, run: Evaluator, given: GivenRows) -> None:
        columns = run.columns
        seeds: dict[int, Ints] = {}  # by identity: what is the same array need be there once
        places: dict[int, int] = {}
        which = []
        for number in range(len(given)):
            found = given.of(number)
            seeds[id(found)] = found
            which.append(places.setdefault(id(found), len(places)))
        rows = np.concatenate([NOTHING, *seeds.values()])
        if rows.size and not 0 <= rows.min() <= rows.max() < columns.rows:
            raise IndexError("a row that is none")  # C would not notice
        named, named_at = run.axes.by_name
        self._sets = native_module().Sets(
            np.asarray(program.op),
            np.asarray(program.name),
            np.asarray(program.first),
            np.asarray(program.second),
            np.array(which, np.int64),
            np.cumsum([0, *map(len, seeds.values())], dtype=np.int64),
            rows,
            named_at,
            named,
            columns.name,
            columns.up,
        )
        self._columns = columns

    def some(self, numbers: Ints) -> Bools:
        """Which operations give any rows."""
        out = np.empty(len(numbers), np.bool_)
        self._sets.some(np.ascontiguousarray(numbers), out.view(np.uint8))
        return out

    def at(self, numbers: Ints, rows: Ints) -> Bools:
        """What operations that give any rows say of some rows, as a matrix."""
        out = np.empty((len(numbers), len(rows)), np.bool_)
        self._sets.at(np.ascontiguousarray(numbers), rows, out.view(np.uint8))
        return out

    def matching(self, plan: Plan, spines: Ints, rows: Lists, questions: int) -> tuple[Ints, Ints]:
        """Units and questions that have found anything, in this order."""
        bits = np.zeros((len(self._columns.documents), (questions + 7) // 8), np.uint8)
        self._search(plan, spines, rows, bits, np.empty((2, 0), np.int64), _NOT_COUNTED)
        found = np.empty((2, native_module().count_bits(bits)), np.int64)
        native_module().list_bits(bits, found)
        return found[0], found[1]

    def pairs(
        self, plan: Plan, spines: Ints, rows: Lists, counted: Counted | None = None
    ) -> tuple[Ints, Ints]:
        """Branches and the rows that they select and from which their tails lead on.

        Args:
            plan: The branches.
            spines: Those that the batch has, the ones above first.
            rows: The rows of each spine.
            counted: Which branches are counted instead, and where their numbers go.
        """
        room = 1 << 20 if counted is None else 1 << 16
        while True:
            if counted is not None:
                counted.counts[:] = 0
            pairs = np.empty((2, room), np.int64)
            bits = np.empty((0, 0), np.uint8)
            count = self._search(plan, spines, rows, bits, pairs, counted or _NOT_COUNTED)
            if count <= room:
                return pairs[0, :count], pairs[1, :count]
            room = count

    def _search(
        self,
        plan: Plan,
        spines: Ints,
        rows: Lists,
        bits: NDArray[np.uint8],
        pairs: Ints,
        counted: Counted,
    ) -> int:
        count: int = self._sets.matching(
            spines,
            rows.at,
            rows.items,
            plan.stems.at,
            plan.stems.items,
            plan.stem_above,
            plan.stem_filter,
            plan.branches.at,
            plan.stem,
            plan.leading,
            plan.question,
            self._columns.unit,
            self._columns.up,
            bits,
            pairs,
            *counted,
        )
        return count
