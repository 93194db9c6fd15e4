"""Member tables in PostgreSQL: temporary tables of one connection, on the server.

They go with the connection. Values of a batch come into a temporary table, too, by COPY.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from functools import partial
from typing import Any, Final, TypeVar

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
    numbered_shapes,
)
from extract.filtertool.matchers.sql.plan import SqlPlan
from extract.filtertool.matchers.sql.statements import constant_name, match_sql
from extract.filtertool.matchers.sql.value_scan import ShapeBatch
from extract.scheme.database.errors import DatabaseError, LostConnection, no_reference
from extract.scheme.database.member_rows import read_columns
from extract.scheme.database.postgresql_store import (
    PostgresStore,
    described_errors,
    open_session,
)
from extract.scheme.database.read import StoredState, read_state
from extract.scheme.database.retry import once_more
from extract.scheme.database.sql import dialect_sql, reference_table
from extract.scheme.database.store import Store

_T = TypeVar("_T")

_KINDS: Final = {
    "int32": "INTEGER",
    "int64": "BIGINT",
    "large_string": 'TEXT COLLATE "C"',
    "double": "DOUBLE PRECISION",
    "bool": "BOOLEAN",
}
_BUFFERS: Final = "SET temp_buffers = '128MB'"  # of 8 MB, most pages would be read again and again
_HEAD: Final = 19  # bytes before the rows of a binary COPY
_ROW: Final = np.dtype(
    [("n", ">i2"), ("a", ">i4"), ("document", ">i4"), ("b", ">i4"), ("seq", ">i8")]
)


class PostgresTables:
    """Member tables of a connection.

    If it is lost, they are made again on another one, as long as the subscriptions are those of the
    same revision; then nobody notices.

    Args:
        store: The database of the subscriptions; its connection is kept.
        plan: What to match.
        copied: Templates whose members are asked for as rows, too.
        state: Which revision it is.
    """

    def __init__(
        self, store: PostgresStore, plan: SqlPlan, copied: Set[int], state: StoredState
    ) -> None:
        self._location = store.location
        self._plan, self._copied, self._state = plan, copied, state
        self._turn = threading.Lock()
        self._open: list[Any] = []  # the connection
        when_gone(self, partial(_close, self._open))
        self._make(store)

    def _make(self, store: PostgresStore) -> None:
        """Makes the tables, in the transaction that reads the scheme, which ends here."""
        self._store, plan = store, self._plan
        self._open[:] = [store.connection]
        self._shapes: dict[MatchShape, int] = {}
        self._made: dict[tuple[MatchShape, frozenset[int], bool], tuple[str, str]] = {}
        self._is_indexed = False  # by sequence numbers
        with described_errors(self._location, store.connection):
            self._run(_BUFFERS)
            self._check_references(plan)
            self._add_shapes(plan)
            self._fill(plan)
            for shape, number in self._shapes.items():
                self._index(shape, member_name(number))
            if self._copied:
                self._run(f"CREATE TEMP TABLE {MEMBER_COPY} (LIKE {self._all_members()})")
                self._copy_members(self._copied)
                self._run(f"CREATE INDEX ON {MEMBER_COPY} (seq)")
            store.connection.commit()
            store.connection.autocommit = True
            for number in self._shapes.values():
                self._run(f"VACUUM (ANALYZE) {member_name(number)}")

    def _copy_members(self, templates: Set[int], where: str = "", **values: Any) -> None:
        names = ", ".join([*read_columns().names, "numbers", "revision"])
        text = f"SELECT {names} FROM member WHERE template = ANY(:templates){where}"
        values = {"templates": sorted(templates), **values}
        self._run(
            f"INSERT INTO {MEMBER_COPY} ({names}) {dialect_sql(text, self._location)}", values
        )

    def _working(self, work: Callable[[], _T]) -> _T:
        """Does something with the tables; once more if the connection is lost."""
        with self._turn:
            try:
                with described_errors(self._location, self._store.connection):
                    return work()
            except LostConnection as error:
                once_more(self._make_again, error)
                with described_errors(self._location, self._store.connection):
                    return work()

    def _make_again(self) -> None:
        _close(self._open)
        session = open_session(self._location)
        try:
            with described_errors(self._location, session.connection):
                if read_state(session) != self._state:
                    reason = "the connection was lost, and the subscriptions have changed since"
                    hint = "run the command again; a filter of Python takes them by refresh()"
                    raise DatabaseError(reason, hint, self._location.shown)
            self._make(session)
        except BaseException:
            session.connection.close()
            raise

    def _check_references(self, plan: SqlPlan) -> None:
        from psycopg import errors
        from sqlglot import exp

        for one in sorted(plan.references()):
            table, column = self._reference(one)
            text = exp.select(column).from_(table).limit(0).sql(dialect="postgres", identify=True)
            try:
                self._run(text)
            except (errors.UndefinedTable, errors.UndefinedColumn, errors.InvalidSchemaName):
                raise no_reference(one.table, one.column, self._location) from None

    def _run(self, text: str, values: dict[str, Any] | None = None) -> None:
        self._store.connection.execute(text, values)

    def _all_members(self) -> str:
        return dialect_sql("SELECT 1 FROM member", self._location).partition("FROM ")[2]

    def _add_shapes(self, plan: SqlPlan) -> None:
        for shape, number in numbered_shapes(plan, self._shapes).items():
            self._run(f"CREATE TEMP TABLE {member_name(number)} ({column_definitions(shape)})")
            self._shapes[shape] = number

    def _fill(
        self, plan: SqlPlan, where: str = "", chosen: Set[int] | None = None, **values: Any
    ) -> None:
        for source in plan.sources():
            templates = [one for one in source.templates if chosen is None or one in chosen]
            if templates:
                text = dialect_sql(constants_query(source, where=where), self._location)
                insert = f"INSERT INTO {member_name(self._shapes[source.shape])} {text}"
                self._run(insert, {"templates": templates, **values})

    def _index(self, shape: MatchShape, name: str) -> None:
        key = shape.key
        if key is not None:
            column = constant_name(key.constant)
            by = f"hashtextextended({column}, 0)" if shape.constants[key.constant] else column
            self._run(f"CREATE INDEX ON {name} ({by}, frame)")

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Store]:
        """See `MemberTables.transaction`."""
        connection = self._store.connection
        with (
            self._turn,
            described_errors(self._location, connection),
            connection.transaction(),
        ):
            self._run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            yield self._store

    def change(self, store: Store, plan: SqlPlan, change: MemberChange) -> None:
        """See `MemberTables.change`."""
        known = dict(self._shapes)
        try:
            self._check_references(plan)
            self._add_shapes(plan)
            if len(change.gone):
                self._delete(change.gone.tolist(), known)
            self._fill(plan, "revision > :known", change.templates, known=change.known)
            for shape, number in self._shapes.items() - known.items():
                self._index(shape, member_name(number))
            if self._copied:
                self._copied = plan.decided
                self._copy_members(plan.decided, " AND revision > :known", known=change.known)
        except BaseException:
            self._shapes = known
            raise
        self._plan, self._state = plan, change.state

    def _delete(self, seqs: list[int], shapes: Mapping[MatchShape, int]) -> None:
        names = [member_name(number) for number in shapes.values()]
        if not self._is_indexed:
            for name in names:
                self._run(f"CREATE INDEX IF NOT EXISTS {name}_seq ON {name} (seq)")
            self._is_indexed = True
        for name in [*names, MEMBER_COPY] if self._copied else names:
            self._run(f"DELETE FROM {name} WHERE seq = ANY(%(seqs)s)", {"seqs": seqs})

    def join(
        self, shape: MatchShape, batch: ShapeBatch
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """See `MemberTables.join`."""
        data = self._working(lambda: self._joined(shape, batch))
        rows = np.frombuffer(data, _ROW, offset=_HEAD, count=(len(data) - _HEAD) // _ROW.itemsize)
        return rows["document"].astype(np.int32), rows["seq"].astype(np.int64)

    def _joined(self, shape: MatchShape, batch: ShapeBatch) -> bytes:
        name, statement = self._batch(shape, batch)
        self._store.insert_into(name, batch.table)
        try:
            self._run(f"ANALYZE {name}")
            return self._store.copied(statement)
        finally:
            if not self._store.connection.broken:
                self._run(f"TRUNCATE {name}")

    def _batch(self, shape: MatchShape, batch: ShapeBatch) -> tuple[str, str]:
        """The table for the values, and the statement; made when they are first needed."""
        single = shape in self._plan.single
        known = self._made.get((shape, batch.lists, single))
        if known is None:
            number = self._shapes[shape]
            name = f"{batch_name(number)}_{len(self._made)}"
            columns = ", ".join([f"{one.name} {_kind(one.type)}" for one in batch.table.schema])
            self._run(f"CREATE TEMP TABLE {name} ({columns})")
            own = member_name(number)
            text = match_sql(shape, batch.lists, name, own, "postgres", self._reference, single)
            known = self._made[shape, batch.lists, single] = (name, text)
        return known

    def _reference(self, one: InTable) -> tuple[Any, Any]:
        from sqlglot import exp

        table, column = reference_table(one.table, one.column, self._location)
        as_text = exp.cast(column, "TEXT").as_("value", quoted=True)
        inner = exp.select(as_text).from_(table).subquery("r")
        return inner, exp.column("value", quoted=True)

    def held(self, reference: InTable, values: Any) -> list[str]:
        """See `MemberTables.held`."""
        from sqlglot import exp

        table, column = self._reference(reference)
        chosen = exp.EQ(
            this=column, expression=exp.Any(this=exp.paren(exp.Placeholder(this="chosen")))
        )
        query = exp.select(column).distinct().from_(table).where(chosen)
        text = query.sql(dialect="postgres", identify=True)

        def found() -> list[str]:
            cursor = self._store.connection.execute(text, {"chosen": values.to_pylist()})
            return [value for (value,) in cursor.fetchall()]

        return self._working(found)

    def export(self, shape: MatchShape, file: str) -> None:
        """See `MemberTables.export`."""
        from pyarrow import parquet

        kinds = [pa.string() if one else pa.float64() for one in shape.constants]
        columns = [(constant_name(number), kind) for number, kind in enumerate(kinds)]
        schema = pa.schema([("frame", pa.int64()), ("seq", pa.int64()), *columns])
        name = member_name(self._shapes[shape])
        rows = self._working(lambda: self._store.fetch_from(name, schema))
        parquet.write_table(rows, file)

    def rows(self, seqs: NDArray[np.int64]) -> Any:
        """See `MemberTables.rows`."""
        chosen, columns = "seq = ANY(:seqs)", read_columns()
        return self._working(
            lambda: self._store.fetch_from(MEMBER_COPY, columns, chosen, "seq", seqs=seqs.tolist())
        )

    def close(self) -> None:
        """See `MemberTables.close`."""
        _close(self._open)


def _close(connections: Iterable[Any]) -> None:
    for connection in connections:
        connection.close()


def _kind(arrow: Any) -> str:
    if pa.types.is_list(arrow):
        inner = "TEXT" if pa.types.is_string(arrow.value_type) else "DOUBLE PRECISION"
        return f"{inner}[]{' COLLATE ' + chr(34) + 'C' + chr(34) if inner == 'TEXT' else ''}"
    return _KINDS[str(arrow)]
