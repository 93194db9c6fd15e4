"""Joins between documents of feeds: XSCL subscriptions, by `extract.Joins`.

All share one state, in which documents stay as long as a window needs them. The state is saved now
and then with its position in the log; after a crash the documents since then are read again.
"""

from __future__ import annotations

import io
import logging
import tarfile
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from extract.broker.bodies import SubscriptionBody
from extract.broker.feed_filters import failure_reason, query_version
from extract.broker.feed_queries import AnswerRecord
from extract.broker.problems import Problem, not_found
from extract.broker.rights import may_join
from extract.broker.security.tokens import KnownClient
from extract.broker.store.join_streams import JoinStreams
from extract.broker.store.rows import ArrivedDocument
from extract.broker.times import iso_time
from extract.errors import ExtractError, QuerySyntaxError
from extract.filtertool.joins.joined import Joined
from extract.filtertool.results.outcome import COST, Rejection
from extract.joins import Joins
from extract.limits import Limits
from extract.scheme.registered import Rejected
from extract.subscriptions import Subscription
from extract.xscl.ast import EVERY_STREAM

_log: Final = logging.getLogger("extract.broker.joins")


class _Unanswered(NamedTuple):
    """A join that got no answer on some document, and the streams that it reads."""

    record: AnswerRecord
    streams: frozenset[str]


@dataclass(slots=True)
class AsideJoin:
    """A join that is asked no more.

    Attributes:
        key: Of its subscriber.
        reason: Why it got no answer the last time.
        streams: Those that it reads.
        missed: Documents that it was not asked about since.
    """

    key: int
    reason: str
    streams: frozenset[str]
    missed: int = 0

    def miss(self, feed: str) -> None:
        """Counts a document, if it would have been asked about it."""
        self.missed += bool(self.streams & {feed, EVERY_STREAM})


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
        self._records: dict[int, _Unanswered] = {}
        self.set_aside: set[int] = set()  # subscribers whose joins are asked no more

    def _empty(self) -> Joins:
        return Joins({}, max_state=self._max_state, when_full="drop", limits=self._limits)

    def __len__(self) -> int:
        return len(self._joins)

    @property
    def kept(self) -> int:
        """How many documents the state has."""
        return self._joins.state.documents

    def __contains__(self, key: int) -> bool:
        return str(key) in self._joins

    def change(self, changes: Mapping[int, SubscriptionBody | None]) -> dict[int, Rejected]:
        """Lets joins begin, change or end, from the next document on.

        All that end or change go before any begins: what is put together may publish to each other
        in another way than before.

        Args:
            changes: The subscriptions that were put together; None for one that ends.

        Returns:
            The joins that cannot be evaluated; they are left out.
        """
        refused: dict[int, Rejected] = {}
        for key in changes:
            self._records.pop(key, None)
            self.set_aside.discard(key)
        gone = [str(key) for key in changes if key in self]
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
        if gone and not len(self._joins):
            self._joins = self._empty()  # as after a start without joins
        return refused

    def process(
        self, feed: str, document: ArrivedDocument, time: int
    ) -> tuple[Iterator[tuple[int, dict[str, Any]]], list[Any]]:
        """Takes a document; returns what it leads to, by subscriber, and what was rejected."""
        try:
            rows = self._joins.process(feed, document.name, document.content, iso_time(time))
        except Exception as error:
            if not isinstance(error, ExtractError):
                _log.error("joins fail on a document", exc_info=error)
            return iter(()), [Rejection(document.name, None, "join", failure_reason(error))]
        self.changed = True
        return map(_told, rows), list(self._joins.rejected)

    @property
    def has_unanswered(self) -> bool:
        """Whether a join got no answer on some document, and may get none on the next."""
        return bool(self._records)

    def note_unanswered(self, feed: str, rejected: Iterable[Rejection]) -> Iterator[AsideJoin]:
        """Sets joins aside that got no answer on too many of their last documents.

        Args:
            feed: Of the last document.
            rejected: What was rejected there.
        """
        given_up = {int(row.query or 0): row.reason for row in rejected if row.stage == COST}
        for key in given_up:
            if key not in self._records:
                streams = self._joins.queries[str(key)].streams
                self._records[key] = _Unanswered(AnswerRecord(), frozenset(streams))
        for key, one in list(self._records.items()):
            if key not in given_up and not one.streams & {feed, EVERY_STREAM}:
                continue
            if one.record.note(answered=key not in given_up):
                self.change({key: None})
                self.set_aside.add(key)
                yield AsideJoin(key, given_up[key], one.streams)

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


def joined_streams(body: SubscriptionBody, limits: Limits) -> JoinStreams:
    """The streams of a join that can be evaluated, added as the matcher adds it.

    Raises:
        Problem: It cannot.
    """
    joins = Joins({}, limits=limits)
    try:
        joins.add(as_join("0", body))
        return JoinStreams.of(joins.queries["0"])
    except QuerySyntaxError as error:
        place: dict[str, Any] = {"query": str(body.xscl), "offset": error.offset}
        if error.offset >= 0:
            place |= {"line": 1, "column": error.offset + 1}
        reason = error.reason.removeprefix("query '0': ")
        raise Problem(422, reason, error.hint, about="query", **place) from None
    except ExtractError as error:
        raise Problem(422, error.reason, error.hint) from None


def check_join(
    body: SubscriptionBody, client: KnownClient, known: Collection[str], limits: Limits
) -> JoinStreams:
    """The streams of a join that reads what is there, and whose owner may do what it does.

    What is said of a name that the owner has no right to does not depend on whether it is there.

    Args:
        body: The join.
        client: Its owner.
        known: The names of all feeds and published streams.
        limits: For the query.

    Raises:
        Problem: It does not.
    """
    streams = joined_streams(body, limits)
    if EVERY_STREAM in streams.reads and client.feeds is not None:
        hint = "a join with S reads every feed; name the feeds instead"
        raise Problem(403, "this token may not read all feeds of the join", hint)
    for name in streams.reads:
        if name != EVERY_STREAM and (name not in known or not client.may("subscribe", name)):
            raise not_found(f"feed as {name}")
    if not may_join(streams, client):
        hint = "ask for the role publish for that name, or leave PUBLISH out"
        raise Problem(403, f"this token may not publish into {streams.publishes}", hint)
    return streams
