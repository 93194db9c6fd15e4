"""A scheme in a file of DuckDB.

One process at a time may write a file, and none may read it meanwhile. So a file is open only as
long as one transaction takes, and who finds it taken waits.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from extract.scheme.database.errors import (
    PREPARE,
    DatabaseError,
    LockedDatabase,
    first_line,
    no_room,
    not_installed,
)
from extract.scheme.database.file_gate import passed_gate
from extract.scheme.database.location import DatabaseLocation
from extract.scheme.database.sql import dialect_sql, schema_sql, select_sql, target_sql

_MAGIC, _MAGIC_AT = b"DUCK", 8  # at the start of each file
_SMALLEST: Final = 3 << 12  # bytes of a file of DuckDB: its three headers
_CHECKED: Final[set[tuple[int, int]]] = set()  # files that were opened, by device and inode
_PAUSE: Final = 0.02  # seconds between two attempts to open a file
_ROWS: Final = "extract_rows"  # the name under which rows come in
# In one process a file is shared by all connections: then DuckDB's own lock does not help.
_WRITERS: Final[dict[str, threading.Lock]] = defaultdict(threading.Lock)


class DuckDbStore:
    """A transaction on a file of DuckDB; see `extract.scheme.database.store.Store`.

    Args:
        connection: The connection.
        location: The database.
    """

    def __init__(self, connection: Any, location: DatabaseLocation) -> None:
        self._connection = connection
        self.location = location

    @property
    def connection(self) -> Any:
        """The connection, for what only DuckDB does."""
        return self._connection

    def execute(self, text: str, **values: Any) -> None:
        """Runs a statement."""
        self._connection.execute(dialect_sql(text, self.location), values)

    def rows(self, text: str, **values: Any) -> list[tuple[Any, ...]]:
        """Runs a query that gives few rows."""
        result: list[tuple[Any, ...]] = self._connection.execute(
            dialect_sql(text, self.location), values
        ).fetchall()
        return result

    def fetch(
        self, table: str, columns: Any, where: str = "", order: str = "", **values: Any
    ) -> Any:
        """Reads many rows of a table."""
        chosen = {name: name for name in columns.names}
        text = select_sql(table, chosen, where, order, self.location)
        found = self._connection.sql(text, params=values).to_arrow_table()
        return found.cast(columns).combine_chunks()

    def insert(self, table: str, rows: Any) -> None:
        """Adds many rows to a table."""
        names = ", ".join(rows.column_names)
        text = f"INSERT INTO {table} ({names}) SELECT {names} FROM temp.{_ROWS}"
        self._connection.register(_ROWS, rows)
        try:
            self._connection.execute(dialect_sql(text, self.location))
        finally:
            self._connection.unregister(_ROWS)

    def create(self, table: str, rows: Any) -> None:
        """Makes a table of rows, a ``pyarrow.Table``, with its columns and types."""
        target = target_sql(table, (), self.location)
        self._connection.register(_ROWS, rows)
        try:
            self._connection.execute(f"CREATE TABLE {target} AS SELECT * FROM temp.{_ROWS}")
        finally:
            self._connection.unregister(_ROWS)

    def watch(self) -> None:
        """Does nothing: DuckDB has no triggers."""

    def names(self) -> set[str]:
        """The tables and views of the schema."""
        text = "SELECT table_name FROM information_schema.tables WHERE table_schema = :schema"
        return {name for (name,) in self.rows(text, schema=self.location.schema)}

    def columns(self, table: str, schema: str = "") -> set[str]:
        """The columns of a table."""
        text = (
            "SELECT column_name FROM information_schema.columns "
            "WHERE table_schema = :schema AND table_name = :name"
        )
        found = self.rows(text, schema=schema or self.location.schema, name=table)
        return {name for (name,) in found}

    def make_schema(self) -> None:
        """Makes the schema of the tables, unless it is there."""
        self._connection.execute(schema_sql("CREATE SCHEMA IF NOT EXISTS", self.location))


@contextlib.contextmanager
def open_duckdb(location: DatabaseLocation, write: bool, patience: float) -> Iterator[DuckDbStore]:
    """Opens a file of DuckDB, see `open_store`."""
    try:
        import duckdb
    except ImportError:
        raise not_installed("duckdb", location) from None
    until = time.monotonic() + patience
    file = os.path.realpath(location.target)
    with contextlib.ExitStack() as stack:
        if write:
            if not _WRITERS[file].acquire(timeout=patience):
                raise _locked(location, "this process writes it")
            stack.callback(_WRITERS[file].release)
            stack.enter_context(_removed_unless_made(Path(file)))
        connection = _connect(location, write, until)
        stack.callback(_close, connection, file)
        try:
            connection.begin()
            store = DuckDbStore(connection, location)
            if write:
                store.make_schema()
            yield store
            with passed_gate(file):
                connection.commit()
        except duckdb.Error as error:
            raise _described(error, location) from error
        # What is not committed is gone when the connection is closed.


def _close(connection: Any, file: str) -> None:
    with passed_gate(file):
        connection.close()


@contextlib.contextmanager
def temporary_connection(settings: Iterable[tuple[str, str]] = ()) -> Iterator[Any]:
    """Opens a database that is gone afterwards, in a file: of DuckDB itself, for comparisons."""
    import duckdb

    with tempfile.TemporaryDirectory(prefix="extract-sql-") as folder:
        connection = duckdb.connect(str(Path(folder) / "temporary.duckdb"))
        with contextlib.closing(connection):
            for name, value in settings:
                connection.execute(_setting_sql(name, value))
            yield connection


@contextlib.contextmanager
def temporary_store(tables: Mapping[str, Any]) -> Iterator[DuckDbStore]:
    """Opens a database in memory with some tables, each a ``pyarrow.Table``.

    Raises:
        DatabaseError: DuckDB is not installed.
    """
    location = DatabaseLocation("duckdb", ":memory:", "main", "scheme", is_lasting=False)
    try:
        import duckdb
    except ImportError:
        raise not_installed("duckdb", location) from None
    with contextlib.closing(duckdb.connect()) as connection:
        store = DuckDbStore(connection, location)
        for name, rows in tables.items():
            store.create(name, rows)
        yield store


@contextlib.contextmanager
def _removed_unless_made(file: Path) -> Iterator[None]:
    """Removes a file that was made and then not filled."""
    was_there = file.exists()
    try:
        yield
    except BaseException:
        if not was_there:
            for one in (file, file.with_name(f"{file.name}.wal")):
                one.unlink(missing_ok=True)
        raise


def _connect(location: DatabaseLocation, write: bool, until: float) -> Any:
    """Opens the file, as soon as nobody else has it."""
    import duckdb

    file = os.path.abspath(location.target)  # not one of the other things that DuckDB opens
    if not write and not os.path.exists(file):
        reason = "there is no such database"
        raise DatabaseError(reason, PREPARE.format(location.shown), location.shown)
    if write and not Path(os.path.realpath(file)).parent.is_dir():
        reason = "the directory of the database does not exist"
        raise DatabaseError(reason, "check the name of the file", location.shown)
    _check_file(location)
    read_only = not write
    problem: Exception
    while True:
        try:
            with passed_gate(file, until):
                connection = configured(duckdb.connect(file, read_only=read_only), location)
            _CHECKED.add(_identity(os.stat(file)))
            return connection
        except TimeoutError:
            raise _locked(location, "it is being written") from None
        except duckdb.ConnectionException as error:
            # This process has the file open in the other way. A writer can read, too.
            read_only = False if not write else read_only
            problem = error
        except duckdb.IOException as error:
            if "lock" not in str(error):
                raise _described(error, location) from error
            problem = error
        except duckdb.Error as error:
            raise _described(error, location) from error
        if time.monotonic() > until:
            raise _locked(location, first_line(problem)) from problem
        time.sleep(_PAUSE)


def configured(connection: Any, location: DatabaseLocation) -> Any:
    """A connection with the settings that the URL has."""
    import duckdb

    for name, value in location.settings:
        try:
            connection.execute(_setting_sql(name, value))
        except duckdb.Error as error:
            connection.close()
            reason = f"{value!r} cannot be the {name}: {first_line(error)}"
            hint = "write for example ?memory_limit=2GB&threads=4"
            raise DatabaseError(reason, hint, location.shown) from error
    return connection


def _setting_sql(name: str, value: str) -> str:
    from sqlglot import exp

    return f"SET {exp.to_identifier(name, quoted=True)} = {exp.Literal.string(value)}"


def attach_sql(file: str, name: str) -> str:
    """The statement that opens another file of DuckDB for writing, under a name."""
    from sqlglot import exp

    named = exp.alias_(exp.Literal.string(file), name, quoted=True)
    option = exp.AttachOption(this=exp.var("READ_WRITE"))
    return exp.Attach(this=named, expressions=[option]).sql(dialect="duckdb")


@contextlib.contextmanager
def described_errors(location: DatabaseLocation) -> Iterator[None]:
    """Tells what DuckDB says in the words of `extract`."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise _described(error, location) from error


def _check_file(location: DatabaseLocation) -> None:
    """Makes sure that a file is DuckDB's own: it would open a JSON file as well, in memory.

    A file that DuckDB has opened in this process is not opened again here: to close it would end
    all locks that the process has on it, DuckDB's too, and another process could write beside it.
    """
    try:
        status = os.stat(location.target)
        if _identity(status) in _CHECKED and status.st_size >= _SMALLEST:
            return
        with open(location.target, "rb") as stream:
            head = stream.read(_MAGIC_AT + len(_MAGIC))
    except FileNotFoundError:
        return
    except OSError as error:
        reason = f"cannot open the database: {error.strerror or error}"
        hint = "check the name of the file, and its permissions"
        raise DatabaseError(reason, hint, location.shown) from error
    if head and head[_MAGIC_AT:] != _MAGIC:
        hint = "check the name; `extract prep` does not replace other files by a database"
        raise DatabaseError("is not a file of DuckDB", hint, location.shown)


def _identity(status: os.stat_result) -> tuple[int, int]:
    return (status.st_dev, status.st_ino)


def _locked(location: DatabaseLocation, why: str) -> LockedDatabase:
    hint = "try again when the other program has closed it; for many writers, use PostgreSQL"
    return LockedDatabase(f"another program has the database open: {why}", hint, location.shown)


def _described(error: Exception, location: DatabaseLocation) -> DatabaseError:
    """What DuckDB says, with what to do about it."""
    import duckdb

    said, line = str(error), first_line(error)
    if isinstance(error, duckdb.TransactionException):
        reason = "somebody else changed the database meanwhile; nothing was written"
        return LockedDatabase(reason, "run the command again", location.shown)
    if "No space left" in said:
        return no_room(line, location)
    if "read-only" in said or "Permission denied" in said or "Read-only file system" in said:
        hint = "check the permissions of the file and of its directory"
        return DatabaseError(f"cannot write or open the database: {line}", hint, location.shown)
    if isinstance(error, duckdb.CatalogException | duckdb.BinderException):
        hint = f"the tables are not those of extract; name another schema, or {PREPARE}"
        return DatabaseError(line, hint.format(location.shown), location.shown)
    return DatabaseError(line, "check the file, or restore it from a backup", location.shown)
