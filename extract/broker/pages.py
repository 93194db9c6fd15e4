"""Reading notifications: a page of them, or what is no longer kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from extract.broker.problems import Problem
from extract.broker.store import notifications as notification_rows
from extract.broker.store.database import Connection
from extract.broker.store.rows import NotificationRow

# Numbers and JSON objects without them, and the last number of the page.
NotificationEntries = tuple[list[tuple[int, bytes]], int]

_entries = msgspec.json.Decoder(list[msgspec.Raw])


def read_notifications(
    connection: Connection, key: int, after: int, most: int, most_bytes: int
) -> NotificationEntries:
    """The notifications of a subscriber above a number, the oldest first.

    Args:
        connection: To the store.
        key: Of the subscriber.
        after: The number.
        most: How many.
        most_bytes: How many bytes they may have; the first may have more.

    Raises:
        Problem: Some of them are no longer kept; ``oldest`` is the first that is. Who begins, with
            0, gets all since the subscription was made.
    """
    with connection.snapshot():
        floor, start = notification_rows.floor_of(connection, key)
        rows = notification_rows.notifications_after(
            connection, key, max(after, floor), most, most_bytes
        )
    if after < floor and (after or floor > start):
        reason = f"notifications up to {floor} are no longer kept"
        raise Problem(410, reason, f"go on with after={floor}", oldest=floor + 1)
    page = list(_fitting(rows, after, most, most_bytes))
    return page, page[-1][0] if page else max(after, start)


def _fitting(
    rows: Sequence[NotificationRow], after: int, most: int, most_bytes: int
) -> Iterator[tuple[int, bytes]]:
    """The first notifications of rows, as many as a page may have."""
    count = size = 0
    for row in rows:
        for seq, entry in enumerate(_entries.decode(row.data), row.last - row.amount + 1):
            if seq <= after:
                continue
            size += len(bytes(entry))
            if count == most or (count and size > most_bytes):
                return
            count += 1
            yield seq, bytes(entry)
