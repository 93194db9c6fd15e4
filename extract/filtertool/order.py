"""Document order and identity of nodes, as one number each.

A node's key is the byte where it begins, shifted to make room for the attributes of a tag. Keys
sort in document order: an element, its attributes, then what is inside of it. The key of a node is
the same in every chunk that has it, so results of several chunks are united by their keys.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from extract.chunktool import scan
from extract.filtertool.matcher import ATTRIBUTE, COMMENT, ELEMENT, PI, TEXT
from extract.filtertool.table import NodeTable

Keys = NDArray[np.int64]

BITS: Final = 15  # for the attributes of a tag; `Limits.attributes` is below
_LEAVES: Final = {
    TEXT: (scan.TEXT, scan.CDATA, scan.REFERENCES),
    COMMENT: (scan.COMMENT,),
    PI: (scan.PI,),
}


class Order:
    """Keys of the nodes of one table.

    Args:
        table: The table.
    """

    def __init__(self, table: NodeTable) -> None:
        self._table = table

    def keys(
        self, kind: NDArray[np.int8], row: NDArray[np.int32], number: NDArray[np.int32]
    ) -> Keys:
        """The keys of nodes, given as in `Nodes`.

        Raises:
            KeyError: A text, comment or processing instruction is not in the table.
        """
        start = self._table.start
        keys = np.zeros(len(kind), np.int64)
        if not len(kind):
            return keys
        elements = kind == ELEMENT
        keys[elements] = start[row[elements]] << BITS
        attributes = kind == ATTRIBUTE
        keys[attributes] = (start[row[attributes]] << BITS) + number[attributes] + 1
        for leaf in _LEAVES:
            chosen = kind == leaf
            if chosen.any():
                first = self.leaves(leaf, row[chosen], number[chosen])
                keys[chosen] = self._table.leaf_start[first] << BITS
        return keys

    def leaves(
        self, kind: int, row: NDArray[np.int32], number: NDArray[np.int32]
    ) -> NDArray[np.int64]:
        """The first row among the leaves of each text, comment or processing instruction."""
        index, codes = self._index[kind]
        wanted = _codes(row, number)
        at = np.searchsorted(codes, wanted)
        at[at == len(codes)] = 0
        if not len(codes) or not (codes[at] == wanted).all():
            raise KeyError("a text, comment or processing instruction is not in the node table")
        found: NDArray[np.int64] = index[at]
        return found

    @cached_property
    def _index(self) -> dict[int, tuple[NDArray[np.int64], NDArray[np.int64]]]:
        table = self._table
        out = {}
        for kind, kinds in _LEAVES.items():
            index = np.flatnonzero(np.isin(table.leaf_kind, kinds))
            codes = _codes(table.leaf_parent[index], table.leaf_number[index])
            order = np.argsort(codes, kind="stable")
            out[kind] = (index[order], codes[order])
        return out


def _codes(row: NDArray[np.int32], number: NDArray[np.int32]) -> NDArray[np.int64]:
    codes: NDArray[np.int64] = ((row.astype(np.int64) + 1) << 32) + number
    return codes
