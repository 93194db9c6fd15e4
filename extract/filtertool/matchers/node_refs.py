"""References to nodes of a node table, in columns, with their document order and offsets.

The key of a node is the byte where it begins, shifted to make room for the attributes of a tag.
Keys sort in document order: an element, its attributes, then its content. A node has the same key
    in every
chunk that has it, so the results of several chunks are united by key.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extract.chunktool.scan.node_table import NodeTable
from extract.errors import MatcherError
from extract.markup.node_kinds import LEAF_KINDS, NodeKind
from extract.markup.tags import tag_attributes
from extract.markup.values import Values

Keys = NDArray[np.int64]
Longs = NDArray[np.int64]

BITS: Final = 15  # of a key, for the attributes of a tag; `Limits.attributes` is lower
_KINDS: Final = len(NodeKind)
_MISSING: Final = "the node table does not fit the chunk: elements are missing"


@dataclass(frozen=True, slots=True)
class NodeRefs:
    """Nodes, each identified by its kind, the row of an element, and a number.

    Attributes:
        kind: `NodeKind.ELEMENT`, `ATTRIBUTE`, `TEXT`, `COMMENT` or `PI`.
        row: The element, or the owner of the attribute or text, as a row of the node table's
            elements; for a comment or processing instruction its parent, -1 outside of the root.
        number: Of a text, comment or processing instruction: its number among its parent's, from 1,
            as in `Leaves.number`. Of an attribute: its index in the tag, from 0, including
            namespace declarations. Of an element: 0.

    >>> refs = NodeRefs.of([(NodeKind.ELEMENT, 3, 0), (NodeKind.TEXT, 3, 1)])
    >>> len(refs), refs.take(np.array([1])).row.tolist()
    (2, [3])
    """

    kind: NDArray[np.int8]
    row: NDArray[np.int32]
    number: NDArray[np.int32]

    @classmethod
    def of(cls, refs: Sequence[tuple[int, int, int]]) -> NodeRefs:
        """Makes columns of kinds, rows and numbers."""
        columns = np.array(refs, np.int64).reshape(-1, 3)
        kind, row, number = columns.T
        return cls(kind.astype(np.int8), row.astype(np.int32), number.astype(np.int32))

    @classmethod
    def concat(cls, parts: Sequence[NodeRefs]) -> NodeRefs:
        """Concatenates references."""
        none = np.empty(0, np.int32)
        return cls(
            np.concatenate([np.empty(0, np.int8), *[part.kind for part in parts]]),
            np.concatenate([none, *[part.row for part in parts]]),
            np.concatenate([none, *[part.number for part in parts]]),
        )

    def __len__(self) -> int:
        return len(self.kind)

    def where(self, chosen: NDArray[np.bool_]) -> NodeRefs:
        """Returns the references for which a mask is true."""
        return NodeRefs(self.kind[chosen], self.row[chosen], self.number[chosen])

    def take(self, places: NDArray[np.int64] | slice) -> NodeRefs:
        """Returns the references at places, in the order of the places."""
        return NodeRefs(self.kind[places], self.row[places], self.number[places])

    def distinct(self) -> tuple[NodeRefs, NDArray[np.int32]]:
        """Returns the distinct nodes; and for each reference the index of its node in them.

        >>> refs = NodeRefs.of([(NodeKind.TEXT, 1, 1), (NodeKind.ELEMENT, 0, 0)] * 2)
        >>> once, which = refs.distinct()
        >>> once.row.tolist(), which.tolist()
        ([0, 1], [1, 0, 1, 0])
        """
        if not len(self):
            return self, np.empty(0, np.int32)
        width = int(self.number.max()) + 1
        size = (int(self.row.max()) + 2) * width * _KINDS
        codes = ((self.row.astype(np.int64) + 1) * width + self.number) * _KINDS + self.kind
        if size <= max(1 << 20, 8 * len(codes)):  # a table of all codes is faster than sorting
            place = np.zeros(size, np.int32)
            place[codes] = 1
            once = np.flatnonzero(place)
            place[once] = np.arange(len(once), dtype=np.int32)
            which = place[codes]
        else:
            once, inverse = np.unique(codes, return_inverse=True)
            which = inverse.reshape(-1).astype(np.int32)
        cells, kind = np.divmod(once, _KINDS)
        row, number = np.divmod(cells, width)
        refs = NodeRefs(kind.astype(np.int8), (row - 1).astype(np.int32), number.astype(np.int32))
        return refs, which


class LocatedNode(NamedTuple):
    """One node of `LocatedNodes`."""

    kind: int
    row: int
    number: int
    leaf: int
    start: int
    end: int


class LocatedNodes(NamedTuple):
    """Nodes of a table with their offsets.

    Attributes:
        refs: The nodes.
        leaf: Of a text, comment or processing instruction the row of its first leaf; otherwise -1.
        start, end: Of an element, comment or processing instruction its own bytes; of an attribute
            or text the bytes of its element.
    """

    refs: NodeRefs
    leaf: Longs
    start: Longs
    end: Longs

    def where(self, chosen: NDArray[np.bool_]) -> LocatedNodes:
        """Returns the nodes for which a mask is true."""
        columns = self.leaf[chosen], self.start[chosen], self.end[chosen]
        return LocatedNodes(self.refs.where(chosen), *columns)

    def one_by_one(self) -> Iterator[LocatedNode]:
        """Yields each node."""
        refs = self.refs
        columns = (refs.kind, refs.row, refs.number, self.leaf, self.start, self.end)
        return map(LocatedNode, *[column.tolist() for column in columns])


class DocumentOrder:
    """Computes keys and offsets of the nodes of one table.

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
        elements = refs.kind == NodeKind.ELEMENT.value
        keys[elements] = start[refs.row[elements]] << BITS
        attributes = refs.kind == NodeKind.ATTRIBUTE.value
        keys[attributes] = (start[refs.row[attributes]] << BITS) + refs.number[attributes] + 1
        leaf = self._first_leaves(refs)
        leaves = leaf >= 0
        keys[leaves] = self._table.leaves.start[leaf[leaves]] << BITS
        return keys

    def locate(self, refs: NodeRefs) -> LocatedNodes:
        """Returns the offsets of nodes.

        Raises:
            KeyError: A text, comment or processing instruction is not in the table.
        """
        elements, leaves = self._table.elements, self._table.leaves
        leaf = self._first_leaves(refs)
        start, end = elements.start[refs.row], elements.end[refs.row]
        own = (refs.kind == NodeKind.COMMENT.value) | (refs.kind == NodeKind.PI.value)
        if own.any():
            start = np.where(own, leaves.start[leaf], start)
            end = np.where(own, leaves.end[leaf], end)
        return LocatedNodes(refs, leaf, start, end)

    def _first_leaves(self, refs: NodeRefs) -> Longs:
        """Returns the first leaf of each text, comment or processing instruction."""
        first = np.full(len(refs), -1, np.int64)
        for kind in LEAF_KINDS:
            chosen = refs.kind == kind.value
            if chosen.any():
                first[chosen] = self._leaves_of(kind, refs.row[chosen], refs.number[chosen])
        return first

    def _leaves_of(
        self, kind: NodeKind, row: NDArray[np.int32], number: NDArray[np.int32]
    ) -> Longs:
        index, codes = self._index[kind]
        keys = _codes(row, number)
        at = np.searchsorted(codes, keys)
        at[at == len(codes)] = 0
        if not len(codes) or not (codes[at] == keys).all():
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


class TableRefs:
    """Converts references in a unit's tree (`...matchers.lxml.parsed_unit`) to its table.

    Args:
        table: The nodes of the unit.
    """

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._order = DocumentOrder(table)
        self._values: Values | None = None

    def unique(self, tree_refs: NodeRefs) -> NodeRefs:
        """Returns the nodes without duplicates, in document order.

        Args:
            tree_refs: The nodes; numbers of attributes do not count namespace declarations.

        Raises:
            MatcherError: A node is not in the table.
        """
        row, rows = tree_refs.row, len(self._table)
        if not tree_refs.kind.any() and (len(row) <= 1 or bool((row[1:] > row[:-1]).all())):
            if len(row) and not 0 <= row[0] <= row[-1] < rows:
                raise MatcherError(_MISSING)
            return tree_refs  # elements in order, as libxml2 nearly always selects them
        number = tree_refs.number.copy()
        refs = NodeRefs(tree_refs.kind, tree_refs.row, number)
        try:
            for index in np.flatnonzero(refs.kind == NodeKind.ATTRIBUTE.value).tolist():
                number[index] = self._written(int(refs.row[index]), int(number[index]))
            keys = self._order.keys(refs)
        except (KeyError, IndexError) as error:
            raise MatcherError(f"the node table does not fit the chunk: {error}") from error
        _, first = np.unique(keys, return_index=True)
        return refs.take(first)

    def are_elements_in_order(self, found: Iterable[tuple[int, int, int]]) -> bool:
        """Whether these are elements, each once and in document order.

        Args:
            found: Kind, row and number of each.

        Raises:
            MatcherError: One is not in the table.
        """
        last = -1
        for kind, row, _ in found:
            if kind or row <= last:
                return False
            last = row
        if last >= len(self._table):
            raise MatcherError(_MISSING)
        return True

    def _written(self, row: int, number: int) -> int:
        """Returns the index of an attribute in its tag, including namespace declarations."""
        if self._values is None:
            self._values = Values(self._table.data, 0)
        elements = self._table.elements
        tag = self._values.utf8(int(elements.start[row]), int(elements.content[row]))
        if b"xmlns" in tag:
            for at, attribute in enumerate(tag_attributes(tag)):
                number += attribute.declares and at <= number
        return number


def _codes(row: NDArray[np.int32], number: NDArray[np.int32]) -> Longs:
    codes: Longs = ((row.astype(np.int64) + 1) << 32) + number
    return codes
