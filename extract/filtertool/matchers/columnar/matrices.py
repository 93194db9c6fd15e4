"""Joins spines with filters and tails on masks, as `sets` does in C.

The rows of a spine are few, and its stems are evaluated in one matrix: stems by rows, whether a
    stem
selects a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from extract.filtertool.matchers.columnar.columns import NOTHING, Bools, Columns, Ints
from extract.filtertool.matchers.columnar.dense import DenseRun, SeedRows
from extract.filtertool.matchers.columnar.evaluator import Evaluator
from extract.filtertool.matchers.columnar.plan import BranchPlan, GroupedNumbers
from extract.filtertool.matchers.columnar.program import NONE
from extract.filtertool.matchers.columnar.spines import ALL

CELLS: Final = 1 << 24  # the most cells of a matrix


class StemRows(NamedTuple):
    """Branches of one spine that may select nodes.

    Attributes:
        rows: The rows of the spine.
        branches: The branches, as numbers of the plan.
        selected: For each branch and row whether the branch's stem selects it; None if every stem
            selects all rows.
    """

    rows: Ints
    branches: Ints
    selected: Bools | None


class Matrices:
    """The branches of a plan on one batch.

    Args:
        plan: The branches.
        run: The batch.
        seeds: The seeds of the plan's program.
        rows: The rows of each spine.
    """

    def __init__(
        self, plan: BranchPlan, run: Evaluator, seeds: SeedRows, rows: GroupedNumbers
    ) -> None:
        self._plan = plan
        self._columns: Columns = run.columns
        self._rows = rows
        self._here = np.flatnonzero(np.diff(rows.at))
        self._sets = DenseRun(plan.program, run, seeds)
        self._stems: dict[int, Bools] = {}
        # One more column, for `ALL` is -1.
        self._stem_place = np.full(len(plan.stem_above) + 1, -1, np.int64)
        self._place = np.empty(run.columns.rows, np.int64)  # of a row in its spine

    def matching(self, questions: int) -> Iterator[tuple[Ints, Ints]]:
        """Yields pairs of a unit and a question that matches there, perhaps with duplicates."""
        for rows, branches, matrix in self._matrices():
            units = self._columns.unit[rows]
            first = np.flatnonzero(np.append(True, units[1:] != units[:-1]))
            matched = np.logical_or.reduceat(matrix, first, axis=1)
            branch, place = np.nonzero(np.broadcast_to(matched, (len(branches), len(first))))
            yield units[first][place], self._plan.question[branches[branch]]

    def pairs(self) -> tuple[Ints, Ints]:
        """Returns branches, and the selected rows from which their tails select nodes."""
        pairs: list[tuple[Ints, Ints]] = [(NOTHING, NOTHING)]
        for rows, branches, matrix in self._matrices():
            branch, place = np.nonzero(np.broadcast_to(matrix, (len(branches), len(rows))))
            pairs.append((branches[branch], rows[place]))
        return np.concatenate([b for b, _ in pairs]), np.concatenate([r for _, r in pairs])

    def _matrices(self) -> Iterator[tuple[Ints, Ints, Bools]]:
        """Yields rows of spines, branches, and a matrix of the rows that the branches select."""
        plan = self._plan
        for rows, branches, selected in self.blocks():
            leading = plan.leading[branches]
            tails = leading != NONE
            matrix = np.ones((1, len(rows)), np.bool_) if selected is None else selected
            if tails.any():
                matrix = matrix.repeat(len(branches), axis=0) if selected is None else matrix
                matrix[tails] &= self._sets.at(leading[tails], rows)
            yield rows, branches, matrix

    # -- stems

    def blocks(self) -> Iterator[StemRows]:
        """Yields the branches whose stems and tails may select nodes."""
        plan, place = self._plan, self._stem_place
        for spine in self._here.tolist():
            rows = self._rows.of(spine)
            self._select(spine, rows)
            first, last = int(plan.branches.at[spine]), int(plan.branches.at[spine + 1])
            if first == last:
                continue
            stem, leading = plan.stem[first:last], plan.leading[first:last]
            alive = (stem == ALL) | (place[stem] >= 0)
            tails = alive & (leading != NONE)
            alive[tails] = self._sets.some(leading[tails])
            branches = np.flatnonzero(alive) + first
            if (stem == ALL).all():
                yield StemRows(rows, branches, None)
                continue
            step = max(1, CELLS // len(rows))
            for at in range(0, len(branches), step):
                part = branches[at : at + step]
                yield StemRows(rows, part, self._selected(spine, part, len(rows)))

    def _select(self, spine: int, rows: Ints) -> None:
        """Computes which rows of a spine its stems select."""
        plan, place = self._plan, self._stem_place
        self._place[rows] = np.arange(len(rows))
        stems = plan.stems.of(spine)
        if not stems.size:
            return
        above, filters = plan.stem_above[stems], plan.stem_filter[stems]
        alive = (above == ALL) | (place[above] >= 0)
        filtered = alive & (filters != NONE)
        alive[filtered] = self._sets.some(filters[filtered])
        stems, above, filters = stems[alive], above[alive], filters[alive]
        if not stems.size:
            return
        matrix = np.ones((len(stems), len(rows)), np.bool_)
        filtered = filters != NONE
        if filtered.any():
            matrix[filtered] = self._sets.at(filters[filtered], rows)
        inner = np.flatnonzero(above != ALL)
        if inner.size:
            parents = self._place[self._columns.up[rows]]
            upper = self._stems[int(plan.above[spine])]
            matrix[inner] &= upper[place[above[inner]]][:, parents]
        alive = matrix.any(axis=1)
        place[stems[alive]] = np.arange(np.count_nonzero(alive))
        self._stems[spine] = matrix if alive.all() else matrix[alive]

    def _selected(self, spine: int, branches: Ints, rows: int) -> Bools:
        stem = self._plan.stem[branches]
        filtered = stem != ALL
        if filtered.all():
            return self._stems[spine][self._stem_place[stem]]
        matrix = np.ones((len(branches), rows), np.bool_)
        if filtered.any():
            matrix[filtered] = self._stems[spine][self._stem_place[stem[filtered]]]
        return matrix
