"""Statements about documents: blocks of what arrived, and how far they are matched."""

from __future__ import annotations

import msgspec

from extract.broker.store.database import Connection
from extract.broker.store.rows import ArrivedBlock, ArrivedDocument, BatchMark, Row
from extract.broker.store.sealed import sealed, unsealed
from extract.broker.store.tables import DamagedStore

_BLOCK = "position, feed, revision, received, first, documents, bytes, data"
_CHECKED = 16  # blocks that are checked at a time
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[ArrivedDocument])


def add_block(connection: Connection, block: ArrivedBlock) -> None:
    """Adds a block."""
    data = _encoder.encode(block.documents)
    connection.execute(
        f"INSERT INTO block ({_BLOCK}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            block.position,
            block.feed,
            block.revision,
            block.received,
            block.first,
            len(block.documents),
            len(data),
            sealed(data, *_numbers(block), len(block.documents)),
        ),
    )


def blocks_after(connection: Connection, position: int, most: int) -> list[ArrivedBlock]:
    """The blocks behind a position of the log, in its order, at most so many."""
    statement = f"SELECT {_BLOCK} FROM block WHERE position > ? ORDER BY position LIMIT ?"
    return [_block(row) for row in connection.query(statement, (position, most))]


def blocks_of_feed(connection: Connection, feed: int, number: int, most: int) -> list[ArrivedBlock]:
    """The blocks of a feed from the one with a document's number on."""
    statement = (  # begins at the last block that can have the number: one step in the index
        f"SELECT {_BLOCK} FROM block WHERE feed = ? AND first + documents > ? AND first >= "
        "COALESCE((SELECT MAX(first) FROM block WHERE feed = ? AND first <= ?), 0) "
        "ORDER BY feed, first LIMIT ?"
    )
    values = (feed, number, feed, number, most)
    return [_block(row) for row in connection.query(statement, values)]


def blocks_between(connection: Connection, after: int, last: int, most: int) -> list[ArrivedBlock]:
    """The blocks behind a position of the log, up to another one, at most so many."""
    between = "position > ? AND position <= ?"
    statement = f"SELECT {_BLOCK} FROM block WHERE {between} ORDER BY position LIMIT ?"
    return [_block(row) for row in connection.query(statement, (after, last, most))]


def first_revision(connection: Connection, after: int) -> int | None:
    """The revision of the first block behind a position; None if there is none."""
    rows = connection.query(
        "SELECT revision FROM block WHERE position > ? ORDER BY position LIMIT 1", (after,)
    )
    return int(rows[0][0]) if rows else None


def position_before(connection: Connection, revision: int) -> int:
    """The position of the last block that came before a revision of subscriptions."""
    rows = connection.query(
        "SELECT position FROM block WHERE revision < ? ORDER BY position DESC LIMIT 1", (revision,)
    )
    return int(rows[0][0]) if rows else 0


def last_time(connection: Connection) -> int:
    """A time that no document of the log is later than."""
    rows = connection.query("SELECT received + documents FROM block ORDER BY position DESC LIMIT 1")
    return int(rows[0][0]) if rows else 0


def last_position(connection: Connection) -> int:
    """The last position of the log."""
    rows = connection.query("SELECT MAX(position) FROM block")
    return max(rows[0][0] or 0, matched_position(connection))


def waiting(connection: Connection, feed: int, position: int) -> int:
    """How many documents of a feed are behind a position of the log."""
    statement = "SELECT COALESCE(SUM(documents), 0) FROM block WHERE feed = ? AND position > ?"
    return int(connection.query(statement, (feed, position))[0][0])


def next_numbers(connection: Connection) -> dict[int, int]:
    """For each feed, the number that its next document gets."""
    rows = connection.query("SELECT feed, MAX(first + documents) FROM block GROUP BY feed")
    return dict(rows)


def matched_position(connection: Connection) -> int:
    """The position up to which all documents are matched."""
    rows = connection.query("SELECT MAX(position) FROM outcome")
    return int(rows[0][0] or 0)


def add_outcome(connection: Connection, outcome: BatchMark) -> None:
    """Notes that documents are matched up to a position."""
    connection.execute(
        "INSERT INTO outcome (position, matched, documents, notifications, bytes) "
        "VALUES (?, ?, ?, ?, ?)",
        (
            outcome.position,
            outcome.matched,
            outcome.documents,
            outcome.notifications,
            outcome.bytes,
        ),
    )


def check_blocks(connection: Connection) -> None:
    """Reads all blocks.

    Raises:
        DamagedStore: One is not as it was written, or one in between is missing.
    """
    next_numbers: dict[int, int] = {}
    blocks = blocks_after(connection, 0, _CHECKED)
    while blocks:
        for block in blocks:
            if next_numbers.get(block.feed, block.first) != block.first:
                reason = f"documents before number {block.first:,} of a feed are missing"
                raise DamagedStore(reason, "restore a copy that `extract serve --backup` made")
            next_numbers[block.feed] = block.first + len(block.documents)
        blocks = blocks_after(connection, blocks[-1].position, _CHECKED)


def _block(row: Row) -> ArrivedBlock:
    position, feed, revision, received, first, count, _, data = row
    name = f"block of documents at position {position}"
    numbers = (position, feed, revision, received, first, count)
    try:
        documents = _decoder.decode(unsealed(bytes(data), name, *numbers))
    except msgspec.DecodeError as error:
        raise DamagedStore(f"the {name} is damaged: {error}") from error
    return ArrivedBlock(position, feed, revision, received, first, documents)


def _numbers(block: ArrivedBlock) -> tuple[int, ...]:
    return block.position, block.feed, block.revision, block.received, block.first
