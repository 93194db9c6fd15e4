"""Records: the id and the constants of each member of a template, as bytes."""

from __future__ import annotations

from itertools import islice, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extract.subscriptions.columns import Offsets, TextColumn
from extract.subscriptions.native import native_tokens
from extract.xpath.numbers import to_number


class Records(NamedTuple):
    """The wordings of many expressions, and a record for each: its id and its constants.

    A record is a row of fields; a field is the length of a text, seven bits a byte, and the text.

    Attributes:
        wordings: For each expression the number of its wording.
        ends: Where its record ends; one without a wording has none.
        heap: The records, one after the other.
    """

    wordings: NDArray[np.int32]
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


def column_of(heap: bytes, starts: Offsets, field: int) -> TextColumn:
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


def fields_of(record: bytes) -> tuple[str, ...]:
    """The fields of a record.

    >>> fields_of(record("q1", ("x", "")))
    ('q1', 'x', '')
    """
    return tuple([part.decode("utf-8", "surrogatepass") for part in _fields(record, 0, None)])


def gather_records(heap: bytes, ends: Offsets, rows: Offsets) -> tuple[bytes, Offsets]:
    """Some of the records, one after the other, and where each ends."""
    starts = np.append(0, ends[:-1])[rows] if len(ends) else rows
    sizes = ends[rows] - starts
    native = native_tokens()
    if native is not None:
        gathered = native.gather_records(heap, starts, np.ascontiguousarray(sizes))
    else:
        pairs = zip(starts.tolist(), sizes.tolist(), strict=True)
        gathered = b"".join([heap[start : start + size] for start, size in pairs])
    return gathered, np.cumsum(sizes)


def unpack_records(heap: bytes, starts: Offsets) -> tuple[TextColumn, TextColumn, Offsets]:
    """The ids of records, their constants, and the number of constants of each.

    The texts of both columns follow each other.
    """
    native = native_tokens()
    if native is not None:
        counts = np.empty(len(starts), np.int64)
        total = native.count_constants(heap, starts, counts)
        id_offsets = np.zeros(len(starts) + 1, np.int64)
        offsets = np.zeros(total + 1, np.int64)
        ids, constants = native.unpack_records(heap, starts, counts, id_offsets, offsets)
        return (
            TextColumn(ids, id_offsets[:-1], id_offsets[1:]),
            TextColumn(constants, offsets[:-1], offsets[1:]),
            counts,
        )
    rows = [_fields(heap[a:b], 0, None) for a, b in pairwise([*starts.tolist(), len(heap)])]
    counts = np.array([len(row) - 1 for row in rows], np.int64)
    return (
        TextColumn.of_bytes([row[0] for row in rows]),
        TextColumn.of_bytes([field for row in rows for field in row[1:]]),
        counts,
    )


def pack_records(ids: TextColumn, constants: TextColumn, counts: Offsets) -> tuple[bytes, Offsets]:
    """The records of members, and where each ends; the opposite of `unpack_records`."""
    ends = np.empty(len(ids), np.int64)
    native = native_tokens()
    if native is not None:
        heap: bytes = native.pack_records(
            ids.buffer, ids.starts, ids.stops,
            constants.buffer, constants.starts, constants.stops,
            counts, ends,
        )  # fmt: skip
        return heap, ends
    values = iter(constants)
    rows = zip(ids, counts.tolist(), strict=True)
    records = [record(name, tuple(islice(values, count))) for name, count in rows]
    ends[:] = np.cumsum([len(one) for one in records])
    return b"".join(records), ends


def _fields(heap: bytes, at: int, count: int | None) -> list[bytes]:
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
        fields.append(heap[at : at + size])
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
