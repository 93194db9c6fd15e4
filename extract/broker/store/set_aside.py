"""Statements about subscriptions that are set aside: asked no more, until they are put again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from extract.broker.store.database import Connection
from extract.broker.store.rows import SetAsideRow

_COLUMNS: Final = "key, reason, time, missed, numbers"
_numbers: Final = msgspec.json.Decoder(dict[int, int])


def all_set_aside(connection: Connection) -> dict[int, SetAsideRow]:
    """All of them, by the keys of the subscribers."""
    rows = connection.query(f"SELECT {_COLUMNS} FROM set_aside")
    return {
        int(key): SetAsideRow(int(key), reason, time, missed, _numbers.decode(numbers))
        for key, reason, time, missed, numbers in rows
    }


def set_aside(connection: Connection, row: SetAsideRow, revision: int) -> bool:
    """Sets a subscription aside, unless it was put after a revision; returns whether it is."""
    present = connection.query(
        "SELECT 1 FROM subscription WHERE key = ? AND until IS NULL AND since <= ?",
        (row.key, revision),
    )
    if not present:
        return False
    connection.execute("DELETE FROM set_aside WHERE key = ?", (row.key,))
    connection.execute(
        f"INSERT INTO set_aside ({_COLUMNS}) VALUES (?, ?, ?, ?, ?)",
        (row.key, row.reason, row.time, row.missed, msgspec.json.encode(row.numbers)),
    )
    return True


def take_back(connection: Connection, keys: Iterable[int]) -> None:
    """Asks subscriptions again, or forgets them."""
    connection.executemany("DELETE FROM set_aside WHERE key = ?", [(key,) for key in keys])
