"""Figures for Prometheus: no label by subscription, document or client."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import generate_latest

from extract.broker.store.tables import StoreError

if TYPE_CHECKING:
    from extract.broker.broker import Broker

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_COUNTS = (1, 4, 16, 64, 256, 1024, 4096)


class Metrics:
    """The figures of one broker."""

    def __init__(self) -> None:
        self._registry = own = CollectorRegistry()

        def counter(name: str, about: str) -> Counter:
            return Counter(f"extract_{name}", about, registry=own)

        def gauge(name: str, about: str) -> Gauge:
            return Gauge(f"extract_{name}", about, registry=own)

        def seconds(name: str, about: str) -> Histogram:
            return Histogram(f"extract_{name}_seconds", about, registry=own, buckets=_SECONDS)

        self.documents = counter("documents", "Documents that were brought to the disk.")
        self.document_bytes = counter("document_bytes", "Their bytes.")
        self.refused = counter("documents_refused", "Documents that were not taken.")
        self.matched = counter("documents_matched", "Documents that were matched.")
        self.notifications = counter("notifications", "Notifications that were written.")
        self.rejections = counter("rejections", "Queries or documents rejected in matching.")
        self.deliveries = counter("webhook_deliveries", "Calls of webhooks that were taken.")
        self.failures = counter("webhook_failures", "Calls of webhooks that failed.")
        self.dead_letters = counter("webhook_dead_letters", "Notifications given up.")
        self.latency = seconds("notification", "From a document's arrival to its notifications.")
        self.commit = seconds("commit", "A transaction of the store, synced.")
        self.matching = seconds("matching", "Matching one batch.")
        self.batch = Histogram(
            "extract_batch_documents", "Documents of a batch.", registry=own, buckets=_COUNTS
        )
        self.group = Histogram(
            "extract_commit_operations",
            "Requests that share a sync.",
            registry=own,
            buckets=_COUNTS,
        )
        self._pending = gauge("pending_documents", "Documents that wait to be matched.")
        self._pending_bytes = gauge("pending_bytes", "Their bytes.")
        self._journal = gauge("journal_operations", "Changes that wait to be written.")
        self._readers = gauge("waiting_readers", "Long polls and event streams that wait.")
        self._subscriptions = gauge("subscriptions", "Subscriptions.")
        self._set_aside = gauge(
            "subscriptions_set_aside", "Subscriptions that are asked no more: they took too long."
        )
        self._feeds = gauge("feeds", "Feeds.")
        self._states = gauge("engine_states", "States of the push engine's automata.")
        self._store = gauge("store_bytes", "Bytes of the store on disk.")

    def committed(self, seconds: float, operations: int) -> None:
        """A transaction was committed."""
        self.commit.observe(seconds)
        self.group.observe(operations)

    def batch_done(self, seconds: float, documents: int) -> None:
        """A batch was matched."""
        self.matching.observe(seconds)
        self.batch.observe(documents)

    def told(
        self, documents: int, notifications: int, rejections: int, seconds: Sequence[float]
    ) -> None:
        """The outcome of a batch was written; with how long each block of it took."""
        self.matched.inc(documents)
        self.notifications.inc(notifications)
        self.rejections.inc(rejections)
        for one in seconds:
            self.latency.observe(one)

    def text(self, broker: Broker) -> bytes:
        """All figures, in the format of Prometheus."""
        registry = broker.registry
        self._pending.set(broker.pending.documents)
        self._pending_bytes.set(broker.pending.bytes)
        self._journal.set(len(broker.journal))
        self._readers.set(len(broker.readers))
        self._feeds.set(len(registry.feeds))
        self._subscriptions.set(sum([one.subscribers for one in list(registry.feeds.values())]))
        self._set_aside.set(len(registry.set_aside))
        self._states.set(broker.matcher.engine_states())
        try:
            self._store.set(broker.store.database.size())
        except StoreError:  # it may be there again when it is next asked for
            self._store.set(math.nan)
        return generate_latest(self._registry)
