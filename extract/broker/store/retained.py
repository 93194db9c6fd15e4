"""Statements of retention: what is old, or too much, goes; numbers are never used again."""

from __future__ import annotations

from extract.broker.store import feeds as feed_rows
from extract.broker.store import subscriptions as subscription_rows
from extract.broker.store.database import Connection


def retained_bytes(connection: Connection) -> int:
    """Bytes of all documents and notifications that are kept: looks at every batch."""
    rows = connection.query("SELECT COALESCE(SUM(bytes), 0) FROM outcome")
    return int(rows[0][0])


def oldest_batches(connection: Connection, last: int, most: int) -> list[tuple[int, int, int]]:
    """The oldest batches up to a position, at most so many: position, when matched, bytes."""
    rows = connection.query(
        "SELECT position, matched, bytes FROM outcome WHERE position <= ? "
        "ORDER BY position LIMIT ?",
        (last, most),
    )
    return [(int(position), int(matched), int(size)) for position, matched, size in rows]


def trim(connection: Connection, cut: int, matched: int, numbers: dict[int, int]) -> None:
    """Removes documents and notifications up to a position.

    Args:
        connection: To the store, in a transaction.
        cut: The position.
        matched: The last position that is matched, whose mark stays.
        numbers: For each feed the number of its next document.
    """
    floors = connection.query(
        "SELECT key, MAX(last) FROM notification WHERE position <= ? GROUP BY key", (cut,)
    )
    subscription_rows.raise_floors(connection, [(int(key), int(last)) for key, last in floors])
    connection.execute("DELETE FROM notification WHERE position <= ?", (cut,))
    connection.executemany("DELETE FROM dead_letter WHERE key = ? AND seq <= ?", floors)
    for (feed,) in connection.query("SELECT DISTINCT feed FROM block WHERE position <= ?", (cut,)):
        if feed in numbers:
            feed_rows.set_meta(connection, f"next_number.{feed}", str(numbers[feed]))
    connection.execute("DELETE FROM block WHERE position <= ?", (cut,))
    connection.execute("DELETE FROM outcome WHERE position <= ? AND position < ?", (cut, matched))
    connection.execute("UPDATE outcome SET bytes = 0 WHERE position <= ?", (cut,))
