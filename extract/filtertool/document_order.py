"""Document order and identity of nodes, as one number each; and where nodes are.

A node's key is the byte where it begins, shifted to make room for the attributes of a tag. Keys
sort in document order: an element, its attributes, then what is inside of it. The key of a node is
the same in every chunk that has it, so results of several chunks are united by their keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extract.chunktool.nodes import NodeTable
from extract.filtertool.node_refs import NodeRefs
from extract.markup.node_kinds import LEAF_KINDS, NodeKind

Keys = NDArray[np.int64]
Longs = NDArray[np.int64]

BITS: Final = 15  # for the attributes of a tag; `Limits.attributes` is below


class LocatedNode(NamedTuple):
    """One of `LocatedNodes`."""

    kind: int
    row: int
    number: int
    leaf: int
    start: int
    end: int


class LocatedNodes(NamedTuple):
    """Nodes of a table, and where they are.

    Attributes:
        refs: The nodes.
        leaf: Of a text, comment or processing instruction the row of its first leaf; else -1.
        start, end: Of an element, comment or processing instruction its own bytes; of an attribute
            or text those of its element.
    """

    refs: NodeRefs
    leaf: Longs
    start: Longs
    end: Longs

    def where(self, chosen: NDArray[np.bool_]) -> LocatedNodes:
        """Returns those for which a mask is true."""
        columns = self.leaf[chosen], self.start[chosen], self.end[chosen]
        return LocatedNodes(self.refs.where(chosen), *columns)

    def one_by_one(self) -> Iterator[LocatedNode]:
        """Yields each node."""
        refs = self.refs
        columns = (refs.kind, refs.row, refs.number, self.leaf, self.start, self.end)
        return map(LocatedNode, *[column.tolist() for column in columns])


class DocumentOrder:
    """Keys and places of the nodes of one table.

    Args:
        table: The table.
    """

    def __init__(self, table: NodeTable) -> None:
        self._table = table

    def keys(self, refs: NodeRefs) -> Keys:
        """Returns the keys of nodes.

        Raises:
            KeyError: A text, comment or processing instruction is not in the table.
        """
        start = self._table.elements.start
        keys = np.zeros(len(refs), np.int64)
        if not len(refs):
            return keys
        elements = NodeKind.ELEMENT.among(refs.kind)
        keys[elements] = start[refs.row[elements]] << BITS
        attributes = NodeKind.ATTRIBUTE.among(refs.kind)
        keys[attributes] = (start[refs.row[attributes]] << BITS) + refs.number[attributes] + 1
        leaf = self._first_leaves(refs)
        leaves = leaf >= 0
        keys[leaves] = self._table.leaves.start[leaf[leaves]] << BITS
        return keys

    def locate(self, refs: NodeRefs) -> LocatedNodes:
        """Returns where nodes are.

        Raises:
            KeyError: A text, comment or processing instruction is not in the table.
        """
        elements, leaves = self._table.elements, self._table.leaves
        leaf = self._first_leaves(refs)
        start, end = elements.start[refs.row], elements.end[refs.row]
        own = NodeKind.COMMENT.among(refs.kind) | NodeKind.PI.among(refs.kind)
        if own.any():
            start = np.where(own, leaves.start[leaf], start)
            end = np.where(own, leaves.end[leaf], end)
        return LocatedNodes(refs, leaf, start, end)

    def _first_leaves(self, refs: NodeRefs) -> Longs:
        """The first row among the leaves of each text, comment or processing instruction."""
        first = np.full(len(refs), -1, np.int64)
        for kind in LEAF_KINDS:
            chosen = kind.among(refs.kind)
            if chosen.any():
                first[chosen] = self._leaves_of(kind, refs.row[chosen], refs.number[chosen])
        return first

    def _leaves_of(
        self, kind: NodeKind, row: NDArray[np.int32], number: NDArray[np.int32]
    ) -> Longs:
        index, codes = self._index[kind]
        wanted = _codes(row, number)
        at = np.searchsorted(codes, wanted)
        at[at == len(codes)] = 0
        if not len(codes) or not (codes[at] == wanted).all():
            raise KeyError("a text, comment or processing instruction is not in the node table")
        first: Longs = index[at]
        return first

    @cached_property
    def _index(self) -> dict[NodeKind, tuple[Longs, Longs]]:
        leaves = self._table.leaves
        index = {}
        for kind in LEAF_KINDS:
            rows = np.flatnonzero(kind.parts_among(leaves.kind))
            codes = _codes(leaves.parent[rows], leaves.number[rows])
            order = np.argsort(codes, kind="stable")
            index[kind] = (rows[order], codes[order])
        return index


def _codes(row: NDArray[np.int32], number: NDArray[np.int32]) -> Longs:
    codes: Longs = ((row.astype(np.int64) + 1) << 32) + number
    return codes
