"""The thread that matches: batches of what has arrived, with the subscriptions of their revision.

It hears what is committed, in the order of the log. Blocks that wait are matched together, feed by
feed; a change of a subscription stands between those before it and those after it. The outcome is
written by the journal: notifications and the mark "matched up to here" in one transaction. After a
crash it starts at the mark, with the subscriptions as they were there.

Nothing that fails in one feed, join or save ends the thread. A subscription that cannot be compiled
is rejected and left out; what fails while documents are matched is found in `isolated_filters`; a
state of joins that cannot be saved is saved later.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any, Final, TypeVar

import msgspec

from extract.broker.batches import BATCH_DOCUMENTS, MatchedBatch, SliceSize
from extract.broker.bodies import SubscriptionBody
from extract.broker.feed_filters import failure_reason, stored_body
from extract.broker.feed_queries import FeedQueries, SetAside
from extract.broker.isolated_filters import ReadAgain, Write, WrittenSaid
from extract.broker.joined_feeds import AsideJoin, JoinedFeeds
from extract.broker.journal import Event, FeedEnd, JoinRights, SubscriptionChange
from extract.broker.recovery import ReadBlocks, Recovered, Replay, is_join
from extract.broker.said_rows import Said
from extract.broker.store.rows import ArrivedBlock, ArrivedDocument, RejectionRow, SetAsideRow
from extract.broker.times import iso_time, now_us
from extract.scheme.registered import Rejected

_log: Final = logging.getLogger("extract.broker.matcher")
_BATCH_BYTES: Final = 16 << 20
SAVE_SECONDS: Final = 30.0  # between two saved states of joins
AGAIN_SECONDS: Final = 1.0  # until a store that does not answer is asked again
REPLAY_DOCUMENTS: Final = 1_000  # between two of them at the start, at least
_encode = msgspec.json.Encoder().encode
_T = TypeVar("_T")


class _Stopped(Exception):
    """The broker stops while the store does not answer."""


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
        stored: Reads the subscriptions of a feed that hold at a revision, by their keys.
        rejected: Called with subscriptions that cannot be compiled.
        max_delay: How many seconds a document may wait for others.
        most_pairs: Documents times subscriptions that are matched in one call.
        observe: Called with the seconds and documents of each batch.

    Attributes:
        refused: Why subscriptions cannot be compiled, by their keys.
        unsaved: Why the state of joins cannot be saved; empty if it can.
        failure: What has ended the thread.
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
        stored: Callable[[int, int], Mapping[int, bytes]],
        rejected: Callable[[list[RejectionRow]], None],
        max_delay: float,
        most_pairs: int,
        observe: Callable[[float, int], None] = lambda seconds, documents: None,
    ) -> None:
        self._stored = stored
        self._rejected = rejected
        self.refused: dict[int, str] = {}
        self.unsaved = ""
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

        Raises:
            Exception: The saved state of joins cannot be read.
        """
        if start.join_state:
            self._reject(0, self._joins.restore(start.join_state))
        for feed, bodies in start.queries.items():
            self._feeds[feed] = filters = self._make(feed)
            filters.load(self._present(feed, bodies))
            self._reject(feed, filters.refused)
        self._joins.change(dict.fromkeys(start.set_aside))
        self._replay, self._set_aside = start.replay, start.set_aside
        every = [one for some in start.queries.values() for one in some.items()]
        self._rights = JoinRights({key: body for key, body in every if is_join(body)}, barred)
        self._backlog = start.backlog
        self._place = (start.position, start.revision)

    def check_joins(self) -> None:
        """Looks for joins that cannot be evaluated; where the thread is not to start."""
        self._change_together(self._rights.joins)

    def _join_as_allowed(self, rights: JoinRights) -> None:
        """Ends joins that are not allowed: others would read what they publish; begins the rest."""
        self._change_together(
            {
                key: None if key in rights.barred else body
                for key, body in rights.joins.items()
                if key not in self._joins.set_aside
                and (key in rights.barred) == (key in self._joins)
            }
        )

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
        except _Stopped:
            return  # what was not matched is matched at the next start
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
        changes: list[SubscriptionChange] = []
        count = size = 0
        for event in self._replay.events(self._read_blocks):
            if self._stopping:
                return False
            if isinstance(event, SubscriptionChange):
                changes.append(event)
            elif isinstance(event, ArrivedBlock):
                self._change_joins(changes)
                changes.clear()
                self._join(event, None)
                self._place = (event.position, event.revision)
                count += len(event.documents)
                size += sum([len(one.content) for one in event.documents])
                if count > max(REPLAY_DOCUMENTS, self._joins.kept // 4) or size > _BATCH_BYTES:
                    self._save_joins(0)
                    count = size = 0
        if self._stopping:
            return False
        self._change_joins(changes)
        self._joins.set_aside.update(self._set_aside)
        self._join_as_allowed(self._rights)
        self._place = place
        self._replay = None
        return True

    def _read_blocks(self, after: int, last: int, most: int) -> Sequence[ArrivedBlock]:
        """Reads blocks; none if the broker stops before the store answers."""
        try:
            return self._answer(lambda: self._read(after, last, most))
        except _Stopped:
            return []

    def _answer(self, read: Callable[[], _T]) -> _T:
        """Reads from the store, as soon as it answers.

        Raises:
            _Stopped: The broker stops before.
        """
        while True:
            try:
                return read()
            except Exception as error:
                _log.error("matching waits for the store: %s", error)
            with self._condition:
                if self._condition.wait_for(lambda: self._stopping, AGAIN_SECONDS):
                    raise _Stopped

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
        changes: list[SubscriptionChange] = []
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
                changes.append(event)
            elif isinstance(event, JoinRights):
                self._change(changes)
                self._join_as_allowed(event)
            elif isinstance(event, FeedEnd):
                self._change(changes)
                self._feeds.pop(event.feed, None)
                self._slices.pop(event.feed, None)
                self._ended(event.feed)
        self._match(blocks)
        self._change(changes)

    # -- subscriptions

    def _filters(self, feed: int) -> FeedQueries:
        if feed not in self._feeds:
            self._feeds[feed] = self._make(feed)
        return self._feeds[feed]

    def _change(self, changes: list[SubscriptionChange]) -> None:
        """Makes changes of subscriptions that came one after the other."""
        if not changes:
            return
        feeds: dict[int, dict[int, bytes | None]] = {}
        for one in changes:
            feeds.setdefault(one.feed, {})[one.key] = one.body
        self._change_joins(changes)
        for feed, some in feeds.items():
            filters = self._filters(feed)
            present = self._present(feed, {k: body for k, body in some.items() if body is not None})
            again = self._again(feed, changes[-1].revision)
            filters.change({key: present.get(key) for key in some}, again)
            self._reject(feed, filters.refused)
        changes.clear()

    def _change_joins(self, changes: Sequence[SubscriptionChange]) -> None:
        """Makes changes of joins; those of one revision together, after a crash as before it."""
        for revision, some in groupby(changes, lambda one: one.revision):
            bodies = {one.key: one.body for one in some}
            for key in bodies:
                self.refused.pop(key, None)
            self._change_together(bodies)
            self._place = (self._place[0], revision)

    def _change_together(self, bodies: Mapping[int, bytes | None]) -> None:
        """Changes joins; those that cannot be evaluated are rejected and left out."""
        joins = {key: body for key, body in bodies.items() if body is not None and is_join(body)}
        read = {key: stored_body(joins[key]) if key in joins else None for key in bodies}
        self._reject(0, self._joins.change(read))

    def _present(self, feed: int, bodies: Mapping[int, bytes]) -> dict[int, SubscriptionBody]:
        """Subscriptions as values; one that cannot be read is rejected and left out."""
        values = {key: stored_body(body) for key, body in bodies.items()}
        torn = [key for key, body in values.items() if body is None]
        reason = "the subscription cannot be read"
        self._reject(feed, {key: Rejected(str(key), "", reason) for key in torn})
        return {key: body for key, body in values.items() if body is not None}

    def _again(self, feed: int, revision: int) -> ReadAgain:
        """Reads the subscriptions of a feed that hold at a revision, when it is called."""
        read = partial(self._answer, lambda: self._stored(feed, revision))
        return lambda: self._present(feed, read())

    def _reject(self, feed: int, refused: Mapping[int, Rejected]) -> None:
        """Tells of subscriptions that cannot be compiled, each once."""
        fresh = {key: one for key, one in refused.items() if key not in self.refused}
        self.refused |= {key: one.reason for key, one in fresh.items()}
        now = now_us()
        rows = [
            RejectionRow(feed, "", str(key), "prepare", one.reason, 0, 0, now)
            for key, one in fresh.items()
        ]
        if rows:
            self._rejected(rows)

    # -- documents

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
                try:
                    self._seen(feed, block.documents)
                except Exception as error:
                    _log.error("the schema of feed %d is not widened", feed, exc_info=error)
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
            common = {"feed": name, "document": document.name, "number": block.first + place}
            common["time"] = iso_time(when)
            for key, said in told:
                batch.tell(key, _encode({**common, **said}))
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
            self._next_save = time.monotonic() + every
            try:
                self._saved(*self._place, self._joins.save())
                self.unsaved = ""
            except Exception as error:  # such as a full disk: documents are kept until it succeeds
                self._joins.changed = True
                self.unsaved = failure_reason(error)
                _log.error("the state of joins cannot be saved now: %s", error, exc_info=error)

    def _match_feed(self, feed: int, blocks: list[ArrivedBlock], batch: MatchedBatch) -> None:
        filters = self._filters(feed)
        if not len(filters):
            return
        every = _Slice.of(feed, blocks, batch)
        size = self._slices.setdefault(feed, SliceSize())
        start = 0
        while start < len(every.documents):
            most = max(1, self._most_pairs // max(1, len(filters)))
            some = every.part(start, min(size.documents, most))
            size.observe(len(some.documents), self._match_slice(some, start))
            start += len(some.documents)

    def _match_slice(self, some: _Slice, first: int) -> int:
        """Asks quick queries; returns to how many notifications that leads."""
        rejected: list[dict[str, Any]] = []
        filters, again = self._filters(some.feed), self._again(some.feed, some.revision)
        write = some.writer(self._name(some.feed))
        told = filters.match(some.documents, rejected, write, again, first)
        return self._tell(some, told, rejected)

    def _match_dear(self, feed: int, blocks: list[ArrivedBlock], batch: MatchedBatch) -> None:
        """Asks queries that take long; what others are told is written before."""
        filters = self._filters(feed)
        if not filters.has_dear:
            return
        self._write_part(batch)
        some = _Slice.of(feed, blocks, batch)
        rejected: list[dict[str, Any]] = []
        ended: list[SetAside] = []
        write, again = some.writer(self._name(feed)), self._again(feed, some.revision)
        told = filters.match_dear(some.documents, rejected, ended, write, again)
        self._tell(some, told, rejected)
        batch.set_aside += [
            SetAsideRow(one.key, one.reason, now_us(), len(some.documents) - 1 - one.place)
            for one in ended
        ]

    def _tell(
        self, some: _Slice, told: Iterable[WrittenSaid], rejected: list[dict[str, Any]]
    ) -> int:
        """Notes what came of a few documents; returns to how many notifications they lead."""
        batch, count = some.batch, 0
        for _, keys, written in told:
            for key in keys:
                batch.tell(key, written)
                if batch.is_large():
                    self._write_large(batch)
            count += len(keys)
        self._reject(some.feed, self._filters(some.feed).refused)
        batch.rejected += [some.rejection(row) for row in rejected]
        return count

    def _write_part(self, batch: MatchedBatch) -> None:
        """Has what there is of an outcome written."""
        if batch.told or batch.rejected:
            self._matched(batch.take_part())

    def _write_large(self, batch: MatchedBatch) -> None:
        """Has a part of an outcome written, if it is much."""
        if batch.is_large():
            self._matched(batch.take_part())


@dataclass(frozen=True, slots=True)
class _Slice:
    """Documents of a feed that are matched in one call, and where the outcome goes."""

    feed: int
    revision: int
    documents: list[ArrivedDocument]
    times: list[int]
    numbers: list[int]
    batch: MatchedBatch

    @classmethod
    def of(cls, feed: int, blocks: Sequence[ArrivedBlock], batch: MatchedBatch) -> _Slice:
        """The documents of blocks."""
        made = cls(feed, blocks[-1].revision, [], [], [], batch)
        for block in blocks:
            made.documents.extend(block.documents)
            made.times.extend(range(block.received, block.received + len(block.documents)))
            made.numbers.extend(range(block.first, block.first + len(block.documents)))
        return made

    def part(self, start: int, most: int) -> _Slice:
        """Some of the documents."""
        chosen = slice(start, start + most)
        documents, times, numbers = self.documents[chosen], self.times[chosen], self.numbers[chosen]
        return _Slice(self.feed, self.revision, documents, times, numbers, self.batch)

    def writer(self, feed: str) -> Write:
        """Writes notifications; what all of a document say is made once."""
        last, common = -1, dict[str, Any]()

        def write(said: Said) -> bytes:
            nonlocal last, common
            if said.place != last:
                last, common = said.place, self._common(feed, said.place)
            return _encode({**common, **said.said})

        return write

    def _common(self, feed: str, place: int) -> dict[str, Any]:
        document = self.documents[place]
        when = self.times[place] if document.time is None else document.time
        return {
            "feed": feed,
            "document": document.name,
            "number": self.numbers[place],
            "time": iso_time(when),
        }

    def rejection(self, row: Mapping[str, Any]) -> RejectionRow:
        """A rejection as the store keeps it."""
        return RejectionRow(
            self.feed,
            self.documents[int(row["document"])].name,
            row["query"] or "",
            row["stage"],
            row["reason"],
            row["line"] or 0,
            row["offset"] or 0,
            now_us(),
        )
