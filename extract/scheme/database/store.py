"""A connection to a database in one transaction: what both engines do."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol

from extract.scheme.database.errors import DatabaseError, LockedDatabase, LostConnection
from extract.scheme.database.location import DatabaseLocation, is_database, location_of
from extract.xpath.reference_tables import KnownTables, TableColumn, no_tables

PATIENCE = 60.0  # seconds to wait for somebody else who has the database


class Store(Protocol):
    """One transaction on a database. Statements are as `extract.scheme.database.sql` has them."""

    location: DatabaseLocation

    def execute(self, text: str, **values: Any) -> None:
        """Runs a statement."""

    def rows(self, text: str, **values: Any) -> list[tuple[Any, ...]]:
        """Runs a query that gives few rows."""

    def fetch(
        self, table: str, columns: Any, where: str = "", order: str = "", **values: Any
    ) -> Any:
        """Reads many rows of a table.

        Args:
            table: The table.
            columns: The columns: a ``pyarrow.Schema``.
            where: Which rows; empty for all.
            order: The column to sort by; empty for no order.
            values: What ``where`` refers to.

        Returns:
            A ``pyarrow.Table`` with these columns.
        """

    def insert(self, table: str, rows: Any) -> None:
        """Adds many rows, a ``pyarrow.Table``, to a table with columns of these names and types."""

    def watch(self) -> None:
        """Has the database itself note who removes or changes members by SQL, if it can."""

    def names(self) -> set[str]:
        """The tables and views of the schema, also those that this user may not read."""

    def columns(self, table: str, schema: str = "") -> set[str]:
        """The columns of a table, also of one that this user may not read.

        Args:
            table: The table.
            schema: Its schema; empty for that of the subscriptions.
        """


def tables_in(store: Store) -> KnownTables:
    """The tables of owners that queries in a database may join, as `reference_table` names them."""

    def is_there(column: TableColumn) -> bool:
        schema, _, table = column.table.rpartition(".")
        return column.column in store.columns(table, schema)

    return is_there


def tables_of(target: str) -> KnownTables:
    """The tables that queries of a scheme may join.

    Args:
        target: Where the scheme goes. A file has no tables, and neither has a database that is not
            there; one that is there is opened when a query names a table.
    """
    if not is_database(target):
        return no_tables

    def is_there(column: TableColumn) -> bool:
        try:
            with open_store(location_of(target)) as store:
                return tables_in(store)(column)
        except (LockedDatabase, LostConnection):
            raise
        except DatabaseError:
            return False

    return is_there


def open_store(
    location: DatabaseLocation, write: bool = False, patience: float | None = None
) -> AbstractContextManager[Store]:
    """Opens a database for one transaction, which is committed at the end or not at all.

    A reader sees the database as it was at the start, whatever others commit meanwhile. Of writers
    there is one at a time: the others wait. (They could also go on and try again when another one
    was faster. But to revise a scheme takes seconds where it is large, which would be lost each
    time, and one large change would never get through between many small ones.)

    Args:
        location: The database.
        write: Whether to change it; then a file or schema that is not there is made.
        patience: How many seconds to wait for others; None for `PATIENCE`.

    Raises:
        DatabaseError: The database is missing, locked, read-only or lost.
    """
    patience = PATIENCE if patience is None else patience
    if location.engine == "duckdb":
        from extract.scheme.database.duckdb_store import open_duckdb

        return open_duckdb(location, write, patience)
    from extract.scheme.database.postgresql_store import open_postgresql

    return open_postgresql(location, write, patience)
