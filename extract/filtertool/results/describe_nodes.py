"""Describes nodes of a table from the bytes, each once, however many queries have selected it.

Few nodes are described one by one (`single_nodes`), many by operations on arrays (`node_arrays`).
Both give the same. Arrays leave out what is not just a part of the bytes; such nodes are described
one by one, too, and put in their places here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from extract.chunktool.scan.node_table import NodeTable
from extract.filtertool.matchers.node_refs import DocumentOrder, LocatedNodes, NodeRefs
from extract.filtertool.results.node_arrays import TEXT_TYPE, NodeArrays
from extract.filtertool.results.node_columns import COLUMNS, Described
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
        nodes = self._order.locate(refs)
        by_arrays = len(refs) >= MANY and self._values.is_utf8
        names, paths, values = (self._by_arrays if by_arrays else self._one_by_one)(nodes)
        columns = [
            pa.array(_LABELS).take(pa.array(refs.kind)),
            names,
            pa.array(self._originals(nodes.start)),
            pa.array(self._originals(nodes.end - 1) + 1),  # the byte after may be left out
            paths,
            values,
        ]
        into.add_batch(pa.RecordBatch.from_arrays(columns, schema=COLUMNS))

    def _originals(self, offsets: Longs) -> Longs:
        return offsets if self._original is None else self._original(offsets)

    def _one_by_one(self, nodes: LocatedNodes) -> tuple[Any, Any, Any]:
        """Names, paths and values of nodes."""
        names, paths, values = [], [], []
        for node in nodes.one_by_one():
            name, value = self._single.name_and_value(node)
            names.append(name)
            paths.append(self._single.path(node, name))
            values.append(value)
        return pa.array(names, TEXT_TYPE), pa.array(paths, TEXT_TYPE), pa.array(values, TEXT_TYPE)

    def _by_arrays(self, nodes: LocatedNodes) -> tuple[Any, Any, Any]:
        """The same."""
        arrays = NodeArrays(self._table, self._values.declares_attributes, self._most)
        names, paths, values, odd = arrays.describe(nodes, not self._standalone)
        if not odd.any():
            return names, paths, values
        pairs = list(map(self._single.name_and_value, nodes.where(odd).one_by_one()))
        mask = pa.array(odd)
        return (
            pc.replace_with_mask(names, mask, pa.array([name for name, _ in pairs], TEXT_TYPE)),
            paths,
            pc.replace_with_mask(values, mask, pa.array([value for _, value in pairs], TEXT_TYPE)),
        )
