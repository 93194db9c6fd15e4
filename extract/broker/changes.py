"""Changes of feeds and subscriptions, as operations of the journal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from extract.broker.bodies import FeedBody, encode
from extract.broker.journal import FeedEnd, SubscriptionChange, Transaction
from extract.broker.problems import Problem, not_found
from extract.broker.registry import FeedEntry, Registry
from extract.broker.store import feeds as feed_rows
from extract.broker.store import notifications as notification_rows
from extract.broker.store import past_numbers
from extract.broker.store import subscriptions as subscription_rows
from extract.broker.store.join_streams import JoinStreams, circle_of, end_joins, put_joins
from extract.broker.store.rows import FeedRow, SubscriberRow
from extract.broker.store.set_aside import take_back

PutMode = Literal["put", "create", "replace"]  # whether they may be new, and may be there
_OTHER_NAME: Final = "choose a name that is neither a feed nor a stream"
Apply = Callable[[Transaction], Any]


@dataclass(frozen=True, slots=True)
class NewSubscription:
    """A subscription that a client puts.

    Attributes:
        id: Of the client's choice.
        body: As JSON, without secrets.
        webhook: Whether notifications go to a webhook.
        secret: That signs them.
        streams: Of a join.
    """

    id: str
    body: bytes
    webhook: bool
    secret: str
    streams: JoinStreams | None = None


def put_feed(
    name: str, body: FeedBody, schema: bytes | None, kind: Literal["dtd", "xsd"] | None
) -> Apply:
    """Makes a feed, or changes it; ``schema`` is a new version of its schema.

    The answer is whether the feed is new.
    """

    def apply(transaction: Transaction) -> bool:
        registry, connection = transaction.registry, transaction.connection
        feed = registry.feeds.get(name)
        is_new = feed is None
        if feed is None:
            if name in registry.published():
                raise Problem(409, f"{name} is a stream that a join publishes", _OTHER_NAME)
            feed = FeedEntry(registry.next_feed, name, body, transaction.now, 1, [])
            registry.next_feed += 1
            feed_rows.set_meta(connection, "next_feed", str(registry.next_feed))
            row = FeedRow(feed.key, name, encode(body), feed.created)
            feed_rows.add_feed(connection, row)
            registry.feeds[name] = registry.feeds_by_key[feed.key] = feed
            registry.feed_names[feed.key] = name
        else:
            feed.body = body
            feed_rows.change_feed(connection, feed.key, encode(body))
        if schema is not None:
            version = max(feed.versions, default=0) + 1
            feed_rows.put_schema(connection, feed.key, version, schema, transaction.now)
            feed.versions.append(version)
            feed.given = kind
        return is_new

    return apply


def put_subscriptions(
    feed: str, owner: str, some: Sequence[NewSubscription], most: int, mode: PutMode = "put"
) -> Apply:
    """Makes subscriptions or changes them, all or none; the answer is which of them are new."""

    def apply(transaction: Transaction) -> list[bool]:
        registry, connection = transaction.registry, transaction.connection
        entry = registry.feeds.get(feed)
        if entry is None:
            raise not_found("feed")
        present = [registry.subscribers.get(one.id) for one in some]
        for one, before in zip(some, present, strict=True):
            if before is not None:
                _check_free(before, entry.key, owner)
            _check_mode(before is not None, one.id, mode)
        _check_published(registry, some)
        answers = [before is None for before in present]
        if any(answers) and registry.owned.get(owner, 0) + sum(answers) > most:
            reason = f"a client may have {most:,} subscriptions"
            raise Problem(403, reason, "delete some, or ask for more")
        revision = _next_revision(transaction)
        rows = [
            registry.new_subscriber(one.id, entry.key, owner) if before is None else before
            for one, before in zip(some, present, strict=True)
        ]
        new = [row for row, is_new in zip(rows, answers, strict=True) if is_new]
        if new:
            subscription_rows.add_subscribers(connection, new)
            feed_rows.set_meta(connection, "next_subscriber", str(registry.next_subscriber))
        again = [row.key for row, is_new in zip(rows, answers, strict=True) if not is_new]
        subscription_rows.end_versions(connection, revision, again)
        take_back(connection, [key for key in again if registry.set_aside.pop(key, None)])
        pairs = zip(rows, some, strict=True)
        joins = {row.key: one.streams for row, one in pairs if one.streams is not None}
        ended = [key for key in again if registry.joins.pop(key, None) and key not in joins]
        end_joins(connection, ended)
        put_joins(connection, joins)
        registry.joins |= joins
        bodies = [(row.key, one.body) for row, one in zip(rows, some, strict=True)]
        subscription_rows.start_versions(connection, entry.key, revision, bodies)
        for row, one, is_new in zip(rows, some, answers, strict=True):
            transaction.events.append(SubscriptionChange(entry.key, row.key, one.body, revision))
            if one.webhook:
                last = registry.last_number(row.key)
                notification_rows.put_webhook(connection, row.key, last, one.secret)
            elif not is_new:
                notification_rows.remove_webhook(connection, row.key)
        return answers

    return apply


def _check_published(registry: Registry, some: Sequence[NewSubscription]) -> None:
    """Checks what joins publish: no feed has the name, and none of it comes back to the join."""
    publishing = {one.id: one.streams for one in some if one.streams and one.streams.publishes}
    for streams in publishing.values():
        if streams.publishes in registry.feeds:
            reason = f"{streams.publishes} is a feed; a join cannot publish documents into it"
            raise Problem(409, reason, _OTHER_NAME)
    if not publishing:
        return
    ended = {registry.subscribers[one.id].key for one in some if one.id in registry.subscribers}
    others = [one for key, one in registry.joins.items() if key not in ended]
    circle = circle_of([*others, *publishing.values()])
    for name, streams in publishing.items():
        if streams.publishes in circle and circle.intersection(streams.reads):
            reason = f"what the join {name!r} publishes comes back to it, perhaps through others"
            raise Problem(422, reason, "publish to a stream that none of these joins reads")


def _check_free(before: SubscriberRow, feed: int, owner: str) -> None:
    if before.feed != feed or before.owner != owner:
        reason = f"the id {before.id!r} is taken"
        raise Problem(409, reason, "ids are unique in the whole broker; choose another one")


def _check_mode(is_there: bool, identifier: str, mode: PutMode) -> None:
    if mode == "create" and is_there:
        raise Problem(409, f"the id {identifier!r} is taken", "replace it, or choose another one")
    if mode == "replace" and not is_there:
        raise Problem(404, f"there is no subscription {identifier!r}", "add it")


def delete_subscription(key: int) -> Apply:
    """Ends a subscription; its notifications go, its numbers are never used again."""

    def apply(transaction: Transaction) -> None:
        registry = transaction.registry
        before = registry.by_key.get(key)
        if before is None:
            raise not_found("subscription")
        end_subscriptions(transaction, [before])

    return apply


def end_subscriptions(transaction: Transaction, some: Sequence[SubscriberRow]) -> None:
    """Ends subscriptions, in one revision."""
    registry, connection = transaction.registry, transaction.connection
    revision = _next_revision(transaction)
    keys = [one.key for one in some]
    take_back(connection, [key for key in keys if key in registry.set_aside])
    end_joins(connection, [key for key in keys if key in registry.joins])
    past = [(one.id, registry.end_subscriber(one)) for one in some]
    past_numbers.raise_past(connection, past)
    notification_rows.remove_notifications(connection, keys)
    subscription_rows.end_versions(connection, revision, keys)
    subscription_rows.remove_subscribers(connection, keys)
    transaction.events += [SubscriptionChange(one.feed, one.key, None, revision) for one in some]


def delete_feed(name: str) -> Apply:
    """Removes a feed with its subscriptions, documents and notifications."""

    def apply(transaction: Transaction) -> None:
        registry, connection = transaction.registry, transaction.connection
        feed = registry.feeds.get(name)
        if feed is None:
            raise not_found("feed")
        rows = [one for one in registry.by_key.values() if one.feed == feed.key]
        if rows:
            end_subscriptions(transaction, rows)
        feed_rows.remove_feed(connection, feed.key)
        del registry.feeds[name], registry.feeds_by_key[feed.key]
        transaction.events.append(FeedEnd(feed.key))

    return apply


def _next_revision(transaction: Transaction) -> int:
    registry = transaction.registry
    registry.revision += 1
    feed_rows.set_meta(transaction.connection, "revision", str(registry.revision))
    return registry.revision
