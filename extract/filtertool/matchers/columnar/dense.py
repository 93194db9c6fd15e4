"""Runs a program on masks over all rows of a batch, operation by operation, on demand."""

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
    Program,
    TailSeed,
)
from extract.filtertool.matchers.columnar.reach import SEARCHES, is_word, meets, part_of
from extract.filtertool.matchers.columnar.strings import Coded


class Rows(NamedTuple):
    """Rows that seed a program, perhaps with duplicates.

    Attributes:
        rows: The rows; equal sets are the same array.
        without: The rows to leave out.
    """

    rows: Ints
    without: Ints = NOTHING

    def array(self) -> Ints:
        """Returns the rows without those to leave out."""
        return self.rows[~np.isin(self.rows, self.without)] if self.without.size else self.rows


class SeedRows:
    """Finds the rows that seed a program.

    Args:
        program: The program.
        run: The batch.
        leading: Finds the rows from which a tail selects a node.
    """

    def __init__(self, program: Program, run: Evaluator, leading: Callable[[int], Ints]) -> None:
        self._program = program
        self._run = run
        self._leading = leading
        self._columns: list[_Column | None] = [None] * len(program.columns)

    def __len__(self) -> int:
        return len(self._program.seeds)

    def of(self, number: int) -> Rows:
        """Returns the rows of one seed."""
        seed = self._program.seeds[number]
        if isinstance(seed, TailSeed):
            return Rows(self._leading(seed.tail))
        place, goal, parents = seed
        column = self._columns[place]
        if column is None:
            column = self._columns[place] = _Column(self._run, self._program, place)
        if not column.nodes.size:
            return Rows(NOTHING)
        if not parents:
            return Rows(column.nodes[column.nodes < self._run.columns.rows])
        if goal is None:
            return Rows(column.parents)
        if is_word(goal):
            op, word = goal
            places = column.equal(word)
            if op == "=":
                return Rows(column.parents[places])
            return Rows(column.parents, column.parents_of_none_but(places))
        if goal[0] in SEARCHES:
            return Rows(column.parents[column.texts.places(column.holding(part_of(goal)))])
        return Rows(column.parents[meets(column.texts, goal)])


class _Column:
    """The nodes of one of a program's columns."""

    def __init__(self, run: Evaluator, program: Program, number: int) -> None:
        self._run = run
        self._choice = program.columns[number]
        self._words = program.words[number]
        self._parts = program.parts[number]
        self.nodes = run.chosen(self._choice)

    @cached_property
    def texts(self) -> Coded:
        """The string values of the nodes."""
        return self._run.coded(self._choice)

    def equal(self, word: bytes) -> Ints:
        """Returns the nodes whose string value is a word of the program."""
        number = self._words.numbers[word]
        places, at = self._equal
        return places[at[number] : at[number + 1]]

    @cached_property
    def _equal(self) -> tuple[Ints, list[int]]:
        numbers, places = self._run.strings.equal(self.nodes, self._words)
        at = np.searchsorted(numbers, np.arange(len(self._words.numbers) + 1))
        return places, at.tolist()

    def holding(self, part: bytes) -> Ints:
        """Returns the numbers of string values that contain a string of the program."""
        return self._found[self._parts[part]]

    @cached_property
    def _found(self) -> list[Ints]:
        return self.texts.search(list(self._parts))

    @cached_property
    def parents(self) -> Ints:
        """The parent of each node."""
        return self._run.columns.parent_of(self.nodes)

    def parents_of_none_but(self, places: Ints) -> Ints:
        """Returns the parents whose nodes are all at the places."""
        rows = self.parents[places]
        if self._many is None or not rows.size:
            return rows
        owners, counts = np.unique(rows, return_counts=True)
        complete: Ints = owners[counts == self._many[owners]]
        return complete

    @cached_property
    def _many(self) -> Ints | None:
        """For each row the number of nodes with that parent; None if it is never above 1."""
        if (self.parents[1:] > self.parents[:-1]).all():
            return None
        return np.bincount(self.parents)


class DenseRun:
    """A program on one batch."""

    def __init__(self, program: Program, run: Evaluator, seeds: SeedRows) -> None:
        self._program = program
        self._columns: Columns = run.columns
        self._run = run
        self._seeds = seeds
        self._masks: dict[int, Bools | None] = {}

    def mask(self, number: int) -> Bools | None:
        """Returns a mask of the rows of an operation; None for no rows."""
        if number not in self._masks:
            self._masks[number] = self._make(number)
        return self._masks[number]

    def at(self, numbers: Ints, rows: Ints) -> Bools:
        """Returns the operations' results at rows, as a matrix; all must have rows."""
        distinct, back = np.unique(numbers, return_inverse=True)
        masks = [self.mask(number) for number in distinct.tolist()]
        return np.stack([mask[rows] for mask in masks if mask is not None])[back]

    def some(self, numbers: Ints) -> Bools:
        """Returns a mask of the operations that have rows."""
        distinct, back = np.unique(numbers, return_inverse=True)
        filled = [self.mask(number) is not None for number in distinct.tolist()]
        return np.array(filled, np.bool_)[back]

    def _make(self, number: int) -> Bools | None:
        program = self._program
        op, first, second = program.op[number], program.first[number], program.second[number]
        if op in (AND, OR):
            left, right = self.mask(first), self.mask(second)
            if left is None or right is None:
                return None if op == AND else right if left is None else left
            mask: Bools = left & right if op == AND else left | right
            return mask if mask.any() else None
        if op == NOT:
            inner = self.mask(first)
            mask = np.ones(self._columns.rows, np.bool_) if inner is None else ~inner
            return mask if mask.any() else None
        if op in (HOP, DEEP_HOP):
            rows = self._hop(program.name[number], first, second)
            rows = self._columns.up[rows]
        else:
            rows = self._seeds.of(program.name[number]).array()
        return self._marked(rows, op in (DEEP_HOP, DEEP_SEED))

    def _hop(self, name: int, filter_: int, rest: int) -> Ints:
        """Returns the rows that a hop leads to."""
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
        mask = np.zeros(self._columns.rows, np.bool_)
        if deep:
            self._columns.mark_upward(mask, rows)
        else:
            mask[rows] = True
        return mask
