"""Retention: now and then, what is old or too much goes, a little in each transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from extract.broker.journal import Transaction
from extract.broker.settings import BrokerSettings
from extract.broker.store import documents as document_rows
from extract.broker.store import idempotency, retained
from extract.broker.store import joins as join_rows
from extract.broker.store import notifications as notification_rows
from extract.broker.store import subscriptions as subscription_rows

_BATCHES: Final = 200  # that one transaction removes
_ANSWERS: Final = 1_000  # of requests with a key, that one transaction forgets
_REJECTIONS: Final = 10_000  # that are kept


def trim_store(transaction: Transaction, settings: BrokerSettings, has_joins: bool) -> bool:
    """Removes a part of what need not be kept; returns whether there is more to remove.

    Documents that are not matched stay, and those that the state of joins would be read again from.
    """
    connection, registry, now = transaction.connection, transaction.registry, transaction.now
    matched = document_rows.matched_position(connection)
    first = document_rows.first_revision(connection, matched)
    safe_position = matched
    safe_revision = registry.revision if first is None else first
    saved = join_rows.last_place(connection)
    if has_joins or saved is not None:  # whose joins end with a change that is read again
        safe_position = min(matched, 0 if saved is None else saved[0])
        safe_revision = min(safe_revision, 0 if saved is None else saved[1])
    subscription_rows.forget_versions(connection, safe_revision)
    before = now - round(settings.idempotency_seconds * 1e6)
    excess = registry.idempotency_bytes - settings.limits.idempotency_bytes
    forgotten, freed = idempotency.forget(connection, before, excess, _ANSWERS)
    registry.idempotency_bytes -= freed
    notification_rows.trim_rejections(connection, _REJECTIONS)
    batches = retained.oldest_batches(connection, safe_position, _BATCHES)
    cut, size = _cut(batches, settings, now, registry.retained_bytes)
    if not cut:
        return forgotten == _ANSWERS
    numbers = {feed.key: feed.next_number for feed in registry.feeds.values()}
    retained.trim(connection, cut, matched, numbers)
    registry.retained_bytes -= size
    return (cut == batches[-1][0] and len(batches) == _BATCHES) or forgotten == _ANSWERS


def _cut(
    batches: Sequence[tuple[int, int, int]], settings: BrokerSettings, now: int, kept: int
) -> tuple[int, int]:
    """The position up to which batches are old or too much, and their bytes.

    Only the oldest are looked at, however many there are: batches are in the order of their times.

    Args:
        batches: The oldest: position, when matched, bytes.
        settings: How long and how much is kept.
        now: The present time.
        kept: Bytes that are kept.
    """
    before = now - round(settings.retain_seconds * 1e6) if settings.retain_seconds else 0
    excess = kept - settings.retain_bytes if settings.retain_bytes else 0
    cut = gone = 0
    for position, matched, size in batches:
        if matched >= before and gone >= excess:
            break
        cut, gone = position, gone + size
    return cut, gone
