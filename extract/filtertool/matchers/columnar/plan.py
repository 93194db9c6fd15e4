"""All branches with a spine, as arrays: made once, for any number of batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extract.filtertool.matchers.columnar.columns import Bools, Columns, Ints, sorting
from extract.filtertool.matchers.columnar.names import NameBook
from extract.filtertool.matchers.columnar.native import native_module
from extract.filtertool.matchers.columnar.program import NONE, Program
from extract.filtertool.matchers.columnar.spines import Spines
from extract.schema.model import XML_NAMESPACE

_SHIFT: Final = 32  # of the upper spine's number, in the key of an edge of the trie


class GroupedNumbers(NamedTuple):
    """Numbers sorted by group: group ``g`` has ``items[at[g] : at[g + 1]]``."""

    at: Ints
    items: Ints

    @classmethod
    def by(cls, group: Ints, groups: int) -> GroupedNumbers:
        """Groups the indices of an array by its values."""
        items = sorting(group)
        return cls(np.searchsorted(group[items], np.arange(groups + 1)), items)

    def of(self, group: int) -> Ints:
        """Returns the numbers of one group."""
        return self.items[self.at[group] : self.at[group + 1]]


class Layout(NamedTuple):
    """The rows of each spine, and their positions in bit sets: rows of a spine are neighbours.

    Attributes:
        at: For each spine the position of its first row.
        counts: For each spine the number of its rows; last, the number of rows without a spine.
        item: For each position its row.
        position: For each row its position.
        parent: For each position that of the row's parent; -1 for a document node.
    """

    at: Ints
    counts: Ints
    item: NDArray[np.int32]
    position: NDArray[np.int32]
    parent: NDArray[np.int32]

    @classmethod
    def of_rows(cls, spine: NDArray[np.int32], up: Ints, counts: Ints) -> Layout:
        """Assigns positions to rows.

        Args:
            spine, up: For each row its spine, and the row of its parent.
            counts: For each spine the number of its rows.
        """
        at = np.cumsum(counts) - counts
        item, position, parent = (np.empty(len(spine), np.int32) for _ in range(3))
        native_module("spines").lay_out(spine, up, at.copy(), item, position, parent)
        return cls(at, counts, item, position, parent)

    def of(self, spine: int) -> Ints:
        """Returns the rows of a spine."""
        first = self.at[spine]
        return self.item[first : first + self.counts[spine]].astype(np.int64)


class BranchPlan:
    """The branches of all questions, as arrays.

    Args:
        spines: The branches.
        names: Numbers the names.
        namespaces: Prefix to namespace URI.

    Attributes:
        above: For each spine the spine of one step less.
        stem_above: For each stem the stem of one step less, or `ALL`.
        stem_filter: For each stem the operation of its last step's filter, or `NONE`.
        stems: The stems of each spine.
        branches: The branches of each spine, as indices into the following arrays.
        stem, tail, question: For each branch, sorted by spine.
        leading: For each branch the operation with the rows from which its tail selects a node;
            `NONE` if it has no tail.
        tails: The tails.
        program: The operations of filters and tails.
    """

    def __init__(self, spines: Spines, names: NameBook, namespaces: Mapping[str, str]) -> None:
        bound = {**namespaces, "": "", "xml": XML_NAMESPACE}
        self.above = np.array(spines.above, np.int64)
        last = np.zeros(len(spines.tests), np.int64)
        for spine, word in enumerate(spines.tests[1:], 1):
            prefix, _, local = word.rpartition(":")
            last[spine] = names.number(bound[prefix], local)
        keys = (self.above << _SHIFT) + last
        self._edges = np.argsort(keys[1:], kind="stable") + 1
        self._keys = keys[self._edges]
        self._last = last
        self.stem_above = _column(spines.stem_above)
        self.stems = GroupedNumbers.by(_column(spines.stem_spine), len(self.above))
        self.branches = GroupedNumbers.by(_column(spines.spine), len(self.above))
        order = self.branches.items
        self.stem = _column(spines.stem)[order]
        self.tail = _column(spines.tail)[order]
        self.question = _column(spines.question)[order]
        self.tails = spines.tails
        self.program = Program(names, namespaces)
        filters = [NONE, *[self.program.rows(choice) for choice in spines.filters]]
        tails = [
            self.program.leading(number, tail.path, tail.down)
            for number, tail in enumerate(spines.tails[1:], 1)
        ]
        self.stem_filter = _column(filters)[_column(spines.stem_filter) + 1]
        self.leading = _column([NONE, *tails])[self.tail]

    @cached_property
    def countable(self) -> Bools:
        """For each branch whether its question selects as many nodes as its branches together.

        This holds if no two branches select the same node: below different rows of one spine, and
            below
        spines of which none is above another, nodes are different.
        """
        down = np.array([tail.down for tail in self.tails], np.bool_)[self.tail]
        spine = np.repeat(np.arange(len(self.above)), np.diff(self.branches.at))
        key = self.question * len(self.above) + spine
        keys = np.sort(key)
        twice = keys[1:][keys[1:] == keys[:-1]]
        bad = ~down | among(key, twice)
        branch = np.flatnonzero(~bad)
        while branch.size:  # one step up in each round
            above = self.above[spine[branch]]
            branch, above = branch[above > 0], above[above > 0]
            spine[branch] = above
            met = among(self.question[branch] * len(self.above) + above, keys)
            bad[branch[met]] = True
            branch = branch[~met]
        questions = np.zeros(int(self.question.max(initial=-1)) + 1, np.bool_)
        questions[self.question[bad]] = True
        return ~questions[self.question]

    @cached_property
    def _trie(self) -> Any:
        return native_module("spines").Trie(self.above, self._last)

    def layout_of(self, columns: Columns) -> Layout:
        """Returns the rows of each spine, for the compiled modules."""
        spine = np.empty(columns.rows, np.int32)
        counts = np.zeros(len(self.above) + 1, np.int64)
        self._trie.spines_of(columns.up, columns.name, spine, counts)
        return Layout.of_rows(spine, columns.up, counts)

    def lists_of(self, columns: Columns) -> GroupedNumbers:
        """Returns the rows of each spine."""
        return GroupedNumbers.by(self._spines_of(columns), len(self.above))

    def _spines_of(self, columns: Columns) -> Ints:
        """Returns the spine of each row; 0 for document nodes, -1 for rows without a spine."""
        spines = np.full(columns.rows, -1, np.int64)
        spines[columns.documents] = 0
        if not len(self._keys):
            return spines
        for rows in columns.levels[1:]:
            above = spines[columns.up[rows]]
            rows, above = rows[above >= 0], above[above >= 0]
            keys = (above << _SHIFT) + columns.name[rows]
            at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
            hit = self._keys[at] == keys
            spines[rows[hit]] = self._edges[at[hit]]
        return spines


def among(values: Ints, sorted_: Ints) -> Bools:
    """Returns a mask of the values that are in a sorted array."""
    if not sorted_.size:
        return np.zeros(len(values), np.bool_)
    hits: Bools = sorted_[np.minimum(np.searchsorted(sorted_, values), len(sorted_) - 1)] == values
    return hits


def _column(values: Iterable[int]) -> Ints:
    return np.array(values, np.int64)
