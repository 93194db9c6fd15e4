"""Statements about the streams that joins publish: a name is a feed's or a stream's, never both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from extract.broker.store.database import Connection
from extract.errors import ExtractError
from extract.xscl.parser import parse_xscl


def published_stream(body: bytes) -> str:
    """The stream that a subscription publishes, as the store has it; empty for none.

    >>> published_stream(b'{"xscl": "a//b->x[c->y] JOIN{y=z, 1} d//e->w[f->z] PUBLISH g"}')
    'g'
    """
    if b'"xscl"' not in body:
        return ""
    fields = msgspec.json.decode(body)
    try:
        return parse_xscl(str(fields.get("xscl", "")), fields.get("namespaces") or {}).publish
    except ExtractError:
        return ""


def all_published(connection: Connection) -> dict[int, str]:
    """The streams, by the keys of the subscribers that publish documents into them."""
    rows = connection.query("SELECT key, name FROM published")
    return {int(key): str(name) for key, name in rows}


def put_published(connection: Connection, streams: Mapping[int, str]) -> None:
    """Notes into which stream subscribers publish; an empty name for none."""
    end_published(connection, streams)
    connection.executemany(
        "INSERT INTO published (key, name) VALUES (?, ?)",
        [(key, name) for key, name in streams.items() if name],
    )


def end_published(connection: Connection, keys: Iterable[int]) -> None:
    """Notes that subscribers publish nothing."""
    connection.executemany("DELETE FROM published WHERE key = ?", [(key,) for key in keys])
