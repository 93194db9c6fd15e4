"""The broker: store, journal, matcher and readers, put together; what HTTP calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import msgspec

from extract.broker.bodies import FeedBody, SubscriptionBody
from extract.broker.changes import (
    NewSubscription,
    PutMode,
    delete_feed,
    delete_subscription,
    put_feed,
    put_subscriptions,
)
from extract.broker.delivery.caller import WebhookCaller
from extract.broker.delivery.webhooks import Webhook, Webhooks
from extract.broker.feed_filters import DocumentCheck, FeedFilters, read_body, select_of
from extract.broker.journal import Event, Journal, Operation, QueryChange, Transaction
from extract.broker.matcher import MatchedBatch, Matcher
from extract.broker.metrics import Metrics
from extract.broker.pending import PendingDocuments
from extract.broker.problems import Problem, not_found
from extract.broker.readers import Readers
from extract.broker.registry import FeedEntry, Registry
from extract.broker.schemas import (
    SchemaFilesBody,
    check_queries,
    compile_in_child,
    schema_files,
)
from extract.broker.security.rates import Connections
from extract.broker.security.tokens import Client, Tokens
from extract.broker.settings import Settings
from extract.broker.store import documents as document_rows
from extract.broker.store import feeds as feed_rows
from extract.broker.store import notifications as notification_rows
from extract.broker.store import subscriptions as subscription_rows
from extract.broker.store.database import Connection
from extract.broker.store.rows import (
    ArrivedDocument,
    NotificationRow,
    Outcome,
    SubscriberRow,
)
from extract.broker.store.store import Store
from extract.broker.submissions import Submission
from extract.broker.times import now_us
from extract.schema.model import Schema

_T = TypeVar("_T")
_SMALL = 65_536  # bytes of a document that is checked together with others
_BACKLOG_BLOCKS = 64


class Broker:
    """A broker on an open store.

    Args:
        store: The store.
        settings: The options.
    """

    def __init__(self, store: Store, settings: Settings | None = None) -> None:
        self.store = store
        self.settings = settings or Settings()
        self.limits = self.settings.engine_limits()
        self.registry = Registry(store.writer)
        self.readers = Readers()
        self.pending = PendingDocuments(
            self.settings.limits.pending_documents, self.settings.limits.pending_bytes
        )
        self.connections = Connections(self.settings.limits.connections)
        self.metrics = Metrics()
        self.stopping = False
        self.start_failure: Exception | None = None
        self.tokens: Tokens | None = None
        self.with_webhook: set[int] = set()  # keys of subscribers that have, or had, one
        self._webhooks: Webhooks | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._schemas: dict[int, Schema | None] = {}
        self._checks: dict[int, DocumentCheck] = {}
        self.matcher = Matcher(
            self._filters,
            lambda key: self.registry.feeds_by_key[key].name,
            self._matched,
            self.settings.max_delay_ms / 1000,
            self._batch_done,
        )
        self.journal = Journal(store, self.registry, self._heard, self._settled, self._committed)
        self._threads = ThreadPoolExecutor(8, "broker")

    # -- from start to stop

    def start(self) -> None:
        """Takes up where the last one stopped, and begins to work."""
        self.load()
        self.journal.start()
        self.matcher.start()

    def load(self) -> None:
        """Reads what the last one left: schemas, subscriptions, documents to match."""
        with self.store.reader() as connection:
            for feed in self.registry.feeds.values():
                self._load_schema(connection, feed)
            self._recover(connection)

    def tokens_changed(self, tokens: Tokens | None) -> None:
        """Hears who may do what now; what a join may read is checked again."""
        self.tokens = tokens

    def _recover(self, connection: Connection) -> None:
        """Gives the matcher the subscriptions of the first document to match, and all since."""
        matched = document_rows.matched_position(connection)
        blocks = document_rows.blocks_after(connection, matched, 1 << 30)
        revision = blocks[0].revision if blocks else self.registry.revision
        queries: dict[int, dict[int, bytes]] = {}
        by_key = self.registry.by_key
        for one in subscription_rows.versions_at(connection, revision):
            queries.setdefault(by_key[one.key].feed, {})[one.key] = one.body
        changes: list[tuple[int, int, Event]] = []
        for one in subscription_rows.versions_after(connection, revision):
            feed = by_key[one.key].feed
            if one.until is not None and one.until > revision:
                changes.append((one.until, 0, QueryChange(feed, one.key, None)))
            if one.since > revision:
                changes.append((one.since, 1, QueryChange(feed, one.key, one.body)))
        changes.sort(key=lambda change: change[:2])
        events: list[Event] = []
        at = 0
        for block in blocks:
            while at < len(changes) and changes[at][0] <= block.revision:
                events.append(changes[at][2])
                at += 1
            events.append(block)
            size = sum([len(one.content) for one in block.documents])
            self.pending.add(len(block.documents), size)
        events += [event for _, _, event in changes[at:]]
        self.matcher.load(queries, events)

    def stop(self) -> None:
        """Ends in order: what was answered is on disk; the rest is matched at the next start."""
        self.matcher.stop()
        self.journal.stop()
        self._threads.shutdown(wait=True)
        self.store.close()

    async def start_webhooks(self) -> None:
        """Begins to deliver; in the event loop that serves."""
        caller = WebhookCaller(self.settings.webhooks)
        self._webhooks = Webhooks(
            self.settings.webhooks,
            self.webhook,
            self.notifications,
            self.journal,
            self.metrics,
            caller,
        )
        self._loop = asyncio.get_running_loop()
        rows = await self.read(notification_rows.webhooks)
        self.with_webhook.update([key for key, _, _ in rows])
        self._webhooks.wake(self.with_webhook)

    @property
    def webhooks(self) -> Webhooks:
        """Who delivers, while the broker serves."""
        assert self._webhooks is not None
        return self._webhooks

    async def webhook(self, key: int) -> Webhook | None:
        """The webhook of a subscriber; None if it has none."""
        return await self.read(self._read_webhook, key)

    def _read_webhook(self, connection: Connection, key: int) -> Webhook | None:
        row = self.registry.by_key.get(key)
        place = notification_rows.webhook(connection, key)
        bodies = subscription_rows.present_bodies(connection, [key])
        if row is None or not row.active or place is None or key not in bodies:
            return None
        url = read_body(bodies[key]).webhook
        if not isinstance(url, str):
            return None
        return Webhook(key, row.id, url, place[1], place[0])

    async def end_readers(self) -> None:
        """Answers all who wait, so that connections can end; ends deliveries."""
        self.stopping = True
        self.readers.wake_all()
        if self._webhooks is not None:
            await self._webhooks.stop()

    def failure(self) -> str:
        """Why the broker does not work; empty if it does."""
        if self.matcher.failure is not None:
            return "documents are no longer matched"
        if self.journal.failure is not None:
            return "the store cannot be written"
        return "stopping" if self.stopping else ""

    def is_active(self, key: int) -> bool:
        """Whether a subscription exists."""
        row = self.registry.by_key.get(key)
        return row is not None and row.active

    async def in_thread(self, call: Callable[..., _T], *args: Any) -> _T:
        """Calls a function that takes a while, in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, call, *args)

    async def read(self, call: Callable[..., _T], *args: Any) -> _T:
        """Calls a function with a connection that reads."""

        def run() -> _T:
            with self.store.reader() as connection:
                return call(connection, *args)

        return await self.in_thread(run)

    # -- feeds

    def feed(self, name: str) -> FeedEntry:
        """A feed.

        Raises:
            Problem: There is none.
        """
        feed = self.registry.feeds.get(name)
        if feed is None:
            raise not_found("feed")
        return feed

    def schema_of(self, name: str) -> Schema | None:
        """The schema of a feed's documents; None if any may come.

        Raises:
            Problem: There is no such feed.
        """
        return self._schemas.get(self.feed(name).key)

    async def put_feed(self, name: str, body: FeedBody) -> tuple[bool, list[str]]:
        """Makes or changes a feed; returns whether it is new, and who can match nothing in it."""
        files = schema_files(body)
        schema = None
        encoded = None
        if files is not None:
            limits = self.settings.limits
            schema = await self.in_thread(
                compile_in_child, files, limits.schema_seconds, limits.schema_memory
            )
            encoded = msgspec.json.encode(files)
        kept = msgspec.structs.replace(
            body, dtd=msgspec.UNSET, xsd=msgspec.UNSET, files=msgspec.UNSET
        )
        operation = put_feed(name, kept, encoded, None if files is None else files.kind)

        def apply(transaction: Transaction) -> bool:
            is_new: bool = operation(transaction)
            key = transaction.registry.feeds[name].key
            self._set_schema(key, schema, body.on_nonconforming == "reject")
            return is_new

        return bool(await self.journal.ask(apply)), []

    def _set_schema(self, key: int, schema: Schema | None, reject: bool) -> None:
        self._schemas[key] = schema
        self._checks[key] = DocumentCheck(schema, reject, self.limits)

    def _load_schema(self, connection: Connection, feed: FeedEntry) -> None:
        rows = feed_rows.feed_schemas(connection, feed.key)
        schema = None
        if rows and isinstance(feed.body.schema, msgspec.UnsetType):
            files = msgspec.json.decode(rows[-1][1], type=SchemaFilesBody)
            limits = self.settings.limits
            schema = compile_in_child(files, limits.schema_seconds, limits.schema_memory)
        self._set_schema(feed.key, schema, feed.body.on_nonconforming == "reject")

    async def delete_feed(self, name: str) -> None:
        """Removes a feed with everything in it."""
        await self.journal.ask(delete_feed(name))

    # -- subscriptions

    def subscriber(self, identifier: str) -> SubscriberRow:
        """A subscription's identity.

        Raises:
            Problem: There is none.
        """
        row = self.registry.subscribers.get(identifier)
        if row is None or not row.active:
            raise not_found("subscription")
        return row

    async def check_queries(
        self, feed: str, client: Client, bodies: Sequence[SubscriptionBody]
    ) -> list[str]:
        """Says for each query why it can match nothing; empty if it can.

        Raises:
            Problem: One cannot be evaluated.
        """
        schema = self.schema_of(feed)
        chosen = [(n, body) for n, body in enumerate(bodies) if select_of(body) is not None]
        reasons = [""] * len(bodies)
        if chosen:
            some = [body for _, body in chosen]
            for (n, _), reason in zip(
                chosen, await self.in_thread(check_queries, some, schema, self.limits), strict=True
            ):
                reasons[n] = reason
        return reasons

    async def put_subscriptions(
        self, feed: str, owner: str, some: Sequence[NewSubscription], mode: PutMode = "put"
    ) -> list[bool]:
        """Makes or changes subscriptions; returns which are new."""
        most = self.settings.limits.subscriptions
        operation = put_subscriptions(feed, owner, some, most, mode)

        def apply(transaction: Transaction) -> Any:
            answers = operation(transaction)
            keys = [transaction.registry.subscribers[one.id].key for one in some if one.webhook]
            self.with_webhook.update(keys)
            return answers

        answers: list[bool] = await self.journal.ask(apply)
        return answers

    async def delete_subscription(self, key: int) -> None:
        """Ends a subscription."""
        await self.journal.ask(delete_subscription(key))

    def _filters(self, key: int) -> FeedFilters:
        most = self.settings.limits.notification_matches
        return FeedFilters(self._schemas.get(key), self.limits, most)

    # -- documents

    async def submit(
        self,
        feed: str,
        documents: Sequence[ArrivedDocument],
        owner: str,
        key: str = "",
        fingerprint: bytes = b"",
        refusals: dict[int, Any] | None = None,
    ) -> list[Any]:
        """Brings documents to the disk; returns a receipt for each.

        Raises:
            Problem: There is no such feed, or too much waits to be matched.
        """
        entry = self.feed(feed)
        size = sum([len(one.content) for one in documents])
        self.pending.reserve(len(documents), size)
        check: DocumentCheck | None = self._checks[entry.key]
        refused: dict[int, Any] = refusals or {}
        reply = asyncio.get_running_loop().create_future()
        try:
            if check is not None and (len(documents) > 1 or size > _SMALL):
                refused = {**await self.in_thread(check, documents), **refused}
                check = None
            self.journal.submit(
                Submission(feed, documents, size, check, refused, owner, key, fingerprint, reply)
            )
        except BaseException:
            self.pending.release(len(documents), size)
            raise
        receipts: list[Any] = await reply
        return receipts

    def _settled(self, submissions: list[Submission]) -> None:
        """What was not written waits no longer; in the thread of the journal."""
        documents = sum([len(one.documents) - one.written for one in submissions])
        size = sum([one.size - one.written_bytes for one in submissions])
        self.pending.release(documents, size)
        self.metrics.documents.inc(sum([one.written for one in submissions]))
        self.metrics.document_bytes.inc(sum([one.written_bytes for one in submissions]))
        self.metrics.refused.inc(sum([len(one.refusals) for one in submissions]))

    def _heard(self, events: list[Event]) -> None:
        self.matcher.hear(events)

    def _matched(self, batch: MatchedBatch) -> None:
        """Has the outcome of a batch written; in the thread of the matcher."""

        def apply(transaction: Transaction) -> None:
            registry = transaction.registry
            rows = []
            for key, entries in batch.told.items():
                subscriber = registry.by_key.get(key)
                if subscriber is None or not subscriber.active:
                    continue  # deleted since
                last = registry.last_number(key) + len(entries)
                data = b"[" + b",".join(entries) + b"]"
                rows.append(NotificationRow(key, last, len(entries), batch.position, data))
                registry.numbers[key] = last
            connection = transaction.connection
            notification_rows.add_notifications(connection, rows)
            if batch.rejected:
                notification_rows.add_rejections(connection, batch.rejected)
            size = batch.size + sum([len(row.data) for row in rows])
            count = sum([row.amount for row in rows])
            outcome = Outcome(batch.position, transaction.now, batch.documents, count, size)
            document_rows.add_outcome(connection, outcome)
            transaction.afterwards.append(lambda: self._told(batch, [row.key for row in rows]))

        self.journal.submit(Operation(apply, lasting=True))

    def _committed(self, seconds: float, operations: int) -> None:
        self.metrics.commit.observe(seconds)
        self.metrics.group.observe(operations)

    def _batch_done(self, seconds: float, documents: int) -> None:
        self.metrics.matching.observe(seconds)
        self.metrics.batch.observe(documents)

    def _told(self, batch: MatchedBatch, keys: list[int]) -> None:
        """After the outcome of a batch is committed; in the thread of the journal."""
        self.pending.release(batch.documents, batch.size)
        self.readers.wake(keys)
        hooks = [key for key in keys if key in self.with_webhook]
        if hooks and self._webhooks is not None and self._loop is not None:
            self._loop.call_soon_threadsafe(self._webhooks.wake, hooks)
        self.metrics.matched.inc(batch.documents)
        self.metrics.notifications.inc(sum([len(some) for some in batch.told.values()]))
        self.metrics.rejections.inc(len(batch.rejected))
        now = now_us()
        for received, _ in batch.received:  # once for each block
            self.metrics.latency.observe((now - received) / 1e6)

    # -- notifications

    async def notifications(
        self, key: int, after: int, most: int, wait: float = 0
    ) -> tuple[list[tuple[int, bytes]], int]:
        """Notifications with numbers above one, the oldest first, and the last number.

        Args:
            key: Of the subscriber.
            after: The last number that the client has.
            most: How many.
            wait: How many seconds to wait for the first.

        Raises:
            Problem: Some of them are no longer kept; or the subscription is gone.
        """
        if not wait:
            return await self.read(read_notifications, key, after, most)
        event = self.readers.enter(key)
        try:
            page = await self.read(read_notifications, key, after, most)
            if not page[0]:
                try:
                    await asyncio.wait_for(event.wait(), wait)
                except TimeoutError:
                    return page
                page = await self.read(read_notifications, key, after, most)
            return page
        finally:
            self.readers.leave(key, event)


def read_notifications(
    connection: Connection, key: int, after: int, most: int
) -> tuple[list[tuple[int, bytes]], int]:
    """Numbers and JSON objects of notifications above a number; and the last number given."""
    floor, start = notification_rows.floor_of(connection, key)
    if after < floor and floor > start:
        rows = notification_rows.notifications_after(connection, key, floor, 1)
        oldest = rows[0].last - rows[0].amount + 1 if rows else floor + 1
        reason = f"notifications up to {oldest - 1} are no longer kept"
        raise Problem(410, reason, f"go on with after={oldest - 1}", oldest=oldest)
    page: list[tuple[int, bytes]] = []
    for row in notification_rows.notifications_after(connection, key, after, most):
        first = row.last - row.amount + 1
        entries = msgspec.json.decode(row.data, type=list[msgspec.Raw])
        for seq, entry in enumerate(entries, first):
            if seq > after and len(page) < most:
                page.append((seq, bytes(entry)))
        if len(page) >= most:
            break
    return page, page[-1][0] if page else max(after, floor)
