"""Descriptions of nodes as Arrow's record batches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from extract.filtertool.results.node_columns import DescribedLists, NodeRange, Part

if TYPE_CHECKING:
    from extract.filtertool.matchers.push._node_columns import NodeColumns

TEXT_TYPE: Final = pa.large_string()
COLUMNS: Final = pa.schema(
    [
        ("node", pa.string()),
        ("name", TEXT_TYPE),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("path", TEXT_TYPE),
        ("value", TEXT_TYPE),
        ("text", TEXT_TYPE),
    ]
)


def table_of(parts: Iterable[Part]) -> Any:
    """Puts lists, ranges and record batches together, as a table with one chunk a column.

    >>> lists = DescribedLists(["text"], [None], [0], [9], ["/a/text()[1]"], ["x"], ["x"])
    >>> table_of([lists, _batch(lists)]).num_rows
    2
    """
    return pa.Table.from_batches(map(_batch_of, parts), COLUMNS).combine_chunks()


def _batch_of(part: Part) -> Any:
    if isinstance(part, NodeRange):
        return _range_batch(part)
    return _batch(part) if isinstance(part, DescribedLists) else part


def column_arrays(columns: NodeColumns) -> list[Any]:
    """Returns nodes as Arrow arrays, without copying them: kind, name, start, end, path, value and
    text, all strings with small offsets."""
    block, strings = columns.layout()
    count, buffer = len(columns), pa.py_buffer(block)
    arrays = [
        pa.StringArray.from_buffers(
            count,
            buffer.slice(end_at, 4 * (count + 1)),
            buffer.slice(start, size),
            buffer.slice(bits, (count + 7) // 8) if missing else None,
            missing,
        )
        for _, end_at, bits, start, size, missing in strings
    ]
    offsets = np.frombuffer(block, np.int64, 2 * count)
    starts, ends = offsets[:count], offsets[count:]
    if starts.min(initial=0) < 0:
        spans = [pa.array(one, mask=starts < 0) for one in (starts, ends)]
    else:
        spans = [
            pa.Int64Array.from_buffers(pa.int64(), count, [None, buffer.slice(at, 8 * count)])
            for at in (0, 8 * count)
        ]
    node, name, path, value, text = arrays
    return [node, name, *spans, path, value, text]


def _range_batch(part: NodeRange) -> Any:
    columns = part.columns
    if part.end - part.first < len(columns):
        columns = columns.take(np.arange(part.first, part.end, dtype=np.int32))
    arrays = zip(column_arrays(columns), COLUMNS, strict=True)
    return pa.RecordBatch.from_arrays(
        [array.cast(one.type) for array, one in arrays], schema=COLUMNS
    )


def value_batch(kind: str, offsets: Any, data: bytes) -> Any:
    """Returns values of one kind as a record batch, without copying them.

    Args:
        kind: The kind.
        offsets: Where each value starts in the data, as int64; and where the last one ends.
        data: The values, in UTF-8.

    >>> import numpy as np
    >>> value_batch("output", np.array([1, 2, 4]), b"abcd").column("value").to_pylist()
    ['b', 'cd']
    """
    count = len(offsets) - 1
    buffers = pa.py_buffer(offsets), pa.py_buffer(data)
    own = {
        "node": pa.repeat(pa.scalar(kind), count),
        "value": pa.LargeStringArray.from_buffers(count, *buffers),
    }
    columns = [own[one.name] if one.name in own else pa.nulls(count, one.type) for one in COLUMNS]
    return pa.RecordBatch.from_arrays(columns, schema=COLUMNS)


def _batch(lists: DescribedLists) -> Any:
    columns = [pa.array(column, one.type) for column, one in zip(lists, COLUMNS, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=COLUMNS)
