"""Rows as Arrow record batches, with the columns of the contract."""

from __future__ import annotations

import importlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import accumulate
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from extract.chunktool.file_names import document_name
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.output.joined import JoinedColumns
from extract.filtertool.results.batch_outcome import BatchOutcome
from extract.filtertool.results.findings import Findings
from extract.filtertool.results.node_columns import Described, DescribedLists
from extract.filtertool.results.outcome import Rejection
from extract.filtertool.results.owners import Indices, Longs
from extract.subscriptions.columns import TextColumn

RECORD_BATCH_BYTES: Final = 1 << 25  # bytes of values in one record batch
_FEW_NODES: Final = 200  # which go into arrays faster one by one
_FEW_CHARACTERS: Final = RECORD_BATCH_BYTES >> 3

_WHO: Final = [
    pa.field("document", pa.string(), nullable=False),
    pa.field("query", pa.string(), nullable=False),
]
SCHEMAS: Final[dict[str, Any]] = {
    "doc": pa.schema(_WHO),
    "count": pa.schema([*_WHO, pa.field("count", pa.int64(), nullable=False)]),
    "output": pa.schema([*_WHO, pa.field("output", pa.string(), nullable=False)]),
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
            ("text", pa.string()),
        ]
    ),
}
DICTIONARY: Final = pa.dictionary(pa.int32(), pa.string())
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
_JOINED: Final[dict[str, Any]] = {
    "string": pa.string(),
    "boolean": pa.bool_(),
    "integer": pa.int64(),
    "number": pa.float64(),
    "strings": pa.list_(pa.string()),
}


class SubscriberColumn(NamedTuple):
    """A column whose value in a row depends on the subscriber alone.

    Attributes:
        field: Its name and type.
        values: The value of each subscriber, as an Arrow array.
    """

    field: Any
    values: Any


def id_column(ids: Sequence[str]) -> Any:
    """Returns the ids of subscribers as an Arrow array."""
    if not isinstance(ids, TextColumn):
        return pa.array(ids, pa.string())
    texts = ids.packed()
    offsets = np.append(texts.starts, len(texts.buffer)).astype(np.int32)
    return pa.StringArray.from_buffers(
        len(texts), pa.py_buffer(offsets), pa.py_buffer(texts.buffer)
    )


def subscriber_columns(joined: JoinedColumns, ids: Sequence[str]) -> list[SubscriberColumn]:
    """Returns the joined columns for the subscribers with these ids."""
    fields = joined_fields(joined)
    return [
        SubscriberColumn(field, pa.array(joined.cells(column, ids), field.type))
        for column, field in zip(joined.columns, fields, strict=True)
    ]


def joined_fields(joined: JoinedColumns) -> list[Any]:
    """Returns names and types of the joined columns."""
    return [pa.field(one.name, _JOINED[one.type]) for one in joined.columns]


def rows_schema(select: Select, joined: JoinedColumns) -> Any:
    """Returns the columns of rows: those of the contract, then the joined ones."""
    return pa.schema([*SCHEMAS[select], *joined_fields(joined)])


def printable(text: str) -> str:
    """Returns a text without halves of characters, which ids of queries may have and Arrow has not.

    >>> printable("a\\udcff")
    'a?'
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def record_batches(
    document: str,
    findings: Findings,
    ids: Any,
    select: Select,
    columns: Sequence[SubscriberColumn] = (),
) -> Iterator[Any]:
    """Yields the rows of one document, in batches that are not too large.

    Args:
        document: Its name.
        findings: Its findings.
        ids: The ids of all subscribers, as an Arrow array.
        select: What was asked for.
        columns: Further columns.
    """
    return joined_batches([(document, findings)], ids, select, columns)


def joined_batches(
    documents: Sequence[tuple[str, Findings]],
    ids: Any,
    select: Select,
    columns: Sequence[SubscriberColumn] = (),
) -> Iterator[Any]:
    """Yields the rows of some documents together: for small ones that is much faster.

    Args:
        documents: Their names and findings.
        ids, select, columns: As for `record_batches`.
    """
    findings = [one for _, one in documents]
    if not any(map(len, findings)):
        return
    schema = _with_columns(select, columns)
    batch = _shared_batch(documents, ids, columns) if select == "nodes" else None
    if batch is not None:
        yield batch
        return
    nodes = _ListedRows.of(findings) if select == "nodes" else None
    names = document_names([name for name, _ in documents])
    document = np.repeat(np.arange(len(documents)), [len(one) for one in findings])
    if nodes is not None:
        subscriber = pa.array(nodes.subscriber)
        who = [names.take(pa.array(document)), ids.take(subscriber), *nodes.nodes()]
        who += [one.values.take(subscriber) for one in columns]
        yield pa.RecordBatch.from_arrays(who, schema=schema)
        return
    rows = _Rows.of(findings)
    for part in rows.slices():
        subscriber = pa.array(rows.subscriber[part])
        who = [names.take(pa.array(document[part])), ids.take(subscriber)]
        if select == "count":
            who.append(pa.array(rows.count[part]))
        elif select == "nodes":
            who += rows.nodes(part)
        elif select == "output":
            who.append(rows.values(part))
        who += [one.values.take(subscriber) for one in columns]
        yield pa.RecordBatch.from_arrays(who, schema=schema)


def _with_columns(select: Select, columns: Sequence[SubscriberColumn]) -> Any:
    if not columns:
        return SCHEMAS[select]
    return pa.schema([*SCHEMAS[select], *[one.field for one in columns]])


def batch_rows(
    batch: BatchOutcome, ids: Any, select: Select, columns: Sequence[SubscriberColumn] = ()
) -> Any:
    """Returns the rows of documents that were matched together, as one record batch.

    Args:
        batch: The outcome.
        ids, select, columns: As for `record_batches`.
    """
    schema = _with_columns(select, columns)
    subscriber = pa.array(batch.subscriber)
    who = [document_names(batch.names).take(pa.array(batch.unit)), ids.take(subscriber)]
    if select == "count":
        who.append(pa.array(batch.count))
    who += [one.values.take(subscriber) for one in columns]
    return pa.RecordBatch.from_arrays(who, schema=schema)


_FEW: Final = 16  # names for which Arrow's own conversion takes longer than all else


def dictionary_column(numbers: Indices, values: Any) -> Any:
    """Returns a column of some of the values, by their numbers; which are all there."""
    return pa.DictionaryArray.from_buffers(
        DICTIONARY, len(numbers), [None, pa.py_buffer(numbers)], values
    )


def integer_column(numbers: Longs) -> Any:
    """Returns integers as an Arrow array."""
    return pa.Int64Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(numbers)])


def document_names(names: Sequence[str]) -> Any:
    """Returns names of documents as an Arrow array."""
    if not "".join(names).isascii():
        names = [document_name(name) for name in names]
    if len(names) <= _FEW:
        parts = [name.encode() for name in names]
        offsets = array("i", [0, *accumulate(map(len, parts))])
        buffers = pa.py_buffer(offsets), pa.py_buffer(b"".join(parts))
        return pa.StringArray.from_buffers(len(parts), *buffers)
    return pa.array(names, pa.string())


def _shared_batch(
    documents: Sequence[tuple[str, Findings]], ids: Any, columns: Sequence[SubscriberColumn]
) -> Any | None:
    """Returns the rows of documents whose nodes are in the same columns; None if they are others,
    or too large for one batch."""
    ranges = [one for _, each in documents if (one := each.described.range) is not None]
    if len(ranges) < len(documents) or (filling := row_filler()) is None:
        return None
    nodes = ranges[0].columns
    if any(one.columns is not nodes for one in ranges):
        return None
    findings = [one for _, one in documents]
    rows = zip(findings, ranges, strict=True)
    subscriber = _concatenated([one.subscriber for one in findings])
    batch = filling.node_rows(
        SCHEMAS["nodes"],
        nodes,
        _id_texts(ids),
        [document_name(name).encode() for name, _ in documents],
        [len(one) for one in findings],
        _concatenated([one.node + at.first if at.first else one.node for one, at in rows]),
        subscriber,
        _concatenated([one.ordinal for one in findings]),
        RECORD_BATCH_BYTES,
    )
    if batch is None or not columns:
        return batch
    more = [one.values.take(pa.array(subscriber)) for one in columns]
    return pa.RecordBatch.from_arrays(
        [*batch.columns, *more], schema=_with_columns("nodes", columns)
    )


@cache
def row_filler() -> Any | None:
    """What fills batches, if it was compiled."""
    try:
        return importlib.import_module("extract.filtertool.output._node_rows")
    except ImportError:
        return None


def _id_texts(ids: Any) -> Any:
    """The ids as `_node_rows` looks them up; mostly they are those of the last call."""
    known = _LAST_IDS.get("known")
    if known is None or known.ids is not ids:
        filling = row_filler()
        assert filling is not None
        known = _LAST_IDS["known"] = filling.IdTexts(ids)
    return known


_LAST_IDS: Final[dict[str, Any]] = {}


def _concatenated(columns: Sequence[Any]) -> Any:
    return columns[0] if len(columns) == 1 else np.concatenate(columns)


class _ListedRows(NamedTuple):
    """The columns of several `Findings` that have few nodes: lists, which need no table."""

    subscriber: Any
    ordinal: Any
    lists: DescribedLists  # the node of each row

    @classmethod
    def of(cls, findings: Sequence[Findings]) -> _ListedRows | None:
        """Returns the rows; None if they are many or large."""
        if sum([max(len(one.node), len(one.described)) for one in findings]) > _FEW_NODES:
            return None
        rows = DescribedLists.none()
        for one in findings:
            nodes, lists = one.node.tolist(), one.described.lists()
            taken = [[column[node] for node in nodes] for column in lists]
            rows.extend(DescribedLists(*taken))
        texts = (rows.path, rows.value, rows.text)
        if sum([len(text) for column in texts for text in column if text]) > _FEW_CHARACTERS:
            return None
        subscriber = _concatenated([one.subscriber for one in findings])
        return cls(subscriber, _concatenated([one.ordinal for one in findings]), rows)

    def nodes(self) -> list[Any]:
        """Returns the columns of nodes."""
        own = self.lists
        node, name, path, value, text = (
            pa.array(column, pa.string())
            for column in (own.node, own.name, own.path, own.value, own.text)
        )
        start, end = pa.array(own.start, pa.int64()), pa.array(own.end, pa.int64())
        return [node, name, start, end, pa.array(self.ordinal), path, value, text]


class _Rows(NamedTuple):
    """The columns of several `Findings`."""

    subscriber: Any
    count: Any
    node: Any
    ordinal: Any
    table: Any  # what ``node`` counts

    @classmethod
    def of(cls, findings: Sequence[Findings]) -> _Rows:
        before = np.cumsum([0, *[len(one.described) for one in findings[:-1]]])
        return cls(
            np.concatenate([one.subscriber for one in findings]),
            np.concatenate([one.count for one in findings]),
            np.concatenate([one.node + at for one, at in zip(findings, before, strict=True)]),
            np.concatenate([one.ordinal for one in findings]),
            Described.together([one.described for one in findings]).table,
        )

    def nodes(self, rows: slice) -> list[Any]:
        """Returns the columns of nodes."""
        at = pa.array(self.node[rows])
        columns = [column.combine_chunks().take(at) for column in self.table.columns]
        node, name, start, end, path, value, text = (
            column.cast(pa.string()) if pa.types.is_large_string(column.type) else column
            for column in columns
        )
        return [node, name, start, end, pa.array(self.ordinal[rows]), path, value, text]

    def values(self, rows: slice) -> Any:
        """Returns the column of values alone."""
        column = self.table.column("value").combine_chunks()
        return column.take(pa.array(self.node[rows])).cast(pa.string())

    def slices(self) -> Iterator[slice]:
        """Yields ranges of rows whose values together are not too large."""
        total = len(self.subscriber)
        if not len(self.node):
            if total:
                yield slice(0, total)
            return
        sizes = np.zeros(self.table.num_rows, np.int64)
        for name in ("path", "value", "text"):
            sizes += pc.fill_null(pc.binary_length(self.table.column(name)), 0).to_numpy()
        ends = np.cumsum(sizes[self.node])
        first = 0
        while first < total:
            before = int(ends[first - 1]) if first else 0
            last = max(first + 1, int(np.searchsorted(ends, before + RECORD_BATCH_BYTES, "right")))
            yield slice(first, last)
            first = last


def rejected_batch(rejections: Iterable[Rejection]) -> Any:
    """Returns rejections as one record batch."""
    rows = [one.in_rows() for one in rejections]
    columns = [
        pa.array([_clean(getattr(row, field.name)) for row in rows], field.type)
        for field in REJECTED
    ]
    return pa.RecordBatch.from_arrays(columns, schema=REJECTED)


def _clean(value: Any) -> Any:
    return printable(value) if isinstance(value, str) else value
