"""Statements about the state of joins: the last one that was saved."""

from __future__ import annotations

from extract.broker.store.database import Connection
from extract.broker.store.sealed import sealed, unsealed


def last_state(connection: Connection) -> tuple[int, int, bytes] | None:
    """The position and revision of the last saved state, and the state."""
    rows = connection.query(
        "SELECT position, revision, data FROM join_state ORDER BY position DESC LIMIT 1"
    )
    if not rows:
        return None
    position, revision, data = rows[0]
    state = unsealed(bytes(data), "state of joins", position, revision)
    return int(position), int(revision), state


def last_place(connection: Connection) -> tuple[int, int] | None:
    """The position and revision of the last saved state."""
    rows = connection.query(
        "SELECT position, revision FROM join_state ORDER BY position DESC LIMIT 1"
    )
    return (int(rows[0][0]), int(rows[0][1])) if rows else None


def save_state(connection: Connection, position: int, revision: int, data: bytes) -> None:
    """Saves a state in the place of the last one; an empty one leaves none."""
    connection.execute("DELETE FROM join_state")
    if data:
        connection.execute(
            "INSERT INTO join_state (position, revision, data) VALUES (?, ?, ?)",
            (position, revision, sealed(data, position, revision)),
        )
