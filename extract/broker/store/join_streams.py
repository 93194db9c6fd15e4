"""Statements about joins: which streams each reads, and which it publishes.

A name is that of a feed or of a published stream, never of both. Rights are asked of these names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final, NamedTuple

import msgspec

from extract.broker.store.database import Connection
from extract.errors import ExtractError
from extract.xscl.ast import EVERY_STREAM, XsclQuery
from extract.xscl.parser import parse_xscl

_names: Final = msgspec.json.Decoder(tuple[str, ...])


class JoinStreams(NamedTuple):
    """The streams of a join.

    Attributes:
        reads: Those that it reads.
        publishes: That which it publishes; empty for none.
    """

    reads: tuple[str, ...]
    publishes: str = ""

    @classmethod
    def of(cls, query: XsclQuery) -> JoinStreams:
        """The streams of a query."""
        return cls(tuple(sorted(set(query.streams))), query.publish)


def streams_of(body: bytes) -> JoinStreams | None:
    """The streams of a subscription as the store has it; None if it is no join.

    One that can no longer be read stands for a join of every stream: few have the right to that.

    >>> streams_of(b'{"xscl": "a//b->x[c->y] JOIN{y=z, 1} d//e->w[f->z] PUBLISH g"}')
    JoinStreams(reads=('a', 'd'), publishes='g')
    """
    if b'"xscl"' not in body:
        return None
    try:
        fields = msgspec.json.decode(body, type=dict[str, Any])
        if "xscl" not in fields:
            return None  # its metadata has the key
        return JoinStreams.of(parse_xscl(str(fields["xscl"]), fields.get("namespaces") or {}))
    except (ExtractError, msgspec.MsgspecError):
        return JoinStreams((EVERY_STREAM,))


def circle_of(joins: Iterable[JoinStreams]) -> frozenset[str]:
    """Streams that lead back to each other by what joins publish; empty if none do.

    >>> sorted(circle_of([JoinStreams(("a",), "b"), JoinStreams(("a", "b"), "a")]))
    ['a', 'b']
    >>> circle_of([JoinStreams(("a",), "b"), JoinStreams(("a", "b"), "c")])
    frozenset()
    """
    order: TopologicalSorter[str] = TopologicalSorter()
    for one in joins:
        if one.publishes:
            order.add(one.publishes, *one.reads)
    try:
        order.prepare()
    except CycleError as error:
        return frozenset(error.args[1])
    return frozenset()


def all_joins(connection: Connection) -> dict[int, JoinStreams]:
    """The streams of all joins, by the keys of the subscribers."""
    rows = connection.query("SELECT key, reads, publishes FROM join_streams")
    return {int(key): JoinStreams(_names.decode(reads), str(name)) for key, reads, name in rows}


def put_joins(connection: Connection, streams: Mapping[int, JoinStreams]) -> None:
    """Notes the streams of joins."""
    end_joins(connection, streams)
    connection.executemany(
        "INSERT INTO join_streams (key, reads, publishes) VALUES (?, ?, ?)",
        [(k, msgspec.json.encode(one.reads), one.publishes) for k, one in streams.items()],
    )


def end_joins(connection: Connection, keys: Iterable[int]) -> None:
    """Notes that subscribers join nothing."""
    connection.executemany("DELETE FROM join_streams WHERE key = ?", [(key,) for key in keys])
