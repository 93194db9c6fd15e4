"""The kinds of nodes, with the numbers that node tables, matchers and C code use."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]


class NodeKind(IntEnum):
    """The kind of a node, or of a part of a text node.

    A node of XPath that a query selects is an `ELEMENT`, `TEXT`, `COMMENT`, `PI` or `ATTRIBUTE`.
    The leaves of a node table have the kinds from `TEXT` to `PI`: there a text has one or several
    parts, each a `TEXT` (characters that are their own value), a `CDATA` section, or `REFERENCES`
    (characters with ``&`` or a carriage return, so that the value is not the bytes).

    The numbers are those of ``CT_TEXT`` and so on in the kernel's ``scan.h``. They ascend in the
    order in which the columnar matcher numbers nodes: it has no nodes of the kinds between `TEXT`
    and `COMMENT`.

    Compare arrays with `value`: with a member of an enumeration that takes ten times as long.

    >>> (np.array([0, 1, 2], np.int8) == NodeKind.TEXT.value).tolist()
    [False, True, False]
    """

    ELEMENT = 0
    TEXT = 1
    CDATA = 2
    REFERENCES = 3
    COMMENT = 4
    PI = 5
    ATTRIBUTE = 6

    def parts_among(self, kinds: NDArray[Any]) -> Flags:
        """Which leaves of a node table are nodes of this kind, or parts of such nodes.

        >>> NodeKind.TEXT.parts_among(np.array([1, 2, 3, 4, 5], np.int8)).tolist()
        [True, True, True, False, False]
        """
        if self is NodeKind.TEXT:
            texts: Flags = kinds < NodeKind.COMMENT.value
            return texts
        same: Flags = kinds == self.value
        return same

    @property
    def label(self) -> str:
        """The word for this kind in rows of results: ``element``, ``text`` and so on."""
        return _LABELS[self]

    @property
    def node_test(self) -> str:
        """The node test of XPath that a leaf of this kind passes, such as ``comment()``."""
        return _NODE_TESTS[self]


LEAF_KINDS: Final = (NodeKind.TEXT, NodeKind.COMMENT, NodeKind.PI)
"""The kinds of XPath nodes that are neither elements nor attributes."""

_LABELS: Final = ("element", "text", "text", "text", "comment", "pi", "attribute")
_NODE_TESTS: Final = {
    NodeKind.TEXT: "text()",
    NodeKind.COMMENT: "comment()",
    NodeKind.PI: "processing-instruction()",
}
