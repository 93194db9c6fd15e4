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

_FLUSH_BYTES: Final = 1 << 24  # bytes of rows that go to Spark together

MATCH, REJECTED, ACCOUNT = "match", "rejected", "account"


def tagged_schema(select: Select) -> Any:
    """Returns the columns for rows of all kinds; ``kind`` says which of them are filled."""
    matches = [pa.field(one.name, one.type) for one in SCHEMAS[select]]
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


def tagged_rows(every: Iterable[DocumentRows], select: Select) -> Iterator[Any]:
    """Yields record batches of `tagged_schema`, some megabytes each."""
    schema = tagged_schema(select)
    waiting: list[Any] = []
    filled = 0
    for one in every:
        for rows in _rows(one, select, schema):
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
    return pa.RecordBatch.from_arrays([matches.column(one.name) for one in schema], schema=schema)


def _rows(one: DocumentRows, select: Select, schema: Any) -> Iterator[Any]:
    for rows in record_batches(one.document, one.findings, one.ids, select):
        yield _tagged(MATCH, rows, schema)
    others = [_rejected(rejection._asdict()) for rejection in one.rejections]
    if one.account is not None:
        document = printable(one.document)
        others.append({"kind": ACCOUNT, "document": document, **one.account._asdict()})
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
    """Returns rows of one kind in the columns of all kinds."""
    count = rows.num_rows
    columns = [pa.repeat(kind, count)]
    for field in list(schema)[1:]:
        position = rows.schema.get_field_index(field.name)
        columns.append(rows.column(position) if position >= 0 else pa.nulls(count, field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)
