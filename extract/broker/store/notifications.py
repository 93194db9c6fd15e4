"""Statements about notifications, dead letters, webhooks' places, and rejections."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from extract.broker.store.database import Connection
from extract.broker.store.rows import DeadLetter, NotificationRow, RejectionRow, Row
from extract.broker.store.sealed import sealed, unsealed
from extract.broker.store.tables import DamagedStore

_MANY_ROWS: Final = 64


def add_notifications(connection: Connection, rows: Iterable[NotificationRow]) -> None:
    """Adds notifications."""
    connection.executemany(
        "INSERT INTO notification (key, last, count, position, data) VALUES (?, ?, ?, ?, ?)",
        [(*row[:4], sealed(row.data, *row[:4])) for row in rows],
    )


def notification_row(row: Row) -> NotificationRow:
    """A row of the table: key, last, count, position, data.

    Raises:
        DamagedStore: It is not as it was written.
    """
    key, last, count, position, data = row
    name = f"row of notifications up to number {last} of subscriber {key}"
    content = unsealed(bytes(data), name, key, last, count, position)
    if not content.startswith(b"["):
        raise DamagedStore(f"the {name} is damaged")
    return NotificationRow(key, last, count, position, content)


def check_notifications(connection: Connection) -> None:
    """Reads all notifications.

    Raises:
        DamagedStore: One is not as it was written, or one in between is missing.
    """
    statement = (
        "SELECT key, last, count, position, data FROM notification WHERE (key, last) > (?, ?) "
        "ORDER BY key, last LIMIT ?"
    )
    key = last = -1
    rows = connection.query(statement, (key, last, _MANY_ROWS))
    while rows:
        for row in map(notification_row, rows):
            if row.key == key and row.last - row.amount != last:
                reason = f"notifications behind number {last:,} of subscriber {key} are missing"
                raise DamagedStore(reason, "restore a copy that `extract serve --backup` made")
            key, last = row.key, row.last
        rows = connection.query(statement, (key, last, _MANY_ROWS))


def notifications_after(
    connection: Connection, key: int, seq: int, most: int, most_bytes: int
) -> list[NotificationRow]:
    """The rows of a subscriber that have its next notifications above a number.

    Few more rows than so many notifications, or bytes, need: a row may have one notification or
    thousands, so one is read first, and then more.
    """
    rows: list[NotificationRow] = []
    amount = size = 0
    count = 1
    while amount < most and size < most_bytes:
        found = connection.query(
            "SELECT key, last, count, position, data FROM notification WHERE key = ? AND last > ? "
            "ORDER BY key, last LIMIT ?",
            (key, rows[-1].last if rows else seq, count),
        )
        for row in map(notification_row, found):
            rows.append(row)
            amount += min(row.amount, row.last - seq)
            size += len(row.data)
        if len(found) < count:
            break
        room = (most_bytes - size) * len(rows) // max(1, size)  # rows of the same size
        count = max(1, min(2 * count, _MANY_ROWS, room))
    return rows


def last_number(connection: Connection, key: int) -> int:
    """The last number of a subscriber that is kept, or its floor."""
    rows = connection.query(
        "SELECT last FROM notification WHERE key = ? ORDER BY key DESC, last DESC LIMIT 1", (key,)
    )
    floors = connection.query("SELECT floor FROM subscriber WHERE key = ?", (key,))
    return max(int(rows[0][0]) if rows else 0, int(floors[0][0]) if floors else 0)


def floor_of(connection: Connection, key: int) -> tuple[int, int]:
    """The floor and the start of a subscriber: see `SubscriberRow`."""
    rows = connection.query("SELECT floor, start FROM subscriber WHERE key = ?", (key,))
    return (int(rows[0][0]), int(rows[0][1])) if rows else (0, 0)


def remove_notifications(connection: Connection, keys: Iterable[int]) -> None:
    """Removes all that subscribers were sent, with their webhooks' places and dead letters."""
    rows = [(key,) for key in keys]
    for table in ("notification", "dead_letter", "webhook"):
        connection.executemany(f"DELETE FROM {table} WHERE key = ?", rows)


# -- webhooks


def webhooks(connection: Connection) -> list[tuple[int, int, str]]:
    """The webhooks: key, the last number that was delivered or given up, secret."""
    rows = connection.query("SELECT key, delivered, secret FROM webhook ORDER BY key")
    return [(int(key), int(delivered), str(secret)) for key, delivered, secret in rows]


def webhook(connection: Connection, key: int) -> tuple[int, str] | None:
    """How far a webhook's deliveries went, and its secret."""
    rows = connection.query("SELECT delivered, secret FROM webhook WHERE key = ?", (key,))
    return (int(rows[0][0]), str(rows[0][1])) if rows else None


def put_webhook(connection: Connection, key: int, delivered: int, secret: str) -> None:
    """Adds a webhook; one that is there keeps its place."""
    connection.execute(
        "INSERT INTO webhook (key, delivered, secret) VALUES (?, ?, ?) "
        "ON CONFLICT (key) DO UPDATE SET secret = excluded.secret",
        (key, delivered, secret),
    )


def remove_webhook(connection: Connection, key: int) -> None:
    """Removes a webhook."""
    connection.execute("DELETE FROM webhook WHERE key = ?", (key,))


def set_delivered(connection: Connection, rows: Iterable[tuple[int, int]]) -> None:
    """Notes for webhooks up to which number notifications were delivered or given up."""
    connection.executemany(
        "UPDATE webhook SET delivered = ? WHERE key = ?", [(seq, key) for key, seq in rows]
    )


# -- dead letters


def add_dead_letter(connection: Connection, one: DeadLetter) -> None:
    """Adds a dead letter."""
    connection.execute(
        "INSERT INTO dead_letter (key, seq, reason, attempts, time) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (key, seq) DO UPDATE SET reason = excluded.reason, "
        "attempts = excluded.attempts, time = excluded.time",
        (one.key, one.seq, one.reason, one.attempts, one.time),
    )


def dead_letters(connection: Connection, key: int, after: int, most: int) -> list[DeadLetter]:
    """Dead letters of a subscriber with numbers above one, the oldest first."""
    rows = connection.query(
        "SELECT key, seq, reason, attempts, time FROM dead_letter WHERE key = ? AND seq > ? "
        "ORDER BY seq LIMIT ?",
        (key, after, most),
    )
    return [DeadLetter(*row) for row in rows]


def remove_dead_letter(connection: Connection, key: int, seq: int) -> bool:
    """Removes a dead letter; returns whether there was one."""
    statement = "DELETE FROM dead_letter WHERE key = ? AND seq = ?"
    return connection.execute(statement, (key, seq)) > 0


# -- rejections


def add_rejections(connection: Connection, rows: Iterable[RejectionRow]) -> None:
    """Adds rejections."""
    connection.executemany(
        "INSERT INTO rejection (feed, document, query, stage, reason, line, place, time) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [(*_place(r), r.time) for r in rows],
    )


def rejections(connection: Connection, feed: int, most: int) -> list[RejectionRow]:
    """The latest rejections of a feed, the newest first."""
    rows = connection.query(
        "SELECT feed, document, query, stage, reason, line, place, time FROM rejection "
        "WHERE feed = ? ORDER BY number DESC LIMIT ?",
        (feed, most),
    )
    return [RejectionRow(*row) for row in rows]


def trim_rejections(connection: Connection, most: int) -> None:
    """Keeps only the latest rejections."""
    connection.execute(
        "DELETE FROM rejection WHERE number <= (SELECT MAX(number) FROM rejection) - ?", (most,)
    )


def _place(r: RejectionRow) -> tuple[int, str, str, str, str, int, int]:
    return (r.feed, _text(r.document), _text(r.query), r.stage, _text(r.reason), r.line, r.column)


def _text(value: str) -> str:
    """Text that every database takes: no NUL, no lone surrogates."""
    return value.replace("\0", "\ufffd").encode(errors="replace").decode()
