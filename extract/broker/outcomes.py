"""What came of a batch, as an operation of the journal: notifications get their numbers."""

from __future__ import annotations

from collections.abc import Callable, Collection

from extract.broker.journal import Operation, Transaction
from extract.broker.matcher import MatchedBatch
from extract.broker.store import documents as document_rows
from extract.broker.store import notifications as notification_rows
from extract.broker.store.rows import BatchMark, NotificationRow

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
            last = registry.last_number(key) + len(entries)
            data = b"[" + b",".join(entries) + b"]"
            rows.append(NotificationRow(key, last, len(entries), batch.position, data))
            registry.numbers[key] = last
        notification_rows.add_notifications(connection, rows)
        if batch.rejected:
            notification_rows.add_rejections(connection, batch.rejected)
        size = batch.size + sum([len(row.data) for row in rows])
        count = sum([row.amount for row in rows])
        outcome = BatchMark(batch.position, transaction.now, batch.documents, count, size)
        document_rows.add_outcome(connection, outcome)
        transaction.afterwards.append(lambda: told(batch, [row.key for row in rows]))

    return Operation(apply, lasting=True)
