"""Joins between documents of feeds: XSCL subscriptions, by `extract.Joins`.

All share one state, in which documents stay as long as a window needs them. The state is saved now
and then with its position in the log; after a crash the documents since then are read again.
"""

from __future__ import annotations

import io
import tarfile
import tempfile
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from extract.broker.bodies import SubscriptionBody
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
from extract.subscriptions import Subscription
from extract.xscl.ast import EVERY_STREAM
from extract.xscl.parser import parse_xscl


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

    def change(self, key: int, body: SubscriptionBody | None) -> None:
        """Lets a join begin, change or end, from the next document on."""
        name = str(key)
        self._records.pop(key, None)
        self.set_aside.discard(key)
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
        try:
            rows = self._joins.process(feed, document.name, document.content, iso_time(time))
        except ExtractError as error:
            return iter(()), [Rejection(document.name, None, "join", error.reason)]
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
                self.change(key, None)
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


def joined_streams(body: SubscriptionBody, limits: Limits) -> JoinStreams:
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
    return JoinStreams(tuple(sorted(set(query.streams))), query.publish)


def check_join(
    body: SubscriptionBody, client: KnownClient, known: Collection[str], limits: Limits
) -> None:
    """Checks that a join reads streams that are there, and that its owner may do what it does.

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
