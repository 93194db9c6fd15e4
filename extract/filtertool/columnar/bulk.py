"""Answers all branches with a spine at once: per spine, not per question.

The rows of a spine are few, and what is asked there is put into one matrix: stems by rows, which of
these a stem selects. Spines that no document of the batch has cost nothing, and neither do stems
and tails that lead nowhere in it.
"""

from __future__ import annotations

import weakref
from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

import numpy as np

from extract.filtertool.columnar.columns import NOTHING, Bools, Columns, Ints
from extract.filtertool.columnar.dense import DenseRun, GivenRows
from extract.filtertool.columnar.evaluator import Evaluator, composed
from extract.filtertool.columnar.hops import CHILD, Hop
from extract.filtertool.columnar.native import native_available
from extract.filtertool.columnar.plan import Lists, Plan
from extract.filtertool.columnar.program import NONE
from extract.filtertool.columnar.sets import PAIRS, ROWS, Counted, NativeRun
from extract.filtertool.columnar.spines import ALL, RESULT

CELLS: Final = 1 << 24  # of a matrix that is made at a time


class Block(NamedTuple):
    """Branches of one spine that may select something.

    Attributes:
        rows: The rows of the spine.
        branches: The branches, as numbers of the plan.
        selected: For each branch which of the rows its stem selects; None if it is all of them for
            every branch.
    """

    rows: Ints
    branches: Ints
    selected: Bools | None


class Bulk:
    """The branches of a plan on one batch."""

    def __init__(self, plan: Plan, run: Evaluator) -> None:
        self._plan = plan
        self._columns: Columns = run.columns
        self._run = run
        self._rows = Lists.by(plan.spines_of(run.columns), len(plan.above))
        self._here = np.flatnonzero(np.diff(self._rows.at))
        ours = weakref.WeakMethod(self._leading)  # or we would hold ourselves

        def leading(number: int) -> Ints:
            method = ours()
            assert method is not None
            return method(number)

        given = GivenRows(plan.program, run, leading)
        self._sets: NativeRun | DenseRun
        if native_available():
            self._sets = NativeRun(plan.program, run, given)
        else:
            self._sets = DenseRun(plan.program, run, given)
        self._stems: dict[int, Bools] = {}
        # One more, for `ALL` is -1.
        self._stem_place = np.full(len(plan.stem_above) + 1, -1, np.int64)
        self._place = np.empty(run.columns.rows, np.int64)  # of a row among those of its spine
        self._found: tuple[Ints, Ints] | None = None  # what is left when others were counted

    def _leading(self, number: int) -> Ints:
        """The rows of spines from which a tail leads anywhere but to the document node."""
        starts = self._starts(number)
        index, nodes = self._run.follow(self._plan.tails[number].hops, starts)
        inside = nodes >= self._columns.rows
        inside[~inside] = self._columns.name[nodes[~inside]] >= 0
        return starts[index[inside]]

    def _starts(self, number: int) -> Ints:
        """The rows of spines that a tail follows."""
        plan = self._plan
        mine = np.flatnonzero(plan.tail == number)
        spines = np.unique(np.searchsorted(plan.branches.at, mine, "right") - 1)
        rows = [self._rows.of(spine) for spine in spines.tolist()]
        return np.sort(np.concatenate([NOTHING, *rows]))

    # -- units and questions

    def matching(self, questions: int) -> list[tuple[Ints, Ints]]:
        """Units and questions that have found anything, some perhaps more than once."""
        if isinstance(self._sets, NativeRun):
            return [self._sets.matching(self._plan, self._here, self._rows, questions)]
        return list(self._matching())

    def _matching(self) -> Iterator[tuple[Ints, Ints]]:
        plan = self._plan
        for rows, branches, matrix in self._matrices():
            units = self._columns.unit[rows]
            first = np.flatnonzero(np.append(True, units[1:] != units[:-1]))
            some = np.logical_or.reduceat(matrix, first, axis=1)
            branch, place = np.nonzero(np.broadcast_to(some, (len(branches), len(first))))
            yield units[first][place], plan.question[branches[branch]]

    # -- units, questions and numbers of nodes

    def counting(self, questions: int, alone: Collection[int]) -> tuple[Ints, Ints, Ints]:
        """Counts nodes without listing them, where that can be done: units, questions, numbers.

        What cannot is left to `selecting`.

        Args:
            questions: How many questions there are.
            alone: Questions that have other branches, too.
        """
        units = len(self._columns.documents)
        if not isinstance(self._sets, NativeRun) or units * questions > CELLS:
            return NOTHING, NOTHING, NOTHING
        plan = self._plan
        ours = plan.countable & ~np.isin(plan.question, list(alone))
        how = np.where(ours & (plan.tail == RESULT), ROWS, PAIRS)
        fans: list[Ints] = []
        alive = np.zeros(len(how), np.bool_)
        tails = np.flatnonzero(ours & (plan.tail != RESULT))
        alive[tails] = self._sets.some(plan.leading[tails])
        for tail in np.unique(plan.tail[alive]).tolist():
            if (len(fans) + 1) * self._columns.rows > CELLS:
                break
            how[ours & (plan.tail == tail)] = len(fans)
            fans.append(self._fan(tail))
        stacked = np.stack(fans) if fans else np.empty((0, 0), np.int64)
        counts = np.zeros((units, questions), np.int64)
        self._found = self._sets.pairs(plan, self._here, self._rows, Counted(how, stacked, counts))
        unit, question = np.nonzero(counts)
        return unit, question, counts[unit, question]

    def _fan(self, number: int) -> Ints:
        """To how many nodes a tail leads from each row that it may start from."""
        tail, columns = self._plan.tails[number], self._columns
        if all(hop.choice is not None and hop.axis == CHILD for hop in tail.hops):
            return self._ways(tail.hops)
        starts = self._starts(number)
        index, _ = self._run.follow(tail.hops, starts)
        found = np.zeros(columns.rows, np.int64)
        found[starts] = np.bincount(index, minlength=len(starts))
        return found

    def _ways(self, path: tuple[Hop, ...]) -> Ints:
        """To how many nodes children of children lead: a node has one parent, so to as many as
        there are ways."""
        columns = self._columns
        ways: Ints = np.ones(0, np.int64)
        for place, hop in enumerate(reversed(path)):
            assert hop.choice is not None
            nodes = self._run.chosen(hop.choice)
            if place:
                nodes = nodes[nodes < columns.rows]
            many = ways[nodes] if place else None
            ways = np.bincount(columns.parent[nodes], many, columns.rows).astype(np.int64)
        return ways

    # -- questions and nodes

    def selecting(self) -> Iterator[tuple[Ints, Ints]]:
        """Questions and nodes that they select, some perhaps more than once; those that were
        counted are left out."""
        plan = self._plan
        branch, row = self._pairs() if self._found is None else self._found
        by_tail = Lists.by(plan.tail[branch], len(plan.tails))
        for tail in np.flatnonzero(np.diff(by_tail.at)).tolist():
            mine = by_tail.of(tail)
            question, rows = plan.question[branch[mine]], row[mine]
            if tail == RESULT:
                yield question, rows
                continue
            starts, back = np.unique(rows, return_inverse=True)
            found = self._run.follow(plan.tails[tail].hops, starts)
            owner, nodes = composed(back, found)
            yield question[owner], nodes

    def _pairs(self) -> tuple[Ints, Ints]:
        """Branches and the rows that they select and from which their tails lead on."""
        if isinstance(self._sets, NativeRun):
            return self._sets.pairs(self._plan, self._here, self._rows)
        found: list[tuple[Ints, Ints]] = [(NOTHING, NOTHING)]
        for rows, branches, matrix in self._matrices():
            branch, place = np.nonzero(np.broadcast_to(matrix, (len(branches), len(rows))))
            found.append((branches[branch], rows[place]))
        return np.concatenate([b for b, _ in found]), np.concatenate([r for _, r in found])

    def _matrices(self) -> Iterator[tuple[Ints, Ints, Bools]]:
        """Rows of spines, branches, and which of the rows these select and lead on from."""
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

    def blocks(self) -> Iterator[Block]:
        """The branches whose stems select anything and whose tails lead anywhere."""
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
                yield Block(rows, branches, None)
                continue
            step = max(1, CELLS // len(rows))
            for at in range(0, len(branches), step):
                part = branches[at : at + step]
                yield Block(rows, part, self._selected(spine, part, len(rows)))

    def _select(self, spine: int, rows: Ints) -> None:
        """Says which rows of a spine its stems select."""
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
