"""The thread that matches: batches of what has arrived, with the subscriptions of their revision.

It hears what is committed, in the order of the log. Blocks that wait are matched together, feed by
feed; a change of a subscription stands between those before it and those after it. The outcome is
written by the journal: notifications and the mark "matched up to here" in one transaction. After a
crash it starts at the mark, with the subscriptions as they were there.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Final

import msgspec

from extract.broker.batches import BATCH_DOCUMENTS, MatchedBatch, SliceSize
from extract.broker.bodies import SubscriptionBody
from extract.broker.feed_filters import read_body
from extract.broker.feed_queries import FeedQueries, SetAside
from extract.broker.joined_feeds import AsideJoin, JoinedFeeds
from extract.broker.journal import Event, FeedEnd, JoinRights, SubscriptionChange
from extract.broker.recovery import ReadBlocks, Recovered, Replay, is_join
from extract.broker.said_rows import Said
from extract.broker.store.rows import ArrivedBlock, ArrivedDocument, RejectionRow, SetAsideRow
from extract.broker.store.tables import StoreError
from extract.broker.times import iso_time, now_us

_log: Final = logging.getLogger("extract.broker.matcher")
_BATCH_BYTES: Final = 16 << 20
SAVE_SECONDS: Final = 30.0  # between two saved states of joins
AGAIN_SECONDS: Final = 1.0  # until a store that does not answer is asked again
REPLAY_DOCUMENTS: Final = 1_000  # between two of them at the start, at least
_encode = msgspec.json.Encoder().encode


class MatchingThread:
    """Matches documents in the order of the log.

    Args:
        filters: Makes the filters of a feed, by its key.
        names: The name of each feed, by its key.
        matched: Called with the outcome of each batch, or parts of it, in their order; may wait.
        joins: The joins between documents.
        saved: Called with a state of the joins, and its position and revision.
        read: Reads blocks of the log again.
        seen: Called with the documents of a feed that were matched.
        ended: Called with a feed that is gone, when no document of it is left.
        max_delay: How many seconds a document may wait for others.
        most_pairs: Documents times subscriptions that are matched in one call.
        observe: Called with the seconds and documents of each batch.
    """

    def __init__(
        self,
        filters: Callable[[int], FeedQueries],
        names: Callable[[int], str],
        matched: Callable[[MatchedBatch], None],
        joins: JoinedFeeds,
        saved: Callable[[int, int, bytes], None],
        read: ReadBlocks,
        seen: Callable[[int, Sequence[ArrivedDocument]], None],
        ended: Callable[[int], None],
        max_delay: float,
        most_pairs: int,
        observe: Callable[[float, int], None] = lambda seconds, documents: None,
    ) -> None:
        self._make = filters
        self._name = names
        self._matched = matched
        self._max_delay = max_delay
        self._most_pairs = most_pairs
        self._observe = observe
        self._joins = joins
        self._saved = saved
        self._read = read
        self._replay: Replay | None = None
        self._set_aside: Collection[int] = ()  # subscribers, at the start
        self._rights = JoinRights({}, ())
        self._seen = seen
        self._ended = ended
        self._place = (0, 0)  # position and revision that all is done up to
        self._next_save = time.monotonic() + SAVE_SECONDS
        self._feeds: dict[int, FeedQueries] = {}
        self._slices: dict[int, SliceSize] = {}
        self._backlog: list[Event] = []
        self._waiting: list[Event] = []
        self._documents = 0
        self._since = 0.0  # when the first that waits came
        self._condition = threading.Condition()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="matcher", daemon=True)
        self.failure: BaseException | None = None

    def load(self, start: Recovered, barred: Collection[int] = ()) -> None:
        """Compiles what holds at the start, by feed, and takes what is to be done first.

        Args:
            start: What the last broker left.
            barred: Subscribers whose joins are not asked, for want of a right.
        """
        for feed, bodies in start.queries.items():
            self._feeds[feed] = filters = self._make(feed)
            filters.load({key: read_body(body) for key, body in bodies.items()})
        if start.join_state:
            self._joins.restore(start.join_state)
        for key in start.set_aside:
            self._joins.change(key, None)
        self._replay, self._set_aside = start.replay, start.set_aside
        every = [one for some in start.queries.values() for one in some.items()]
        self._rights = JoinRights({key: body for key, body in every if is_join(body)}, barred)
        self._backlog = start.backlog
        self._place = (start.position, start.revision)

    def _join_as_allowed(self, rights: JoinRights) -> None:
        """Ends joins that are not allowed: others would read what they publish; begins the rest."""
        for key, body in rights.joins.items():
            if key in self._joins.set_aside:
                continue
            if (key in rights.barred) == (key in self._joins):
                self._joins.change(key, None if key in rights.barred else read_body(body))

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Ends after the batch that is under way; the rest is matched at the next start."""
        with self._condition:
            self._stopping = True
            self._condition.notify()
        self._thread.join()

    def hear(self, events: list[Event]) -> None:
        """Takes what was committed."""
        with self._condition:
            if not self._waiting:
                self._since = time.monotonic()
            self._waiting += events
            self._documents += sum(
                [len(one.documents) for one in events if isinstance(one, ArrivedBlock)]
            )
            self._condition.notify()

    def engine_states(self) -> int:
        """States of the automata of all filters."""
        return sum([one.states() for one in list(self._feeds.values())])

    @property
    def is_catching_up(self) -> bool:
        """Whether joins do not have yet what they had when the last broker ended."""
        return self._replay is not None

    def _run(self) -> None:
        try:
            if not self._catch_up():
                self._save_joins(0)
                return
            self._process(self._backlog)
            self._backlog = []
            while True:
                events = self._next()
                if not events:
                    self._save_joins(0)
                    return
                self._process(events)
                self._save_joins(SAVE_SECONDS)
        except BaseException as error:
            self.failure = error
            _log.critical("matching stopped: %s", error, exc_info=error)

    def _catch_up(self) -> bool:
        """Gives joins again what they saw; their state is saved on the way.

        It is saved after so many documents, not after a time: a broker that is killed again and
        again goes on from the last of these places. A large state is not saved so often, so that
        most of the time goes into documents.

        Returns:
            Whether joins have all; otherwise the broker stops.
        """
        assert self._replay is not None
        place, self._place = self._place, (self._replay.position, self._replay.revision)
        count = size = 0
        for event in self._replay.events(self._read_again):
            if self._stopping:
                return False
            if isinstance(event, SubscriptionChange):
                self._change_join(event)
            elif isinstance(event, ArrivedBlock):
                self._join(event, None)
                self._place = (event.position, event.revision)
                count += len(event.documents)
                size += sum([len(one.content) for one in event.documents])
                if count > max(REPLAY_DOCUMENTS, self._joins.kept // 4) or size > _BATCH_BYTES:
                    self._save_joins(0)
                    count = size = 0
        if self._stopping:
            return False
        self._joins.set_aside.update(self._set_aside)
        self._join_as_allowed(self._rights)
        self._place = place
        self._replay = None
        return True

    def _read_again(self, after: int, last: int, most: int) -> Sequence[ArrivedBlock]:
        """Reads blocks, as soon as the store answers; none if the broker stops before."""
        while True:
            try:
                return self._read(after, last, most)
            except StoreError as error:
                _log.warning("joins wait for the store: %s", error)
            with self._condition:
                if self._condition.wait_for(lambda: self._stopping, AGAIN_SECONDS):
                    return []

    def _change_join(self, event: SubscriptionChange) -> SubscriptionBody | None:
        body = None if event.body is None else read_body(event.body)
        self._place = (self._place[0], event.revision)
        self._joins.change(event.key, body)
        return body

    def _next(self) -> list[Event]:
        """What waits, when it is much or has waited long enough; nothing at the end."""
        with self._condition:
            while not self._stopping:
                if self._waiting:
                    left = self._since + self._max_delay - time.monotonic()
                    if left <= 0 or self._documents >= BATCH_DOCUMENTS:
                        break
                    self._condition.wait(left)
                else:
                    self._condition.wait()
            if self._stopping:
                return []
            taken, self._waiting, self._documents = self._waiting, [], 0
            return taken

    def _process(self, events: list[Event]) -> None:
        """Matches blocks up to the next change, makes the changes, and so on."""
        blocks: list[ArrivedBlock] = []
        documents = size = 0
        changes: dict[int, dict[int, Any]] = {}
        for event in events:
            if isinstance(event, ArrivedBlock):
                self._change(changes)
                blocks.append(event)
                documents += len(event.documents)
                size += sum([len(one.content) for one in event.documents])
                if documents < BATCH_DOCUMENTS and size < _BATCH_BYTES:
                    continue
            self._match(blocks)
            blocks, documents, size = [], 0, 0
            if self._stopping:
                return
            if isinstance(event, SubscriptionChange):
                changes.setdefault(event.feed, {})[event.key] = self._change_join(event)
            elif isinstance(event, JoinRights):
                self._join_as_allowed(event)
            elif isinstance(event, FeedEnd):
                self._change(changes)
                self._feeds.pop(event.feed, None)
                self._slices.pop(event.feed, None)
                self._ended(event.feed)
        self._match(blocks)
        self._change(changes)

    def _filters(self, feed: int) -> FeedQueries:
        if feed not in self._feeds:
            self._feeds[feed] = self._make(feed)
        return self._feeds[feed]

    def _change(self, changes: dict[int, dict[int, Any]]) -> None:
        """Makes changes of subscriptions that came one after the other."""
        for feed, some in changes.items():
            self._filters(feed).change(some)
        changes.clear()

    def _match(self, blocks: list[ArrivedBlock]) -> None:
        if not blocks:
            return
        begun = time.perf_counter()
        batch = MatchedBatch(blocks[-1].position, blocks[-1].revision)
        feeds: dict[int, list[ArrivedBlock]] = {}
        for block in blocks:
            feeds.setdefault(block.feed, []).append(block)
            batch.documents += len(block.documents)
            batch.size += sum([len(one.content) for one in block.documents])
            batch.received.append((block.received, len(block.documents)))
        for feed, some in feeds.items():
            self._match_feed(feed, some, batch)
            for block in some:
                self._seen(feed, block.documents)
        aside: list[AsideJoin] = []
        if self._joins.has_unanswered:  # others need not wait for it
            self._write_part(batch)
        for block in blocks:
            self._join(block, batch, aside)
        batch.set_aside += [SetAsideRow(a.key, a.reason, now_us(), a.missed) for a in aside]
        for feed, some in feeds.items():
            self._match_dear(feed, some, batch)
        self._place = (batch.position, blocks[-1].revision)
        self._observe(time.perf_counter() - begun, batch.documents)
        self._matched(batch)

    def _join(
        self, block: ArrivedBlock, batch: MatchedBatch | None, aside: list[AsideJoin] | None = None
    ) -> None:
        """Gives documents to the joins; without a batch what they lead to is told already.

        Args:
            block: The documents.
            batch: Gets what they lead to.
            aside: Gets joins that are asked no more; those that it has miss these documents.
        """
        if not len(self._joins) and not aside:
            return
        name = self._name(block.feed)
        for place, document in enumerate(block.documents):
            when = block.received + place if document.time is None else document.time
            told, rejected = self._joins.process(name, document, when)
            if batch is None:
                continue
            for key, said in told:
                entry = {"feed": name, "document": document.name, "number": block.first + place}
                entry |= {"time": iso_time(when), **said}
                batch.tell(key, _encode(entry))
                self._write_large(batch)
            for one in rejected:
                query, document_name = one.query or "", one.document or ""
                row = RejectionRow(
                    block.feed, document_name, query, one.stage, one.reason, 0, 0, when
                )
                batch.rejected.append(row)
            self._write_large(batch)
            if aside is not None:
                for gone in aside:
                    gone.miss(name)
                aside += self._joins.note_unanswered(name, rejected)

    def _save_joins(self, every: float) -> None:
        """Has the state of joins saved, if it has changed and the last time is long ago."""
        if self._joins.changed and (not every or time.monotonic() >= self._next_save):
            self._saved(*self._place, self._joins.save())
            self._next_save = time.monotonic() + every

    def _match_feed(self, feed: int, blocks: list[ArrivedBlock], batch: MatchedBatch) -> None:
        filters = self._filters(feed)
        if not len(filters):
            return
        documents, times, numbers = _columns(blocks)
        size = self._slices.setdefault(feed, SliceSize())
        start = 0
        while start < len(documents):
            most = max(1, self._most_pairs // len(filters))
            chosen = slice(start, start + min(size.documents, most))
            some = documents[chosen]
            rejected: list[dict[str, Any]] = []
            told = filters.match(some, rejected, start)
            count = self._tell(feed, told, some, times[chosen], numbers[chosen], rejected, batch)
            size.observe(len(some), count)
            start += len(some)

    def _match_dear(self, feed: int, blocks: list[ArrivedBlock], batch: MatchedBatch) -> None:
        """Asks queries that take long; what others are told is written before."""
        filters = self._filters(feed)
        if not filters.has_dear:
            return
        self._write_part(batch)
        documents, times, numbers = _columns(blocks)
        rejected: list[dict[str, Any]] = []
        ended: list[SetAside] = []
        told = filters.match_dear(documents, rejected, ended)
        self._tell(feed, told, documents, times, numbers, rejected, batch)
        batch.set_aside += [
            SetAsideRow(one.key, one.reason, now_us(), len(documents) - 1 - one.place)
            for one in ended
        ]

    def _tell(
        self,
        feed: int,
        told: Iterable[Said],
        documents: list[ArrivedDocument],
        times: list[int],
        numbers: list[int],
        rejected: list[dict[str, Any]],
        batch: MatchedBatch,
    ) -> int:
        """Notes what came of a few documents; returns to how many notifications they lead."""
        name, count = self._name(feed), 0
        for place, keys, said in told:
            document = documents[place]
            when = times[place] if document.time is None else document.time
            entry = {
                "feed": name,
                "document": document.name,
                "number": numbers[place],
                "time": iso_time(when),
                **said,
            }
            written = _encode(entry)
            for key in keys:
                batch.tell(key, written)
                self._write_large(batch)
            count += len(keys)
        for row in rejected:
            document = documents[int(row["document"])]
            batch.rejected.append(
                RejectionRow(
                    feed,
                    document.name,
                    row["query"] or "",
                    row["stage"],
                    row["reason"],
                    row["line"] or 0,
                    row["offset"] or 0,
                    now_us(),
                )
            )
        return count

    def _write_part(self, batch: MatchedBatch) -> None:
        """Has what there is of an outcome written."""
        if batch.told or batch.rejected:
            self._matched(batch.take_part())

    def _write_large(self, batch: MatchedBatch) -> None:
        """Has a part of an outcome written, if it is much."""
        if batch.is_large():
            self._matched(batch.take_part())


def _columns(
    blocks: Iterable[ArrivedBlock],
) -> tuple[list[ArrivedDocument], list[int], list[int]]:
    """The documents of blocks, when each came, and their numbers in the feed."""
    documents: list[ArrivedDocument] = []
    times: list[int] = []
    numbers: list[int] = []
    for block in blocks:
        documents += block.documents
        times += range(block.received, block.received + len(block.documents))
        numbers += range(block.first, block.first + len(block.documents))
    return documents, times, numbers
