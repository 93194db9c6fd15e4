"""Rows of Arrow as PostgreSQL's binary COPY: a column at a time, without Python for each row.

A row is the number of its fields, and for each field its length and its bytes, -1 for null. Arrow
puts such pieces together for all rows at once; what comes out is one buffer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

HEAD: Final = b"PGCOPY\n\xff\r\n\0" + bytes(8)
END: Final = b"\xff\xff"
_NULL: Final = b"\xff\xff\xff\xff"
_ROWS: Final = 1 << 15  # that are put together at a time
_NOTHING: Final = pa.scalar(b"", pa.large_binary())
_OIDS: Final = {"int32": 23, "int64": 20, "double": 701, "string": 25}  # of PostgreSQL's types


def copy_data(table: Any) -> Iterator[bytes]:
    """Yields the rows of a ``pyarrow.Table``, without head and end."""
    for start in range(0, table.num_rows, _ROWS):
        some = table.slice(start, _ROWS).combine_chunks()
        yield _bytes(_rows([column.chunk(0) for column in some.columns], len(some)))


def _rows(columns: list[Any], count: int) -> Any:
    size = pa.scalar(len(columns).to_bytes(2, "big"), pa.large_binary())
    first = pa.array(np.zeros(count, np.int8)) if not columns else _field(columns[0])
    return pc.binary_join_element_wise(size, first, *map(_field, columns[1:]), _NOTHING)


def _field(array: Any) -> Any:
    """The field of each row: its length and its bytes."""
    if pa.types.is_list(array.type):
        data = _arrays(array)
    elif pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        data = array.cast(pa.large_string()).cast(pa.large_binary())
    else:
        data = _fixed(array)
    field = pc.binary_join_element_wise(_lengths(pc.binary_length(data)), data, _NOTHING)
    return field if not field.null_count else pc.fill_null(field, pa.scalar(_NULL, field.type))


def _lengths(numbers: Any) -> Any:
    """Numbers in four bytes each; null stays null."""
    return _fixed(numbers.cast(pa.int32()))


def _fixed(array: Any) -> Any:
    """Numbers as PostgreSQL sends them; null stays null."""
    nothing = pa.scalar(False) if pa.types.is_boolean(array.type) else 0
    values = np.asarray(pc.fill_null(array, nothing))
    values = values.astype(values.dtype.newbyteorder(">"))
    width, count = values.dtype.itemsize, len(values)
    offsets = pa.py_buffer(np.arange(0, (count + 1) * width, width, dtype=np.int64))
    data = pa.Array.from_buffers(
        pa.large_binary(), count, [None, offsets, pa.py_buffer(values.tobytes())]
    )
    if not array.null_count:
        return data
    return pc.if_else(pc.is_valid(array), data, pa.scalar(None, pa.large_binary()))


def _arrays(array: Any) -> Any:
    """Lists as arrays of one dimension; null stays null."""
    lengths = pc.list_value_length(array)
    elements = _field(array.flatten())
    counts = np.asarray(pc.fill_null(lengths, 0)).astype(np.int32)
    ends = pa.array(np.append(0, np.cumsum(counts)).astype(np.int64))
    joined = pc.binary_join(pa.LargeListArray.from_arrays(ends, elements), _NOTHING)
    kind = _OIDS[str(array.type.value_type)]
    head = np.zeros((len(array), 5), ">i4")  # dimensions, whether nulls, type, length, first index
    head[:, 0] = head[:, 4] = 1
    head[:, 1] = int(array.flatten().null_count > 0)
    head[:, 2], head[:, 3] = kind, counts
    width = 20
    offsets = pa.py_buffer(np.arange(0, (len(array) + 1) * width, width, dtype=np.int64))
    full = pa.Array.from_buffers(
        pa.large_binary(), len(array), [None, offsets, pa.py_buffer(head.tobytes())]
    )
    empty = pa.scalar(bytes(8) + kind.to_bytes(4, "big"), pa.large_binary())
    heads = pc.if_else(pa.array(counts > 0), full, empty)
    data = pc.binary_join_element_wise(heads, joined, _NOTHING)
    if not array.null_count:
        return data
    return pc.if_else(pc.is_valid(array), data, pa.scalar(None, pa.large_binary()))


def _bytes(array: Any) -> bytes:
    """The bytes of all values, one after the other."""
    _, offsets, data = array.buffers()
    if data is None:
        return b""
    ends = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    return memoryview(data)[ends[0] : ends[-1]].tobytes()
