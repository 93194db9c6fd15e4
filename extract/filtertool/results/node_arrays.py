"""Names, paths, values and texts of very many nodes, by operations on arrays.

Only for documents in UTF-8, where a part of the bytes is the text that it stands for. Nodes whose
values are not just a part of the bytes, texts with references and the like, are marked as odd and
described one by one (`extract.filtertool.results.single_nodes`).
"""

from __future__ import annotations

from array import array
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from extract.chunktool.scan.byte_ranges import gather, native_gather
from extract.chunktool.scan.node_table import NodeTable
from extract.chunktool.scan.protocol import Elements
from extract.filtertool.matchers.node_refs import LocatedNodes, NodeRefs
from extract.filtertool.results.element_texts import ElementTexts
from extract.filtertool.results.node_batches import COLUMNS, TEXT_TYPE
from extract.filtertool.results.single_nodes import SingleNodes
from extract.markup.node_kinds import LEAF_KINDS, NodeKind
from extract.markup.tags import attribute_span
from extract.markup.values import NORMALISED

Longs = NDArray[np.int64]
Flags = NDArray[np.bool_]

_LABELS: Final = pa.array([kind.label for kind in NodeKind])
_ENDS_NAME: Final = np.zeros(256, np.bool_)
_ENDS_NAME[[ord(c) for c in " \t\r\n/>"]] = True
_BEFORE_LAST_STEP: Final = ["/@" if kind is NodeKind.ATTRIBUTE else "" for kind in NodeKind]
for _kind in LEAF_KINDS:
    _BEFORE_LAST_STEP[_kind] = f"/{_kind.node_test}["


class NodeTexts(NamedTuple):
    """Names, paths and values as arrays of Arrow.

    Attributes:
        odd: For which nodes name and value are still missing.
    """

    names: Any
    paths: Any
    values: Any
    odd: Flags


class NodeArrays:
    """Describes nodes of a table.

    Args:
        table: The table.
        declares_attributes: Whether the document says of what type attributes are.
        most: How many bytes a value may have. None for any.
    """

    def __init__(self, table: NodeTable, declares_attributes: bool, most: int | None) -> None:
        self._table = table
        self._declares_attributes = declares_attributes
        self._most = most
        self._paths = _Paths(table.elements, table.data)

    def batch(
        self,
        nodes: LocatedNodes,
        start: Longs,
        end: Longs,
        element_texts: ElementTexts,
        elements_as_written: bool,
        single: SingleNodes,
    ) -> Any:
        """Returns a record batch with all that is reported of nodes.

        Args:
            nodes: The nodes.
            start, end: Where in the document they are.
            element_texts: The string values of those that are elements.
            elements_as_written: Whether values of elements are just their bytes.
            single: Describes nodes one by one.
        """
        names, paths, values, odd = self.describe(nodes, elements_as_written)
        if odd.any():
            pairs = list(map(single.name_and_value, nodes.where(odd).one_by_one()))
            names = _replaced(names, odd, pa.array([name for name, _ in pairs], TEXT_TYPE))
            values = _replaced(values, odd, pa.array([value for _, value in pairs], TEXT_TYPE))
        long = element_texts.longer_than(self._most)
        texts = strings(element_texts.data, element_texts.spans, long)
        elements = nodes.refs.kind == NodeKind.ELEMENT.value
        columns = [
            _LABELS.take(pa.array(nodes.refs.kind)),
            names,
            pa.array(start),
            pa.array(end),
            paths,
            values,
            texts if elements.all() else _replaced(values, elements, texts),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=COLUMNS)

    def describe(self, nodes: LocatedNodes, elements_as_written: bool) -> NodeTexts:
        """Returns names, paths and values of nodes.

        Args:
            nodes: The nodes.
            elements_as_written: Whether values of elements are just their bytes.
        """
        refs = nodes.refs
        elements, attributes, texts, comments, instructions = (
            (refs.kind == kind.value)
            for kind in (
                NodeKind.ELEMENT,
                NodeKind.ATTRIBUTE,
                NodeKind.TEXT,
                NodeKind.COMMENT,
                NodeKind.PI,
            )
        )
        # Parts of the bytes: where the value is, where the name is, and whether that is all.
        value = np.stack((nodes.start, nodes.end), 1)
        name = np.zeros_like(value)
        odd = comments | instructions
        name[elements] = self._paths.names(refs.row[elements])
        if not elements_as_written:
            odd |= elements
        if texts.any():
            value[texts], odd[texts] = self._texts(nodes.leaf[texts])
        if attributes.any():
            where = self._attributes(refs.where(attributes))
            name[attributes], value[attributes], odd[attributes] = where
        too_long = np.zeros(len(nodes.start), np.bool_)
        if self._most is not None:
            too_long = value[:, 1] - value[:, 0] > self._most
        data = self._table.data
        names = strings(data, name, texts | comments | instructions)
        values = strings(data, value, too_long | odd)
        return NodeTexts(names, self._unique_paths(refs, names), values, odd)

    def _texts(self, first: Longs) -> tuple[Longs, Flags]:
        """Where the values of texts are, and which are not just there."""
        leaves = self._table.leaves
        value = np.stack((leaves.start[first], leaves.end[first]), 1)
        after = np.minimum(first + 1, len(leaves.start) - 1)
        several = (
            (after != first)
            & (leaves.parent[after] == leaves.parent[first])
            & (leaves.number[after] == leaves.number[first])
            & NodeKind.TEXT.parts_among(leaves.kind[after])
        )
        return value, several | ~(leaves.kind[first] == NodeKind.TEXT.value)

    def _attributes(self, refs: NodeRefs) -> tuple[Longs, Longs, Flags]:
        """Where names and values of attributes are, and which values are not just there."""
        data, elements = self._table.data, self._table.elements
        starts, ends = elements.start[refs.row].tolist(), elements.content[refs.row].tolist()
        tags = zip(starts, ends, refs.number.tolist(), strict=True)
        spans = array("q")  # not a list of tuples, which the garbage collector would go through
        odd = bytearray()
        for start, end, number in tags:
            span = attribute_span(data, start, end, number)
            spans.extend(span)
            odd.append(NORMALISED.search(data, span[2], span[3]) is not None)
        places = np.frombuffer(spans, np.int64).reshape(-1, 4)
        changed = np.frombuffer(odd, np.bool_) | self._declares_attributes
        return places[:, :2], places[:, 2:], changed

    def _unique_paths(self, refs: NodeRefs, names: Any) -> Any:
        owners = self._paths.of(refs.row)
        elements = refs.kind == NodeKind.ELEMENT.value
        if elements.all():
            return owners
        before = pa.array(_BEFORE_LAST_STEP, TEXT_TYPE).take(pa.array(refs.kind))
        numbers = _joined(pa.array(refs.number).cast(TEXT_TYPE), "]")
        numbers = pc.if_else(pa.array(elements), pa.scalar("", TEXT_TYPE), numbers)
        last = pc.if_else(pa.array(refs.kind == NodeKind.ATTRIBUTE.value), names, numbers)
        return _joined(owners, before, last)


def _replaced(column: Any, where: Flags, by: Any) -> Any:
    """A column in which some rows are replaced by those of another, in their order."""
    return pc.replace_with_mask(column, pa.array(where), by)


def _joined(*parts: Any) -> Any:
    """Texts put together, row by row."""
    same = [pa.scalar(part, TEXT_TYPE) if isinstance(part, str) else part for part in (*parts, "")]
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
    text = (native_gather() or gather)(memoryview(data), filled, 0) if len(filled) else b""
    valid = None
    if missing.any():
        valid = pa.py_buffer(np.packbits(~missing, bitorder="little").tobytes())
    buffers = [valid, pa.py_buffer(offsets), pa.py_buffer(text)]
    return pa.Array.from_buffers(TEXT_TYPE, len(spans), buffers)


class _Paths:
    """The unique paths of elements, those of all of a level at once."""

    def __init__(self, elements: Elements, data: bytes) -> None:
        self._elements = elements
        self._data = data
        self._bytes = np.frombuffer(data, np.uint8)

    def names(self, rows: NDArray[Any]) -> Longs:
        """Where the names of elements are."""
        start = self._elements.start[rows] + 1
        end = start.copy()
        open_ = np.arange(len(rows))
        while len(open_):  # as often as the longest name has bytes
            open_ = open_[~_ENDS_NAME[self._bytes[end[open_]]]]
            end[open_] += 1
        return np.stack((start, end), 1)

    def of(self, rows: NDArray[np.int32]) -> Any:
        """The paths of elements; of -1, the document node, it is empty."""
        elements = self._elements
        needed = self._with_ancestors(rows)
        where = np.full(len(elements.start) + 1, len(needed), np.int64)  # -1 is the last
        where[needed] = np.arange(len(needed))
        parent = where[elements.parent[needed]]
        names = strings(self._data, self.names(needed), np.zeros(len(needed), np.bool_))
        numbers = pa.array(elements.position[needed]).cast(TEXT_TYPE)
        steps = _joined("/", names, "[", numbers, "]")
        depth = _depths(parent, len(needed))
        order = np.argsort(depth, kind="stable")
        bounds = np.searchsorted(depth[order], np.arange(int(depth.max(initial=0)) + 2))
        place = np.empty(len(needed) + 1, np.int64)  # where in its level each element is
        place[-1] = 0
        levels = [pa.array([""], TEXT_TYPE)]
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
        seen = np.zeros(len(self._elements.start) + 1, np.bool_)
        seen[-1] = True  # -1 is nobody's child
        fresh = np.unique(rows[rows >= 0])
        while len(fresh):
            seen[fresh] = True
            above = np.unique(self._elements.parent[fresh])
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
