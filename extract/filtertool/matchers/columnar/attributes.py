"""Finds the attributes of a batch in the bytes of its start tags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extract.chunktool.scan.node_table import NodeTable
from extract.filtertool.matchers.columnar.names import NameBook, Scopes
from extract.filtertool.matchers.columnar.native import native_available, native_module
from extract.markup.tags import attribute_spans, declares_namespace
from extract.markup.values import NORMALISED

Ints = NDArray[np.int64]


class AttributeTable(NamedTuple):
    """Attributes in document order, without namespace declarations.

    Attributes:
        unit: The unit.
        row: The owner, as a row of the unit's table.
        number: Index among the tag's attributes, from 0, including namespace declarations.
        name: The number of its name.
        start: Byte where its name begins.
        value: Byte where its value begins, after the quote.
        stop: Byte where its value ends.
        odd: Whether the value differs from these bytes and must be normalised.
    """

    unit: Ints
    row: Ints
    number: Ints
    name: Ints
    start: Ints
    value: Ints
    stop: Ints
    odd: Ints


def attribute_table(
    tables: Sequence[NodeTable], scopes: Sequence[Scopes], names: NameBook
) -> AttributeTable:
    """Returns the attributes of all elements of the tables."""
    parts = [_of_table(table, scope, names) for table, scope in zip(tables, scopes, strict=True)]
    unit = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
    if len(parts) == 1:
        return AttributeTable(unit, *parts[0])
    return AttributeTable(unit, *[np.concatenate(column) for column in zip(*parts, strict=True)])


def _of_table(table: NodeTable, scopes: Scopes, names: NameBook) -> tuple[Ints, ...]:
    """Returns the columns of `AttributeTable`, without the unit."""
    find = _find_natively if native_available() else _find
    starts, contents = table.elements.start, table.elements.content
    row, number, start, end, value, stop, odd, same = find(table.data, starts, contents)
    name = _name_numbers(table.data, row, start, end, same, scopes, names)
    columns = (row, number, name, start, value, stop, odd)
    keep = name >= 0
    return columns if keep.all() else tuple(column[keep] for column in columns)


def _find_natively(data: bytes, start: Ints, content: Ints) -> Ints:
    room = 2 * len(start) + 16
    while True:
        out = np.empty((8, room), np.int64)
        count = native_module("values").attributes(data, start, content, out)
        if count <= room:
            return out[:, :count]
        room = count


def _find(data: bytes, start: Ints, content: Ints) -> Ints:
    attributes: list[tuple[int, ...]] = []
    first_of: dict[bytes, int] = {}
    for tag, (first, last) in enumerate(zip(start.tolist(), content.tolist(), strict=True)):
        if last - first <= len('<a b=""'):
            continue
        for number, span in enumerate(attribute_spans(data, first, last)):
            odd = NORMALISED.search(data, *span[2:]) is not None
            same = first_of.setdefault(data[slice(*span[:2])], len(attributes))
            attributes.append((tag, number, *span, odd, same))
    return np.array(attributes, np.int64).reshape(-1, 8).T


def _name_numbers(
    data: bytes,
    rows: Ints,
    start: Ints,
    end: Ints,
    same: Ints,
    scopes: Scopes,
    names: NameBook,
) -> Ints:
    """Returns the numbers of the names; -1 for a namespace declaration."""
    out = np.empty(len(rows), np.int64)
    for first in np.flatnonzero(same == np.arange(len(same))).tolist():
        name = data[start[first] : end[first]]
        if declares_namespace(name):
            out[first] = -1
        elif b":" not in name:
            out[first] = names.number("", name.decode())
        else:  # the prefix may be bound differently in other places
            for at in np.flatnonzero(same == first).tolist():
                out[at] = names.number(*scopes.attribute(int(rows[at]), name.decode()))
            same[same == first] = np.flatnonzero(same == first)
    return out[same]
