"""Who may have which subscription: read its feed, read what it joins, publish what it publishes."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from extract.broker.journal import Event, SubscriptionChange
from extract.broker.recovery import is_join
from extract.broker.registry import Registry
from extract.broker.security.tokens import LOCAL, KnownClient, TokenFile
from extract.broker.store.join_streams import JoinStreams
from extract.broker.store.rows import SubscriberRow
from extract.xscl.ast import EVERY_STREAM


def owner_named(name: str, tokens: TokenFile) -> KnownClient | None:
    """The client whose a subscription is, with what it may do now; None if it is gone.

    What was made on the loopback, before there were tokens, is of who runs the broker.
    """
    owner = tokens.named(name)
    return LOCAL if owner is None and name == LOCAL.name else owner


def may_join(streams: JoinStreams, client: KnownClient) -> bool:
    """Whether a client may read all streams of a join, and publish into its stream."""
    if EVERY_STREAM in streams.reads and client.feeds is not None:
        return False
    named = [name for name in streams.reads if name != EVERY_STREAM]
    if not all(client.may("subscribe", name) for name in named):
        return False
    return not streams.publishes or client.may("publish", streams.publishes)


def may_have(client: KnownClient, registry: Registry, row: SubscriberRow) -> bool:
    """Whether a client may do all that a subscription does."""
    if not client.may("subscribe", registry.feed_names.get(row.feed, "")):
        return False
    streams = registry.joins.get(row.key)
    return streams is None or may_join(streams, client)


def barred_among(
    registry: Registry, tokens: TokenFile, rows: Iterable[SubscriberRow]
) -> frozenset[int]:
    """Of some subscribers, those whose owners may no longer have what they ask for."""
    barred = set()
    for row in rows:
        owner = owner_named(row.owner, tokens)
        if owner is None or not may_have(owner, registry, row):
            barred.add(row.key)
    return frozenset(barred)


def without_barred_joins(events: Iterable[Event], barred: Collection[int]) -> list[Event]:
    """Changes of subscriptions, in which joins end that their owners may not have.

    What such a join published, others would read.
    """
    return [
        replace(one, body=None)
        if isinstance(one, SubscriptionChange)
        and one.key in barred
        and one.body is not None
        and is_join(one.body)
        else one
        for one in events
    ]
