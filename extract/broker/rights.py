"""Whether owners may still read what their subscriptions ask for: checked when tokens change."""

from __future__ import annotations

from extract.broker.feed_filters import read_body
from extract.broker.joined_feeds import joined_streams, may_read
from extract.broker.recovery import is_join
from extract.broker.registry import Registry
from extract.broker.security.tokens import LOCAL, TokenFile
from extract.broker.store.database import Connection
from extract.broker.store.subscriptions import present_bodies
from extract.limits import Limits


def without_right(
    connection: Connection, registry: Registry, tokens: TokenFile, limits: Limits
) -> frozenset[int]:
    """The subscribers whose owners may not read their feed, or not all that they join.

    What was made on the loopback, before there were tokens, is of who runs the broker.
    """
    barred = set()
    for row in list(registry.by_key.values()):
        feed = registry.feeds_by_key.get(row.feed)
        if not row.active or feed is None:
            continue
        owner = tokens.named(row.owner)
        if owner is None and row.owner == LOCAL.name:
            owner = LOCAL
        if owner is None or not owner.may("subscribe", feed.name):
            barred.add(row.key)
            continue
        text = present_bodies(connection, [row.key]).get(row.key, b"")
        if is_join(text):
            streams, _ = joined_streams(read_body(text), limits)
            if not may_read(streams, owner):
                barred.add(row.key)
    return frozenset(barred)
