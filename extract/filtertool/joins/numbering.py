"""Numbers of documents: what a task that sees only some of them has to know of all others.

Events are counted, published documents numbered and late ones rejected in the order in which
documents arrive. Tasks that have documents by join value cannot do that; so it is done before, with
what little is known of a document without its content.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from extract.filtertool.joins.documents import JoinDocument
from extract.filtertool.joins.job import JoinJob
from extract.filtertool.joins.lateness import Late, Timelines
from extract.filtertool.joins.plan import StreamCounts

DocumentKey: TypeAlias = tuple[int, int]
"""Where the content of a document is: the number of a file or a stage, and its number there."""


class Arrival(NamedTuple):
    """Where a document stands among all.

    Attributes:
        name, time, seq, place, clock: As of `JoinDocument`.
        counts: How many documents there were before it, of streams with windows in events.
        late: As of `JoinDocument`.
    """

    name: str
    time: int
    seq: int
    place: int
    clock: int
    counts: StreamCounts
    late: Timelines

    def number(self, document: JoinDocument) -> None:
        """Gives a document its numbers."""
        document.name, document.time, document.seq = self.name, self.time, self.seq
        document.place, document.clock, document.late = self.place, self.clock, self.late


class PublishedBy(NamedTuple):
    """The row that made a document.

    Attributes:
        left, right: The documents that it joins.
        order: The number of its query.
        rank: Its number among the combinations of nodes.
    """

    left: KnownDocument
    right: KnownDocument
    order: int
    rank: int


@dataclass(slots=True, eq=False)
class KnownDocument:
    """A document that was accepted, without its content.

    Attributes:
        key: Tells where its content is.
        stream, name, time: As of `JoinDocument`.
        root: The number of the input document that led to it.
        depth: How many published documents there are on the way from that one.
        late: The queries that it is late for.
        made: The row that it was made of; None for one from outside.
        clock: Its number among those that were known when they were last counted.
    """

    key: DocumentKey
    stream: str
    name: str
    time: int
    root: int
    depth: int
    late: Late
    made: PublishedBy | None = None
    clock: int = -1

    def place(self) -> tuple[int, ...]:
        """Sorts documents as one process takes them: breadth first from each input document."""
        if self.made is None:
            return self.root, 0
        left, right, order, rank = self.made
        later = max(left.clock, right.clock)
        return self.root, self.depth, later, order, left.clock, right.clock, rank


class DocumentNumbers:
    """Numbers documents, and tells for which queries they are late.

    Args:
        job: The queries.

    Attributes:
        inputs: How many documents from outside were accepted.
    """

    def __init__(self, job: JoinJob) -> None:
        self._times, self._again = job.times(), job.times()
        self._counted = {
            stream for _, query in job.queries if query.window.events for stream in query.streams
        }
        self._known: list[KnownDocument] = []
        self.inputs = 0

    def late(self, stream: str, name: str, time: int) -> Late:
        """Returns the queries that a document is late for now."""
        return self._times.late(stream, name, time)

    def accept(self, key: DocumentKey, stream: str, name: str, time: int, late: Late) -> None:
        """Takes the next input document, which is not late for all queries."""
        self._times.accept(stream, time)
        self._known.append(KnownDocument(key, stream, name, time, self.inputs, 0, late))
        self.inputs += 1

    def publish(self, key: DocumentKey, stream: str, made: PublishedBy) -> None:
        """Takes a document that a row published."""
        later = max(made.left, made.right, key=lambda one: one.clock)
        time, depth = max(made.left.time, made.right.time), later.depth + 1
        self._known.append(KnownDocument(key, stream, "", time, later.root, depth, Late(), made))

    def arrivals(self) -> Iterator[tuple[KnownDocument, Arrival]]:
        """Counts all documents that are known, and yields them in order.

        A document of the second stage may lie between two of the first: clocks are new ones.
        """
        self._known.sort(key=KnownDocument.place)
        places: Counter[str] = Counter()
        inputs = 0
        times = self._again
        times.begin({})
        for clock, one in enumerate(self._known):
            one.clock = clock
            place = places[one.stream]
            if one.made is not None:
                one.name = f"{one.stream}#{place}"
                one.late = times.late(one.stream, one.name, one.time, published=True)
            else:
                times.accept(one.stream, one.time)
            seq = inputs if one.made is None else place
            counted = {stream: places[stream] for stream in self._counted}
            counts = StreamCounts(inputs, counted)
            yield one, Arrival(one.name, one.time, seq, place, clock, counts, one.late.timelines)
            places[one.stream] += 1
            inputs += one.made is None

    @property
    def known(self) -> list[KnownDocument]:
        """The documents by their clocks."""
        return self._known
