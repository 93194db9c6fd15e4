"""Rows for a DataFrame: matches, rejections and accounts of one evaluation, in one table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from extract.filtertool.matchers.protocol import Select
from extract.filtertool.output.arrow import SCHEMAS, printable, record_batches
from extract.filtertool.results.findings import Findings
from extract.filtertool.results.outcome import DocumentOutcome, Rejection
from extract.filtertool.spark.worker.filter_cache import CachedFilter

_FLUSH_BYTES: Final = 1 << 24  # bytes of rows in a record batch

MATCH, REJECTED, ACCOUNT = "match", "rejected", "account"


def tagged_schema(select: Select) -> Any:
    """Returns the columns for rows of all kinds; the columns of other kinds are null."""
    matches = [pa.field(column.name, column.type) for column in SCHEMAS[select]]
    others = [
        ("stage", pa.string()),
        ("reason", pa.string()),
        ("line", pa.int64()),
        ("offset", pa.int64()),
        ("fate", pa.string()),
        ("bytes", pa.int64()),
        ("rows", pa.int64()),
    ]
    return pa.schema([pa.field("kind", pa.string(), nullable=False), *matches, *others])


class AccountRow(NamedTuple):
    """The row of kind ``account`` of a document.

    Attributes:
        fate: As in `DocumentOutcome`; None where another task reports it.
        bytes: The document's size; None where another task reports it.
        rows: The number of rows of this task.
    """

    fate: str | None
    bytes: int | None
    rows: int


class DocumentRows(NamedTuple):
    """Some of the rows of a document.

    Attributes:
        document: Its name.
        ids: The ids of the subscribers that the findings refer to, as a column.
        findings: The matches.
        rejections: The rejections.
        account: The account, if these are the document's last rows.
    """

    document: str
    ids: Any
    findings: Findings
    rejections: Sequence[Rejection] = ()
    account: AccountRow | None = None

    @classmethod
    def of(cls, cached: CachedFilter, done: DocumentOutcome) -> DocumentRows:
        """Returns all rows of a document."""
        account = AccountRow(done.fate, done.bytes, len(done.findings))
        return cls(done.document, cached.id_column, done.findings, done.rejections, account)


def tagged_rows(documents: Iterable[DocumentRows], select: Select) -> Iterator[Any]:
    """Yields record batches of `tagged_schema`, some megabytes each."""
    schema = tagged_schema(select)
    waiting: list[Any] = []
    filled = 0
    for document in documents:
        for rows in _rows(document, select, schema):
            if waiting and filled + rows.nbytes > _FLUSH_BYTES:
                yield _joined(waiting, schema)
                waiting, filled = [], 0
            waiting.append(rows)
            filled += rows.nbytes
    if waiting:
        yield _joined(waiting, schema)


def matches_of(rows: Any, select: Select) -> Any:
    """Returns the matches among rows of all kinds, in the columns of the contract."""
    schema = SCHEMAS[select]
    matches = rows.filter(pc.equal(rows.column("kind"), MATCH))
    return pa.RecordBatch.from_arrays(
        [matches.column(column.name) for column in schema], schema=schema
    )


def _rows(document_rows: DocumentRows, select: Select, schema: Any) -> Iterator[Any]:
    for rows in record_batches(
        document_rows.document, document_rows.findings, document_rows.ids, select
    ):
        yield _tagged(MATCH, rows, schema)
    others = [_rejected(rejection._asdict()) for rejection in document_rows.rejections]
    if document_rows.account is not None:
        document = printable(document_rows.document)
        others.append({"kind": ACCOUNT, "document": document, **document_rows.account._asdict()})
    if others:
        yield pa.RecordBatch.from_pylist(others, schema=schema)


def _joined(rows: Sequence[Any], schema: Any) -> Any:
    if len(rows) == 1:
        return rows[0]
    (batch,) = pa.Table.from_batches(rows, schema).combine_chunks().to_batches()
    return batch


def _rejected(row: dict[str, Any]) -> dict[str, Any]:
    clean = {k: printable(v) if isinstance(v, str) else v for k, v in row.items()}
    return {"kind": REJECTED, **clean}


def _tagged(kind: str, rows: Any, schema: Any) -> Any:
    """Returns rows of one kind in the columns for all kinds."""
    count = rows.num_rows
    columns = [pa.repeat(kind, count)]
    for field in list(schema)[1:]:
        position = rows.schema.get_field_index(field.name)
        columns.append(rows.column(position) if position >= 0 else pa.nulls(count, field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)
