"""The nodes of a batch of units as columns, numbered together.

Every node has a number. Those of document nodes and elements, the *rows*, come first, unit by unit
and in document order: a document node has a row before its root element's. Then come texts, then
comments, then processing instructions, and last attributes, which are looked for only when they are
asked for. `Columns.order` puts all of them in document order: it grows with the byte where a node
begins, and with the unit.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extract.chunktool import scan
from extract.filtertool.columnar.attributes import AttributeTable, attribute_table
from extract.filtertool.columnar.names import NameBook, Scopes
from extract.filtertool.table import NodeTable

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

ROW, TEXT, COMMENT, PI, ATTRIBUTE = range(5)  # kinds of nodes, in the order of their numbers
NOTHING: Final[Ints] = np.empty(0, np.int64)


class TooMuch(Exception):
    """A question that would take too much memory here."""


def sorting(values: Ints) -> Ints:
    """The order that sorts an array, stable; of small numbers in linear time."""
    if values.size and values.min() >= -(1 << 15) and values.max() < 1 << 15:
        return np.argsort(values.astype(np.int16), kind="stable")
    return np.argsort(values, kind="stable")


class Leaves(NamedTuple):
    """Texts, comments or processing instructions.

    Attributes:
        parent: Row of each node's parent.
        order: As `Columns.order`.
        number: Which of its parent's it is, from 1.
        first: Index of its first piece; one more at the end.
        unit, kind, start, end: Of each piece, where and what it is.
        place: Of each piece, as `Columns.order`.
    """

    parent: Ints
    order: Ints
    number: Ints
    first: Ints
    unit: Ints
    kind: Ints
    start: Ints
    end: Ints
    place: Ints


class Columns:
    """A batch of units.

    Args:
        tables: Their node tables; the bytes must speak for themselves (see `markup.oddity`).
        names: Where names get their numbers.

    Attributes:
        rows: How many rows there are.
        documents: For each unit the row of its document node.
        base: For each unit the order of its document node.
        unit: For each row its unit.
        name: For each row the number of its name; -1 for a document node.
        up: For each row the row of its parent; -1 for a document node.
        ends: For each row what is larger than the order of all that is inside of it.
        leaves: Texts, comments and processing instructions.
        bounds: The first number of each kind of node.
        parent: For each node the row of its parent, or owner.
        order: For each node its place in document order.
    """

    def __init__(self, tables: Sequence[NodeTable], names: NameBook) -> None:
        self.tables = tables
        self.names = names
        self.scopes = [Scopes(table) for table in tables]
        sizes = np.array([len(table) for table in tables], np.int64)
        self.documents: Ints = np.cumsum(sizes + 1) - (sizes + 1)
        self.base: Ints = np.cumsum([0, *[len(table.data) + 2 for table in tables]])[:-1]
        self.rows = int(sizes.sum()) + len(tables)
        self.unit: Ints = np.repeat(np.arange(len(tables)), sizes + 1)
        self.name: Ints = np.full(self.rows, -1, np.int64)
        self.up: Ints = np.full(self.rows, -1, np.int64)
        order, self.ends = np.empty(self.rows, np.int64), np.empty(self.rows, np.int64)
        for unit, table in enumerate(tables):
            first, base = int(self.documents[unit]), int(self.base[unit])
            here = slice(first + 1, first + 1 + len(table))
            self.name[here] = names.of_elements(table, self.scopes[unit])
            np.add(table.parent, first + 1, out=self.up[here])
            np.add(table.start, base + 1, out=order[here])
            np.add(table.end, base + 1, out=self.ends[here])
            order[first], self.ends[first] = base, base + len(table.data) + 2
        self.leaves = self._leaves()
        self.parent: Ints = np.concatenate([self.up, *[leaf.parent for leaf in self.leaves]])
        self.order: Ints = np.concatenate([order, *[leaf.order for leaf in self.leaves]])
        counts = [0, self.rows, *[len(leaf.parent) for leaf in self.leaves]]
        self.bounds: Ints = np.cumsum(counts)

    def _leaves(self) -> tuple[Leaves, Leaves, Leaves]:
        parts: list[list[Any]] = [[] for _ in range(6)]
        for unit, table in enumerate(self.tables):
            columns = (
                table.leaf_parent + (self.documents[unit] + 1),  # -1 becomes the document node
                table.leaf_number,
                np.full(len(table.leaf_kind), unit),
                table.leaf_kind,
                table.leaf_start,
                table.leaf_end,
            )
            for part, column in zip(parts, columns, strict=True):
                part.append(column)
        joined = [np.concatenate([NOTHING, *part]) for part in parts]
        kind = joined[3]
        texts, comments, instructions = [
            _leaves_of([column[mask] for column in joined], self.base)
            for mask in (kind <= scan.REFERENCES, kind == scan.COMMENT, kind == scan.PI)
        ]
        return texts, comments, instructions

    @cached_property
    def attributes(self) -> AttributeTable:
        """The attributes of all elements; from now on they have numbers, too."""
        found = attribute_table(self.tables, self.scopes, self.names)
        self.parent = np.concatenate([self.parent, self.documents[found.unit] + 1 + found.row])
        self.order = np.concatenate([self.order, self.base[found.unit] + found.start + 1])
        return found

    def kind_of(self, nodes: Ints) -> Ints:
        """What each node is: `ROW`, `TEXT`, `COMMENT`, `PI` or `ATTRIBUTE`."""
        return np.searchsorted(self.bounds[1:], nodes, side="right")

    def unit_of(self, nodes: Ints) -> Ints:
        """The units of nodes."""
        if not nodes.size or nodes.max() < self.rows:
            return self.unit[nodes]
        return self.unit[np.where(nodes < self.rows, nodes, self.parent[nodes])]

    def mark_upward(self, mask: Bools, rows: Ints) -> None:
        """Marks rows and all their ancestors in a mask that has, with a row, all above it."""
        while rows.size:
            if rows.size > 64:
                rows = np.unique(rows)
            rows = rows[~mask[rows]]
            mask[rows] = True
            rows = self.up[rows]
            rows = rows[rows >= 0]

    @cached_property
    def levels(self) -> list[Ints]:
        """The rows of each depth, document nodes first."""
        found = []
        rows = np.arange(self.rows)
        above = self.up
        while rows.size:
            inside = above >= 0
            found.append(rows[~inside])
            rows, above = rows[inside], self.up[above[inside]]
        return found


def _leaves_of(columns: list[Ints], base: Ints) -> Leaves:
    parent, number, unit, kind, start, end = columns
    fresh = np.ones(len(parent), np.bool_)
    fresh[1:] = (parent[1:] != parent[:-1]) | (number[1:] != number[:-1])
    first = np.flatnonzero(fresh)
    place = base[unit] + start + 1
    ends = np.append(first, len(parent))
    return Leaves(parent[first], place[first], number[first], ends, unit, kind, start, end, place)
