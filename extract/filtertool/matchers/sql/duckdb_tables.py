"""Member tables in DuckDB: in a file of their own, which goes when they are closed.

DuckDB keeps as much of it in memory as it may (``memory_limit`` in the URL), and reads the rest
when it is needed. The file of the subscriptions is open only while they are copied.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from extract.filtertool.matchers.sql.finalizers import when_gone
from extract.filtertool.matchers.sql.formulas import InTable, MatchShape
from extract.filtertool.matchers.sql.member_tables import (
    MEMBER_COPY,
    batch_name,
    column_definitions,
    member_name,
    numbered_references,
    reference_name,
    selected_constants,
)
from extract.filtertool.matchers.sql.plan import SqlPlan
from extract.filtertool.matchers.sql.statements import match_sql
from extract.filtertool.matchers.sql.value_scan import ShapeBatch
from extract.scheme.database.duckdb_store import (
    DuckDbStore,
    attach_sql,
    configured,
    described_errors,
)
from extract.scheme.database.errors import no_reference
from extract.scheme.database.member_rows import read_columns
from extract.scheme.database.sql import dialect_sql, reference_table

_WORK: Final = "extract_work"  # the file of these tables, where that of the subscriptions is open


class DuckDbTables:
    """Member tables in a file of DuckDB.

    They can be used when the store is closed.

    Args:
        store: The database of the subscriptions, open for reading.
        plan: What to match.
        members: Whether rows of members are asked for, too.
    """

    def __init__(self, store: DuckDbStore, plan: SqlPlan, members: bool) -> None:
        self._location = store.location
        self._shapes = {shape: number for number, shape in enumerate(plan.shapes)}
        self._single = plan.single
        self._references = numbered_references(plan)
        self._statements: dict[tuple[MatchShape, frozenset[int]], str] = {}
        self._turn = threading.Lock()
        folder = tempfile.mkdtemp(prefix="extract-sql-")
        self._remove = when_gone(self, partial(shutil.rmtree, folder, ignore_errors=True))
        self._file = str(Path(folder) / "members.duckdb")
        self._connected: Any = None
        with described_errors(store.location):
            store.connection.execute(attach_sql(self._file, _WORK))
            self._fill(store, plan)
            for reference, number in self._references.items():
                self._copy_reference(store, reference, number)
            if members:
                names = ", ".join(read_columns().names)
                text = f"SELECT {names} FROM member WHERE template = ANY(:templates)"
                chosen = {"templates": sorted(plan.decided)}
                _create(store, MEMBER_COPY, dialect_sql(text, store.location), chosen)

    def _fill(self, store: DuckDbStore, plan: SqlPlan) -> None:
        location = store.location
        for shape, number in self._shapes.items():
            # A collation is what PostgreSQL needs; DuckDB compares by code point.
            columns = column_definitions(shape).replace(' COLLATE "C"', "")
            store.connection.execute(f"CREATE TABLE {_own(member_name(number))} ({columns})")
        for source in plan.sources():
            key = source.shape.key
            text = f"SELECT {selected_constants(source.constants, source.alternative)} FROM member"
            text += " WHERE template = ANY(:templates)"
            if key is not None:  # rows that are found together are in one place
                text += f" ORDER BY {3 + key.constant}, seq"
            target = _own(member_name(self._shapes[source.shape]))
            statement = f"INSERT INTO {target} {dialect_sql(text, location)}"
            store.connection.execute(statement, {"templates": list(source.templates)})

    def _copy_reference(self, store: DuckDbStore, reference: InTable, number: int) -> None:
        import duckdb
        from sqlglot import exp

        table, column = reference_table(reference.table, reference.column, store.location)
        as_text = exp.cast(column, "TEXT").as_("value", quoted=True)
        query = exp.select(as_text).distinct().from_(table)
        text = query.sql(dialect="duckdb", identify=True)
        try:
            _create(store, reference_name(number), text, {})
        except (duckdb.CatalogException, duckdb.BinderException):
            raise no_reference(reference.table, reference.column, self._location) from None

    def _connection(self) -> Any:
        if self._connected is None:
            import duckdb

            self._connected = configured(duckdb.connect(self._file), self._location)
            when_gone(self, self._connected.close)
        return self._connected

    def join(
        self, shape: MatchShape, batch: ShapeBatch
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """See `MemberTables.join`."""
        with self._turn, described_errors(self._location):
            connection, name = self._connection(), batch_name(self._shapes[shape])
            connection.register(name, batch.table)
            try:
                found = connection.execute(self._statement(shape, batch.lists)).fetchnumpy()
            finally:
                connection.unregister(name)
        return found["document"], found["seq"]

    def _statement(self, shape: MatchShape, lists: frozenset[int]) -> str:
        text = self._statements.get((shape, lists))
        if text is None:
            number = self._shapes[shape]
            tables = batch_name(number), member_name(number)
            single = shape in self._single
            text = match_sql(shape, lists, *tables, "duckdb", self._reference, single)
            self._statements[shape, lists] = text
        return text

    def _reference(self, one: InTable) -> tuple[Any, Any]:
        from sqlglot import exp

        number = self._references[one._replace(source=0)]
        return exp.to_table(reference_name(number)), exp.column("value", quoted=True)

    def held(self, reference: InTable, values: Any) -> list[str]:
        """See `MemberTables.held`."""
        from sqlglot import exp

        table, column = self._reference(reference)
        inside = exp.column("value", quoted=True).isin(query=exp.select(column).from_(table))
        query = exp.select(exp.column("value", quoted=True)).from_("chosen").where(inside)
        with self._turn, described_errors(self._location):
            connection = self._connection()
            connection.register("chosen", pa.table({"value": values}))
            text = query.sql(dialect="duckdb", identify=True)
            found = connection.execute(text).fetchall()
            connection.unregister("chosen")
        return [value for (value,) in found]

    def export(self, shape: MatchShape, file: str) -> None:
        """See `MemberTables.export`."""
        with self._turn, described_errors(self._location):
            self._connection().table(member_name(self._shapes[shape])).write_parquet(file)

    def rows(self, seqs: NDArray[np.int64]) -> Any:
        """See `MemberTables.rows`."""
        columns = read_columns()
        with self._turn, described_errors(self._location):
            connection = self._connection()
            connection.register("chosen", pa.table({"seq": seqs}))
            text = f'SELECT * FROM "{MEMBER_COPY}" SEMI JOIN "chosen" USING ("seq") ORDER BY "seq"'
            found = connection.sql(text).to_arrow_table()
            connection.unregister("chosen")
        return found.select(columns.names).cast(columns).combine_chunks()

    def close(self) -> None:
        """See `MemberTables.close`."""
        with self._turn:
            if self._connected is not None:
                self._connected.close()
                self._connected = None
        self._remove()


def _own(name: str) -> str:
    """A table of the file of these tables, while the other one is open."""
    return f'"{_WORK}"."main"."{name}"'


def _create(store: DuckDbStore, name: str, query: str, values: dict[str, Any]) -> None:
    store.connection.execute(f"CREATE TABLE {_own(name)} AS {query}", values)
