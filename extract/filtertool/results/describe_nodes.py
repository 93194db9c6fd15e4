"""Describes nodes of a table from the bytes, each once, however many queries have selected it.

Few nodes are described one by one, in C (`native_nodes`) or in Python (`single_nodes`), many by
operations on arrays (`node_arrays`). All give the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from extract.chunktool.scan.node_table import NodeTable
from extract.filtertool.matchers.node_refs import DocumentOrder, LocatedNode, LocatedNodes, NodeRefs
from extract.filtertool.results.element_texts import ElementTexts
from extract.filtertool.results.native_nodes import native_nodes
from extract.filtertool.results.node_columns import Described, DescribedLists
from extract.filtertool.results.single_nodes import SingleNodes
from extract.markup.node_kinds import NodeKind
from extract.markup.values import Values

_LABELS: Final = [kind.label for kind in NodeKind]
MANY = 200  # nodes from which on arrays are faster than loops

Longs = NDArray[np.int64]


class NodeDescriber:
    """Describes nodes of one table.

    Args:
        table: The table.
        most: How many bytes a value may have; longer ones are left out. None for any.
        standalone: Give elements as XML that stands alone: with the namespace declarations that it
            needs, and entities expanded.
        original: Where in the document offsets of the table are; None if they are of the document.
    """

    def __init__(
        self,
        table: NodeTable,
        most: int | None = None,
        standalone: bool = False,
        original: Callable[[Longs], Longs] | None = None,
    ) -> None:
        self._table = table
        self._most = most
        self._standalone = standalone
        self._original = original
        self._order = DocumentOrder(table)

    @cached_property
    def _values(self) -> Values:
        table = self._table
        return Values(table.data, int(table.elements.start[0]) if table.elements.start.size else 0)

    @cached_property
    def _single(self) -> SingleNodes:
        return SingleNodes(self._table, self._values, self._most, self._standalone)

    def describe(self, refs: NodeRefs, into: Described) -> None:
        """Adds nodes to others."""
        if not len(refs):
            return
        native = native_nodes() if len(refs) < MANY else None
        if native is not None and self._is_plain:
            into.add_lists(self._in_native_code(native, refs))
            return
        nodes = self._order.locate(refs)
        start = self._originals(nodes.start)
        end = self._originals(nodes.end - 1) + 1  # the byte after may be left out
        elements = refs.kind == NodeKind.ELEMENT.value
        texts = ElementTexts.of(self._table, self._values, refs.row[elements])
        if len(refs) >= MANY and self._values.is_utf8:
            # Imports pyarrow, which takes longer than to describe few nodes.
            from extract.filtertool.results.node_arrays import NodeArrays

            arrays = NodeArrays(self._table, self._values.declares_attributes, self._most)
            batch = arrays.batch(nodes, start, end, texts, not self._standalone, self._single)
            into.add_batch(batch)
        else:
            into.add_lists(self._one_by_one(nodes, start, end, texts))

    @cached_property
    def _is_plain(self) -> bool:
        """Whether the bytes are what the code in C takes."""
        return not (
            self._standalone or not self._values.is_utf8 or self._values.declares_attributes
        )

    def _in_native_code(self, native: Any, refs: NodeRefs) -> DescribedLists:
        table, single = self._table, self._single
        columns = native.describe(
            table.elements,
            table.leaves,
            table.data,
            refs.kind,
            refs.row,
            refs.number,
            -1 if self._most is None else self._most,
            self._values,
            lambda *node: single.name_and_value(LocatedNode(*node)),
        )
        lists = DescribedLists(*columns)
        if self._original is None:
            return lists
        start, end = np.array(lists.start, np.int64), np.array(lists.end, np.int64)
        moved = self._originals(start), self._originals(end - 1) + 1
        return lists._replace(start=moved[0].tolist(), end=moved[1].tolist())

    def _originals(self, offsets: Longs) -> Longs:
        return offsets if self._original is None else self._original(offsets)

    def _one_by_one(
        self, nodes: LocatedNodes, start: Longs, end: Longs, texts: ElementTexts
    ) -> DescribedLists:
        """Describes nodes, given their places in the document and the texts of the elements."""
        lists = DescribedLists.none()
        lists.start.extend(start.tolist())
        lists.end.extend(end.tolist())
        of_elements = iter(texts.strings(self._most))
        for node in nodes.one_by_one():
            name, value = self._single.name_and_value(node)
            lists.node.append(_LABELS[node.kind])
            lists.name.append(name)
            lists.path.append(self._single.path(node, name))
            lists.value.append(value)
            lists.text.append(next(of_elements) if node.kind == NodeKind.ELEMENT else value)
        return lists
