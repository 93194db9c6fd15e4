"""Runs a program on masks over all rows of a batch, operation by operation, as asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from extract.filtertool.matchers.columnar.columns import NOTHING, Bools, Columns, Ints
from extract.filtertool.matchers.columnar.evaluator import Evaluator
from extract.filtertool.matchers.columnar.program import (
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
from extract.filtertool.matchers.columnar.reach import SEARCHES, is_word, meets, part_of
from extract.filtertool.matchers.columnar.strings import Coded


class Rows(NamedTuple):
    """Rows that a program is given, some perhaps more than once.

    Attributes:
        some: Rows; the same array where the same are meant.
        without: Those of them that are left out.
    """

    some: Ints
    without: Ints = NOTHING

    def array(self) -> Ints:
        """The rows that are left."""
        return self.some[~np.isin(self.some, self.without)] if self.without.size else self.some


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
        self._known: list[_Column | None] = [None] * len(program.columns)

    def __len__(self) -> int:
        return len(self._program.given)

    def of(self, number: int) -> Rows:
        """The rows of one of them."""
        given = self._program.given[number]
        if isinstance(given, FromTail):
            return Rows(self._leading(given.tail))
        column, goal, parents = given
        known = self._known[column]
        if known is None:
            known = self._known[column] = _Column(self._run, self._program, column)
        if not known.nodes.size:
            return Rows(NOTHING)
        if not parents:
            return Rows(known.nodes[known.nodes < self._run.columns.rows])
        if goal is None:
            return Rows(known.parents)
        if is_word(goal):
            op, word = goal
            found = known.equal(word)
            if op == "=":
                return Rows(known.parents[found])
            return Rows(known.parents, known.parents_of_none_but(found))
        if goal[0] in SEARCHES:
            return Rows(known.parents[known.texts.places(known.holding(part_of(goal)))])
        return Rows(known.parents[meets(known.texts, goal)])


class _Column:
    """One of a program's columns: some nodes."""

    def __init__(self, run: Evaluator, program: Program, number: int) -> None:
        self._run = run
        self._choice = program.columns[number]
        self._words = program.words[number]
        self._parts = program.parts[number]
        self.nodes = run.chosen(self._choice)

    @cached_property
    def texts(self) -> Coded:
        """Their string values."""
        return self._run.coded(self._choice)

    def equal(self, word: bytes) -> Ints:
        """Which nodes have a string value that the program asks for."""
        number = self._words.numbers[word]
        places, at = self._equal
        return places[at[number] : at[number + 1]]

    @cached_property
    def _equal(self) -> tuple[Ints, list[int]]:
        numbers, places = self._run.strings.equal(self.nodes, self._words)
        at = np.searchsorted(numbers, np.arange(len(self._words.numbers) + 1))
        return places, at.tolist()

    def holding(self, part: bytes) -> Ints:
        """The numbers of string values that have a part that the program asks for."""
        return self._found[self._parts[part]]

    @cached_property
    def _found(self) -> list[Ints]:
        return self.texts.search(list(self._parts))

    @cached_property
    def parents(self) -> Ints:
        """For each node its parent."""
        return self._run.columns.parent_of(self.nodes)

    def parents_of_none_but(self, places: Ints) -> Ints:
        """The parents that have no other of the nodes than those at some places."""
        rows = self.parents[places]
        if self._many is None or not rows.size:
            return rows
        found, counts = np.unique(rows, return_counts=True)
        complete: Ints = found[counts == self._many[found]]
        return complete

    @cached_property
    def _many(self) -> Ints | None:
        """For each row of how many nodes it is the parent; None if never of several."""
        if (self.parents[1:] > self.parents[:-1]).all():
            return None
        return np.bincount(self.parents)


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
            rows = self._given.of(program.name[number]).array()
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
