"""Describes nodes of a table from the bytes, each once, however many queries have selected it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from extract.chunktool import scan
from extract.filtertool.describe import COLUMNS, Described, limited, standalone
from extract.filtertool.matcher import ATTRIBUTE, COMMENT, ELEMENT, PI, TEXT
from extract.filtertool.order import Order
from extract.filtertool.parsed import parse
from extract.filtertool.quick import Quick
from extract.filtertool.table import NodeTable
from extract.filtertool.tags import tag_attributes, tag_name
from extract.filtertool.values import Values

_WORDS: Final = ["element", "attribute", "text", "comment", "pi"]
_TESTS: Final = {TEXT: "text()", COMMENT: "comment()", PI: "processing-instruction()"}
MANY = 200  # nodes from which on arrays are faster than loops

Longs = NDArray[np.int64]


class Describer:
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
        self._order = Order(table)
        self._paths: dict[int, str] = {-1: ""}
        self._names: dict[int, str] = {}

    @cached_property
    def _values(self) -> Values:
        table = self._table
        return Values(table.data, int(table.start[0]) if len(table) else 0)

    def describe(
        self,
        kind: NDArray[np.int8],
        row: NDArray[np.int32],
        number: NDArray[np.int32],
        into: Described,
    ) -> None:
        """Adds nodes, given as in `Nodes`."""
        if not len(kind):
            return
        table = self._table
        leaves = np.full(len(kind), -1, np.int64)
        for leaf in _TESTS:
            chosen = kind == leaf
            if chosen.any():
                leaves[chosen] = self._order.leaves(leaf, row[chosen], number[chosen])
        own = (kind == COMMENT) | (kind == PI)
        start, end = table.start[row], table.end[row]
        if own.any():
            start = np.where(own, table.leaf_start[leaves], start)
            end = np.where(own, table.leaf_end[leaves], end)
        if len(kind) >= MANY and self._values.is_utf8:
            quick = Quick(table, self._values, self._most, self._slowly)
            columns = quick.columns(kind, row, number, leaves, start, end, self._standalone)
        else:
            columns = self._one_by_one(kind, row, number, leaves, start, end)
        batch = [
            pa.array(_WORDS).take(pa.array(kind)),
            columns[0],
            pa.array(self._originals(start)),
            pa.array(self._originals(end - 1) + 1),  # the byte after may be left out
            *columns[1:],
        ]
        into.add_batch(pa.RecordBatch.from_arrays(batch, schema=COLUMNS))

    def _originals(self, offsets: Longs) -> Longs:
        return offsets if self._original is None else self._original(offsets)

    def _one_by_one(
        self,
        kind: NDArray[np.int8],
        row: NDArray[np.int32],
        number: NDArray[np.int32],
        leaves: Longs,
        start: Longs,
        end: Longs,
    ) -> list[pa.Array]:
        """Name, path and value of nodes."""
        names, paths, values = [], [], []
        columns = (kind, row, number, leaves, start, end - start)
        for one in zip(*[column.tolist() for column in columns], strict=True):
            name, value = self._slowly(*one)
            names.append(name)
            paths.append(self._place(one[0], one[1], one[2], name))
            values.append(value)
        return [pa.array(column, pa.large_string()) for column in (names, paths, values)]

    def _slowly(
        self, kind: int, row: int, number: int, leaf: int, start: int, size: int
    ) -> tuple[str | None, str | None]:
        """Name and value of a node, whatever it is."""
        if kind == ELEMENT:
            fits = self._most is None or size <= self._most
            return self._name(row), self._element(row) if fits else None
        if kind == ATTRIBUTE:
            tag = self._tag(row)
            name = tag_attributes(tag)[number].name
            return name, limited(self._values.attribute(tag, number), self._most)
        if kind == TEXT:
            return None, limited(self._text(leaf), self._most)
        raw = self._values.string(start, start + size)
        if kind == COMMENT:
            return None, limited(self._values.comment(raw), self._most)
        target, data = self._values.instruction(raw)
        return target, limited(data, self._most)

    def _place(self, kind: int, row: int, number: int, name: str | None) -> str:
        """The unique path of a node."""
        path = self._path(row)
        if kind == ELEMENT:
            return path
        return f"{path}/@{name}" if kind == ATTRIBUTE else f"{path}/{_TESTS[kind]}[{number}]"

    def _tag(self, row: int) -> str:
        return self._values.string(int(self._table.start[row]), int(self._table.content[row]))

    def _name(self, row: int) -> str:
        name = self._names.get(row)
        if name is None:
            name = self._names[row] = tag_name(self._tag(row))
        return name

    def _path(self, row: int) -> str:
        """The unique path of an element; those of its ancestors are kept for others."""
        known = self._paths.get(row)
        if known is not None:
            return known
        table, paths = self._table, self._paths
        above = [row]
        while (parent := int(table.parent[above[-1]])) not in paths:
            above.append(parent)
        for each in reversed(above):
            step = f"/{self._name(each)}[{table.position[each]}]"
            paths[each] = paths[int(table.parent[each])] + step
        return paths[row]

    def _element(self, row: int) -> str | None:
        if self._standalone:
            return limited(self._alone(row), self._most)
        return self._values.string(int(self._table.start[row]), int(self._table.end[row]))

    def _alone(self, row: int) -> str:
        """The element as XML that stands alone: parsed with its ancestors' tags, and written."""
        table, data = self._table, self._table.data
        above: list[int] = []
        while (parent := int(table.parent[above[-1] if above else row])) >= 0:
            above.append(parent)
        parts = [data[: int(table.start[0])]]
        parts += [data[int(table.start[each]) : int(table.content[each])] for each in above[::-1]]
        parts.append(data[int(table.start[row]) : int(table.end[row])])
        parts += [data[int(table.close[each]) : int(table.end[each])] for each in above]
        element = parse(b"".join(parts)).getroot()
        for _ in above:
            element = element[0]
        return standalone(element)

    def _text(self, leaf: int) -> str:
        """The value of a text, which may have several parts."""
        table, values = self._table, self._values
        parent, number = table.leaf_parent[leaf], table.leaf_number[leaf]
        parts: list[str] = []
        while leaf < len(table.leaf_start) and table.leaf_parent[leaf] == parent:
            kind = int(table.leaf_kind[leaf])
            if table.leaf_number[leaf] != number or kind in (scan.COMMENT, scan.PI):
                break
            raw = values.string(int(table.leaf_start[leaf]), int(table.leaf_end[leaf]))
            parts.append(values.cdata(raw) if kind == scan.CDATA else values.text(raw))
            leaf += 1
        return "".join(parts)
