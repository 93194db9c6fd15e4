"""Answers all branches with a spine at once: per spine, not per question.

Spines that no document of the batch has cost nothing, and neither do stems and tails that lead
nowhere in it.
"""

from __future__ import annotations

import weakref
from collections.abc import Collection, Iterator

import numpy as np

from extract.filtertool.matchers.columnar.columns import NOTHING, Columns, Ints
from extract.filtertool.matchers.columnar.dense import GivenRows
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
        ours = weakref.WeakMethod(self._leading)  # or we would hold ourselves

        def leading(number: int) -> Ints:
            method = ours()
            assert method is not None
            return method(number)

        given = GivenRows(plan.program, run, leading)
        self._rows: Layout | GroupedNumbers
        self._spines: NativeRun | Matrices
        if native_available():
            self._rows = layout = plan.layout_of(run.columns)
            self._spines = NativeRun(plan, run, given, layout)
        else:
            self._rows = lists = plan.lists_of(run.columns)
            self._spines = Matrices(plan, run, given, lists)
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
        return list(self._spines.matching(questions))

    # -- units, questions and numbers of nodes

    def counting(self, questions: int, alone: Collection[int]) -> tuple[Ints, Ints, Ints]:
        """Counts nodes without listing them, where that can be done: units, questions, numbers.

        What cannot is left to `selecting`.

        Args:
            questions: How many questions there are.
            alone: Questions that have other branches, too.
        """
        units = len(self._columns.documents)
        if not isinstance(self._spines, NativeRun) or units * questions > CELLS:
            return NOTHING, NOTHING, NOTHING
        plan = self._plan
        ours = plan.countable & ~np.isin(plan.question, list(alone))
        how = np.where(ours & (plan.tail == RESULT), ROWS, PAIRS)
        fans: list[Ints] = []
        alive = np.zeros(len(how), np.bool_)
        tails = np.flatnonzero(ours & (plan.tail != RESULT))
        alive[tails] = self._spines.some(plan.leading[tails])
        for tail in np.unique(plan.tail[alive]).tolist():
            if (len(fans) + 1) * self._columns.rows > CELLS:
                break
            how[ours & (plan.tail == tail)] = len(fans)
            fans.append(self._fan(tail))
        counts = np.zeros((units, questions), np.int64)
        self._found = self._spines.pairs(Counted(how, fans, counts))
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
            ways = np.bincount(columns.parent_of(nodes), many, columns.rows).astype(np.int64)
        return ways

    # -- questions and nodes

    def selecting(self) -> Iterator[tuple[Ints, Ints]]:
        """Questions and nodes that they select, some perhaps more than once; those that were
        counted are left out."""
        plan = self._plan
        branch, row = self._spines.pairs() if self._found is None else self._found
        by_tail = GroupedNumbers.by(plan.tail[branch], len(plan.tails))
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
