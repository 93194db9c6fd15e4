"""Statements about subscriptions: who has which number, and which query holds from when on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from extract.broker.store.database import Connection
from extract.broker.store.rows import Row, SubscriberRow, SubscriptionVersion
from extract.broker.store.sealed import sealed, unsealed

_SUBSCRIBER = "key, id, feed, owner, floor, start"
_VERSION = "key, feed, since, until, body"
_KEYS = 500  # in one statement
_PAGE = 10_000  # rows


def all_subscribers(connection: Connection) -> list[SubscriberRow]:
    """All subscribers."""
    rows = connection.query(f"SELECT {_SUBSCRIBER} FROM subscriber ORDER BY key")
    return [SubscriberRow(*row) for row in rows]


def add_subscribers(connection: Connection, rows: Iterable[SubscriberRow]) -> None:
    """Adds subscribers."""
    connection.executemany(
        f"INSERT INTO subscriber ({_SUBSCRIBER}) VALUES (?, ?, ?, ?, ?, ?)",
        [(one.key, one.id, one.feed, one.owner, one.floor, one.start) for one in rows],
    )


def remove_subscribers(connection: Connection, keys: Iterable[int]) -> None:
    """Removes subscribers; what they asked for stays while documents need it."""
    connection.executemany("DELETE FROM subscriber WHERE key = ?", [(key,) for key in keys])


def raise_floors(connection: Connection, floors: Iterable[tuple[int, int]]) -> None:
    """Notes for subscribers up to which number notifications are no longer kept."""
    connection.executemany(
        "UPDATE subscriber SET floor = ? WHERE key = ? AND floor < ?",
        [(floor, key, floor) for key, floor in floors],
    )


def start_versions(
    connection: Connection, feed: int, since: int, rows: Iterable[tuple[int, bytes]]
) -> None:
    """Lets queries hold from a revision on."""
    connection.executemany(
        f"INSERT INTO subscription ({_VERSION}) VALUES (?, ?, ?, NULL, ?)",
        [(key, feed, since, sealed(body, key)) for key, body in rows],
    )


def end_versions(connection: Connection, until: int, keys: Iterable[int]) -> None:
    """Lets the queries of subscribers hold no longer, from a revision on."""
    connection.executemany(
        "UPDATE subscription SET until = ? WHERE key = ? AND until IS NULL",
        [(until, key) for key in keys],
    )


def forget_versions(connection: Connection, revision: int) -> None:
    """Removes queries that no document needs any more: those that ended at or before a revision."""
    connection.execute("DELETE FROM subscription WHERE until <= ?", (revision,))


def versions_at(
    connection: Connection, revision: int, feed: int | None = None
) -> list[SubscriptionVersion]:
    """The queries that hold at a revision; of one feed, or of all."""
    some = "" if feed is None else "AND feed = ? "
    statement = (
        f"SELECT {_VERSION} FROM subscription WHERE since <= ? AND (until IS NULL OR until > ?) "
        f"{some}ORDER BY key"
    )
    values = (revision, revision) if feed is None else (revision, revision, feed)
    return _versions(connection.query(statement, values))


def versions_after(connection: Connection, revision: int) -> list[SubscriptionVersion]:
    """The queries that began or ended after a revision."""
    statement = f"SELECT {_VERSION} FROM subscription WHERE since > ? OR until > ? ORDER BY since"
    return _versions(connection.query(statement, (revision, revision)))


def present_bodies(connection: Connection, keys: Sequence[int]) -> dict[int, bytes]:
    """The present bodies of subscriptions, by their keys."""
    bodies = {}
    for start in range(0, len(keys), _KEYS):
        some = keys[start : start + _KEYS]
        marks = ", ".join("?" * len(some))
        statement = f"SELECT key, body FROM subscription WHERE key IN ({marks}) AND until IS NULL"
        bodies.update({key: _body(key, body) for key, body in connection.query(statement, some)})
    return bodies


def every_present_body(connection: Connection) -> Iterator[tuple[int, bytes]]:
    """The keys and bodies of all subscriptions, in one pass, a page at a time."""
    statement = (
        "SELECT key, body FROM subscription WHERE until IS NULL AND key > ? ORDER BY key LIMIT ?"
    )
    last = 0
    while rows := connection.query(statement, (last, _PAGE)):
        for key, body in rows:
            yield int(key), _body(key, body)
        last = int(rows[-1][0])


def _versions(rows: list[Row]) -> list[SubscriptionVersion]:
    return [
        SubscriptionVersion(key, feed, since, until, _body(key, body))
        for key, feed, since, until, body in rows
    ]


def _body(key: int, stored: bytes) -> bytes:
    return unsealed(bytes(stored), f"subscription of subscriber {key}", key)
