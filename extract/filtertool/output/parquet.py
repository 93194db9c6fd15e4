"""Rows as Parquet, a row group at a time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyarrow import parquet

from extract.filtertool.matchers.protocol import Select
from extract.filtertool.output.arrow import (
    REJECTED,
    batch_rows,
    id_column,
    joined_batches,
    rejected_batch,
    rows_schema,
    subscriber_columns,
)
from extract.filtertool.output.joined import NO_COLUMNS, JoinedColumns
from extract.filtertool.results.batch_outcome import BatchOutcome
from extract.filtertool.results.findings import Findings
from extract.filtertool.results.outcome import Rejection

_GROUP_ROWS: Final = 1 << 17
_GROUP_BYTES: Final = 1 << 26
_TOGETHER_ROWS: Final = 1 << 12  # of small documents, that are turned into Arrow's columns at once
_TOGETHER_BYTES: Final = 1 << 22


class ParquetWriter:
    """Writes rows and rejections as Parquet.

    Args:
        matches: The file for rows.
        rejected: The file for rejections.
        ids: The ids of all subscribers.
        select: What was asked for.
        joined: Columns of metadata.
    """

    def __init__(
        self,
        matches: Path,
        rejected: Path,
        ids: Sequence[str],
        select: Select,
        joined: JoinedColumns = NO_COLUMNS,
    ) -> None:
        self._ids = id_column(ids)
        self._columns = subscriber_columns(joined, ids)
        self._select = select
        self._matches = RowGroups(matches, rows_schema(select, joined))
        self._rejected = RowGroups(rejected, REJECTED)
        self._waiting: list[tuple[str, Findings]] = []
        self._rows = self._bytes = 0

    def write(self, document: str, findings: Findings) -> None:
        """Adds the findings of a document."""
        if not len(findings):
            return
        self._waiting.append((document, findings))
        self._rows += len(findings)
        self._bytes += findings.described.nbytes
        if self._rows >= _TOGETHER_ROWS or self._bytes >= _TOGETHER_BYTES:
            self._join()

    def write_batch(self, batch: BatchOutcome) -> None:
        """Adds the rows of documents that were matched together."""
        self._join()
        if len(batch.unit):
            self._matches.add(batch_rows(batch, self._ids, self._select, self._columns))

    def _join(self) -> None:
        if self._waiting:
            for batch in joined_batches(self._waiting, self._ids, self._select, self._columns):
                self._matches.add(batch)
            self._waiting.clear()
            self._rows = self._bytes = 0

    def reject(self, rejections: Iterable[Rejection]) -> None:
        """Adds rejections."""
        if rows := list(rejections):
            self._rejected.add(rejected_batch(rows))

    def close(self) -> None:
        """Ends all files."""
        with contextlib.ExitStack() as both:  # the second one also where the first one fails
            both.callback(self._rejected.close)
            both.callback(self._matches.close)
            self._join()


class RowGroups:
    """A Parquet file that collects record batches until they are worth a row group."""

    def __init__(self, path: Path, schema: Any) -> None:
        self._schema = schema
        self._file = parquet.ParquetWriter(path, schema, compression="zstd")
        self._waiting: list[Any] = []
        self._rows = self._bytes = 0

    def add(self, batch: Any) -> None:
        """Adds a record batch."""
        self._waiting.append(batch)
        self._rows += batch.num_rows
        self._bytes += batch.nbytes
        if self._rows >= _GROUP_ROWS or self._bytes >= _GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            table = pa.Table.from_batches(self._waiting, self._schema)
            self._waiting.clear()  # now: rows that cannot be written are not tried again
            self._rows = self._bytes = 0
            self._file.write_table(table)

    def close(self) -> None:
        """Ends the file."""
        try:
            with contextlib.closing(self._file):
                self._flush()
        finally:
            self._file.is_open = False  # else it is closed again when it is deleted
