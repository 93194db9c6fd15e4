"""Reads subscriptions from tables: CSV with a header, or Parquet.

The columns are those of a line of JSON: ``id``, ``xpath``, ``weight``, ``version``; ``namespaces``
and ``metadata`` are JSON objects as text. Any other column is metadata of its name. Where there are
only ids and queries, no value is made for each row.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import numpy as np

from extract.errors import SubscriptionsError
from extract.limits import RAISE, Limits
from extract.subscriptions.bindings import check_bindings
from extract.subscriptions.blocks import FileQueries, QueryBlock
from extract.subscriptions.columns import Offsets, TextColumn
from extract.subscriptions.metadata import Metadata, MetadataError, checked_metadata
from extract.subscriptions.model import Subscriptions

SUFFIXES: Final = (".csv", ".parquet")

_OWN: Final = ("id", "xpath", "weight", "version", "namespaces", "metadata")
_LISTED: Final = ("status", "reason")  # what an export says besides
_SPACE: Final = " \t\r\n"
_HINT: Final = "the columns are id and xpath, and may be weight, version, namespaces and metadata"


def is_table_file(path: str | Path) -> bool:
    """Whether a file is a table, by its name."""
    return Path(path).suffix.lower() in SUFFIXES


def read_table_file(
    path: str | Path, namespaces: Mapping[str, str], limits: Limits, version: str
) -> Subscriptions:
    """Reads the subscriptions of a CSV or Parquet file.

    Args:
        path: The file.
        namespaces: Bindings for prefixes that a row does not bind.
        limits: How large it may be.
        version: Of XPath, where a row does not say it.

    Raises:
        SubscriptionsError: It cannot be read or used as a whole.
    """
    source = str(path)
    try:
        size = os.path.getsize(path)
    except OSError as error:
        reason = f"cannot read the query file: {error.strerror or error}"
        raise SubscriptionsError(reason, "check the name of the file", source) from error
    if size > limits.queries_bytes:
        raise SubscriptionsError(limits.passed("queries_bytes"), RAISE, source)
    table = _table(path, source)
    if table.num_rows > limits.subscriptions:
        raise SubscriptionsError(limits.passed("subscriptions"), RAISE, source)
    for name in ("id", "xpath"):
        if name not in table.column_names:
            raise SubscriptionsError(f"there is no column {name!r}", _HINT, source, 1)
    rows = _Rows(table, source, namespaces, limits, version)
    return Subscriptions(FileQueries(tuple(rows.blocks())), source)


def _table(path: str | Path, source: str) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyarrow import csv

    try:
        if Path(path).suffix.lower() == ".parquet":
            table = pq.ParquetFile(path).read()
        else:
            with csv.open_csv(path) as head:
                names = head.schema.names
            table = csv.read_csv(
                path,
                parse_options=csv.ParseOptions(newlines_in_values=True),
                convert_options=csv.ConvertOptions(
                    column_types={name: pa.string() for name in names},
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                    null_values=[""],
                ),
            )
    except (pa.ArrowException, OSError) as error:
        line = str(error).splitlines()[0]
        raise SubscriptionsError(f"cannot read the table: {line}", _HINT, source) from error
    return table.combine_chunks()


class _Rows:
    """The rows of one table."""

    def __init__(
        self,
        table: Any,
        source: str,
        namespaces: Mapping[str, str],
        limits: Limits,
        version: str,
    ) -> None:
        self.table = table
        self.source = source
        self.namespaces = dict(namespaces)
        self.limits = limits
        self.version = version
        self.first_line = 2 if source.lower().endswith(".csv") else 1
        self.shared: dict[str, dict[str, str]] = {}  # one dictionary for many rows

    def error(self, row: int, reason: str, hint: str = _HINT) -> SubscriptionsError:
        return SubscriptionsError(reason, hint, self.source, row + self.first_line)

    def blocks(self) -> Iterator[QueryBlock]:
        import pyarrow.compute as pc

        count = self.table.num_rows
        if not count:
            return
        ids, xpaths = self.texts("id"), self.texts("xpath")
        for what, column in (("id", ids), ("query", xpaths)):
            empty = np.flatnonzero(np.asarray(pc.equal(pc.fill_null(column, ""), "")))
            if len(empty):
                raise self.error(int(empty[0]), f"there is no {what} in this row")
        self.check_unique(ids)
        all_ids, all_xpaths = _column(ids), _column(pc.utf8_trim(xpaths, _SPACE))
        weights, metadata = self.weights(), self.metadata()
        start = 0
        for (namespaces, version), rows in groupby(self.contexts()):
            stop = start + sum(1 for _ in rows)
            places = np.arange(start, stop)
            yield QueryBlock(
                all_ids.take(places),
                all_xpaths.take(places),
                self.bound(namespaces, start),
                version,
                places + self.first_line,
                np.zeros(len(places), np.int64),
                None if weights is None else weights[places],
                {row - start: one for row, one in metadata.items() if start <= row < stop},
            )
            start = stop

    def texts(self, name: str) -> Any:
        """A column as text."""
        import pyarrow as pa

        column = self.table[name]
        try:
            column = column.cast(pa.large_string())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            reason = f"the column {name!r} has no text, but {column.type}"
            raise SubscriptionsError(reason, _HINT, self.source) from None
        return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)

    def check_unique(self, ids: Any) -> None:
        import pyarrow.compute as pc

        if pc.count_distinct(ids).as_py() == len(ids):
            return
        first: dict[str, int] = {}
        for row, name in enumerate(ids.to_pylist()):
            if first.setdefault(name, row) != row:
                line = first[name] + self.first_line
                reason = f"the id {name!r} is already taken by row {line}"
                raise self.error(row, reason, "give every query an id of its own")

    def weights(self) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        if "weight" not in self.table.column_names:
            return None
        try:
            column = pc.fill_null(self.table["weight"].cast(pa.float64()), 1.0)
        except pa.ArrowInvalid as error:
            reason = f"the column 'weight' has no numbers: {error}"
            raise SubscriptionsError(reason, "leave it empty, or write 1", self.source) from None
        weights = np.asarray(column)
        wrong = np.flatnonzero(~((weights > 0) & np.isfinite(weights)))
        if len(wrong):
            raise self.error(int(wrong[0]), "the weight is not a positive number")
        return weights if (weights != 1).any() else None

    def contexts(self) -> Iterator[tuple[str, str]]:
        """The bindings and the version of each row."""
        count = self.table.num_rows
        columns = [
            self.texts(name).to_pylist() if name in self.table.column_names else [None] * count
            for name in ("namespaces", "version")
        ]
        return zip(
            [one or "" for one in columns[0]],
            [one or self.version for one in columns[1]],
            strict=True,
        )

    def bound(self, text: str, row: int) -> dict[str, str]:
        """The bindings of a row, with those of all."""
        if not text:
            return self.namespaces
        if text not in self.shared:
            own = self.object(text, row, "namespaces")
            if not all(isinstance(uri, str) for uri in own.values()):
                raise self.error(row, "the namespaces do not map prefixes to strings")
            try:
                check_bindings(own)
            except ValueError as error:
                raise self.error(row, str(error), "correct the binding") from None
            self.shared[text] = {**self.namespaces, **own}
        return self.shared[text]

    def object(self, text: str, row: int, name: str) -> dict[str, Any]:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise self.error(row, f"the {name} are no JSON object")
        return value

    def metadata(self) -> dict[int, Metadata]:
        """The metadata of the rows that have any."""
        import pyarrow.compute as pc

        names = self.table.column_names
        others = [name for name in names if name not in (*_OWN, *_LISTED)]
        found: dict[int, dict[str, Any]] = {}
        if "metadata" in names:
            column = self.texts("metadata")
            for row in _present(pc.is_valid(column)):
                found[row] = self.object(column[row].as_py(), row, "metadata")
        for name in others:
            column = self.table[name]
            for row in _present(pc.is_valid(column)):
                found.setdefault(row, {})[name] = column[row].as_py()
        checked = {}
        for row, values in found.items():
            try:
                checked[row] = checked_metadata(values, self.limits)
            except MetadataError as error:
                raise self.error(row, error.reason, error.hint) from None
        return {row: checked[row] for row in sorted(checked) if checked[row]}


def _present(mask: Any) -> list[int]:
    rows: list[int] = np.flatnonzero(np.asarray(mask)).tolist()
    return rows


def _column(array: Any) -> TextColumn:
    """An Arrow array of large strings, without nulls, as a column."""
    _, offsets, data = array.buffers()
    ends: Offsets = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    return TextColumn(b"" if data is None else data.to_pybytes(), ends[:-1], ends[1:])
