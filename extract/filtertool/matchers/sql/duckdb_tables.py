"""Member tables in DuckDB: in a file of their own, which goes when they are closed.

DuckDB keeps as much of it in memory as it may (``memory_limit`` in the URL), and reads the rest
when it is needed. The file of the subscriptions is open only while they are copied.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import threading
from collections.abc import Iterator, Set
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
    MemberChange,
    batch_name,
    column_definitions,
    constants_query,
    member_name,
    numbered_references,
    numbered_shapes,
    reference_name,
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
from extract.scheme.database.store import Store, open_store

_WORK: Final = "extract_work"  # the file of these tables, where that of the subscriptions is open


class DuckDbTables:
    """Member tables in a file of DuckDB.

    They can be used when the store is closed.

    Args:
        store: The database of the subscriptions, open for reading.
        plan: What to match.
        copied: Templates whose members are asked for as rows, too.
    """

    def __init__(self, store: DuckDbStore, plan: SqlPlan, copied: Set[int]) -> None:
        self._location = store.location
        self._shapes = numbered_shapes(plan, {})
        self._single = plan.single
        self._references = numbered_references(plan, {})
        self._has_rows = bool(copied)
        self._statements: dict[tuple[MatchShape, frozenset[int], bool], str] = {}
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
            if copied:
                names = ", ".join(read_columns().names)
                text = f"SELECT {names} FROM member WHERE template = ANY(:templates)"
                chosen = {"templates": sorted(copied)}
                _create(store, MEMBER_COPY, dialect_sql(text, store.location), chosen)

    def _fill(self, store: DuckDbStore, plan: SqlPlan) -> None:
        location = store.location
        for shape, number in self._shapes.items():
            store.connection.execute(_table_sql(shape, _own(member_name(number))))
        for source in plan.sources():
            target = _own(member_name(self._shapes[source.shape]))
            statement = f"INSERT INTO {target} {dialect_sql(constants_query(source), location)}"
            store.connection.execute(statement, {"templates": list(source.templates)})

    def _copy_reference(self, store: DuckDbStore, reference: InTable, number: int) -> None:
        with self._there(reference):
            _create(store, reference_name(number), self._reference_sql(reference), {})

    def _reference_sql(self, reference: InTable) -> str:
        from sqlglot import exp

        table, column = reference_table(reference.table, reference.column, self._location)
        as_text = exp.cast(column, "TEXT").as_("value", quoted=True)
        text: str = exp.select(as_text).distinct().from_(table).sql(dialect="duckdb", identify=True)
        return text

    @contextlib.contextmanager
    def _there(self, reference: InTable) -> Iterator[None]:
        import duckdb

        try:
            yield
        except (duckdb.CatalogException, duckdb.BinderException):
            raise no_reference(reference.table, reference.column, self._location) from None

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Store]:
        """See `MemberTables.transaction`."""
        with self._turn, described_errors(self._location), open_store(self._location) as store:
            connection = self._connection()
            connection.begin()
            try:
                yield store
            except BaseException:
                connection.rollback()
                raise
            connection.commit()

    def change(self, store: Store, plan: SqlPlan, change: MemberChange) -> None:
        """See `MemberTables.change`."""
        assert isinstance(store, DuckDbStore)
        connection = self._connection()
        fresh, references = numbered_shapes(plan, self._shapes), dict(self._references)
        references |= numbered_references(plan, references)
        for shape, number in fresh.items():
            connection.execute(_table_sql(shape, f'"{member_name(number)}"'))
        shapes = self._shapes | fresh
        tables = [member_name(number) for number in self._shapes.values()]
        with _registered(connection, "gone", pa.table({"seq": change.gone})):
            for name in [*tables, MEMBER_COPY] if self._has_rows else tables:
                text = f'DELETE FROM "{name}" WHERE "seq" IN (SELECT "seq" FROM "gone")'
                if len(change.gone):
                    connection.execute(text)
        with _registered(connection, "fresh", change.rows):
            for source in plan.sources():
                chosen = sorted(change.templates.intersection(source.templates))
                if chosen:
                    text = dialect_sql(constants_query(source, "temp.fresh"), self._location)
                    target = member_name(shapes[source.shape])
                    connection.execute(f'INSERT INTO "{target}" {text}', {"templates": chosen})
            if self._has_rows:
                names = ", ".join(read_columns().names)
                text = f"SELECT {names} FROM temp.fresh WHERE template = ANY(:templates)"
                connection.execute(
                    f'INSERT INTO "{MEMBER_COPY}" {dialect_sql(text, self._location)}',
                    {"templates": sorted(plan.decided)},
                )
        for reference, number in references.items():
            with self._there(reference):
                rows = store.connection.sql(self._reference_sql(reference)).to_arrow_table()
            with _registered(connection, "reference", rows):
                text = f'CREATE OR REPLACE TABLE "{reference_name(number)}"'
                connection.execute(f'{text} AS SELECT * FROM "reference"')
        self._shapes, self._references, self._single = shapes, references, plan.single

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
            connection = self._connection()
            with _registered(connection, batch_name(self._shapes[shape]), batch.table):
                found = connection.execute(self._statement(shape, batch.lists)).fetchnumpy()
        return found["document"], found["seq"]

    def _statement(self, shape: MatchShape, lists: frozenset[int]) -> str:
        single = shape in self._single
        text = self._statements.get((shape, lists, single))
        if text is None:
            number = self._shapes[shape]
            tables = batch_name(number), member_name(number)
            text = match_sql(shape, lists, *tables, "duckdb", self._reference, single)
            self._statements[shape, lists, single] = text
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
            with _registered(connection, "chosen", pa.table({"value": values})):
                text = query.sql(dialect="duckdb", identify=True)
                found = connection.execute(text).fetchall()
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
            with _registered(connection, "chosen", pa.table({"seq": seqs})):
                text = f'SELECT * FROM "{MEMBER_COPY}" SEMI JOIN "chosen" USING ("seq")'
                found = connection.sql(f'{text} ORDER BY "seq"').to_arrow_table()
        return found.select(columns.names).cast(columns).combine_chunks()

    def close(self) -> None:
        """See `MemberTables.close`."""
        with self._turn:
            if self._connected is not None:
                self._connected.close()
                self._connected = None
        self._remove()


def _table_sql(shape: MatchShape, name: str) -> str:
    # A collation is what PostgreSQL needs; DuckDB compares by code point.
    columns = column_definitions(shape).replace(' COLLATE "C"', "")
    return f"CREATE TABLE {name} ({columns})"


@contextlib.contextmanager
def _registered(connection: Any, name: str, rows: Any) -> Iterator[None]:
    """Gives rows, a ``pyarrow.Table``, a name that statements use."""
    connection.register(name, rows)
    try:
        yield
    finally:
        connection.unregister(name)


def _own(name: str) -> str:
    """A table of the file of these tables, while the other one is open."""
    return f'"{_WORK}"."main"."{name}"'


def _create(store: DuckDbStore, name: str, query: str, values: dict[str, Any]) -> None:
    store.connection.execute(f"CREATE TABLE {_own(name)} AS {query}", values)
