"""What came of a batch, as an operation of the journal: notifications get their numbers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import Final

from extract.broker.batches import MatchedBatch
from extract.broker.feed_queries import LAST_DOCUMENTS, MOST_UNANSWERED
from extract.broker.journal import Operation, Transaction
from extract.broker.store import documents as document_rows
from extract.broker.store import notifications as notification_rows
from extract.broker.store.rows import BatchMark, NotificationRow, RejectionRow
from extract.broker.store.set_aside import set_aside

SET_ASIDE: Final = "set-aside"  # the stage of a subscription that is asked no more
_ROW_BYTES: Final = 1 << 18  # of notifications in one row, where there is more than one
Told = Callable[[MatchedBatch, list[int]], None]


def outcome_operation(batch: MatchedBatch, barred: Collection[int], told: Told) -> Operation:
    """Writes notifications, rejections and the mark "matched up to here", all or none.

    Args:
        batch: What was matched.
        barred: Subscribers that may not be told anything now.
        told: Called when it is committed, with the subscribers that have news.
    """

    def apply(transaction: Transaction) -> None:
        registry, connection = transaction.registry, transaction.connection
        rows = []
        for key, entries in batch.told.items():
            if key not in registry.by_key or key in barred:
                continue  # deleted since
            last = registry.last_number(key)
            for some in (entries,) if len(entries) == 1 else _in_rows(entries):
                last += len(some)
                data = b"[" + b",".join(some) + b"]"
                rows.append(NotificationRow(key, last, len(some), batch.position, data))
            registry.numbers[key] = last
        notification_rows.add_notifications(connection, rows)
        rejected = [*batch.rejected, *_set_aside(batch, transaction)]
        if rejected:
            notification_rows.add_rejections(connection, rejected)
        if not batch.is_part:
            size = batch.size + batch.earlier_bytes + sum([len(row.data) for row in rows])
            count = batch.earlier + sum([row.amount for row in rows])
            outcome = BatchMark(batch.position, transaction.now, batch.documents, count, size)
            document_rows.add_outcome(connection, outcome)
            registry.retained_bytes += size
        transaction.afterwards.append(lambda: told(batch, [row.key for row in rows]))

    return Operation(apply, lasting=True)


def _set_aside(batch: MatchedBatch, transaction: Transaction) -> Iterator[RejectionRow]:
    """Takes note of subscriptions that are set aside; yields what their owners are told."""
    registry, connection = transaction.registry, transaction.connection
    for one in batch.set_aside:
        subscriber = registry.by_key.get(one.key)
        if subscriber is None:
            continue  # deleted since
        numbers = {
            feed.key: feed.next_number
            - 1
            - document_rows.waiting(connection, feed.key, batch.position)
            for feed in registry.feeds_of(subscriber)
        }
        row = replace(one, numbers=numbers)
        if not set_aside(connection, row, batch.revision):
            continue  # it was put again since
        registry.set_aside[one.key] = row
        reason = (
            f"it got no answer on {MOST_UNANSWERED} of its last {LAST_DOCUMENTS} documents "
            f"({one.reason}), and is asked no more until it is put again"
        )
        yield RejectionRow(
            subscriber.feed, "", str(one.key), SET_ASIDE, reason, 0, 0, transaction.now
        )


def _in_rows(entries: list[bytes]) -> Iterator[list[bytes]]:
    """Notifications as they share rows: a reader who wants a few of them reads no more than that.

    >>> [len(some) for some in _in_rows([b"x" * 200_000] * 3)]
    [1, 1, 1]
    """
    if sum([len(one) for one in entries]) <= _ROW_BYTES:
        yield entries
        return
    some: list[bytes] = []
    size = 0
    for one in entries:
        if some and size + len(one) > _ROW_BYTES:
            yield some
            some, size = [], 0
        some.append(one)
        size += len(one)
    yield some
