"""From nodes of a unit's tree to nodes of its table: each once, and in document order."""

from __future__ import annotations

import numpy as np

from extract.chunktool.nodes import NodeTable
from extract.errors import MatcherError
from extract.filtertool.document_order import DocumentOrder
from extract.filtertool.node_refs import NodeRefs
from extract.markup.node_kinds import NodeKind
from extract.markup.tags import tag_attributes
from extract.markup.values import Values


class TableRefs:
    """Finds nodes of a tree (`extract.filtertool.parsed`) in the unit's table.

    Args:
        table: The nodes of the unit.
    """

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._order = DocumentOrder(table)
        self._values: Values | None = None

    def unique(self, tree_refs: NodeRefs) -> NodeRefs:
        """Returns nodes, each once and in document order.

        Args:
            tree_refs: The nodes; numbers of attributes do not count namespace declarations.

        Raises:
            MatcherError: A node is not in the table.
        """
        number = tree_refs.number.copy()
        refs = NodeRefs(tree_refs.kind, tree_refs.row, number)
        try:
            for index in np.flatnonzero(NodeKind.ATTRIBUTE.among(refs.kind)).tolist():
                number[index] = self._written(int(refs.row[index]), int(number[index]))
            keys = self._order.keys(refs)
        except (KeyError, IndexError) as error:
            raise MatcherError(f"the node table does not fit the chunk: {error}") from error
        _, first = np.unique(keys, return_index=True)
        return refs.take(first)

    def _written(self, row: int, number: int) -> int:
        """Which of the tag's attributes an attribute is, namespace declarations counted."""
        if self._values is None:
            self._values = Values(self._table.data, 0)
        elements = self._table.elements
        tag = self._values.utf8(int(elements.start[row]), int(elements.content[row]))
        if b"xmlns" in tag:
            for at, attribute in enumerate(tag_attributes(tag)):
                number += attribute.declares and at <= number
        return number
