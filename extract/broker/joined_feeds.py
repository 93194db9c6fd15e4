"""Joins between documents of feeds: XSCL subscriptions, by `extract.Joins`.

All share one state, in which documents stay as long as a window needs them. The state is saved now
and then with its position in the log; after a crash the documents since then are read again.
"""

from __future__ import annotations

import io
import logging
import tarfile
import tempfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from extract.broker.bodies import SubscriptionBody
from extract.broker.feed_filters import failure_reason, query_version
from extract.broker.problems import Problem, not_found
from extract.broker.security.tokens import KnownClient
from extract.broker.store.rows import ArrivedDocument
from extract.broker.times import iso_time
from extract.errors import ExtractError, QuerySyntaxError
from extract.filtertool.joins.joined import Joined
from extract.filtertool.results.outcome import Rejection
from extract.joins import Joins
from extract.limits import Limits
from extract.scheme.registered import Rejected
from extract.subscriptions import Subscription
from extract.xscl.ast import XsclQuery

_log: Final = logging.getLogger("extract.broker.joins")
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
    def published(self) -> Collection[str]:
        """The names of the streams that joins make."""
        return self._joins.published

    def change(self, changes: Mapping[int, SubscriptionBody | None]) -> dict[int, Rejected]:
        """Lets joins begin, change or end, from the next document on.

        All that end or change go before any begins: what is put together may publish to each other
        in another way than before.

        Returns:
            The joins that cannot be evaluated; they are left out.
        """
        refused: dict[int, Rejected] = {}
        gone = [str(key) for key in changes if str(key) in self._joins]
        if gone:
            self._joins.remove(gone)
            self.changed = True
        for key, body in changes.items():
            if body is None or not isinstance(body.xscl, str):
                continue
            self.changed = True
            try:
                self._joins.add(as_join(str(key), body))
            except Exception as error:
                if not isinstance(error, ExtractError):
                    _log.error("the join %d cannot be added", key, exc_info=error)
                refused[key] = Rejected(str(key), body.xscl, failure_reason(error))
        return refused

    def process(
        self, feed: str, document: ArrivedDocument, time: int
    ) -> tuple[Iterator[tuple[int, dict[str, Any]]], list[Any]]:
        """Takes a document; returns what it leads to, by subscriber, and what was rejected."""
        if feed in self._joins.published:
            return iter(()), []
        try:
            rows = self._joins.process(feed, document.name, document.content, iso_time(time))
        except Exception as error:
            if not isinstance(error, ExtractError):
                _log.error("joins fail on a document", exc_info=error)
            return iter(()), [Rejection(document.name, None, "join", failure_reason(error))]
        self.changed = True
        return map(_told, rows), list(self._joins.rejected)

    def save(self) -> bytes:
        """The state, as bytes."""
        with tempfile.TemporaryDirectory(prefix="extract-joins-") as folder:
            self._joins.save(Path(folder, "state"))
            packed = io.BytesIO()
            with tarfile.open(fileobj=packed, mode="w") as archive:
                archive.add(Path(folder, "state"), "state")
        self.changed = False
        return packed.getvalue()

    def restore(self, data: bytes) -> dict[int, Rejected]:
        """Goes on where a state was saved.

        Returns:
            The joins of the state that cannot be evaluated any more; they are left out.

        Raises:
            Exception: The state cannot be read.
        """
        with tempfile.TemporaryDirectory(prefix="extract-joins-") as folder:
            with tarfile.open(fileobj=io.BytesIO(data)) as archive:
                archive.extractall(folder, filter="data")
            self._joins = Joins.restore(Path(folder, "state"), limits=self._limits)
        bad = self._joins.rejected_queries
        return {int(one.query or 0): Rejected(one.query or "", "", one.reason) for one in bad}


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


def as_join(name: str, body: SubscriptionBody) -> Subscription:
    """A join as the library knows it."""
    namespaces = body.namespaces if isinstance(body.namespaces, dict) else {}
    return Subscription(name, str(body.xscl), namespaces, version=query_version(body))


def parsed_join(body: SubscriptionBody, limits: Limits) -> XsclQuery:
    """A join that can be evaluated, added as the matcher adds it.

    Raises:
        Problem: It cannot.
    """
    joins = Joins({}, limits=limits)
    try:
        joins.add(as_join("0", body))
        return joins.queries["0"]
    except QuerySyntaxError as error:
        place: dict[str, Any] = {"query": str(body.xscl), "offset": error.offset}
        if error.offset >= 0:
            place |= {"line": 1, "column": error.offset + 1}
        reason = error.reason.removeprefix("query '0': ")
        raise Problem(422, reason, error.hint, about="query", **place) from None
    except ExtractError as error:
        raise Problem(422, error.reason, error.hint) from None


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
) -> XsclQuery:
    """The parsed join, if it reads feeds that are there and that its owner may read.

    Raises:
        Problem: It does not.
    """
    query = parsed_join(body, limits)
    streams, publish = set(query.streams), query.publish
    for name in sorted(streams - {_ANY}):
        if (name not in feeds and name not in published) or not client.sees(name):
            raise not_found(f"feed as {name}")
    if not may_read(streams, client):
        hint = "a join with S reads every feed; name the feeds instead"
        raise Problem(403, "this token may not read all feeds of the join", hint)
    if publish and publish in feeds:
        reason = f"{publish} is a feed; a join cannot publish documents into it"
        raise Problem(409, reason, "choose a name that no feed has")
    return query
