"""A scheme on a PostgreSQL server, through psycopg 3."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from extract.scheme.database.errors import (
    PREPARE,
    DatabaseError,
    LockedDatabase,
    LostConnection,
    NoConnection,
    UncertainCommit,
    first_line,
    no_room,
    not_installed,
)
from extract.scheme.database.location import DatabaseLocation
from extract.scheme.database.sql import dialect_sql, schema_sql, select_sql, target_sql

_CONNECT_SECONDS: Final = 10
_BETWEEN: Final = "\x01"  # elements of an array on their way here; no XPath has this character
_ARRAY: Final = "CASE WHEN CARDINALITY({0}) > 0 THEN ARRAY_TO_STRING({0}, CHR(1)) END"


# Whoever changes members by SQL gives them a new revision, one for all that a transaction changes,
# and waits for other writers. Our own writers do so themselves, for many rows at once.
_TRIGGERS: Final = (
    """CREATE FUNCTION {schema}.member_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  setting text := 'extract.revision_' || TG_RELID;
  present bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('extract ' || TG_TABLE_SCHEMA, 0));
  present := NULLIF(current_setting(setting, TRUE), '')::bigint;
  IF present IS NULL THEN
    EXECUTE format('UPDATE %I.scheme SET revision = revision + 1 RETURNING revision',
                   TG_TABLE_SCHEMA) INTO present;
    EXECUTE format('INSERT INTO %I.revision (number, made, action, added, removed) '
                   'VALUES ($1, CURRENT_TIMESTAMP, ''sql'', 0, 0)', TG_TABLE_SCHEMA) USING present;
    PERFORM set_config(setting, present::text, TRUE);
  END IF;
  EXECUTE format('UPDATE %I.revision SET added = added + $2, removed = removed + $3 '
                 'WHERE number = $1', TG_TABLE_SCHEMA)
    USING present, (TG_OP <> 'DELETE')::int, (TG_OP <> 'INSERT')::int;
  IF TG_OP <> 'INSERT' THEN
    EXECUTE format('INSERT INTO %I.removal (revision, id) VALUES ($1, $2)', TG_TABLE_SCHEMA)
      USING present, OLD.id;
  END IF;
  IF TG_OP = 'DELETE' THEN
    RETURN OLD;
  END IF;
  NEW.revision := present;
  RETURN NEW;
END
$$""",
    """CREATE TRIGGER member_changed BEFORE INSERT OR UPDATE OR DELETE ON {schema}.member
FOR EACH ROW WHEN (current_setting('extract.writer', TRUE) IS DISTINCT FROM 'on')
EXECUTE FUNCTION {schema}.member_changed()""",
)


class PostgresStore:
    """A transaction on a server; see `extract.scheme.database.store.Store`.

    Args:
        connection: The connection, from psycopg.
        location: The database.
    """

    def __init__(self, connection: Any, location: DatabaseLocation) -> None:
        self._connection = connection
        self.location = location

    @property
    def connection(self) -> Any:
        """The connection, for what only PostgreSQL does."""
        return self._connection

    def execute(self, text: str, **values: Any) -> None:
        """Runs a statement."""
        self._connection.execute(dialect_sql(text, self.location), values or None)

    def rows(self, text: str, **values: Any) -> list[tuple[Any, ...]]:
        """Runs a query that gives few rows."""
        cursor = self._connection.execute(dialect_sql(text, self.location), values or None)
        found: list[tuple[Any, ...]] = cursor.fetchall()
        return found

    def fetch(
        self, table: str, columns: Any, where: str = "", order: str = "", **values: Any
    ) -> Any:
        """Reads many rows of a table: as CSV, which Arrow reads much faster than rows."""
        return self.fetch_from(table, columns, where, order, self.location.schema, **values)

    def fetch_from(
        self,
        table: str,
        columns: Any,
        where: str = "",
        order: str = "",
        schema: str = "pg_temp",
        **values: Any,
    ) -> Any:
        """The same for a table of another schema; temporary ones have one of their own."""
        import psycopg
        import pyarrow as pa

        lists = {one.name for one in columns if pa.types.is_list(one.type)}
        chosen = {name: _ARRAY.format(name) if name in lists else name for name in columns.names}
        place = replace(self.location, schema=schema)
        text = select_sql(table, chosen, where, order, place)
        if values:  # COPY binds no values
            text = psycopg.ClientCursor(self._connection).mogrify(text, values)
        data = io.BytesIO()
        with (
            self._connection.cursor() as cursor,
            cursor.copy(f"COPY ({text}) TO STDOUT (FORMAT csv)") as copy,
        ):
            for part in copy:
                data.write(part)
        return _table(data.getbuffer(), columns, lists)

    def insert(self, table: str, rows: Any) -> None:
        """Adds many rows to a table."""
        self.insert_into(table, rows, self.location.schema)

    def insert_into(self, table: str, rows: Any, schema: str = "pg_temp") -> None:
        """The same for a table of another schema; temporary ones have one of their own."""
        from extract.scheme.database.binary_copy import END, HEAD, copy_data

        target = target_sql(table, rows.column_names, replace(self.location, schema=schema))
        with (
            self._connection.cursor() as cursor,
            cursor.copy(f"COPY {target} FROM STDIN (FORMAT binary)") as copy,
        ):
            copy.write(HEAD)
            for part in copy_data(rows):
                copy.write(part)
            copy.write(END)

    def copied(self, query: str) -> bytes:
        """The rows of a query, as PostgreSQL's binary COPY."""
        data = io.BytesIO()
        with (
            self._connection.cursor() as cursor,
            cursor.copy(f"COPY ({query}) TO STDOUT (FORMAT binary)") as copy,
        ):
            for part in copy:
                data.write(part)
        return data.getvalue()

    def watch(self) -> None:
        """Makes the trigger that notes who removes or changes members by SQL."""
        from psycopg import sql

        names = {"schema": sql.Identifier(self.location.schema)}
        for statement in _TRIGGERS:
            self._connection.execute(sql.SQL(statement).format(**names))

    def names(self) -> set[str]:
        """The tables and views of the schema."""
        # Not information_schema, which has only what this user may use.
        text = (
            "SELECT c.relname FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n "
            "ON n.oid = c.relnamespace WHERE n.nspname = :schema AND c.relkind IN ('r', 'v', 'p')"
        )
        return {name for (name,) in self.rows(text, schema=self.location.schema)}

    def columns(self, table: str, schema: str = "") -> set[str]:
        """The columns of a table."""
        text = (
            "SELECT a.attname FROM pg_catalog.pg_attribute AS a "
            "JOIN pg_catalog.pg_class AS c ON c.oid = a.attrelid "
            "JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace "
            "WHERE n.nspname = :schema AND c.relname = :name"
        )
        found = self.rows(text, schema=schema or self.location.schema, name=table)
        return {name for (name,) in found}

    def make_schema(self) -> None:
        """Makes the schema of the tables, unless it is there."""
        found = "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = :schema"
        if not self.rows(found, schema=self.location.schema):
            self._connection.execute(schema_sql("CREATE SCHEMA IF NOT EXISTS", self.location))

    def lock(self, patience: float) -> None:
        """Waits until no other writer is at this schema; the lock ends with the transaction."""
        milliseconds = str(max(1, int(patience * 1000)))
        self.execute("SELECT set_config('lock_timeout', :time, TRUE)", time=milliseconds)
        name = f"extract {self.location.schema}"
        self.execute("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))", name=name)
        self.execute("SELECT set_config('extract.writer', 'on', TRUE)")  # no triggers for us


def _table(data: Any, columns: Any, lists: set[str]) -> Any:
    """The rows of a CSV."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv

    if not data:
        return columns.empty_table()
    types = {one.name: pa.string() if one.name in lists else one.type for one in columns}
    table = csv.read_csv(
        pa.py_buffer(data),
        csv.ReadOptions(column_names=columns.names, block_size=1 << 24),
        csv.ParseOptions(newlines_in_values=True),
        csv.ConvertOptions(
            column_types=types,
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=[""],
        ),
    ).combine_chunks()
    for number, one in enumerate(columns):
        if one.name in lists:
            parts = pc.split_pattern(table.column(number), _BETWEEN)
            empty = pa.scalar([], parts.type)
            parts = pc.if_else(pc.is_valid(parts), parts, empty).cast(one.type)
            table = table.set_column(number, one, parts)
    return table.cast(columns).combine_chunks()


@contextlib.contextmanager
def open_postgresql(
    location: DatabaseLocation, write: bool, patience: float
) -> Iterator[PostgresStore]:
    """Opens a connection to a server, see `open_store`."""
    connection = connect(location)
    import psycopg

    try:
        store = PostgresStore(connection, location)
        if write:
            store.lock(patience)
            store.make_schema()
        else:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            connection.read_only = True
        yield store
    except psycopg.Error as error:
        raise _described(error, location, connection.broken) from error
    else:
        _commit(connection, location)
    finally:
        connection.close()  # and with it a transaction that was not committed


def open_session(location: DatabaseLocation) -> PostgresStore:
    """Opens a connection that may make temporary tables, in a transaction that sees one revision.

    Whoever opens it closes it.

    Raises:
        DatabaseError: The server does not answer.
    """
    connection = connect(location)
    import psycopg

    connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    return PostgresStore(connection, location)


def connect(location: DatabaseLocation) -> Any:
    """A connection to a server, from psycopg.

    Raises:
        DatabaseError: psycopg is not installed, or the server does not answer.
    """
    try:
        import psycopg
    except ImportError:
        raise not_installed("psycopg", location) from None
    try:
        return psycopg.connect(
            location.target, connect_timeout=_CONNECT_SECONDS, application_name="extract"
        )
    except psycopg.Error as error:
        hint = "check the URL, and whether the server runs and lets you in"
        reason = f"cannot connect: {first_line(error)}"
        raise NoConnection(reason, hint, location.shown) from None


@contextlib.contextmanager
def described_errors(location: DatabaseLocation, connection: Any) -> Iterator[None]:
    """Tells what PostgreSQL says in the words of `extract`."""
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        raise _described(error, location, connection.closed) from error


def _commit(connection: Any, location: DatabaseLocation) -> None:
    import psycopg

    try:
        connection.commit()
    except psycopg.Error as error:
        if not connection.broken:
            raise _described(error, location, broken=False) from error
        reason = f"the connection was lost in the last moment: {first_line(error)}"
        hint = "look at `extract subs list` whether the change is there, all of it or nothing"
        raise UncertainCommit(reason, hint, location.shown) from error


def _described(error: Any, location: DatabaseLocation, broken: bool) -> DatabaseError:
    """What PostgreSQL says, with what to do about it."""
    from psycopg import errors

    line = first_line(error)
    if isinstance(error, errors.LockNotAvailable):
        reason = "another program changes these subscriptions for a long time"
        return LockedDatabase(reason, "try again when it has ended", location.shown)
    if isinstance(error, errors.InsufficientPrivilege | errors.ReadOnlySqlTransaction):
        hint = "ask the owner of the database for the right, or use another user"
        return DatabaseError(f"cannot write or read the database: {line}", hint, location.shown)
    if isinstance(error, errors.DiskFull):
        return no_room(line, location)
    if isinstance(error, errors.UndefinedTable | errors.UndefinedColumn | errors.WrongObjectType):
        hint = f"the tables are not those of extract; name another schema, or {PREPARE}"
        return DatabaseError(line, hint.format(location.shown), location.shown)
    if broken or isinstance(error, errors.AdminShutdown | errors.CrashShutdown):
        reason = f"the connection to the database is lost: {line}"
        return LostConnection(reason, "nothing was written; run the command again", location.shown)
    return DatabaseError(line, "nothing was written", location.shown)
