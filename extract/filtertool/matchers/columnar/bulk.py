"""Answers all branches with a spine at once, spine by spine and not question by question.

Spines that no document of the batch has cost nothing, and neither do stems and tails that select
nothing in it.
"""

from __future__ import annotations

import weakref
from collections.abc import Collection, Iterator

import numpy as np

from extract.filtertool.matchers.columnar.columns import NOTHING, Bools, Columns, Ints
from extract.filtertool.matchers.columnar.dense import SeedRows
from extract.filtertool.matchers.columnar.evaluator import Evaluator, composed
from extract.filtertool.matchers.columnar.hops import CHILD, Hop
from extract.filtertool.matchers.columnar.matrices import CELLS, Matrices
from extract.filtertool.matchers.columnar.native import native_available
from extract.filtertool.matchers.columnar.plan import BranchPlan, GroupedNumbers, Layout
from extract.filtertool.matchers.columnar.sets import PAIRS, ROWS, Counted, NativeRun
from extract.filtertool.matchers.columnar.spines import RESULT


class Bulk:
    """The branches of a plan on one batch."""

    def __init__(self, plan: BranchPlan, run: Evaluator) -> None:
        self._plan = plan
        self._run = run
        self._columns: Columns = run.columns
        method_ref = weakref.WeakMethod(self._leading)  # a strong one would be a reference cycle

        def leading(number: int) -> Ints:
            method = method_ref()
            assert method is not None
            return method(number)

        seeds = SeedRows(plan.program, run, leading)
        self._rows: Layout | GroupedNumbers
        self._spines: NativeRun | Matrices
        if native_available():
            self._rows = layout = plan.layout_of(run.columns)
            self._spines = NativeRun(plan, run, seeds, layout)
        else:
            self._rows = lists = plan.lists_of(run.columns)
            self._spines = Matrices(plan, run, seeds, lists)
        self._found: tuple[Ints, Ints] | None = None  # pairs that `counting` has not counted

    def _leading(self, number: int) -> Ints:
        """Returns the rows of spines from which a tail selects a node other than the document."""
        starts = self._starts(number)
        index, nodes = self._run.follow(self._plan.tails[number].hops, starts)
        inside = nodes >= self._columns.rows
        inside[~inside] = self._columns.name[nodes[~inside]] >= 0
        return starts[index[inside]]

    def _starts(self, number: int) -> Ints:
        """Returns the rows of spines that a tail follows."""
        plan = self._plan
        branches = np.flatnonzero(plan.tail == number)
        spines = np.unique(np.searchsorted(plan.branches.at, branches, "right") - 1)
        rows = [self._rows.of(spine) for spine in spines.tolist()]
        return np.sort(np.concatenate([NOTHING, *rows]))

    def has_rows(self, spines: Ints) -> Bools:
        """Returns a mask of the spines that some document of the batch has."""
        rows = self._rows
        counts = rows.counts if isinstance(rows, Layout) else np.diff(rows.at)
        has: Bools = counts[spines] > 0
        return has

    # -- units and questions

    def matching(self, questions: int) -> list[tuple[Ints, Ints]]:
        """Returns pairs of a unit and a question that matches there, perhaps with duplicates."""
        return list(self._spines.matching(questions))

    # -- units, questions and numbers of nodes

    def counting(self, questions: int, alone: Collection[int]) -> tuple[Ints, Ints, Ints]:
        """Counts nodes without listing them, where possible: returns units, questions, counts.

        The other branches are left to `selecting`.

        Args:
            questions: The number of questions.
            alone: Questions that also have branches without a spine.
        """
        units = len(self._columns.documents)
        if not isinstance(self._spines, NativeRun) or units * questions > CELLS:
            return NOTHING, NOTHING, NOTHING
        plan = self._plan
        countable = plan.countable & ~np.isin(plan.question, list(alone))
        how = np.where(countable & (plan.tail == RESULT), ROWS, PAIRS)
        fans: list[Ints] = []
        alive = np.zeros(len(how), np.bool_)
        tails = np.flatnonzero(countable & (plan.tail != RESULT))
        alive[tails] = self._spines.some(plan.leading[tails])
        for tail in np.unique(plan.tail[alive]).tolist():
            if (len(fans) + 1) * self._columns.rows > CELLS:
                break
            how[countable & (plan.tail == tail)] = len(fans)
            fans.append(self._fan(tail))
        counts = np.zeros((units, questions), np.int64)
        self._found = self._spines.pairs(Counted(how, fans, counts))
        unit, question = np.nonzero(counts)
        return unit, question, counts[unit, question]

    def _fan(self, number: int) -> Ints:
        """Returns, for each row, the number of nodes that a tail selects from it."""
        tail, columns = self._plan.tails[number], self._columns
        if all(hop.choice is not None and hop.axis == CHILD for hop in tail.hops):
            return self._ways(tail.hops)
        starts = self._starts(number)
        index, _ = self._run.follow(tail.hops, starts)
        counts = np.zeros(columns.rows, np.int64)
        counts[starts] = np.bincount(index, minlength=len(starts))
        return counts

    def _ways(self, path: tuple[Hop, ...]) -> Ints:
        """Returns, for each row, the number of nodes that a path of child steps selects: a node has
        one parent, so it is the number of ways."""
        columns = self._columns
        ways: Ints = np.ones(0, np.int64)
        for place, hop in enumerate(reversed(path)):
            assert hop.choice is not None
            nodes = self._run.chosen(hop.choice)
            if place:
                nodes = nodes[nodes < columns.rows]
            weights = ways[nodes] if place else None
            ways = np.bincount(columns.parent_of(nodes), weights, columns.rows).astype(np.int64)
        return ways

    # -- questions and nodes

    def selecting(self) -> Iterator[tuple[Ints, Ints]]:
        """Yields questions and the nodes that they select, perhaps with duplicates, without the
        counted questions."""
        plan = self._plan
        branch, row = self._spines.pairs() if self._found is None else self._found
        by_tail = GroupedNumbers.by(plan.tail[branch], len(plan.tails))
        for tail in np.flatnonzero(np.diff(by_tail.at)).tolist():
            chosen = by_tail.of(tail)
            question, rows = plan.question[branch[chosen]], row[chosen]
            if tail == RESULT:
                yield question, rows
                continue
            starts, back = np.unique(rows, return_inverse=True)
            selected = self._run.follow(plan.tails[tail].hops, starts)
            owner, nodes = composed(back, selected)
            yield question[owner], nodes
