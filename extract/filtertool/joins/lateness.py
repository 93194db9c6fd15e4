"""Lateness: how far the streams of each query have come, and which documents are late for it.

A query goes by its *sources*: the streams that it reads, and those of which others publish these.
A document is late for it if its time is further behind the latest of its sources than the lateness
allows. That is a number that was given for all queries, or the longest window in time of the
queries that share a source with it; a query with a window in events then takes any time.

Queries that read the same streams and have come equally far are a *timeline*. A query that is added
beside others may have a wider window: a document that is late for these need not be late for it,
so it begins a timeline of its own. What was late for a query stays late for it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from extract.filtertool.joins.blocks import LATEST, NEVER
from extract.filtertool.joins.plan import WindowSizes
from extract.filtertool.results.outcome import Rejection
from extract.xscl.ast import EVERY_STREAM, XsclQuery

LATE: Final = "late"  # the stage of rejections of documents that are late for a query

Timelines: TypeAlias = frozenset[int]
"""Numbers of timelines: of the queries that a document is late for."""


class Late(NamedTuple):
    """The queries that a document is late for.

    Attributes:
        timelines: Their timelines.
        rejections: One for each query, in their order.
        whole: Whether these are all queries that read its stream; then the document is rejected.
    """

    timelines: Timelines = frozenset()
    rejections: tuple[Rejection, ...] = ()
    whole: bool = False


_NOT_LATE: Final = Late()


@dataclass(slots=True, eq=False)
class _Timeline:
    """Queries that read the same streams and have come equally far.

    Attributes:
        number: Its number among all that there ever were.
        streams: The streams that the queries name.
        in_time: Whether their windows are in time.
        sources: The streams that lead to them; `EVERY_STREAM` alone if all inputs do.
        floor: What is earlier was late before queries changed, and stays late; None at first.
        queries: The orders of the queries, by id.
        sizes: The sizes of their windows.
    """

    number: int
    streams: frozenset[str]
    in_time: bool
    sources: frozenset[str]
    floor: int | None = None
    queries: dict[str, int] = field(default_factory=dict)
    sizes: WindowSizes = field(default_factory=WindowSizes)


class Lateness:
    """How far the streams of all queries have come.

    Args:
        given: By how many microseconds a document may be late; None for the longest window.

    Attributes:
        latest: The latest time of each input stream; that of all is at `EVERY_STREAM`.
    """

    def __init__(self, given: int | None = None) -> None:
        self._given = given
        self.latest: dict[str, int] = {}
        self._timelines: dict[int, _Timeline] = {}
        self._next = 0
        self._first_new = 0  # of timelines that no document came for
        self._of: dict[str, _Timeline] = {}
        self._readers: defaultdict[str, dict[int, _Timeline]] = defaultdict(dict)
        self._publishers: defaultdict[str, Counter[frozenset[str]]] = defaultdict(Counter)
        self._widest: dict[str, int] | None = {}  # by source; None when it has to be made again
        self._is_kept = True  # whether floors are what was late for the last document
        self._last: Timelines = frozenset()
        self._horizons: dict[tuple[str, bool], int] = {}

    # -- queries

    def add(self, identifier: str, order: int, query: XsclQuery, timeline: int = -1) -> int:
        """Adds a query.

        Args:
            identifier: Its id.
            order: Its number among all queries that there ever were.
            query: The query.
            timeline: The number of its timeline; below 0 if it has none yet.

        Returns:
            The number of its timeline.
        """
        self._keep_floors()
        streams, in_time = frozenset(query.streams), not query.window.events
        if query.publish:
            self._publish(query.publish, streams, 1)
        sources, size = self._sources(streams), query.window.size
        if in_time:
            _widen(self._widths(), sources, size)
        own = self._timelines.get(timeline)
        if timeline < 0:
            horizon, some = self._behind(sources, in_time), self._readers[query.streams[0]]
            alike = (t for t in some.values() if (t.streams, t.in_time) == (streams, in_time))
            is_like = (t for t in alike if t.number >= self._first_new or t.floor == horizon)
            own = next(is_like, None)
        if own is None:
            number = self._next if timeline < 0 else timeline
            own = self._timelines[number] = _Timeline(number, streams, in_time, sources)
            self._next = max(self._next, number + 1)
            for stream in streams:
                self._readers[stream][number] = own
        own.queries[identifier] = order
        own.sizes.add(size)
        self._of[identifier] = own
        self._horizons.clear()
        return own.number

    def remove(self, identifier: str, query: XsclQuery) -> None:
        """Removes a query."""
        self._keep_floors()
        own = self._of.pop(identifier)
        del own.queries[identifier]
        own.sizes.remove(query.window.size)
        if not own.queries:
            del self._timelines[own.number]
            for stream in own.streams:
                del self._readers[stream][own.number]
                if not self._readers[stream]:
                    del self._readers[stream]
        if query.publish:
            self._publish(query.publish, own.streams, -1)
        self._widest = None
        self._horizons.clear()

    def _publish(self, stream: str, read: frozenset[str], more: int) -> None:
        """Counts what publishes a stream; if that changes, its readers have other sources."""
        publishers = self._publishers[stream]
        before = set(publishers)
        publishers[read] += more
        if not publishers[read]:
            del publishers[read]
        if publishers.keys() == before:
            return
        if not publishers:
            del self._publishers[stream]
        if stream in self._readers:
            for timeline in self._timelines.values():
                timeline.sources = self._sources(timeline.streams)
            self._widest = None

    def _sources(self, streams: Iterable[str]) -> frozenset[str]:
        """Some streams, and those that lead to them."""
        seen = set(streams)
        waiting = list(seen)
        while waiting:
            for read in self._publishers.get(waiting.pop(), ()):
                waiting += read - seen
                seen |= read
        if EVERY_STREAM in seen:
            return frozenset([EVERY_STREAM])
        return frozenset(seen)

    def _keep_floors(self) -> None:
        """Lets stay late what is, before queries change; once between two documents."""
        if not self._is_kept:
            for timeline in self._timelines.values():
                timeline.floor = self._horizon(timeline)
            self._is_kept, self._first_new = True, self._next

    # -- documents

    def late(self, stream: str, name: str, time: int, published: bool = False) -> Late:
        """Returns for which queries a document is late now.

        Args:
            stream: Its stream.
            name: Its name.
            time: Its time.
            published: Whether a query made it.
        """
        self._is_kept = False
        if time >= self.latest.get(EVERY_STREAM, time):
            return _NOT_LATE
        readers = self._readers_of(stream, published)
        late: list[tuple[_Timeline, int]] = []
        for timeline in readers:
            horizon = self._horizon(timeline)
            if horizon is not None and time < horizon:
                late.append((timeline, horizon))
        if not late:
            return _NOT_LATE
        numbers = frozenset([timeline.number for timeline, _ in late])
        if numbers != self._last:
            self._last = numbers  # documents that follow are late for the same queries
        some = sorted([(order, name_, at) for t, at in late for name_, order in t.queries.items()])
        rejections = [late_document(name, query, time, horizon) for _, query, horizon in some]
        return Late(self._last, tuple(rejections), len(late) == len(readers))

    def accept(self, stream: str, time: int) -> None:
        """Takes the next document; published ones are not later than inputs, and change nothing."""
        self._is_kept = False
        for name in (stream, EVERY_STREAM):
            if time > self.latest.get(name, time - 1):
                self.latest[name] = time
                self._horizons.clear()

    def arrival(self, stream: str, now: int) -> int:
        """Returns the time of a document that has none: now, and after all that it may join."""
        sources = {stream}.union(*[one.sources for one in self._readers_of(stream, False)])
        return max([now, *[self.latest[one] + 1 for one in sources if one in self.latest]])

    def horizon(self, stream: str, published: bool) -> int:
        """Returns until when documents of a stream have to be kept at least to be needed."""
        known = self._horizons.get((stream, published))
        if known is None:
            some = [t for t in self._readers_of(stream, published) if t.in_time]
            horizons = [self._horizon(one) for one in some]
            known = min([NEVER if one is None else one for one in horizons], default=LATEST)
            self._horizons[stream, published] = known
        return known

    def _readers_of(self, stream: str, published: bool) -> list[_Timeline]:
        """The timelines of queries that name the stream of a document."""
        own = self._readers.get(stream, {})
        if published or stream == EVERY_STREAM:
            return list(own.values())
        return list({**own, **self._readers.get(EVERY_STREAM, {})}.values())

    def _horizon(self, timeline: _Timeline) -> int | None:
        """The first time that is not late for the queries of a timeline; None if none is."""
        behind = self._behind(timeline.sources, timeline.in_time)
        some = [one for one in (behind, timeline.floor) if one is not None]
        return max(some, default=None)

    def _behind(self, sources: frozenset[str], in_time: bool) -> int | None:
        """The first time that would not be late for a query, had it just been added."""
        times = [self.latest[one] for one in sources if one in self.latest]
        if not times or (self._given is None and not in_time):
            return None
        return max(times) - (self._lateness(sources) if self._given is None else self._given)

    def _lateness(self, sources: frozenset[str]) -> int:
        widths = self._widths()
        if EVERY_STREAM in sources:
            return max(widths.values())
        return max([widths.get(one, 0) for one in (*sources, EVERY_STREAM)])

    def _widths(self) -> dict[str, int]:
        """The widest windows in time of queries, by source."""
        if self._widest is None:
            self._widest = {}
            for one in self._timelines.values():
                if one.in_time:
                    _widen(self._widest, one.sources, one.sizes.widest)
        return self._widest

    # -- snapshots

    def begin(self, latest: Mapping[str, int]) -> None:
        """Goes on where streams had come so far, with the queries of the beginning."""
        self.latest = dict(latest)
        self._horizons.clear()

    def dump(self) -> dict[str, Any]:
        """Returns what `load` needs, beside the queries, as JSON values."""
        self._keep_floors()
        floors = [[one.number, one.floor] for one in self._timelines.values()]
        return {"latest": self.latest, "floors": floors, "next": self._next}

    def load(self, facts: Mapping[str, Any]) -> None:
        """Goes on where `dump` was called, when the queries are added."""
        self.latest, self._next = dict(facts["latest"]), facts["next"]
        for number, floor in facts["floors"]:
            self._timelines[number].floor = floor
        self._first_new = self._next
        self._horizons.clear()

    def stay(self, horizon: int | None) -> None:
        """Goes on where what is earlier than a time was late for all queries."""
        for timeline in self._timelines.values():
            if timeline.in_time or self._given is not None:
                timeline.floor = horizon
        self._first_new = self._next
        self._horizons.clear()


def _widen(widest: dict[str, int], sources: Iterable[str], size: int) -> None:
    for one in sources:
        widest[one] = max(size, widest.get(one, 0))


def late_document(name: str, query: str, time: int, horizon: int) -> Rejection:
    """Returns the rejection of a document that is late for a query."""
    reason = f"the document is {(horizon - time) / 1e6:g} s later than the lateness allows"
    return Rejection(name, query, LATE, reason)
