"""Copying a store from one database into another."""

from __future__ import annotations

import re

from extract.broker.store.database import Connection, Database
from extract.broker.store.tables import TABLES, StoreError, create_tables

_COLUMN = re.compile(r"(?:^|, )(\w+) \{")
_ROWS = 1_000  # at a time


def columns_of(table: str) -> list[str]:
    """The columns of a table, in their order.

    >>> columns_of("meta")
    ['name', 'value']
    """
    return _COLUMN.findall(TABLES[table])


def copy_tables(source: Connection, target: Database) -> None:
    """Copies all rows, as they are at one moment, into a database without tables.

    Raises:
        StoreError: It has a store.
    """
    target.lock()
    writer = target.connect(writes=True)
    try:
        if _is_used(writer):
            raise StoreError("has a store already", "choose another directory", target.name)
        create_tables(writer, target.types)
        with source.snapshot(), writer.transaction():
            writer.execute("DELETE FROM meta")
            for table in TABLES:
                _copy(source, writer, table)
    finally:
        writer.close()
        target.close()


def _is_used(connection: Connection) -> bool:
    try:
        return bool(connection.query("SELECT 1 FROM meta"))
    except Exception:  # no such table, in the words of either database
        return False


def _copy(source: Connection, writer: Connection, table: str) -> None:
    columns = columns_of(table)
    names = ", ".join(columns)
    order = ", ".join(str(number) for number in range(1, min(len(columns), 2) + 1))
    marks = ", ".join("?" * len(columns))
    insert = f"INSERT INTO {table} ({names}) VALUES ({marks})"
    offset = 0
    while True:
        rows = source.query(
            f"SELECT {names} FROM {table} ORDER BY {order} LIMIT ? OFFSET ?", (_ROWS, offset)
        )
        writer.executemany(insert, rows)
        offset += len(rows)
        if len(rows) < _ROWS:
            return
