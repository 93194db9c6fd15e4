"""Statements about feeds and the versions of their schemas."""

from __future__ import annotations

from collections.abc import Iterable

from extract.broker.store.database import Connection
from extract.broker.store.rows import FeedRow
from extract.broker.store.sealed import sealed, unsealed


def all_feeds(connection: Connection) -> list[FeedRow]:
    """All feeds."""
    rows = connection.query("SELECT key, name, body, created FROM feed ORDER BY key")
    return [
        FeedRow(key, name, unsealed(bytes(body), f"feed {name}", key), created)
        for key, name, body, created in rows
    ]


def add_feed(connection: Connection, row: FeedRow) -> None:
    """Adds a feed."""
    statement = "INSERT INTO feed (key, name, body, created) VALUES (?, ?, ?, ?)"
    connection.execute(statement, (row.key, row.name, sealed(row.body, row.key), row.created))


def change_feed(connection: Connection, key: int, body: bytes) -> None:
    """Gives a feed other settings."""
    connection.execute("UPDATE feed SET body = ? WHERE key = ?", (sealed(body, key), key))


def remove_feed(connection: Connection, key: int) -> None:
    """Removes a feed with its schemas and documents; its subscriptions must be gone."""
    connection.execute("DELETE FROM feed_schema WHERE feed = ?", (key,))
    connection.execute("DELETE FROM block WHERE feed = ?", (key,))
    connection.execute("DELETE FROM evidence WHERE feed = ?", (key,))
    connection.execute("DELETE FROM rejection WHERE feed = ?", (key,))
    connection.execute("DELETE FROM meta WHERE name = ?", (f"next_number.{key}",))
    connection.execute("DELETE FROM feed WHERE key = ?", (key,))


def feed_schemas(connection: Connection, feed: int) -> list[tuple[int, bytes]]:
    """The versions of a feed's schema and their bodies, the oldest first."""
    statement = "SELECT version, body FROM feed_schema WHERE feed = ? ORDER BY version"
    row = f"schema of feed {feed}"
    return [
        (version, unsealed(bytes(body), row, feed, version))
        for version, body in connection.query(statement, (feed,))
    ]


def put_schema(connection: Connection, feed: int, version: int, body: bytes, created: int) -> None:
    """Adds a version of a feed's schema, or replaces it."""
    connection.execute(
        "INSERT INTO feed_schema (feed, version, body, created) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (feed, version) DO UPDATE SET body = excluded.body",
        (feed, version, sealed(body, feed, version), created),
    )


def add_evidence(connection: Connection, feed: int, contents: Iterable[bytes]) -> None:
    """Keeps documents that an inferred schema was widened for."""
    connection.executemany(
        "INSERT INTO evidence (feed, data) VALUES (?, ?)",
        [(feed, sealed(one, feed)) for one in contents],
    )


def evidence(connection: Connection, feed: int) -> list[bytes]:
    """The documents that a schema is inferred from."""
    rows = connection.query("SELECT data FROM evidence WHERE feed = ? ORDER BY number", (feed,))
    return [unsealed(bytes(data), f"evidence of feed {feed}", feed) for (data,) in rows]


def first_number(connection: Connection, feed: int) -> int:
    """The number of the next document when the last ones went; of a feed that has none now."""
    return int(meta(connection, f"next_number.{feed}", "1"))


def meta(connection: Connection, name: str, default: str = "") -> str:
    """A value of the store as a whole."""
    rows = connection.query("SELECT value FROM meta WHERE name = ?", (name,))
    return str(rows[0][0]) if rows else default


def set_meta(connection: Connection, name: str, value: str) -> None:
    """Sets a value of the store as a whole."""
    connection.execute(
        "INSERT INTO meta (name, value) VALUES (?, ?) "
        "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (name, value),
    )
