"""Descriptions of nodes as Arrow's record batches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import pyarrow as pa

from extract.filtertool.results.node_columns import DescribedLists

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


def table_of(parts: Iterable[DescribedLists | Any]) -> Any:
    """Puts lists and record batches together, as a table with one chunk a column.

    >>> lists = DescribedLists(["text"], [None], [0], [9], ["/a/text()[1]"], ["x"], ["x"])
    >>> table_of([lists, _batch(lists)]).num_rows
    2
    """
    batches = [_batch(part) if isinstance(part, DescribedLists) else part for part in parts]
    return pa.Table.from_batches(batches, COLUMNS).combine_chunks()


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
