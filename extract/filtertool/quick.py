"""Names, paths and values of very many nodes, by operations on arrays.

Only for documents in UTF-8, where a part of the bytes is the text that it stands for. What is not
just a part of the bytes, texts with references and the like, is left to whoever does it one by one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from extract.chunktool import scan
from extract.chunktool.cut import gather
from extract.filtertool.matcher import ATTRIBUTE, COMMENT, ELEMENT, PI, TEXT
from extract.filtertool.table import NodeTable
from extract.filtertool.values import Values

Longs = NDArray[np.int64]
Flags = NDArray[np.bool_]

Slowly = Callable[[int, int, int, int, int, int], tuple[str | None, str | None]]
"""Gives name and value, from kind, row, number, leaf, start and size."""

_TEXT: Final = pa.large_string()
_ENDS_NAME: Final = np.zeros(256, np.bool_)
_ENDS_NAME[[ord(c) for c in " \t\r\n/>"]] = True
_ATTRIBUTE: Final = re.compile(rb"""\s([^\s=/>"']+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_CHANGED: Final = re.compile(rb"[&\t\r\n]")


class Quick:
    """Describes nodes of a table.

    Args:
        table: The table.
        values: Decodes its bytes.
        most: How many bytes a value may have. None for any.
        slowly: Describes one node.
    """

    def __init__(self, table: NodeTable, values: Values, most: int | None, slowly: Slowly) -> None:
        self._table = table
        self._values = values
        self._most = most
        self._slowly = slowly
        self._bytes = np.frombuffer(table.data, np.uint8)

    def columns(
        self,
        kind: NDArray[np.int8],
        row: NDArray[np.int32],
        number: NDArray[np.int32],
        leaves: Longs,
        start: Longs,
        end: Longs,
        slow_elements: bool,
    ) -> list[Any]:
        """Name, path and value of nodes.

        Args:
            kind, row, number: As in `Nodes`.
            leaves: The first leaf of each text, comment or processing instruction.
            start, end: Where elements, comments and processing instructions are.
            slow_elements: Whether values of elements are not just their bytes.
        """
        elements, attributes, texts = kind == ELEMENT, kind == ATTRIBUTE, kind == TEXT
        # Parts of the bytes: where the value is, where the name is, and whether that is all.
        value = np.stack((start, end), 1)
        name = np.zeros_like(value)
        slow = (kind == COMMENT) | (kind == PI)
        paths = _Paths(self._table, self._bytes)
        name[elements] = paths.names(row[elements])
        if slow_elements:
            slow |= elements
        if texts.any():
            value[texts], slow[texts] = self._texts(leaves[texts])
        if attributes.any():
            found = self._attributes(row[attributes], number[attributes])
            name[attributes], value[attributes] = found[:, :2], found[:, 2:4]
            slow[attributes] = found[:, 4] != 0
        names, values = self._strings(kind, row, number, leaves, start, end, name, value, slow)
        return [names, self._paths(paths, kind, row, number, names), values]

    def _strings(
        self,
        kind: NDArray[np.int8],
        row: NDArray[np.int32],
        number: NDArray[np.int32],
        leaves: Longs,
        start: Longs,
        end: Longs,
        name: Longs,
        value: Longs,
        slow: Flags,
    ) -> tuple[Any, Any]:
        data = self._table.data
        nameless = (kind == TEXT) | (kind == COMMENT) | (kind == PI)
        too_long = np.zeros(len(kind), np.bool_)
        if self._most is not None:
            too_long = value[:, 1] - value[:, 0] > self._most
        names = strings(data, name, nameless)
        values = strings(data, value, too_long | slow)
        which = np.flatnonzero(slow)
        if not len(which):
            return names, values
        columns = [c[which].tolist() for c in (kind, row, number, leaves, start, end - start)]
        pairs = [self._slowly(*one) for one in zip(*columns, strict=True)]
        mask = pa.array(slow)
        return (
            pc.replace_with_mask(names, mask, pa.array([pair[0] for pair in pairs], _TEXT)),
            pc.replace_with_mask(values, mask, pa.array([pair[1] for pair in pairs], _TEXT)),
        )

    def _texts(self, leaves: Longs) -> tuple[Longs, Flags]:
        """Where the values of texts are, and which are not just there."""
        table = self._table
        value = np.stack((table.leaf_start[leaves], table.leaf_end[leaves]), 1)
        slow = table.leaf_kind[leaves] != scan.TEXT
        after = np.minimum(leaves + 1, len(table.leaf_start) - 1)
        slow |= (
            (after != leaves)
            & (table.leaf_parent[after] == table.leaf_parent[leaves])
            & (table.leaf_number[after] == table.leaf_number[leaves])
            & ~np.isin(table.leaf_kind[after], (scan.COMMENT, scan.PI))
        )
        return value, slow

    def _attributes(self, row: NDArray[np.int32], number: NDArray[np.int32]) -> Longs:
        """Where names and values of attributes are, and whether the value is something else."""
        data, declared = self._table.data, self._values.declares_attributes
        out = np.empty((len(row), 5), np.int64)
        starts, ends = self._table.start[row].tolist(), self._table.content[row].tolist()
        for n, (start, end, which) in enumerate(zip(starts, ends, number.tolist(), strict=True)):
            found = _ATTRIBUTE.search(data, start, end)
            while which and found is not None:
                found = _ATTRIBUTE.search(data, found.end(), end)
                which -= 1
            assert found is not None
            quoted = 2 if found.start(2) >= 0 else 3
            changed = declared or _CHANGED.search(data, found.start(quoted), found.end(quoted))
            out[n] = (*found.span(1), *found.span(quoted), bool(changed))
        return out

    def _paths(
        self,
        paths: _Paths,
        kind: NDArray[np.int8],
        row: NDArray[np.int32],
        number: NDArray[np.int32],
        names: Any,
    ) -> Any:
        owners = paths.of(row)
        if (kind == ELEMENT).all():
            return owners
        tests = pa.array(["", "", "/text()[", "/comment()[", "/processing-instruction()["], _TEXT)
        before = pc.if_else(
            pa.array(kind == ATTRIBUTE), pa.scalar("/@", _TEXT), tests.take(pa.array(kind))
        )
        numbers = _joined(pa.array(number).cast(_TEXT), "]")
        numbers = pc.if_else(pa.array(kind == ELEMENT), pa.scalar("", _TEXT), numbers)
        last = pc.if_else(pa.array(kind == ATTRIBUTE), names, numbers)
        return _joined(owners, before, last)


def _joined(*parts: Any) -> Any:
    """Texts put together, row by row."""
    same = [pa.scalar(part, _TEXT) if isinstance(part, str) else part for part in (*parts, "")]
    return pc.binary_join_element_wise(*same)


def strings(data: bytes, spans: Longs, missing: Flags) -> Any:
    """Parts of bytes as an array of texts.

    Args:
        data: UTF-8.
        spans: Start and end of each.
        missing: Which are null.

    >>> spans = np.array([[0, 2], [3, 3], [1, 6]])
    >>> strings(b"abcdef", spans, np.array([False, False, True])).to_pylist()
    ['ab', '', None]
    """
    lengths = np.where(missing, 0, spans[:, 1] - spans[:, 0])
    offsets = np.zeros(len(spans) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    filled = spans[lengths > 0]
    text = gather(memoryview(data), filled) if len(filled) else b""
    valid = None
    if missing.any():
        valid = pa.py_buffer(np.packbits(~missing, bitorder="little").tobytes())
    buffers = [valid, pa.py_buffer(offsets), pa.py_buffer(text)]
    return pa.Array.from_buffers(_TEXT, len(spans), buffers)


class _Paths:
    """The unique paths of elements, those of all of a level at once."""

    def __init__(self, table: NodeTable, data: NDArray[np.uint8]) -> None:
        self._table = table
        self._data = data

    def names(self, rows: NDArray[Any]) -> Longs:
        """Where the names of elements are."""
        start = self._table.start[rows] + 1
        end = start.copy()
        open_ = np.arange(len(rows))
        while len(open_):  # as often as the longest name has bytes
            open_ = open_[~_ENDS_NAME[self._data[end[open_]]]]
            end[open_] += 1
        return np.stack((start, end), 1)

    def of(self, rows: NDArray[np.int32]) -> Any:
        """The paths of elements; of -1, the document node, it is empty."""
        table = self._table
        needed = self._with_ancestors(rows)
        where = np.full(len(table) + 1, len(needed), np.int64)  # -1 is the last
        where[needed] = np.arange(len(needed))
        parent = where[table.parent[needed]]
        names = strings(table.data, self.names(needed), np.zeros(len(needed), np.bool_))
        numbers = pa.array(table.position[needed]).cast(_TEXT)
        steps = _joined("/", names, "[", numbers, "]")
        depth = _depths(parent, len(needed))
        order = np.argsort(depth, kind="stable")
        bounds = np.searchsorted(depth[order], np.arange(int(depth.max(initial=0)) + 2))
        place = np.empty(len(needed) + 1, np.int64)  # where in its level each element is
        place[-1] = 0
        levels = [pa.array([""], _TEXT)]
        for first, last in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            here = order[first:last]
            place[here] = np.arange(last - first)
            above = levels[-1].take(pa.array(place[parent[here]]))
            levels.append(_joined(above, steps.take(pa.array(here))))
        rank = np.empty(len(needed) + 1, np.int64)
        rank[order] = np.arange(len(needed)) + 1
        rank[-1] = 0
        return pa.concat_arrays(levels).take(pa.array(rank[where[rows]]))

    def _with_ancestors(self, rows: NDArray[np.int32]) -> Longs:
        seen = np.zeros(len(self._table) + 1, np.bool_)
        seen[-1] = True  # -1 is nobody's child
        fresh = np.unique(rows[rows >= 0])
        while len(fresh):
            seen[fresh] = True
            above = np.unique(self._table.parent[fresh])
            fresh = above[~seen[above]]
        return np.flatnonzero(seen[:-1])


def _depths(parent: Longs, count: int) -> Longs:
    """How deep each is, from 0, given the parents; ``count`` stands for none.

    >>> _depths(np.array([4, 0, 1, 0]), 4).tolist()
    [0, 1, 2, 1]
    """
    up = np.append(parent, count)
    depth = np.append(np.ones(count, np.int64), 0)
    depth[:-1][parent == count] = 0
    while (up[:-1] != count).any():  # each time twice as far
        depth, up = depth + depth[up], up[up]
    return depth[:-1]
