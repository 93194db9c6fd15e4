"""The broker: store, journal, matcher, readers and webhooks, put together; what HTTP calls."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Final, NamedTuple, TypeVar

from extract.broker.batches import MatchedBatch
from extract.broker.bodies import FeedBody, SubscriptionBody
from extract.broker.byte_room import ByteRoom
from extract.broker.changes import (
    NewSubscription,
    PutMode,
    delete_feed,
    delete_subscription,
    put_subscriptions,
)
from extract.broker.delivery.caller import WebhookCaller
from extract.broker.delivery.webhooks import Webhook, Webhooks
from extract.broker.feed_catalog import FeedCatalog, present_queries
from extract.broker.feed_filters import select_of, stored_body
from extract.broker.feed_queries import FeedQueries
from extract.broker.feed_schemas import FeedSchemas
from extract.broker.joined_feeds import JoinedFeeds, check_join
from extract.broker.journal import (
    Event,
    JoinRights,
    Journal,
    Operation,
    SubscriptionChange,
    Transaction,
)
from extract.broker.matcher import MatchingThread
from extract.broker.metrics import Metrics
from extract.broker.outcomes import outcome_operation
from extract.broker.pages import NotificationEntries, read_notifications
from extract.broker.pending import PendingDocuments, UnwrittenNotifications
from extract.broker.problems import Problem, not_found
from extract.broker.readers import Readers
from extract.broker.recovery import recover
from extract.broker.registry import FeedEntry, Registry
from extract.broker.retention import trim_store
from extract.broker.rights import barred_among, owner_named, without_barred_joins
from extract.broker.said_rows import Shown
from extract.broker.schemas import check_queries, refuse_first
from extract.broker.security.rates import Connections, Rates, Sockets
from extract.broker.security.tokens import KnownClient, TokenFile
from extract.broker.settings import BrokerSettings
from extract.broker.store import documents as document_rows
from extract.broker.store import joins as join_rows
from extract.broker.store import notifications as notification_rows
from extract.broker.store import subscriptions as subscription_rows
from extract.broker.store.database import Connection
from extract.broker.store.join_streams import JoinStreams
from extract.broker.store.rows import ArrivedBlock, ArrivedDocument, RejectionRow, SubscriberRow
from extract.broker.store.store import BrokerStore
from extract.broker.store.tables import StoreError
from extract.broker.submissions import Reply, Submission
from extract.broker.times import now_us
from extract.schema.model import Schema
from extract.xpath.ast import forget_shared

_T = TypeVar("_T")
_log: Final = logging.getLogger("extract.broker")
SMALL_DOCUMENT: Final = 65_536  # bytes of a document that is checked together with others
TRIM_SECONDS: Final = 5.0
CHECKED_QUERIES: Final = 4_096  # after which nodes of queries that are gone are forgotten
_WEBHOOK_BYTES: Final = 1 << 20  # of notifications that are read for a webhook, beyond the first


class CheckedQuery(NamedTuple):
    """A query that can be answered.

    Attributes:
        unsatisfiable: Why it can match nothing; empty if it can.
        streams: Of a join; None for others.
    """

    unsatisfiable: str
    streams: JoinStreams | None


class Broker:
    """A broker on an open store.

    Args:
        store: The store.
        settings: The options.
    """

    def __init__(self, store: BrokerStore, settings: BrokerSettings | None = None) -> None:
        self.store = store
        self.settings = settings or BrokerSettings()
        limits = self.settings.limits
        self.limits = self.settings.engine_limits()
        self.registry = Registry(store.writer)
        self.readers = Readers()
        self.pending = PendingDocuments(limits.pending_documents, limits.pending_bytes)
        self.unwritten = UnwrittenNotifications(limits.unwritten_bytes)
        self.connections = Connections(limits.connections)
        self.sockets = Sockets(limits.sockets)
        self.arriving = ByteRoom(limits.arriving_bytes)
        self.leaving = ByteRoom(limits.leaving_bytes)
        self.rates = Rates(limits.requests_per_second, limits.bytes_per_second)
        self.metrics = Metrics()
        self._checked = 0  # queries since what they share was forgotten
        self.stopping = False
        self.start_failure: Exception | None = None
        self.tokens: TokenFile | None = None
        self.barred: frozenset[int] = frozenset()  # whose owners may no longer read what they ask
        self.token_epoch = 0  # rises when the tokens change: who reads must ask again
        self.with_webhook: set[int] = set()  # keys of subscribers that have, or had, one
        self._webhooks: Webhooks | None = None
        self._trimming: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        rows = min(self.limits.joined_bytes, limits.matching_bytes)
        self.joins = JoinedFeeds(replace(self.limits, joined_bytes=rows), limits.join_bytes)
        self.journal = Journal(
            store, self.registry, self._heard, self._settled, self.metrics.committed
        )
        self.catalog = FeedCatalog(self.registry, self.settings, self.journal.submit)
        shown = Shown(limits.notification_matches, limits.notification_bytes)
        self.matcher = MatchingThread(
            lambda key: FeedQueries(self.limits, shown, limits.matching_bytes),
            self.registry.feed_names.__getitem__,
            self._matched,
            self.joins,
            self._save_joins,
            self._read_again,
            self.catalog.saw,
            self._feed_ended,
            self._stored,
            self._refused,
            self.settings.max_delay_ms / 1000,
            limits.matching_pairs,
            self.metrics.batch_done,
        )
        # What takes long must not keep readers waiting.
        self._threads = ThreadPoolExecutor(4, "broker")
        self._readers = ThreadPoolExecutor(4, "broker-read")

    # -- from start to stop

    def start(self) -> None:
        """Takes up where the last one stopped, and begins to work."""
        self.load()
        self.journal.start()
        self.matcher.start()

    def load(self) -> None:
        """Reads what the last one left: schemas, subscriptions, documents to match."""
        with self.store.reader() as connection:
            self.catalog.load(connection)
            start = recover(connection, self.registry.revision)
            self.with_webhook.update([key for key, _, _ in notification_rows.webhooks(connection)])
        self.pending.add(start.documents, start.size)
        try:
            self.matcher.load(start, self.barred)
        except Exception as error:
            if not start.join_state:
                raise
            _log.error("the saved state of joins cannot be used: %s", error, exc_info=error)
            with self.store.reader() as connection:
                again = recover(connection, self.registry.revision, has_state=False)
            self.matcher.load(again, self.barred)

    async def serve(self) -> None:
        """Begins to deliver and to trim; in the event loop that serves."""
        self._loop = asyncio.get_running_loop()
        settings = self.settings.webhooks
        caller = WebhookCaller(settings)
        self._webhooks = Webhooks(
            settings, self.webhook, self._page_of_webhook, self.journal, self.metrics, caller
        )
        self._webhooks.wake(list(self.with_webhook))
        self._trimming = self._loop.create_task(self._trim())

    async def _trim(self) -> None:
        """Removes now and then what need not be kept."""
        while True:
            more = False
            with contextlib.suppress(Problem):  # the store cannot be written now: the next time
                more = await self.journal.ask(
                    lambda transaction: trim_store(transaction, self.settings, self.has_joins)
                )
            await asyncio.sleep(0 if more else TRIM_SECONDS)

    @property
    def has_joins(self) -> bool:
        """Whether joins need the log, from the place of their last saved state on."""
        return self.matcher.is_catching_up or len(self.joins) > 0

    def end_waiting(self) -> None:
        """Answers all who wait for news, so that connections can end; in the event loop."""
        self.stopping = True
        self.readers.wake_all()

    async def end_serving(self) -> None:
        """Ends deliveries and what is done now and then."""
        self.end_waiting()
        if self._trimming is not None:
            self._trimming.cancel()
            await asyncio.gather(self._trimming, return_exceptions=True)
        if self._webhooks is not None:
            await self._webhooks.stop()

    def stop(self) -> None:
        """Ends in order: what was answered is on disk; the rest is matched at the next start."""
        self.stopping = True
        self.unwritten.end()
        self.matcher.stop()
        self.journal.stop()
        self._threads.shutdown(wait=True)
        self._readers.shutdown(wait=True)
        self.store.close()

    def failure(self) -> str:
        """Why the broker does not work; empty if it does."""
        if self.store.damage is not None:
            return self.store.damage.reason
        if self.matcher.failure is not None:
            return "documents are no longer matched"
        if self.journal.failure is not None:
            return "the store cannot be written"
        return "stopping" if self.stopping else ""

    async def in_thread(self, call: Callable[..., _T], *args: Any) -> _T:
        """Calls a function that takes a while, in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, call, *args)

    async def read(self, call: Callable[..., _T], *args: Any) -> _T:
        """Calls a function with a connection that reads.

        Raises:
            Problem: The store cannot be read now.
        """

        def run() -> _T:
            try:
                return self.store.read(lambda connection: call(connection, *args))
            except StoreError as error:
                raise Problem(503, error.reason, retry_after=5) from error

        return await asyncio.get_running_loop().run_in_executor(self._readers, run)

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

    def _checks(self, feed: FeedEntry) -> FeedSchemas:
        checks = self.catalog.checks.get(feed.key)
        if checks is None:  # it was deleted just now
            raise not_found("feed")
        return checks

    def schema_of(self, name: str) -> Schema | None:
        """The schema of a feed's documents; None if any may come.

        Raises:
            Problem: There is no such feed.
        """
        return self.catalog.schema(self.feed(name))

    async def put_feed(self, name: str, body: FeedBody) -> tuple[bool, list[str]]:
        """Makes or changes a feed; returns whether it is new, and who can match nothing in it."""

        def present(key: int) -> dict[str, SubscriptionBody]:
            return self.store.read(
                lambda connection: present_queries(connection, self.registry, key)
            )

        apply, unsatisfiable = await self.in_thread(self.catalog.prepared_feed, name, body, present)
        return bool(await self.journal.ask(apply)), unsatisfiable

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
        if row is None:
            raise not_found("subscription")
        return row

    def is_active(self, key: int) -> bool:
        """Whether a subscription exists."""
        return key in self.registry.by_key

    def owner(self, name: str, client: KnownClient) -> KnownClient:
        """Whose rights a subscription has: its owner's, also where an admin changes it."""
        if self.tokens is None or name == client.name:
            return client
        return owner_named(name, self.tokens) or client

    async def check_queries(
        self, feed: str, client: KnownClient, bodies: Sequence[SubscriptionBody]
    ) -> list[CheckedQuery]:
        """What is to be known of each query before it is put.

        Raises:
            Problem: One cannot be evaluated, or the client may not read what it joins.
        """
        return await self.in_thread(self._check_queries, feed, client, bodies)

    def _check_queries(
        self, feed: str, client: KnownClient, bodies: Sequence[SubscriptionBody]
    ) -> list[CheckedQuery]:
        self._checked += len(bodies)
        if self._checked > CHECKED_QUERIES:
            self._checked = 0
            forget_shared()
        joins: dict[int, JoinStreams] = {}
        chosen = []
        for place, body in enumerate(bodies):
            if select_of(body) is None:
                known = {*self.registry.feeds, *self.registry.published()}
                joins[place] = check_join(body, client, known, self.limits)
            else:
                chosen.append(place)
        some = [bodies[place] for place in chosen]
        refused, reasons = check_queries(some, self.schema_of(feed), self.limits)
        refuse_first({chosen[place]: one for place, one in refused.items()})
        found = {chosen[place]: reason for place, reason in reasons.items()}
        return [
            CheckedQuery(found.get(place, ""), joins.get(place)) for place in range(len(bodies))
        ]

    async def put_subscriptions(
        self, feed: str, owner: str, some: Sequence[NewSubscription], mode: PutMode = "put"
    ) -> list[bool]:
        """Makes or changes subscriptions; returns which are new."""
        operation = put_subscriptions(feed, owner, some, self.settings.limits.subscriptions, mode)

        def apply(transaction: Transaction) -> Any:
            answers = operation(transaction)
            events = transaction.events[-len(some) :]
            rows = [transaction.registry.subscribers[one.id] for one in some]
            keys = [row.key for row in rows]
            hooks = [key for key, one in zip(keys, some, strict=True) if one.webhook]
            self.with_webhook.update(hooks)
            if self.tokens is not None:  # what it asks for now may be another thing to read
                barred = barred_among(transaction.registry, self.tokens, rows)
                self.barred = (self.barred - set(keys)) | barred
                transaction.events[-len(some) :] = without_barred_joins(events, barred)
            return answers

        answers: list[bool] = await self.journal.ask(apply)
        return answers

    async def delete_subscription(self, key: int) -> None:
        """Ends a subscription."""
        await self.journal.ask(delete_subscription(key))

    def use_tokens(self, tokens: TokenFile | None) -> None:
        """Hears who may do what, before it starts."""
        self.tokens = tokens
        if tokens is not None:
            self.barred = barred_among(self.registry, tokens, self.registry.by_key.values())

    def tokens_changed(self, tokens: TokenFile) -> None:
        """Hears who may do what now; what owners may read is checked again, streams begin again.

        The journal does it, between two changes of subscriptions, so that it misses none.
        """
        self.tokens = tokens

        def apply(transaction: Transaction) -> None:
            registry = transaction.registry
            self.barred = barred_among(registry, tokens, registry.by_key.values())
            joins = subscription_rows.present_bodies(transaction.connection, list(registry.joins))
            transaction.events.append(JoinRights(joins, self.barred))
            self.token_epoch += 1
            transaction.afterwards.append(self.readers.wake_everybody)

        self.journal.submit(Operation(apply, lasting=True))

    # -- documents

    async def submit(
        self,
        feed: str,
        documents: list[ArrivedDocument],
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
        self.rates.received(owner, size)
        self.pending.reserve(len(documents), size)
        check: Any = self._checks(entry)
        refused: dict[int, Any] = refusals or {}
        reply = asyncio.get_running_loop().create_future()
        try:
            if len(documents) > 1 or size > SMALL_DOCUMENT:
                found, kept = await self.in_thread(check, documents)
                for place, version in kept.items():
                    documents[place] = documents[place]._replace(schema=version)
                refused = {**found, **refused}
                check = None
            self.journal.submit(
                Submission(feed, documents, size, check, refused, owner, key, fingerprint, reply)
            )
        except BaseException:
            self.pending.release(len(documents), size)
            raise
        receipts: list[Any] = await reply
        return receipts

    def submit_small(self, feed: str, document: ArrivedDocument, owner: str, reply: Reply) -> None:
        """Brings one small document to the disk; who waits gets a list with its receipt.

        Raises:
            Problem: There is no such feed, or too much waits to be matched.
        """
        check = self._checks(self.feed(feed))
        size = len(document.content)
        self.rates.received(owner, size)
        self.pending.reserve(1, size)
        try:
            self.journal.submit(
                Submission(feed, [document], size, check, {}, owner, "", b"", reply)
            )
        except BaseException:
            self.pending.release(1, size)
            raise

    def _settled(self, submissions: list[Submission]) -> None:
        """What was not written waits no longer; in the thread of the journal."""
        documents = sum([len(one.documents) - one.written for one in submissions])
        size = sum([one.size - one.written_bytes for one in submissions])
        self.pending.release(documents, size)
        self.metrics.documents.inc(sum([one.written for one in submissions]))
        self.metrics.document_bytes.inc(sum([one.written_bytes for one in submissions]))
        self.metrics.refused.inc(sum([len(one.refusals) for one in submissions]))

    def _heard(self, events: list[Event]) -> None:
        """What was committed; in the thread of the journal."""
        self.matcher.hear(events)
        ended = [e.key for e in events if isinstance(e, SubscriptionChange) and e.body is None]
        if ended:
            self._wake_webhooks(ended)  # so that they see that there is nothing to deliver
            self.with_webhook.difference_update(ended)
            self.readers.wake(ended)

    def _wake_webhooks(self, keys: Sequence[int]) -> None:
        """Lets webhooks look whether there is something to deliver; from any thread."""
        hooks = [key for key in keys if key in self.with_webhook]
        if hooks and self._webhooks is not None and self._loop is not None:
            self._loop.call_soon_threadsafe(self._webhooks.wake, hooks)

    def _stored(self, feed: int, revision: int) -> dict[int, bytes]:
        """The subscriptions of a feed at a revision, from the store; in any thread."""
        versions = self.store.read(
            lambda connection: subscription_rows.versions_at(connection, revision, feed)
        )
        return {one.key: one.body for one in versions}

    def _refused(self, rows: list[RejectionRow]) -> None:
        """Tells of subscriptions that are there and cannot be compiled."""

        def apply(transaction: Transaction) -> None:
            named = [self._named(row) for row in rows if int(row.query) in self.registry.by_key]
            notification_rows.add_rejections(transaction.connection, named)

        self.journal.submit(Operation(apply, lasting=True))

    def _named(self, row: RejectionRow) -> RejectionRow:
        """A rejection of a subscription, with its feed, and its id and owner in words."""
        one = self.registry.by_key[int(row.query)]
        reason = f"the subscription {one.id!r} of {one.owner!r} is not answered: {row.reason}"
        _log.error("%s", reason)
        return replace(row, feed=one.feed, reason=reason)

    def rejected(self) -> list[dict[str, str]]:
        """The subscriptions that are there and cannot be compiled."""
        registry = self.registry
        rows = [registry.by_key.get(key) for key in list(self.matcher.refused)]
        return [
            {
                "id": row.id,
                "owner": row.owner,
                "feed": registry.feed_names.get(row.feed, ""),
                "reason": self.matcher.refused.get(row.key, ""),
            }
            for row in rows
            if row is not None
        ]

    def troubles(self) -> list[str]:
        """What does not work while everything else does."""
        count = len(self.rejected())
        some = [f"{count:,} subscriptions cannot be answered: see rejections"] if count else []
        if self.matcher.unsaved:
            some.append("the state of joins cannot be saved now")
        return some

    def _feed_ended(self, feed: int) -> None:
        """No document of a feed that is gone is left; in the thread of the matcher."""
        self.catalog.forget(feed)
        self.registry.feed_names.pop(feed, None)

    def _matched(self, batch: MatchedBatch) -> None:
        """Has the outcome of a batch written; in the thread of the matcher."""
        self.unwritten.add(batch.told_bytes)
        self.journal.submit(outcome_operation(batch, self.barred, self._told))

    def _told(self, batch: MatchedBatch, keys: list[int]) -> None:
        """After the outcome of a batch is committed; in the thread of the journal."""
        self.unwritten.remove(batch.told_bytes)
        self.pending.release(batch.documents, batch.size)
        self.readers.wake(keys)
        self._wake_webhooks(keys)
        notifications = sum([len(some) for some in batch.told.values()])
        now = now_us()
        seconds = [(now - received) / 1e6 for received, _ in batch.received]
        self.metrics.told(batch.documents, notifications, len(batch.rejected), seconds)

    def _save_joins(self, position: int, revision: int, state: bytes) -> None:
        self.journal.submit(
            Operation(
                lambda transaction: join_rows.save_state(
                    transaction.connection, position, revision, state
                ),
                lasting=True,
            )
        )

    def _read_again(self, after: int, last: int, most: int) -> list[ArrivedBlock]:
        """Blocks of the log, for joins; in the thread of the matcher."""
        return self.store.read(
            lambda connection: document_rows.blocks_between(connection, after, last, most)
        )

    # -- notifications

    async def notifications(
        self, key: int, after: int, most: int, wait: float = 0
    ) -> NotificationEntries:
        """Notifications with numbers above one, the oldest first, and the last number.

        Args:
            key: Of the subscriber.
            after: The last number that the client has.
            most: How many; of large ones fewer come.
            wait: How many seconds to wait for the first.

        Raises:
            Problem: Some of them are no longer kept; or the subscription is gone.
        """
        if not wait:
            return await self._page(key, after, most)
        loop = asyncio.get_running_loop()
        end = loop.time() + wait
        event, epoch = self.readers.enter(key), self.token_epoch
        try:
            while True:
                event.clear()  # before one looks, so that nothing comes unseen in between
                page = await self._page(key, after, most)
                is_over = self.stopping or self.token_epoch != epoch or not self.is_active(key)
                if page[0] or is_over:
                    return page
                # One may be woken for what one has read already: the notifications of a commit can
                # be read before their readers are woken. Then there is nothing new, and one waits.
                try:
                    await asyncio.wait_for(event.wait(), end - loop.time())
                except TimeoutError:
                    return page
        finally:
            self.readers.leave(key, event)

    async def _page(self, key: int, after: int, most: int) -> NotificationEntries:
        """A page for a reader, as soon as others have taken theirs."""
        size = self.settings.limits.page_bytes
        async with self.leaving.held(size):
            return await self.read(read_notifications, key, after, most, size)

    async def _page_of_webhook(self, key: int, after: int, most: int) -> NotificationEntries:
        """A page for a webhook; few call at a time, and readers are not in their way."""
        return await self.read(read_notifications, key, after, most, _WEBHOOK_BYTES)

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
        if row is None or place is None or key not in bodies:
            return None
        body = stored_body(bodies[key])
        if body is None or not isinstance(body.webhook, str) or key in self.barred:
            return None
        return Webhook(key, row.id, body.webhook, place[1], place[0])
