"""Records: the id and the constants of each member of a template, as bytes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extract.subscriptions.columns import Offsets, TextColumn
from extract.subscriptions.native import native_tokens
from extract.xpath.numbers import to_number


class Records(NamedTuple):
    """The templates of many expressions, and a record for each: its id and its constants.

    A record is a row of fields; a field is the length of a text, seven bits a byte, and the text.

    Attributes:
        templates: For each expression the number of its template; -1 if it has none.
        ends: Where its record ends.
        heap: The records, one after the other.
    """

    templates: NDArray[np.int32]
    ends: Offsets
    heap: bytes


def record(name: str, constants: tuple[str, ...]) -> bytes:
    """A member's record.

    >>> record("q1", ("x", ""))
    b'\\x02q1\\x01x\\x00'
    """
    fields = bytearray()
    for text in (name, *constants):
        data = text.encode("utf-8", "surrogatepass")
        left = len(data)
        while left >= 128:
            fields.append(left & 127 | 128)
            left >>= 7
        fields.append(left)
        fields += data
    return bytes(fields)


def column_of(heap: bytearray, starts: Offsets, field: int) -> TextColumn:
    """One field of the records that start there."""
    native = native_tokens()
    offsets = np.zeros(len(starts) + 1, np.int64)
    if native is not None:
        texts = native.gather_field(heap, starts, field, offsets)
    else:
        parts = [_fields(heap, start, field + 1)[field] for start in starts.tolist()]
        np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)), out=offsets[1:])
        texts = b"".join(parts)
    return TextColumn(texts, offsets[:-1], offsets[1:])


def fields_of(heap: bytearray, start: int, end: int) -> tuple[str, ...]:
    """The fields of the record from ``start`` to ``end``.

    >>> fields_of(bytearray(record("q1", ("x", ""))), 0, 6)
    ('q1', 'x', '')
    """
    parts = _fields(heap[start:end], 0, None)
    return tuple([part.decode("utf-8", "surrogatepass") for part in parts])


def _fields(heap: bytearray, at: int, count: int | None) -> list[bytes]:
    """So many fields from there on; all that there are for None."""
    fields: list[bytes] = []
    while len(fields) != count and at < len(heap):
        size = shift = 0
        while True:
            byte = heap[at]
            at += 1
            size |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        fields.append(bytes(heap[at : at + size]))
        at += size
    return fields


def numbers_of(column: TextColumn) -> NDArray[np.float64]:
    """The numbers that the texts of a column are to libxml2."""
    native = native_tokens()
    numbers = np.empty(len(column), np.float64)
    if native is not None:
        native.to_numbers(column.buffer, column.starts, column.stops, numbers)
    else:
        numbers[:] = [to_number(text.encode()) for text in column]
    return numbers
