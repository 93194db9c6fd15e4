"""Statements about requests that were answered, so that a repeated one gets the same answer."""

from __future__ import annotations

from typing import Final

from extract.broker.store.database import Connection

OVERHEAD: Final = 100  # bytes of a row beside its answer and its key, about


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


def kept_bytes(connection: Connection) -> int:
    """How many bytes answers have, with their keys."""
    statement = "SELECT COALESCE(SUM(LENGTH(answer) + LENGTH(name)), 0), COUNT(*) FROM idempotency"
    ((size, count),) = connection.query(statement)
    return int(size) + OVERHEAD * int(count)


def forget(connection: Connection, before: int, excess: int, most: int) -> tuple[int, int]:
    """Forgets the oldest answers: those before a time, and more if they have too many bytes.

    Args:
        connection: To the store.
        before: The time.
        excess: Bytes that are too many.
        most: Answers that are forgotten at a time.

    Returns:
        How many answers were forgotten, and their bytes.
    """
    rows = connection.query(
        "SELECT owner, name, LENGTH(answer) + LENGTH(name), time FROM idempotency "
        "ORDER BY time LIMIT ?",
        (most,),
    )
    gone, chosen = 0, []
    for owner, name, length, time in rows:
        if time >= before and gone >= excess:
            break
        gone += int(length) + OVERHEAD
        chosen.append((owner, name))
    connection.executemany("DELETE FROM idempotency WHERE owner = ? AND name = ?", chosen)
    return len(chosen), gone
