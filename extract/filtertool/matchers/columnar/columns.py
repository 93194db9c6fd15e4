"""The nodes of a batch of units as columns, with one numbering.

Every node has a number, and numbers ascend in the order of `NodeKind`. Document nodes and elements,
the *rows*, come first, unit by unit and in document order: a document node has a row before its
root element's, and counts as an element. Then come texts, then comments, then processing
instructions, and last attributes, which are found only on demand. `Columns.order_of` sorts all of
them in document
order: it grows with the byte where a node begins, and with the unit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extract.chunktool.scan.node_table import NodeTable
from extract.filtertool.matchers.columnar.attributes import AttributeTable, attribute_table
from extract.filtertool.matchers.columnar.names import NameBook, Scopes
from extract.markup.node_kinds import LEAF_KINDS, NodeKind

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

NOTHING: Final[Ints] = np.empty(0, np.int64)


class BeyondMemory(Exception):
    """A question would take too much memory on columns."""


def sorting(values: Ints) -> Ints:
    """Returns the stable order that sorts an array; for small numbers in linear time."""
    if values.size and values.min() >= -(1 << 15) and values.max() < 1 << 15:
        return np.argsort(values.astype(np.int16), kind="stable")
    return np.argsort(values, kind="stable")


def distinct(values: Ints) -> Ints:
    """Returns the distinct values, ascending; several times faster than ``np.unique``, which hashes
    from numpy 2.3 on."""
    ascending = np.sort(values)
    fresh = np.ones(len(values), np.bool_)
    fresh[1:] = ascending[1:] != ascending[:-1]
    return ascending[fresh]


class LeafColumns(NamedTuple):
    """Texts, comments or processing instructions.

    Attributes:
        parent: Row of each node's parent.
        order: As `Columns.order_of`.
        number: Number among the parent's nodes of this kind, from 1.
        first: Index of its first piece; one more at the end.
        unit, kind, start, end: Of each piece, its unit, kind and offsets.
        place: Of each piece, as `Columns.order_of`.
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
        tables: The node tables of the units, of documents that `accept.reason_against_document`
            accepts.
        names: Numbers the names.

    Attributes:
        rows: The number of rows.
        documents: For each unit the row of its document node.
        base: For each unit the order of its document node.
        unit: For each row its unit.
        name: For each row the number of its name; -1 for a document node.
        up: For each row the row of its parent; -1 for a document node.
        ends: For each row a number above the order of all its descendants.
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
            rows = slice(first + 1, first + 1 + len(table))
            self.name[rows] = names.of_elements(table, self.scopes[unit])
            np.add(table.elements.parent, first + 1, out=self.up[rows])
            np.add(table.elements.start, base + 1, out=order[rows])
            np.add(table.elements.end, base + 1, out=self.ends[rows])
            order[first], self.ends[first] = base, base + len(table.data) + 2
        self._order = order

    @cached_property
    def leaves(self) -> dict[int, LeafColumns]:
        """Texts, comments and processing instructions, by kind."""
        parts: list[list[Any]] = [[] for _ in range(6)]
        for unit, table in enumerate(self.tables):
            columns = (
                table.leaves.parent + (self.documents[unit] + 1),  # -1 becomes the document node
                table.leaves.number,
                np.full(len(table.leaves.kind), unit),
                table.leaves.kind,
                table.leaves.start,
                table.leaves.end,
            )
            for part, column in zip(parts, columns, strict=True):
                part.append(column)
        joined = [part[0] if len(part) == 1 else np.concatenate(part) for part in parts]
        masks = {kind: kind.parts_among(joined[3]) for kind in LEAF_KINDS}
        return {
            kind: _leaves_of(
                joined if mask.all() else [column[mask] for column in joined], self.base
            )
            for kind, mask in masks.items()
        }

    @property
    def texts(self) -> LeafColumns:
        """The texts."""
        return self.leaves[NodeKind.TEXT]

    @cached_property
    def bounds(self) -> Ints:
        """The first number of each kind of node. `CDATA` and `REFERENCES` are kinds of pieces of
        text and not of nodes, so they have the first number of comments."""
        counts = np.zeros(len(NodeKind), np.int64)
        counts[NodeKind.ELEMENT] = self.rows
        for kind, leaves in self.leaves.items():
            counts[kind] = len(leaves.parent)
        return np.cumsum(counts) - counts

    @cached_property
    def attributes(self) -> AttributeTable:
        """The attributes of all elements."""
        return attribute_table(self.tables, self.scopes, self.names)

    def kind_of(self, nodes: Ints) -> Ints:
        """Returns the `NodeKind` of each node."""
        return np.searchsorted(self.bounds[1:], nodes, side="right")

    def kinds_of(self, nodes: Ints) -> tuple[int, int]:
        """Returns the first and the last kind of the nodes."""
        if not nodes.size or nodes.max() < self.rows:
            return NodeKind.ELEMENT, NodeKind.ELEMENT
        low, high = self.kind_of(np.array([nodes.min(), nodes.max()])).tolist()
        return low, high

    def parent_of(self, nodes: Ints) -> Ints:
        """Returns the row of each node's parent, or owner; -1 for a document node."""
        return self._looked_up(self._parents, nodes)

    def order_of(self, nodes: Ints) -> Ints:
        """Returns each node's place in document order."""
        return self._looked_up(self._orders, nodes)

    def _looked_up(self, column: Callable[[int], Ints], nodes: Ints) -> Ints:
        low, high = self.kinds_of(nodes)
        if low == high:
            return column(low)[nodes - self.bounds[low] if low else nodes]
        out = np.empty(len(nodes), np.int64)
        kinds = self.kind_of(nodes)
        for kind in range(low, high + 1):
            mask = kinds == kind
            if mask.any():
                out[mask] = column(kind)[nodes[mask] - self.bounds[kind]]
        return out

    def _parents(self, kind: int) -> Ints:
        if kind == NodeKind.ELEMENT:
            return self.up
        return self._owners if kind == NodeKind.ATTRIBUTE else self.leaves[kind].parent

    def _orders(self, kind: int) -> Ints:
        if kind == NodeKind.ELEMENT:
            return self._order
        if kind != NodeKind.ATTRIBUTE:
            return self.leaves[kind].order
        return _shifted(self.attributes.start, self.base + 1, self.attributes.unit)

    @cached_property
    def _owners(self) -> Ints:
        return _shifted(self.attributes.row, self.documents + 1, self.attributes.unit)

    def unit_of(self, nodes: Ints) -> Ints:
        """Returns the unit of each node."""
        if not nodes.size or nodes.max() < self.rows:
            return self.unit[nodes]
        return self.unit[np.where(nodes < self.rows, nodes, self.parent_of(nodes))]

    def mark_upward(self, mask: Bools, rows: Ints) -> None:
        """Marks rows and all their ancestors in a mask that has all ancestors of its rows."""
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
        levels = []
        rows = np.arange(self.rows)
        above = self.up
        while rows.size:
            inside = above >= 0
            levels.append(rows[~inside])
            rows, above = rows[inside], self.up[above[inside]]
        return levels


def _leaves_of(columns: list[Any], base: Ints) -> LeafColumns:
    parent, number, unit, kind, start, end = columns
    fresh = np.ones(len(parent), np.bool_)
    fresh[1:] = (parent[1:] != parent[:-1]) | (number[1:] != number[:-1])
    place = _shifted(start, base + 1, unit)
    if fresh.all():  # every node is one piece
        pieces = np.arange(len(parent) + 1)
        return LeafColumns(parent, place, number, pieces, unit, kind, start, end, place)
    first = np.flatnonzero(fresh)
    ends = np.append(first, len(parent))
    return LeafColumns(
        parent[first], place[first], number[first], ends, unit, kind, start, end, place
    )


def _shifted(values: Ints, by: Ints, unit: Ints) -> Ints:
    """Adds to each value the number of its unit in ``by``."""
    shifted: Ints = values + (by[unit] if len(by) > 1 else by)
    return shifted
