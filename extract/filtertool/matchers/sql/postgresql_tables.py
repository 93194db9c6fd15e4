"""Member tables in PostgreSQL: temporary tables of one connection, on the server.

They go with the connection. Values of a batch come into a temporary table, too, by COPY.
"""

from __future__ import annotations

import threading
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
    selected_constants,
)
from extract.filtertool.matchers.sql.plan import SqlPlan
from extract.filtertool.matchers.sql.statements import constant_name, match_sql
from extract.filtertool.matchers.sql.value_scan import ShapeBatch
from extract.scheme.database.errors import no_reference
from extract.scheme.database.member_rows import read_columns
from extract.scheme.database.postgresql_store import PostgresStore, described_errors
from extract.scheme.database.sql import dialect_sql, reference_table

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

    Args:
        store: The database of the subscriptions; its connection is kept.
        plan: What to match.
        members: Whether rows of members are asked for, too.
    """

    def __init__(self, store: PostgresStore, plan: SqlPlan, members: bool) -> None:
        self._store = store
        self._location = store.location
        self._shapes = {shape: number for number, shape in enumerate(plan.shapes)}
        self._single = plan.single
        self._made: dict[tuple[MatchShape, frozenset[int]], tuple[str, str]] = {}
        self._turn = threading.Lock()
        when_gone(self, store.connection.close)
        with described_errors(self._location, store.connection):
            self._run(_BUFFERS)
            self._check_references(plan)
            self._fill(plan)
            if members:
                names = ", ".join(read_columns().names)
                text = f"SELECT {names} FROM member WHERE template = ANY(:templates)"
                self._run(f"CREATE TEMP TABLE {MEMBER_COPY} (LIKE {self._members()})")
                insert = f"INSERT INTO {MEMBER_COPY} ({names}, numbers, revision)"
                text = text.replace(" FROM", ", numbers, revision FROM")
                self._run(
                    f"{insert} {dialect_sql(text, self._location)}",
                    {"templates": sorted(plan.decided)},
                )
                self._run(f"CREATE INDEX ON {MEMBER_COPY} (seq)")
            store.connection.commit()
            store.connection.autocommit = True
            for number in self._shapes.values():
                self._run(f"VACUUM (ANALYZE) {member_name(number)}")

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

    def _members(self) -> str:
        return dialect_sql("SELECT 1 FROM member", self._location).partition("FROM ")[2]

    def _fill(self, plan: SqlPlan) -> None:
        for shape, number in self._shapes.items():
            columns = column_definitions(shape)
            self._run(f"CREATE TEMP TABLE {member_name(number)} ({columns})")
        for source in plan.sources():
            text = f"SELECT {selected_constants(source.constants, source.alternative)} FROM member"
            text = f"{text} WHERE template = ANY(:templates)"
            key = source.shape.key
            if key is not None:  # rows that are found together are in one place
                text = f"{text} ORDER BY {3 + key.constant}, seq"
            text = dialect_sql(text, self._location)
            insert = f"INSERT INTO {member_name(self._shapes[source.shape])} {text}"
            self._run(insert, {"templates": list(source.templates)})
        for shape, number in self._shapes.items():
            key, name = shape.key, member_name(number)
            if key is not None:
                column = constant_name(key.constant)
                by = f"hashtextextended({column}, 0)" if shape.constants[key.constant] else column
                self._run(f"CREATE INDEX ON {name} ({by}, frame)")

    def join(
        self, shape: MatchShape, batch: ShapeBatch
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """See `MemberTables.join`."""
        with self._turn, described_errors(self._location, self._store.connection):
            name, statement = self._batch(shape, batch)
            self._store.insert_into(name, batch.table)
            try:
                self._run(f"ANALYZE {name}")
                data = self._store.copied(statement)
            finally:
                if not self._store.connection.broken:
                    self._run(f"TRUNCATE {name}")
        rows = np.frombuffer(data, _ROW, offset=_HEAD, count=(len(data) - _HEAD) // _ROW.itemsize)
        return rows["document"].astype(np.int32), rows["seq"].astype(np.int64)

    def _batch(self, shape: MatchShape, batch: ShapeBatch) -> tuple[str, str]:
        """The table for the values, and the statement; made when they are first needed."""
        known = self._made.get((shape, batch.lists))
        if known is None:
            number = self._shapes[shape]
            name = f"{batch_name(number)}_{len(self._made)}"
            columns = ", ".join([f"{one.name} {_kind(one.type)}" for one in batch.table.schema])
            self._run(f"CREATE TEMP TABLE {name} ({columns})")
            own = member_name(number)
            single = shape in self._single
            text = match_sql(shape, batch.lists, name, own, "postgres", self._reference, single)
            known = self._made[shape, batch.lists] = (name, text)
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
        with self._turn, described_errors(self._location, self._store.connection):
            cursor = self._store.connection.execute(text, {"chosen": values.to_pylist()})
            return [value for (value,) in cursor.fetchall()]

    def export(self, shape: MatchShape, file: str) -> None:
        """See `MemberTables.export`."""
        from pyarrow import parquet

        kinds = [pa.string() if one else pa.float64() for one in shape.constants]
        columns = [(constant_name(number), kind) for number, kind in enumerate(kinds)]
        schema = pa.schema([("frame", pa.int64()), ("seq", pa.int64()), *columns])
        with self._turn, described_errors(self._location, self._store.connection):
            rows = self._store.fetch_from(member_name(self._shapes[shape]), schema)
        parquet.write_table(rows, file)

    def rows(self, seqs: NDArray[np.int64]) -> Any:
        """See `MemberTables.rows`."""
        with self._turn, described_errors(self._location, self._store.connection):
            return self._store.fetch_from(
                MEMBER_COPY, read_columns(), "seq = ANY(:seqs)", "seq", seqs=seqs.tolist()
            )

    def close(self) -> None:
        """See `MemberTables.close`."""
        self._store.connection.close()


def _kind(arrow: Any) -> str:
    if pa.types.is_list(arrow):
        inner = "TEXT" if pa.types.is_string(arrow.value_type) else "DOUBLE PRECISION"
        return f"{inner}[]{' COLLATE ' + chr(34) + 'C' + chr(34) if inner == 'TEXT' else ''}"
    return _KINDS[str(arrow)]
