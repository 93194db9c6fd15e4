"""The thread that matches: batches of what has arrived, with the subscriptions of their revision.

It hears what is committed, in the order of the log. Blocks that wait are matched together, feed by
feed; a change of a subscription stands between those before it and those after it. The outcome is
written by the journal: notifications and the mark "matched up to here" in one transaction. After a
crash it starts at the mark, with the subscriptions as they were there.

Nothing that fails in one feed, join or save ends the thread. A subscription that cannot be compiled
is rejected and left out. Where matching fails, the filters of the feed are compiled again from the
store; documents, and then subscriptions, are tried by halves until those are found with which it
fails: these pairs are rejected, and all others are answered.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from extract.broker.batches import BATCH_DOCUMENTS, MatchedBatch, SliceSize
from extract.broker.bodies import SubscriptionBody
from extract.broker.feed_filters import (
    FeedFilters,
    failing,
    failure_reason,
    select_of,
    stored_body,
)
from extract.broker.joined_feeds import JoinedFeeds
from extract.broker.journal import Event, FeedEnd, SubscriptionChange
from extract.broker.recovery import Recovered
from extract.broker.store.rows import ArrivedBlock, ArrivedDocument, RejectionRow
from extract.broker.times import iso_time, now_us
from extract.scheme.registered import Rejected

_log: Final = logging.getLogger("extract.broker.matcher")
_BATCH_BYTES: Final = 16 << 20
SAVE_SECONDS: Final = 30.0  # between two saved states of joins
_AGAIN_SECONDS: Final = 1.0  # until a store that cannot be read is asked again
_APART: Final = 16  # subscriptions that fail on one document, before it is the document
_encode = msgspec.json.Encoder().encode


class _Stopped(Exception):
    """The broker stops while the store cannot be read."""


class MatchingThread:
    """Matches documents in the order of the log.

    Args:
        filters: Makes the filters of a feed, by its key, with the queries given.
        names: The name of each feed, by its key.
        matched: Called with the outcome of each batch, or parts of it, in their order; may wait.
        joins: The joins between documents.
        saved: Called with a state of the joins, and its position and revision.
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
        filters: Callable[[int], FeedFilters],
        names: Callable[[int], str],
        matched: Callable[[MatchedBatch], None],
        joins: JoinedFeeds,
        saved: Callable[[int, int, bytes], None],
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
        self._seen = seen
        self._ended = ended
        self._place = (0, 0)  # position and revision that all is done up to
        self._next_save = time.monotonic() + SAVE_SECONDS
        self._feeds: dict[int, FeedFilters] = {}
        self._slices: dict[int, SliceSize] = {}
        self._backlog: list[Event] = []
        self._waiting: list[Event] = []
        self._documents = 0
        self._since = 0.0  # when the first that waits came
        self._condition = threading.Condition()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="matcher", daemon=True)
        self.failure: BaseException | None = None

    def load(self, start: Recovered) -> None:
        """Compiles what holds at the start, by feed, and takes what is to be done first."""
        for feed, bodies in start.queries.items():
            self._load(feed, bodies)
        if start.join_state:
            self._reject(0, self._joins.restore(start.join_state))
        changes: list[SubscriptionChange] = []
        for event in start.replay:
            if isinstance(event, ArrivedBlock):
                self._change_joins(changes)
                changes.clear()
                self._join(event, None)
            elif isinstance(event, SubscriptionChange):
                changes.append(event)
        self._change_joins(changes)
        self._backlog = start.backlog
        self._place = (start.position, start.revision)

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

    def _run(self) -> None:
        try:
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
            elif isinstance(event, FeedEnd):
                self._change(changes)
                self._feeds.pop(event.feed, None)
                self._slices.pop(event.feed, None)
                self._ended(event.feed)
        self._match(blocks)
        self._change(changes)

    # -- subscriptions

    def _filters(self, feed: int) -> FeedFilters:
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
        revision = changes[-1].revision
        self._change_joins(changes)
        for feed, some in feeds.items():
            try:
                refused = self._filters(feed).change(self._readable(feed, some))
            except Exception as error:
                _log.error("the changes of feed %d fail", feed, exc_info=error)
                self._load_again(feed, revision)
            else:
                self._reject(feed, refused)
        self._place = (self._place[0], revision)
        changes.clear()

    def _change_joins(self, changes: Sequence[SubscriptionChange]) -> None:
        """Makes changes of joins; of those of one join the last one counts, in its place."""
        for one in changes:
            self.refused.pop(one.key, None)
        last = {one.key: one for one in changes}
        some = [one for one in changes if last[one.key] is one]
        bodies = {one.key: None if one.body is None else stored_body(one.body) for one in some}
        self._reject(some[0].feed if some else 0, self._joins.change(bodies))

    def _readable(
        self, feed: int, bodies: Mapping[int, bytes | None]
    ) -> dict[int, SubscriptionBody | None]:
        """Subscriptions as values; one that cannot be read is rejected, as if it were gone."""
        values = {key: None if body is None else stored_body(body) for key, body in bodies.items()}
        reason = "the subscription cannot be read"
        self._reject(
            feed,
            {
                key: Rejected(str(key), "", reason)
                for key, body in bodies.items()
                if body is not None and values[key] is None
            },
        )
        return values

    def _load(self, feed: int, bodies: Mapping[int, bytes], apart: Collection[int] = ()) -> None:
        """Compiles the filters of a feed; what cannot be compiled is rejected and left out."""
        read = self._readable(feed, bodies)
        values = {key: body for key, body in read.items() if body is not None}
        self._feeds[feed] = filters = self._make(feed)
        try:
            self._reject(feed, filters.load(values, apart))
        except Exception as error:
            _log.error("no subscription of feed %d can be compiled", feed, exc_info=error)
            self._feeds[feed] = self._make(feed)
            reason = failure_reason(error)
            self._reject(feed, {key: Rejected(str(key), "", reason) for key in values})

    def _load_again(self, feed: int, revision: int, apart: Collection[int] = ()) -> None:
        """Compiles the filters of a feed as the store has them, after something has failed."""
        self._load(feed, self._read(feed, revision), apart)

    def _read(self, feed: int, revision: int) -> Mapping[int, bytes]:
        """Reads the subscriptions of a feed, as soon as the store can be read.

        Raises:
            _Stopped: The broker stops meanwhile.
        """
        while True:
            try:
                return self._stored(feed, revision)
            except Exception as error:
                _log.error("the subscriptions of feed %d cannot be read: %s", feed, error)
            with self._condition:
                if self._condition.wait_for(lambda: self._stopping, _AGAIN_SECONDS):
                    raise _Stopped

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
        batch = MatchedBatch(blocks[-1].position)
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
        for block in blocks:
            self._join(block, batch)
        self._place = (batch.position, blocks[-1].revision)
        self._observe(time.perf_counter() - begun, batch.documents)
        self._matched(batch)

    def _join(self, block: ArrivedBlock, batch: MatchedBatch | None) -> None:
        """Gives documents to the joins; without a batch what they lead to is told already."""
        if not len(self._joins):
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
                self._tell(batch, (key,), _encode({**common, **said}))
            for one in rejected:
                query, document_name = one.query or "", one.document or ""
                row = RejectionRow(
                    block.feed, document_name, query, one.stage, one.reason, 0, 0, when
                )
                batch.rejected.append(row)

    def _save_joins(self, every: float) -> None:
        """Has the state of joins saved, if it has changed and the last time is long ago."""
        if self._joins.changed and (not every or time.monotonic() >= self._next_save):
            self._next_save = time.monotonic() + every
            try:
                self._saved(*self._place, self._joins.save())
                self.unsaved = ""
            except Exception as error:  # such as a full disk: documents are kept until it succeeds
                self.unsaved = failure_reason(error)
                _log.error("the state of joins cannot be saved now: %s", error, exc_info=error)

    def _match_feed(self, feed: int, blocks: list[ArrivedBlock], batch: MatchedBatch) -> None:
        filters = self._filters(feed)
        if not len(filters):
            return
        documents: list[ArrivedDocument] = []
        times: list[int] = []
        numbers: list[int] = []
        for block in blocks:
            documents += block.documents
            times += range(block.received, block.received + len(block.documents))
            numbers += range(block.first, block.first + len(block.documents))
        size = self._slices.setdefault(feed, SliceSize())
        start = 0
        while start < len(documents):
            filters = self._filters(feed)  # which may have been compiled again
            most = max(1, self._most_pairs // max(1, len(filters)))
            chosen = slice(start, start + min(size.documents, most))
            some = documents[chosen]
            slice_ = _Slice(feed, blocks[-1].revision, some, times[chosen], numbers[chosen], batch)
            size.observe(len(some), self._match_slice(slice_))
            start += len(some)

    def _match_slice(self, some: _Slice) -> int:
        """Matches a few documents; returns to how many notifications they lead."""
        told: list[tuple[int, Sequence[int]]] = []
        rejected: list[dict[str, Any]] = []
        name, filters = self._name(some.feed), self._filters(some.feed)
        batch, last = some.batch, -1
        try:
            for place, keys, said in filters.match(some.documents, rejected):
                if place != last:
                    last, common = place, some.common(name, place)
                written = _encode({**common, **said})
                told.append((place, keys))
                for key in keys:  # as `_tell` does, and without a call for each
                    batch.tell(key, written)
                    if batch.is_large():
                        self._matched(batch.take_part())
        except Exception as error:
            _log.error("the documents of feed %s cannot be matched", name, exc_info=error)
            pairs = {(place, key) for place, keys in told for key in keys}
            rejected = self._match_halves(some, pairs)
        some.batch.rejected += [some.rejection(row) for row in rejected]
        return sum([len(keys) for _, keys in told])

    def _tell(self, batch: MatchedBatch, keys: Sequence[int], written: bytes) -> None:
        for key in keys:
            batch.tell(key, written)
            if batch.is_large():
                self._matched(batch.take_part())

    def _match_halves(self, some: _Slice, told: set[tuple[int, int]]) -> list[dict[str, Any]]:
        """Matches documents again of which some fail, and returns what is rejected.

        Args:
            some: The documents.
            told: The places and subscribers of what is told already.
        """
        rejected: list[dict[str, Any]] = []
        name = self._name(some.feed)
        self._load_again(some.feed, some.revision, self._filters(some.feed).apart)

        def succeeds(places: Sequence[int]) -> bool:
            rows: list[dict[str, Any]] = []
            documents = [some.documents[place] for place in places]
            try:
                said = self._filters(some.feed).match(documents, rows)
                placed = [one._replace(place=places[one.place]) for one in said]
                found = [
                    (one, _encode({**some.common(name, one.place), **one.said})) for one in placed
                ]
            except Exception:
                return False
            for one, written in found:
                keys = [key for key in one.keys if (one.place, key) not in told]
                told.update([(one.place, key) for key in keys])
                self._tell(some.batch, keys, written)
            rejected.extend([{**row, "document": places[int(row["document"])]} for row in rows])
            return True

        def halve(places: Sequence[int]) -> None:  # in order, as notifications are
            if succeeds(places):
                return
            if len(places) > 1:
                half = len(places) // 2
                halve(places[:half])
                halve(places[half:])
                return
            apart = self._set_apart(some, some.documents[places[0]])
            if not apart or not succeeds(places):
                reason = "extract failed on this document; the log of the broker says where"
                row = {"document": places[0], "query": "", "stage": "match", "reason": reason}
                rejected.append({**row, "line": 0, "offset": 0})

        halve(range(len(some.documents)))
        return rejected

    def _set_apart(self, some: _Slice, document: ArrivedDocument) -> bool:
        """Gives the subscriptions that fail on a document filters of their own.

        Returns:
            Whether there are any, and few: what fails with many is the document.
        """
        bodies = {key: stored_body(b) for key, b in self._read(some.feed, some.revision).items()}
        values = {key: body for key, body in bodies.items() if body is not None}

        def attempt(keys: Sequence[int]) -> None:
            filters = self._make(some.feed)
            filters.load({key: values[key] for key in keys})
            for _ in filters.match([document], []):
                pass

        apart = self._filters(some.feed).apart
        keys = [key for key, body in values.items() if select_of(body) and key not in apart]
        bad = failing(attempt, keys, _APART) if keys else {}
        if not 0 < len(bad) <= _APART:
            return False
        self._load_again(some.feed, some.revision, {*apart, *bad})
        return True


@dataclass(frozen=True, slots=True)
class _Slice:
    """Documents of a feed that are matched in one call, and where the outcome goes."""

    feed: int
    revision: int
    documents: list[ArrivedDocument]
    times: list[int]
    numbers: list[int]
    batch: MatchedBatch

    def common(self, feed: str, place: int) -> dict[str, Any]:
        """What all notifications of a document say."""
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
