"""References to nodes of a node table, in columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from extract.markup.node_kinds import NodeKind

_KINDS: Final = len(NodeKind)


@dataclass(frozen=True, slots=True)
class NodeRefs:
    """Nodes, each told by its kind, the row of an element, and a number.

    Attributes:
        kind: `NodeKind.ELEMENT`, `ATTRIBUTE`, `TEXT`, `COMMENT` or `PI`.
        row: The element, or the owner of the attribute or text, as a row of the node table's
            elements; for a comment or processing instruction its parent, -1 outside of the root.
        number: Of a text, comment or processing instruction: which of its parent's, from 1, as in
            `Leaves.number`. Of an attribute: which of the tag's attributes, from 0, namespace
            declarations counted. Of an element: 0.

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
        """Puts references one after the other."""
        none = np.empty(0, np.int32)
        return cls(
            np.concatenate([np.empty(0, np.int8), *[part.kind for part in parts]]),
            np.concatenate([none, *[part.row for part in parts]]),
            np.concatenate([none, *[part.number for part in parts]]),
        )

    def __len__(self) -> int:
        return len(self.kind)

    def where(self, chosen: NDArray[np.bool_]) -> NodeRefs:
        """Returns those for which a mask is true."""
        return NodeRefs(self.kind[chosen], self.row[chosen], self.number[chosen])

    def take(self, places: NDArray[np.int64] | slice) -> NodeRefs:
        """Returns those at some places, in the order of these."""
        return NodeRefs(self.kind[places], self.row[places], self.number[places])

    def distinct(self) -> tuple[NodeRefs, NDArray[np.int32]]:
        """Returns each node once; and for each of these references which of them it is.

        >>> refs = NodeRefs.of([(NodeKind.TEXT, 1, 1), (NodeKind.ELEMENT, 0, 0)] * 2)
        >>> once, which = refs.distinct()
        >>> once.row.tolist(), which.tolist()
        ([0, 1], [1, 0, 1, 0])
        """
        if not len(self):
            return self, np.empty(0, np.int32)
        many = int(self.number.max()) + 1
        size = (int(self.row.max()) + 2) * many * _KINDS
        codes = ((self.row.astype(np.int64) + 1) * many + self.number) * _KINDS + self.kind
        if size <= max(1 << 20, 8 * len(codes)):  # a place for each is faster than sorting them
            place = np.zeros(size, np.int32)
            place[codes] = 1
            once = np.flatnonzero(place)
            place[once] = np.arange(len(once), dtype=np.int32)
            which = place[codes]
        else:
            once, inverse = np.unique(codes, return_inverse=True)
            which = inverse.reshape(-1).astype(np.int32)
        rest, kind = np.divmod(once, _KINDS)
        row, number = np.divmod(rest, many)
        refs = NodeRefs(kind.astype(np.int8), (row - 1).astype(np.int32), number.astype(np.int32))
        return refs, which
