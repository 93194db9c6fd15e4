"""Statements of retention: what is old, or too much, goes; numbers are never used again."""

from __future__ import annotations

from extract.broker.store import feeds as feed_rows
from extract.broker.store import subscriptions as subscription_rows
from extract.broker.store.database import Connection


def position_by_age(connection: Connection, before: int) -> int:
    """The last position whose batch was matched before a time."""
    rows = connection.query("SELECT MAX(position) FROM outcome WHERE matched < ?", (before,))
    return int(rows[0][0] or 0)


def position_by_size(connection: Connection, most: int) -> int:
    """The last position that has to go for the rest to have at most so many bytes."""
    rows = connection.query("SELECT COALESCE(SUM(bytes), 0) FROM outcome")
    excess = int(rows[0][0]) - most
    if excess <= 0:
        return 0
    for position, size in connection.query("SELECT position, bytes FROM outcome ORDER BY position"):
        excess -= size
        if excess <= 0:
            return int(position)
    return 0


def next_position(connection: Connection, cut: int, batches: int) -> int:
    """The position of some batches on, at most one given: to trim a little at a time."""
    rows = connection.query(
        "SELECT MAX(position) FROM (SELECT position FROM outcome WHERE position <= ? "
        "ORDER BY position LIMIT ?) AS batches",
        (cut, batches),
    )
    return int(rows[0][0] or 0)


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
