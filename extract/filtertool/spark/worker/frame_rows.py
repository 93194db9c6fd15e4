"""Rows for a DataFrame: matches, rejections and accounts of one evaluation, in one table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from extract.chunktool.file_names import document_name
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.output.arrow import (
    SubscriberColumn,
    batch_rows,
    document_names,
    printable,
    record_batches,
    rows_schema,
)
from extract.filtertool.output.joined import NO_COLUMNS, JoinedColumns, check_column
from extract.filtertool.results.batch_outcome import BatchOutcome, FilterOutcome
from extract.filtertool.results.findings import Findings
from extract.filtertool.results.outcome import Rejection
from extract.filtertool.spark.worker.filter_cache import CachedFilter

_FLUSH_BYTES: Final = 1 << 24  # bytes of rows that go to Spark together

MATCH, REJECTED, ACCOUNT = "match", "rejected", "account"


def tagged_schema(select: Select, joined: JoinedColumns = NO_COLUMNS) -> Any:
    """Returns the columns for rows of all kinds; ``kind`` says which of them are filled.

    Raises:
        SubscriptionsError: A joined column has the name of another one.
    """
    matches = [pa.field(one.name, one.type) for one in rows_schema(select, joined)]
    others = [
        ("stage", pa.string()),
        ("reason", pa.string()),
        ("line", pa.int64()),
        ("offset", pa.int64()),
        ("fate", pa.string()),
        ("bytes", pa.int64()),
        ("rows", pa.int64()),
    ]
    for column in joined.columns:
        check_column(column.name, column.key, ["kind", *[name for name, _ in others]])
    return pa.schema([pa.field("kind", pa.string(), nullable=False), *matches, *others])


class AccountRow(NamedTuple):
    """The row of kind ``account`` of a document.

    Attributes:
        fate: As in `DocumentOutcome`; None where another task says it.
        bytes: The document's size; None where another task says it.
        rows: How many rows it has here.
    """

    fate: str | None
    bytes: int | None
    rows: int


class DocumentRows(NamedTuple):
    """Some of the rows of a document.

    Attributes:
        document: Its name.
        ids: The ids of subscribers that the findings count by, as a column.
        findings: The matches.
        rejections: The rejections.
        account: The account, if these are the document's last rows.
        columns: Joined columns, by the same subscribers.
    """

    document: str
    ids: Any
    findings: Findings
    rejections: Sequence[Rejection] = ()
    account: AccountRow | None = None
    columns: Sequence[SubscriberColumn] = ()


class BatchRows(NamedTuple):
    """The rows of documents that were matched together.

    Attributes:
        batch: Their outcome.
        ids: The ids of subscribers, as a column.
        columns: Joined columns, by the same subscribers.
    """

    batch: BatchOutcome
    ids: Any
    columns: Sequence[SubscriberColumn] = ()


FrameRows: TypeAlias = DocumentRows | BatchRows


def rows_of(cached: CachedFilter, done: FilterOutcome) -> FrameRows:
    """Returns all rows of an outcome."""
    ids, columns = cached.id_column, cached.columns
    if isinstance(done, BatchOutcome):
        return BatchRows(done, ids, columns)
    account = AccountRow(done.fate, done.bytes, len(done.findings))
    return DocumentRows(done.document, ids, done.findings, done.rejections, account, columns)


def tagged_rows(
    every: Iterable[FrameRows], select: Select, joined: JoinedColumns = NO_COLUMNS
) -> Iterator[Any]:
    """Yields record batches of `tagged_schema`, some megabytes each."""
    schema = tagged_schema(select, joined)
    return _together((rows for one in every for rows in _rows(one, select, schema)), schema)


def match_rows(
    every: Iterable[FrameRows], select: Select, joined: JoinedColumns = NO_COLUMNS
) -> Iterator[Any]:
    """Yields record batches of matches only, some megabytes each."""
    return _together(
        (rows for one in every for rows in _matches(one, select)), rows_schema(select, joined)
    )


def _together(every: Iterable[Any], schema: Any) -> Iterator[Any]:
    """Joins small record batches."""
    waiting: list[Any] = []
    filled = 0
    for rows in every:
        if waiting and filled + rows.nbytes > _FLUSH_BYTES:
            yield _joined(waiting, schema)
            waiting, filled = [], 0
        waiting.append(rows)
        filled += rows.nbytes
    if waiting:
        yield _joined(waiting, schema)


def _matches(one: FrameRows, select: Select) -> Iterator[Any]:
    """The matches, in the columns of the contract."""
    if not isinstance(one, BatchRows):
        yield from record_batches(one.document, one.findings, one.ids, select, one.columns)
    elif len(one.batch.unit):
        yield batch_rows(one.batch, one.ids, select, one.columns)


def _rows(one: FrameRows, select: Select, schema: Any) -> Iterator[Any]:
    if isinstance(one, BatchRows):
        yield from _rows_together(one, select, schema)
        return
    for rows in _matches(one, select):
        yield _tagged(MATCH, rows, schema)
    others = [_rejected(rejection.in_rows()._asdict()) for rejection in one.rejections]
    if one.account is not None:
        document = document_name(one.document)
        others.append({"kind": ACCOUNT, "document": document, **one.account._asdict()})
    if others:
        yield pa.RecordBatch.from_pylist(others, schema=schema)


def _rows_together(one: BatchRows, select: Select, schema: Any) -> Iterator[Any]:
    """The rows of documents that were matched together: matches, rejections, and accounts."""
    batch = one.batch
    for rows in _matches(one, select):
        yield _tagged(MATCH, rows, schema)
    if batch.rejections:
        rejected = [_rejected(rejection.in_rows()._asdict()) for rejection in batch.rejections]
        yield pa.RecordBatch.from_pylist(rejected, schema=schema)
    count = len(batch)
    accounts = {
        "document": document_names(batch.names),
        "fate": pa.repeat("conforming", count),
        "bytes": pa.array(batch.sizes),
        "rows": pa.array(np.bincount(batch.unit, minlength=count)),
    }
    rows = pa.RecordBatch.from_arrays(list(accounts.values()), list(accounts))
    yield _tagged(ACCOUNT, rows, schema)


def _joined(rows: Sequence[Any], schema: Any) -> Any:
    if len(rows) == 1:
        return rows[0]
    (batch,) = pa.Table.from_batches(rows, schema).combine_chunks().to_batches()
    return batch


def _rejected(row: dict[str, Any]) -> dict[str, Any]:
    clean = {k: printable(v) if isinstance(v, str) else v for k, v in row.items()}
    return {"kind": REJECTED, **clean}


def _tagged(kind: str, rows: Any, schema: Any) -> Any:
    """Returns rows of one kind in the columns of all kinds."""
    count = rows.num_rows
    columns = [pa.repeat(kind, count)]
    for field in list(schema)[1:]:
        position = rows.schema.get_field_index(field.name)
        columns.append(rows.column(position) if position >= 0 else pa.nulls(count, field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)
