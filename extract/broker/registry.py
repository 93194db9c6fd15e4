"""What the broker knows of feeds and subscribers, in memory; the store has the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec

from extract.broker.bodies import FeedBody
from extract.broker.store import documents as document_rows
from extract.broker.store import feeds as feed_rows
from extract.broker.store import idempotency, past_numbers, retained
from extract.broker.store import notifications as notification_rows
from extract.broker.store import subscriptions as subscription_rows
from extract.broker.store.database import Connection
from extract.broker.store.join_streams import JoinStreams, all_joins
from extract.broker.store.rows import SetAsideRow, SubscriberRow
from extract.broker.store.set_aside import all_set_aside
from extract.xscl.ast import EVERY_STREAM


@dataclass(slots=True)
class FeedEntry:
    """A feed.

    Attributes:
        key: Its number in the store.
        next_number: That its next document gets.
        versions: Of its schema, the latest last.
        given: The kind of its schema, if it was given one.
        subscribers: How many there are.
    """

    key: int
    name: str
    body: FeedBody
    created: int
    next_number: int
    versions: list[int]
    given: Literal["dtd", "xsd"] | None = None
    subscribers: int = 0

    @property
    def kind(self) -> Literal["dtd", "xsd", "inferred", "none"]:
        """Which schema its documents have."""
        if isinstance(self.body.schema, str):
            return self.body.schema
        return self.given or "inferred"


class Registry:
    """All feeds and subscribers. Only the thread of the journal changes it.

    Attributes:
        feeds: By name.
        feed_names: By key, of all feeds that the matcher may still have documents of.
        subscribers: By id.
        owned: How many subscriptions each client has.
        joins: The streams of joins, by the keys of their subscribers.
        set_aside: Subscriptions that are asked no more, by key.
        numbers: The last number of each subscriber whose notifications were written lately.
        past: The last numbers of subscriptions that are gone, by bucket.
        retained_bytes: Of documents and notifications that are kept.
        idempotency_bytes: Of answers that are kept for repeated requests.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.feeds: dict[str, FeedEntry] = {}
        self.feeds_by_key: dict[int, FeedEntry] = {}
        self.feed_names: dict[int, str] = {}
        self.subscribers: dict[str, SubscriberRow] = {}
        self.by_key: dict[int, SubscriberRow] = {}
        self.owned: dict[str, int] = {}
        self.joins: dict[int, JoinStreams] = {}
        self.set_aside: dict[int, SetAsideRow] = {}
        self.numbers: dict[int, int] = {}
        self.position = 0  # in the log; never again that of a block whose feed was deleted
        self.load()

    def load(self) -> None:
        """Reads everything from the store: at the start, and after a transaction was undone."""
        connection = self._connection
        self.revision = int(feed_rows.meta(connection, "revision", "0"))
        self.position = max(self.position, document_rows.last_position(connection))
        self.last_time = document_rows.last_time(connection)
        self.next_feed = int(feed_rows.meta(connection, "next_feed", "1"))
        numbers = document_rows.next_numbers(connection)
        feeds = {}
        for row in feed_rows.all_feeds(connection):
            kept = int(feed_rows.meta(connection, f"next_number.{row.key}", "1"))
            schemas = feed_rows.feed_schemas(connection, row.key)
            given = msgspec.json.decode(schemas[-1][1])["kind"] if schemas else None
            feeds[row.name] = FeedEntry(
                row.key,
                row.name,
                msgspec.json.decode(row.body, type=FeedBody),
                row.created,
                max(numbers.get(row.key, 1), kept),
                [version for version, _ in schemas],
                given,
            )
        rows = subscription_rows.all_subscribers(connection)
        subscribers = {one.id: one for one in rows}
        by_key = {one.key: one for one in rows}
        owned: dict[str, int] = {}
        feeds_by_key = {one.key: one for one in feeds.values()}
        for one in rows:
            owned[one.owner] = owned.get(one.owner, 0) + 1
            feeds_by_key[one.feed].subscribers += 1
        self.next_subscriber = int(feed_rows.meta(connection, "next_subscriber", "1"))
        self.past = past_numbers.past_numbers(connection)
        self.joins = all_joins(connection)
        self.set_aside = all_set_aside(connection)
        self.retained_bytes = retained.retained_bytes(connection)
        self.idempotency_bytes = idempotency.kept_bytes(connection)
        self.feed_names.update({one.key: one.name for one in feeds.values()})
        self.feeds, self.feeds_by_key = feeds, feeds_by_key
        self.subscribers, self.by_key, self.owned = subscribers, by_key, owned
        self.numbers.clear()

    def new_subscriber(self, identifier: str, feed: int, owner: str) -> SubscriberRow:
        """Adds a subscriber; its numbers go on behind those that its id may have had before."""
        start = self.past.get(past_numbers.bucket_of(identifier), 0)
        row = SubscriberRow(self.next_subscriber, identifier, feed, owner, start, start)
        self.next_subscriber += 1
        self.subscribers[identifier] = self.by_key[row.key] = row
        self.owned[owner] = self.owned.get(owner, 0) + 1
        self.feeds_by_key[feed].subscribers += 1
        return row

    def end_subscriber(self, row: SubscriberRow) -> int:
        """Forgets a subscriber; returns its last number, which stays."""
        last = self.last_number(row.key)
        bucket = past_numbers.bucket_of(row.id)
        if last:
            self.past[bucket] = max(last, self.past.get(bucket, 0))
        del self.subscribers[row.id], self.by_key[row.key]
        self.numbers.pop(row.key, None)
        self.set_aside.pop(row.key, None)
        self.joins.pop(row.key, None)
        self.owned[row.owner] -= 1
        if not self.owned[row.owner]:
            del self.owned[row.owner]
        self.feeds_by_key[row.feed].subscribers -= 1
        return last

    def published(self) -> set[str]:
        """The streams that joins publish."""
        return {one.publishes for one in list(self.joins.values())} - {""}

    def missed(self, row: SubscriberRow, aside: SetAsideRow) -> int:
        """How many documents a subscription was not asked about since it was set aside."""
        since = [one.next_number - 1 - aside.numbers.get(one.key, 0) for one in self.feeds_of(row)]
        return aside.missed + sum(since)

    def feeds_of(self, row: SubscriberRow) -> list[FeedEntry]:
        """The feeds whose documents a subscription is asked about."""
        streams = self.joins.get(row.key)
        feeds = list(self.feeds.values())
        if streams is None:
            return [one for one in feeds if one.key == row.feed]
        every = EVERY_STREAM in streams.reads
        return [one for one in feeds if every or one.name in streams.reads]

    def last_number(self, key: int) -> int:
        """The last number of a subscriber; in the thread of the journal."""
        number = self.numbers.get(key)
        if number is None:
            number = notification_rows.last_number(self._connection, key)
            self.numbers[key] = number
        return number
