"""Copying a store from one database into another."""

from __future__ import annotations

import re
from typing import Any

from extract.broker.store.database import Connection, Database
from extract.broker.store.tables import TABLES, VERSION, StoreError, create_tables

_COLUMN = re.compile(r"(?:^|, )(\w+) \{")
_KEY = re.compile(r"PRIMARY KEY \(([\w, ]+)\)")
_ROWS = 1_000  # at a time
_LARGE = frozenset({"block", "notification", "evidence"})  # whose rows may have some megabytes
_LARGE_ROWS = 16


def columns_of(table: str) -> list[str]:
    """The columns of a table, in their order.

    >>> columns_of("meta")
    ['name', 'value']
    """
    return _COLUMN.findall(TABLES[table])


def copy_tables(source: Connection, target: Database, name: str) -> None:
    """Copies all rows, as they are at one moment, into a database without tables.

    Args:
        source: A connection to the store.
        target: Where the copy goes.
        name: The store, as messages call it.

    Raises:
        StoreError: There is no store, or one of another version; or the target has one.
    """
    _check_version(source, name)
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


def _check_version(source: Connection, name: str) -> None:
    try:
        rows = source.query("SELECT value FROM meta WHERE name = 'version'")
    except Exception:  # no such table, in the words of either database
        rows = []
    if not rows:
        raise StoreError("there is no store", "", name)
    if rows[0][0] != str(VERSION):
        reason = f"the store has version {rows[0][0]}; this extract copies version {VERSION}"
        raise StoreError(reason, "copy it with the extract that serves it", name)


def _is_used(connection: Connection) -> bool:
    try:
        return bool(connection.query("SELECT 1 FROM meta"))
    except Exception:  # no such table, in the words of either database
        return False


def key_of(table: str) -> list[str]:
    """The columns that tell the rows of a table from each other.

    >>> key_of("block"), key_of("subscription")
    (['position'], ['key', 'since'])
    """
    found = _KEY.search(TABLES[table])
    return found[1].split(", ") if found else columns_of(table)[:1]


def _copy(source: Connection, writer: Connection, table: str) -> None:
    columns, key = columns_of(table), key_of(table)
    names, order = ", ".join(columns), ", ".join(key)
    marks = ", ".join("?" * len(columns))
    insert = f"INSERT INTO {table} ({names}) VALUES ({marks})"
    most = _LARGE_ROWS if table in _LARGE else _ROWS
    places = [columns.index(one) for one in key]
    after = f"WHERE ({order}) > ({', '.join('?' * len(key))})"
    last: list[Any] = []  # the key of the last row that was copied
    while True:
        where = after if last else ""
        rows = source.query(
            f"SELECT {names} FROM {table} {where} ORDER BY {order} LIMIT ?", (*last, most)
        )
        writer.executemany(insert, rows)
        if len(rows) < most:
            return
        last = [rows[-1][place] for place in places]
