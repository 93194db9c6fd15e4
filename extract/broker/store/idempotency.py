"""Statements about requests that were answered, so that a repeated one gets the same answer."""

from __future__ import annotations

from extract.broker.store.database import Connection


def find(connection: Connection, owner: str, name: str) -> tuple[bytes, bytes] | None:
    """The fingerprint and the answer of a request with a key, if there was one."""
    statement = "SELECT fingerprint, answer FROM idempotency WHERE owner = ? AND name = ?"
    rows = connection.query(statement, (owner, name))
    return (bytes(rows[0][0]), bytes(rows[0][1])) if rows else None


def remember(connection: Connection, row: tuple[str, str, bytes, bytes, int]) -> None:
    """Keeps an answer: owner, key, fingerprint, answer, time."""
    connection.execute(
        "INSERT INTO idempotency (owner, name, fingerprint, answer, time) VALUES (?, ?, ?, ?, ?)",
        row,
    )


def forget(connection: Connection, before: int) -> None:
    """Forgets answers that were given before a time."""
    connection.execute("DELETE FROM idempotency WHERE time < ?", (before,))
