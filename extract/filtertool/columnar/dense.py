"""Runs a program on masks over all rows of a batch, operation by operation, as asked for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from extract.filtertool.columnar.columns import NOTHING, Bools, Columns, Ints
from extract.filtertool.columnar.evaluator import Evaluator
from extract.filtertool.columnar.hops import Choice
from extract.filtertool.columnar.program import (
    AND,
    ANY,
    DEEP_HOP,
    DEEP_SEED,
    HOP,
    NONE,
    NOT,
    OR,
    FromTail,
    Program,
)
from extract.filtertool.columnar.reach import meets


class GivenRows:
    """Finds what a program must be given.

    Args:
        program: The program.
        run: The batch.
        leading: Finds the rows from which a tail leads anywhere.
    """

    def __init__(self, program: Program, run: Evaluator, leading: Callable[[int], Ints]) -> None:
        self._program = program
        self._run = run
        self._leading = leading
        self._parents: dict[Choice, Ints] = {}

    def __len__(self) -> int:
        return len(self._program.given)

    def of(self, number: int) -> Ints:
        """Rows, some perhaps more than once."""
        given = self._program.given[number]
        if isinstance(given, FromTail):
            return self._leading(given.tail)
        choice, goal, parents = given
        nodes = self._run.chosen(choice)
        if not nodes.size:
            return NOTHING
        if goal is not None:
            texts = self._run.coded(choice)
            op, value = goal
            if isinstance(value, bytes) and op == "=":
                nodes = nodes[texts.where(value)]
            elif not isinstance(value, bytes) or op != "!=" or texts.find(value) >= 0:
                nodes = nodes[meets(texts, goal)]
            else:
                return self._every(choice)  # nothing is equal to that
        if parents and goal is None:
            return self._every(choice)
        if parents:
            return self._run.columns.parent[nodes]
        return nodes[nodes < self._run.columns.rows]

    def _every(self, choice: Choice) -> Ints:
        """The parents of all nodes of a choice, as the same array every time."""
        known = self._parents.get(choice)
        if known is None:
            known = self._run.columns.parent[self._run.chosen(choice)]
            self._parents[choice] = known
        return known


class DenseRun:
    """A program on one batch."""

    def __init__(self, program: Program, run: Evaluator, given: GivenRows) -> None:
        self._program = program
        self._columns: Columns = run.columns
        self._run = run
        self._given = given
        self._known: dict[int, Bools | None] = {}

    def mask(self, number: int) -> Bools | None:
        """The rows that an operation gives; None for none."""
        if number not in self._known:
            self._known[number] = self._make(number)
        return self._known[number]

    def at(self, numbers: Ints, rows: Ints) -> Bools:
        """What operations that give any rows say of some rows, as a matrix."""
        distinct, back = np.unique(numbers, return_inverse=True)
        masks = [self.mask(number) for number in distinct.tolist()]
        return np.stack([mask[rows] for mask in masks if mask is not None])[back]

    def some(self, numbers: Ints) -> Bools:
        """Which operations give any rows."""
        distinct, back = np.unique(numbers, return_inverse=True)
        found = [self.mask(number) is not None for number in distinct.tolist()]
        return np.array(found, np.bool_)[back]

    def _make(self, number: int) -> Bools | None:
        program = self._program
        op, first, second = program.op[number], program.first[number], program.second[number]
        if op in (AND, OR):
            left, right = self.mask(first), self.mask(second)
            if left is None or right is None:
                return None if op == AND else right if left is None else left
            found: Bools = left & right if op == AND else left | right
            return found if found.any() else None
        if op == NOT:
            inner = self.mask(first)
            found = np.ones(self._columns.rows, np.bool_) if inner is None else ~inner
            return found if found.any() else None
        if op in (HOP, DEEP_HOP):
            rows = self._hop(program.name[number], first, second)
            rows = self._columns.up[rows]
        else:
            rows = self._given.of(program.name[number])
        return self._marked(rows, op in (DEEP_HOP, DEEP_SEED))

    def _hop(self, name: int, filter_: int, rest: int) -> Ints:
        """The rows that a hop leads to."""
        masks = [self.mask(number) for number in (rest, filter_) if number != NONE]
        rows = self._run.axes.elements(None if name == ANY else name)
        for mask in masks:
            if mask is None:
                return NOTHING
            rows = rows[mask[rows]]
        return rows

    def _marked(self, rows: Ints, deep: bool) -> Bools | None:
        if not rows.size:
            return None
        found = np.zeros(self._columns.rows, np.bool_)
        if deep:
            self._columns.mark_upward(found, rows)
        else:
            found[rows] = True
        return found
