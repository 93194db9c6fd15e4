"""Joins between documents of feeds: XSCL subscriptions, by `extract.Joins`.

All share one state, in which documents stay as long as a window needs them. The state is saved now
and then with its position in the log; after a crash the documents since then are read again.
"""

from __future__ import annotations

import io
import tarfile
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from extract.broker.bodies import SubscriptionBody
from extract.broker.problems import Problem, not_found
from extract.broker.security.tokens import KnownClient
from extract.broker.store.rows import ArrivedDocument
from extract.broker.times import iso_time
from extract.errors import ExtractError, QuerySyntaxError
from extract.filtertool.joins.joined import Joined
from extract.filtertool.results.outcome import Rejection
from extract.joins import Joins
from extract.limits import Limits
from extract.subscriptions import Subscription
from extract.xscl.parser import parse_xscl

_ANY = "S"  # every input stream


class JoinedFeeds:
    """The joins of all feeds; only one thread uses them.

    Args:
        limits: For documents and answers.
        max_state: Bytes that documents may take while windows need them.
    """

    def __init__(self, limits: Limits, max_state: int) -> None:
        self._limits = limits
        self._max_state = max_state
        self._joins = self._empty()
        self.changed = False  # since the last snapshot

    def _empty(self) -> Joins:
        return Joins({}, max_state=self._max_state, when_full="drop", limits=self._limits)

    def __len__(self) -> int:
        return len(self._joins)

    @property
    def kept(self) -> int:
        """How many documents the state has."""
        return self._joins.state.documents

    @property
    def published(self) -> Collection[str]:
        """The names of the streams that joins make."""
        return self._joins.published

    def change(self, key: int, body: SubscriptionBody | None) -> None:
        """Lets a join begin, change or end, from the next document on."""
        name = str(key)
        ends = name in self._joins
        if ends:
            self._joins.remove([name])
            self.changed = True
        if body is not None and isinstance(body.xscl, str):
            namespaces = body.namespaces if isinstance(body.namespaces, dict) else {}
            self._joins.add(Subscription(name, body.xscl, namespaces))
            self.changed = True
        if ends and not len(self._joins):
            self._joins = self._empty()  # as after a start without joins

    def process(
        self, feed: str, document: ArrivedDocument, time: int
    ) -> tuple[Iterator[tuple[int, dict[str, Any]]], list[Any]]:
        """Takes a document; returns what it leads to, by subscriber, and what was rejected."""
        if feed in self._joins.published:
            return iter(()), []
        try:
            rows = self._joins.process(feed, document.name, document.content, iso_time(time))
        except ExtractError as error:
            return iter(()), [Rejection(document.name, None, "join", error.reason)]
        self.changed = True
        return map(_told, rows), list(self._joins.rejected)

    def save(self) -> bytes:
        """The state, as bytes; none if there is no join."""
        if not len(self._joins):
            self.changed = False
            return b""
        with tempfile.TemporaryDirectory(prefix="extract-joins-") as folder:
            self._joins.save(Path(folder, "state"))
            packed = io.BytesIO()
            with tarfile.open(fileobj=packed, mode="w") as archive:
                archive.add(Path(folder, "state"), "state")
        self.changed = False
        return packed.getvalue()

    def restore(self, data: bytes) -> None:
        """Goes on where a state was saved."""
        with tempfile.TemporaryDirectory(prefix="extract-joins-") as folder:
            with tarfile.open(fileobj=io.BytesIO(data)) as archive:
                archive.extractall(folder, filter="data")
            self._joins = Joins.restore(Path(folder, "state"), limits=self._limits)


def _told(row: Joined) -> tuple[int, dict[str, Any]]:
    said = {
        "output": row.output,
        "left": _side(row.left, row.left_seq, row.left_time),
        "right": _side(row.right, row.right_seq, row.right_time),
        "bindings": dict(row.bindings),
    }
    return int(row.query), said


def _side(document: str, seq: int, time: int) -> dict[str, Any]:
    return {"document": document, "seq": seq, "time": iso_time(time)}


def joined_streams(body: SubscriptionBody, limits: Limits) -> tuple[set[str], str]:
    """The streams that a join reads, and that which it publishes.

    Raises:
        Problem: The query cannot be evaluated.
    """
    namespaces = body.namespaces if isinstance(body.namespaces, dict) else {}
    try:
        Joins({}, limits=limits).add(Subscription("0", str(body.xscl), namespaces))
        query = parse_xscl(str(body.xscl), namespaces, limits)
    except QuerySyntaxError as error:
        place: dict[str, Any] = {"query": str(body.xscl), "offset": error.offset}
        if error.offset >= 0:
            place |= {"line": 1, "column": error.offset + 1}
        reason = error.reason.removeprefix("query '0': ")
        raise Problem(422, reason, error.hint, about="query", **place) from None
    except ExtractError as error:
        raise Problem(422, error.reason, error.hint) from None
    return set(query.streams), query.publish


def may_read(streams: Collection[str], client: KnownClient | None) -> bool:
    """Whether a client may read all streams of a join."""
    if client is None:
        return False
    if _ANY in streams and client.feeds is not None:
        return False
    return all(client.may("subscribe", name) for name in streams if name != _ANY)


def check_join(
    body: SubscriptionBody,
    client: KnownClient,
    feeds: Collection[str],
    published: Collection[str],
    limits: Limits,
) -> None:
    """Checks that a join reads feeds that are there and that its owner may read.

    Raises:
        Problem: It does not.
    """
    streams, publish = joined_streams(body, limits)
    for name in sorted(streams - {_ANY}):
        if (name not in feeds and name not in published) or not client.sees(name):
            raise not_found(f"feed as {name}")
    if not may_read(streams, client):
        hint = "a join with S reads every feed; name the feeds instead"
        raise Problem(403, "this token may not read all feeds of the join", hint)
    if publish and publish in feeds:
        reason = f"{publish} is a feed; a join cannot publish documents into it"
        raise Problem(409, reason, "choose a name that no feed has")
