"""Rows as Arrow record batches, with the columns of the contract."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from extract.filtertool.matcher import Select
from extract.filtertool.processed import Rejection
from extract.filtertool.results import Findings

_LARGEST: Final = 1 << 25  # bytes of values in one record batch

_WHO: Final = [
    pa.field("document", pa.string(), nullable=False),
    pa.field("query", pa.string(), nullable=False),
]
SCHEMAS: Final[dict[str, Any]] = {
    "doc": pa.schema(_WHO),
    "count": pa.schema([*_WHO, pa.field("count", pa.int64(), nullable=False)]),
    "nodes": pa.schema(
        [
            *_WHO,
            pa.field("node", pa.string(), nullable=False),
            ("name", pa.string()),
            ("start", pa.int64()),
            ("end", pa.int64()),
            pa.field("ordinal", pa.int64(), nullable=False),
            ("path", pa.string()),
            ("value", pa.string()),
        ]
    ),
}
REJECTED: Final = pa.schema(
    [
        ("document", pa.string()),
        ("query", pa.string()),
        pa.field("stage", pa.string(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        ("line", pa.int64()),
        ("offset", pa.int64()),
    ]
)


def printable(text: str) -> str:
    """A text without halves of characters, which file names may have and Arrow has not.

    >>> printable("a\\udcff")
    'a?'
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def record_batches(document: str, findings: Findings, ids: Any, select: Select) -> Iterator[Any]:
    """The rows of one document, in batches that are not too large.

    Args:
        document: Its name.
        findings: What was found there.
        ids: The ids of all subscribers, as an Arrow array.
        select: What was asked for.
    """
    schema, name = SCHEMAS[select], printable(document)
    table = findings.described.table if len(findings.node) else None
    for rows in _slices(findings, table):
        who = findings.subscriber[rows]
        columns = [pa.repeat(name, len(who)), ids.take(pa.array(who))]
        if select == "count":
            columns.append(pa.array(findings.count[rows]))
        elif select == "nodes":
            columns += _nodes(findings, table, rows)
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _nodes(findings: Findings, table: Any, rows: slice) -> list[Any]:
    at = pa.array(findings.node[rows])
    columns = [table.column(name).combine_chunks().take(at) for name in table.column_names]
    node, name, start, end, path, value = (
        column.cast(pa.string()) if pa.types.is_large_string(column.type) else column
        for column in columns
    )
    return [node, name, start, end, pa.array(findings.ordinal[rows]), path, value]


def _slices(findings: Findings, table: Any) -> Iterator[slice]:
    """Stretches of rows whose values together are not too large."""
    total = len(findings)
    if not len(findings.node):
        if total:
            yield slice(0, total)
        return
    sizes = np.zeros(table.num_rows, np.int64)
    for name in ("path", "value"):
        sizes += pc.fill_null(pc.binary_length(table.column(name)), 0).to_numpy()
    ends = np.cumsum(sizes[findings.node])
    first = 0
    while first < total:
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + _LARGEST, "right")))
        yield slice(first, last)
        first = last


def rejected_batch(rejections: Iterable[Rejection]) -> Any:
    """Rejections as one record batch."""
    rows = list(rejections)
    columns = [
        pa.array([_clean(getattr(row, field.name)) for row in rows], field.type)
        for field in REJECTED
    ]
    return pa.RecordBatch.from_arrays(columns, schema=REJECTED)


def _clean(value: Any) -> Any:
    return printable(value) if isinstance(value, str) else value
