"""Whether owners may still read what their subscriptions ask for: checked when tokens change."""

from __future__ import annotations

from collections.abc import Mapping

from extract.broker.feed_filters import stored_body
from extract.broker.joined_feeds import may_read, parsed_join
from extract.broker.problems import Problem
from extract.broker.recovery import is_join
from extract.broker.registry import Registry
from extract.broker.security.tokens import LOCAL, KnownClient, TokenFile
from extract.broker.store.database import Connection
from extract.broker.store.subscriptions import every_present_body
from extract.limits import Limits


def owner_named(name: str, tokens: TokenFile) -> KnownClient | None:
    """The client whose a subscription is, with what it may do now; None if it is gone.

    What was made on the loopback, before there were tokens, is of who runs the broker.
    """
    owner = tokens.named(name)
    return LOCAL if owner is None and name == LOCAL.name else owner


def without_right(
    connection: Connection, registry: Registry, tokens: TokenFile, limits: Limits
) -> frozenset[int]:
    """The subscribers whose owners may not read their feed, or not all that they join."""
    barred = set()
    joins = {key: body for key, body in every_present_body(connection) if is_join(body)}
    for row in list(registry.by_key.values()):
        feed = registry.feed_names.get(row.feed)
        if feed is None:
            continue  # it was deleted just now
        owner = owner_named(row.owner, tokens)
        if not _may_be_told(owner, feed, joins.get(row.key), limits):
            barred.add(row.key)
    return frozenset(barred)


def barred_among(
    tokens: TokenFile, owner: str, feed: str, bodies: Mapping[int, bytes], limits: Limits
) -> set[int]:
    """Of some subscribers of one owner and feed, those that may not be told what they ask for."""
    client = owner_named(owner, tokens)
    joins = {key: body if is_join(body) else None for key, body in bodies.items()}
    return {key for key, join in joins.items() if not _may_be_told(client, feed, join, limits)}


def _may_be_told(owner: KnownClient | None, feed: str, join: bytes | None, limits: Limits) -> bool:
    """Whether a client may read a feed, and all that a subscription to it joins."""
    if owner is None or not owner.may("subscribe", feed):
        return False
    if join is None:
        return True
    body = stored_body(join)
    try:
        return body is not None and may_read(parsed_join(body, limits).streams, owner)
    except Problem:  # it cannot be evaluated any more, so nobody knows what it reads
        return False
