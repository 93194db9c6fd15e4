"""The tables of the store, and how older versions of them become the present one.

Documents and notifications are kept in blocks: a row holds what came together, so that 20,000
documents a second are some dozens of rows. Text comes from strangers only in blobs.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from extract.broker.store.database import Connection
from extract.broker.store.join_streams import put_joins, streams_of
from extract.broker.store.past_numbers import raise_past
from extract.errors import ExtractError

VERSION: Final = 3

# Types in braces are the database's; {clustered} makes a table ordered by its key on disk.
TABLES: Final[dict[str, str]] = {
    "meta": "name {text} PRIMARY KEY, value {text} NOT NULL",
    "feed": "key {key}, name {text} NOT NULL UNIQUE, body {blob} NOT NULL, "
    "created {integer} NOT NULL",
    "feed_schema": "feed {integer} NOT NULL, version {integer} NOT NULL, body {blob} NOT NULL, "
    "created {integer} NOT NULL, PRIMARY KEY (feed, version)",
    "subscriber": "key {key}, id {text} NOT NULL UNIQUE, feed {integer} NOT NULL, "
    "owner {text} NOT NULL, floor {integer} NOT NULL, start {integer} NOT NULL",
    "past_number": "bucket {key}, last {integer} NOT NULL",
    "subscription": "key {integer} NOT NULL, feed {integer} NOT NULL, since {integer} NOT NULL, "
    "until {integer}, body {blob} NOT NULL, PRIMARY KEY (key, since)",
    "block": "position {key}, feed {integer} NOT NULL, revision {integer} NOT NULL, "
    "received {integer} NOT NULL, first {integer} NOT NULL, documents {integer} NOT NULL, "
    "bytes {integer} NOT NULL, data {blob} NOT NULL",
    "outcome": "position {key}, matched {integer} NOT NULL, documents {integer} NOT NULL, "
    "notifications {integer} NOT NULL, bytes {integer} NOT NULL",
    "notification": "key {integer} NOT NULL, last {integer} NOT NULL, count {integer} NOT NULL, "
    "position {integer} NOT NULL, data {blob} NOT NULL, PRIMARY KEY (key, last)",
    "idempotency": "owner {text} NOT NULL, name {text} NOT NULL, fingerprint {blob} NOT NULL, "
    "answer {blob} NOT NULL, time {integer} NOT NULL, PRIMARY KEY (owner, name)",
    "webhook": "key {key}, delivered {integer} NOT NULL, secret {text} NOT NULL",
    "dead_letter": "key {integer} NOT NULL, seq {integer} NOT NULL, reason {text} NOT NULL, "
    "attempts {integer} NOT NULL, time {integer} NOT NULL, PRIMARY KEY (key, seq)",
    "rejection": "number {serial}, feed {integer} NOT NULL, document {text} NOT NULL, "
    "query {text} NOT NULL, stage {text} NOT NULL, reason {text} NOT NULL, "
    "line {integer} NOT NULL, place {integer} NOT NULL, time {integer} NOT NULL",
    "evidence": "number {serial}, feed {integer} NOT NULL, data {blob} NOT NULL",
    "join_streams": "key {key}, reads {blob} NOT NULL, publishes {text} NOT NULL",
    "set_aside": "key {key}, reason {text} NOT NULL, time {integer} NOT NULL, "
    "missed {integer} NOT NULL, numbers {blob} NOT NULL",
    "join_state": "position {key}, revision {integer} NOT NULL, data {blob} NOT NULL",
}
CLUSTERED: Final = frozenset({"notification"})
INDEXES: Final = {
    "block_feed": "block (feed, first)",
    "notification_position": "notification (position)",
    "idempotency_time": "idempotency (time)",
    "subscription_until": "subscription (until)",
    "subscriber_feed": "subscriber (feed)",
}

Step = str | Callable[[Connection], None]


def _forget_deleted(connection: Connection) -> None:
    """Subscribers that were deleted leave only their last numbers, and the next key."""
    rows = connection.query("SELECT MAX(key) FROM subscriber")
    connection.execute(
        "INSERT INTO meta (name, value) VALUES ('next_subscriber', ?)",
        (str(int(rows[0][0] or 0) + 1),),
    )
    raise_past(connection, connection.query("SELECT id, floor FROM subscriber WHERE active = 0"))
    connection.execute("DELETE FROM subscriber WHERE active = 0")


def _note_joins(connection: Connection) -> None:
    """The streams of present joins, as their queries say."""
    rows = connection.query("SELECT key, body FROM subscription WHERE until IS NULL")
    streams = {int(key): streams_of(bytes(body)) for key, body in rows}
    put_joins(connection, {key: one for key, one in streams.items() if one is not None})


# From each older version, what leads to the next: statements, and what no statement can say.
MIGRATIONS: Final[dict[int, tuple[Step, ...]]] = {
    1: (
        f"CREATE TABLE past_number ({TABLES['past_number']})",
        _forget_deleted,
        "ALTER TABLE subscriber DROP COLUMN active",
    ),
    2: (
        f"CREATE TABLE set_aside ({TABLES['set_aside']})",
        f"CREATE TABLE join_streams ({TABLES['join_streams']})",
        _note_joins,
    ),
}

_BRACES: Final = re.compile(r"\{(\w+)\}")


class StoreError(ExtractError):
    """A store that cannot be used: locked, damaged, or of a later version."""


class DamagedStore(StoreError):
    """A store whose database contradicts itself, or has lost what was acknowledged."""


def typed(statement: str, types: dict[str, str]) -> str:
    """A statement with the types of a database.

    >>> typed("a {text}", {"text": "TEXT"})
    'a TEXT'
    """
    return _BRACES.sub(lambda found: types[found[1]], statement)


def create_tables(connection: Connection, types: dict[str, str]) -> None:
    """Makes all tables and indexes, in one transaction."""
    with connection.transaction():
        for name, columns in TABLES.items():
            suffix = types["clustered"] if name in CLUSTERED else ""
            connection.execute(f"CREATE TABLE {name} ({typed(columns, types)}) {suffix}")
        for name, columns in INDEXES.items():
            connection.execute(f"CREATE INDEX {name} ON {columns}")
        values = [("version", str(VERSION)), ("revision", "0")]
        connection.executemany("INSERT INTO meta (name, value) VALUES (?, ?)", values)


def migrate(connection: Connection, types: dict[str, str]) -> int:
    """Brings the tables to the present version, step by step, each in a transaction.

    Returns:
        The version that they had.

    Raises:
        StoreError: They are of a later version than this one.
    """
    rows = connection.query("SELECT value FROM meta WHERE name = 'version'")
    if not rows:
        raise StoreError("the store has no version, so it was not made by extract serve")
    had = version = int(rows[0][0])
    if version > VERSION:
        reason = f"the store has version {version}; this extract knows versions up to {VERSION}"
        raise StoreError(reason, "use the extract that wrote it, or a later one")
    while version < VERSION:
        with connection.transaction():
            for step in MIGRATIONS[version]:
                if isinstance(step, str):
                    connection.execute(typed(step, types))
                else:
                    step(connection)
            version += 1
            statement = "UPDATE meta SET value = ? WHERE name = 'version'"
            connection.execute(statement, (str(version),))
    return had
