"""Whether owners may still read what their subscriptions ask for: checked when tokens change."""

from __future__ import annotations

from extract.broker.feed_filters import read_body
from extract.broker.joined_feeds import joined_streams, may_read
from extract.broker.recovery import is_join
from extract.broker.registry import Registry
from extract.broker.security.tokens import LOCAL, TokenFile
from extract.broker.store.database import Connection
from extract.broker.store.subscriptions import every_present_body
from extract.limits import Limits


def without_right(
    connection: Connection, registry: Registry, tokens: TokenFile, limits: Limits
) -> frozenset[int]:
    """The subscribers whose owners may not read their feed, or not all that they join.

    What was made on the loopback, before there were tokens, is of who runs the broker.
    """
    barred = set()
    joins = {key: body for key, body in every_present_body(connection) if is_join(body)}
    for row in list(registry.by_key.values()):
        feed = registry.feed_names.get(row.feed)
        if feed is None:
            continue  # it was deleted just now
        owner = tokens.named(row.owner)
        if owner is None and row.owner == LOCAL.name:
            owner = LOCAL
        if owner is None or not owner.may("subscribe", feed):
            barred.add(row.key)
            continue
        if row.key in joins:
            streams, _ = joined_streams(read_body(joins[row.key]), limits)
            if not may_read(streams, owner):
                barred.add(row.key)
    return frozenset(barred)
