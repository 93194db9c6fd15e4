"""The JSON bodies of what the page asks."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from extract.broker.bodies import QueryFields


class ExplainBody(QueryFields, omit_defaults=True):
    """A query that somebody is writing."""

    id: Annotated[str, Meta(max_length=200, description="As the picture calls it.")] = "new"


class TryBody(QueryFields, kw_only=True, omit_defaults=True):
    """A query, and a document to try it on."""

    document: Annotated[str, Meta(max_length=4 << 20)]
    id: Annotated[str, Meta(max_length=200)] = "new"


class ExplanationView(Struct):
    """What a query looks at: see `extract.broker.page.explain.Explanation`."""

    status: str
    reason: str
    hint: str
    words: str
    picture: str
    offset: int


class AttemptView(Struct):
    """What a query makes of a document: see `extract.broker.page.attempt.Attempt`."""

    matches: list[dict[str, Any]]
    total: int
    output: str | None
    rejections: list[dict[str, Any]]


class RecentNotification(Struct, omit_defaults=True):
    """One of the latest notifications, with its subscription."""

    subscription: str
    seq: int
    feed: str
    document: str
    time: str
    matches: list[dict[str, Any]] | UnsetType = UNSET
    count: int | UnsetType = UNSET
    output: str | UnsetType = UNSET


class RecentNotifications(Struct):
    """The latest notifications, the oldest first."""

    notifications: list[RecentNotification]


class FeedRejection(Struct):
    """A document, or a query on a document, that was rejected in a feed."""

    feed: str
    document: str
    query: str
    stage: str
    reason: str
    line: int
    column: int
    time: str


class FeedRejections(Struct):
    """Rejections, the newest first."""

    rejections: list[FeedRejection]


class SubscriptionDeadLetter(Struct):
    """A notification that a webhook did not take, with its subscription."""

    subscription: str
    seq: int
    webhook: str
    reason: str
    attempts: int
    time: str


class DeadLetters(Struct):
    """Dead letters, the newest first."""

    dead_letters: list[SubscriptionDeadLetter]
