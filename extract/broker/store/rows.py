"""The values that the store keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class ArrivedDocument(NamedTuple):
    """One document as it was sent.

    Attributes:
        name: As the client called it.
        time: Its time in microseconds since 1970, if the client said so; else that of its arrival.
        content: The document.
        schema: The version of the feed's schema that it keeps to, or says it does; 0 for none.
    """

    name: str
    time: int | None
    content: bytes
    schema: int = 0


@dataclass(frozen=True, slots=True)
class ArrivedBlock:
    """Documents of one feed that arrived together: one row.

    Attributes:
        position: In the log of all feeds, from 1.
        feed: The key of the feed.
        revision: Of the subscriptions that the documents are matched with.
        received: When it was written, in microseconds since 1970.
        first: The number of the first document in its feed; the others follow.
        documents: The documents; each has the time of the block plus its place, in microseconds,
            where the client gave none.
    """

    position: int
    feed: int
    revision: int
    received: int
    first: int
    documents: list[ArrivedDocument]


@dataclass(frozen=True, slots=True)
class FeedRow:
    """A feed: its key, its name, and its settings as JSON."""

    key: int
    name: str
    body: bytes
    created: int


@dataclass(frozen=True, slots=True)
class SubscriberRow:
    """A subscription's identity, which outlives changes of its query.

    Attributes:
        key: A number that is never used again.
        id: As the client calls it, unique in the broker.
        feed: The key of its feed.
        owner: The name of the client whose it is.
        floor: All numbers up to here were used, and their notifications are no longer kept.
        start: The number that it began with: `floor` when the subscription was made.
    """

    key: int
    id: str
    feed: int
    owner: str
    floor: int
    start: int


@dataclass(frozen=True, slots=True)
class SubscriptionVersion:
    """What a subscription asked for, between two revisions.

    Attributes:
        key: Of the subscriber.
        feed: Of its feed, then.
        since: The first revision that it holds for.
        until: The first revision that it does not hold for; None while it holds.
        body: The subscription as JSON.
    """

    key: int
    feed: int
    since: int
    until: int | None
    body: bytes


class NotificationRow(NamedTuple):
    """Notifications of one subscription from one batch: one row.

    Attributes:
        key: Of the subscriber.
        last: The number of the last one.
        amount: How many; the first is ``last - amount + 1``.
        position: In the log, up to which the batch went.
        data: The notifications, as a JSON array without their numbers.
    """

    key: int
    last: int
    amount: int
    position: int
    data: bytes


@dataclass(frozen=True, slots=True)
class BatchMark:
    """Up to which position of the log documents are matched, and what came of a batch."""

    position: int
    matched: int
    documents: int
    notifications: int
    bytes: int


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A notification that a webhook did not take."""

    key: int
    seq: int
    reason: str
    attempts: int
    time: int


@dataclass(frozen=True, slots=True)
class RejectionRow:
    """A document, or a query on a document, that was rejected when it was matched."""

    feed: int
    document: str
    query: str
    stage: str
    reason: str
    line: int
    column: int
    time: int


@dataclass(frozen=True, slots=True)
class SetAsideRow:
    """A subscription that is asked no more: it got no answer on too many documents.

    Attributes:
        key: Of the subscriber.
        reason: Why it got no answer the last time.
        time: Since when, in microseconds since 1970.
        missed: Documents that it was not asked about, of those that were matched at that time.
        numbers: By the keys of the feeds that it reads, of the last document of these.
    """

    key: int
    reason: str
    time: int
    missed: int
    numbers: Mapping[int, int] = field(default_factory=dict)


Row = tuple[Any, ...]
