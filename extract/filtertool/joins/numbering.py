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
from extract.filtertool.joins.plan import StreamCounts
from extract.filtertool.results.outcome import Rejection

DocumentKey: TypeAlias = tuple[int, int]
"""Where the content of a document is: the number of a file or a stage, and its number there."""


class Arrival(NamedTuple):
    """Where a document stands among all.

    Attributes:
        name, time, seq, place, clock: As of `JoinDocument`.
        counts: How many documents there were before it, of streams with windows in events.
        horizon: From then on, no document is accepted whose time is earlier; None if any may.
    """

    name: str
    time: int
    seq: int
    place: int
    clock: int
    counts: StreamCounts
    horizon: int | None

    def number(self, document: JoinDocument) -> None:
        """Gives a document its numbers."""
        document.name, document.time, document.seq = self.name, self.time, self.seq
        document.place, document.clock = self.place, self.clock


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
        horizon: As of `Arrival`.
        made: The row that it was made of; None for one from outside.
        clock: Its number among those that were known when they were last counted.
    """

    key: DocumentKey
    stream: str
    name: str
    time: int
    root: int
    depth: int
    horizon: int | None
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
    """Numbers documents, and rejects those that are late.

    Args:
        job: The queries.
    """

    def __init__(self, job: JoinJob) -> None:
        self._lateness = job.lateness
        self._counted = {
            stream for _, query in job.queries if query.window.events for stream in query.streams
        }
        self._known: list[KnownDocument] = []
        self._inputs = 0
        self._latest: int | None = None
        self._horizon: int | None = None

    def late(self, name: str, time: int) -> Rejection | None:
        """Returns the rejection of a document that would be late now."""
        if self._horizon is None or time >= self._horizon:
            return None
        return late_document(name, time, self._horizon)

    def accept(self, key: DocumentKey, stream: str, name: str, time: int) -> None:
        """Takes the next input document, which is not late."""
        self._latest = time if self._latest is None else max(time, self._latest)
        if self._lateness is not None:
            self._horizon = self._latest - self._lateness
        self._known.append(KnownDocument(key, stream, name, time, self._inputs, 0, self._horizon))
        self._inputs += 1

    def publish(self, key: DocumentKey, stream: str, made: PublishedBy) -> None:
        """Takes a document that a row published."""
        later = max(made.left, made.right, key=lambda one: one.clock)
        time = max(made.left.time, made.right.time)
        self._known.append(
            KnownDocument(key, stream, "", time, later.root, later.depth + 1, later.horizon, made)
        )

    def arrivals(self) -> Iterator[tuple[KnownDocument, Arrival]]:
        """Counts all documents that are known, and yields them in order.

        A document of the second stage may lie between two of the first: clocks are new ones.
        """
        self._known.sort(key=KnownDocument.place)
        places: Counter[str] = Counter()
        inputs = 0
        for clock, one in enumerate(self._known):
            one.clock = clock
            place = places[one.stream]
            if one.made is not None:
                one.name = f"{one.stream}#{place}"
            seq = inputs if one.made is None else place
            counted = {stream: places[stream] for stream in self._counted}
            counts = StreamCounts(inputs, counted)
            yield one, Arrival(one.name, one.time, seq, place, clock, counts, one.horizon)
            places[one.stream] += 1
            inputs += one.made is None

    @property
    def known(self) -> list[KnownDocument]:
        """The documents by their clocks."""
        return self._known


def late_document(name: str, time: int, horizon: int) -> Rejection:
    """Returns the rejection of a document that is too late."""
    late = (horizon - time) / 1_000_000
    reason = f"the document is {late:g} s later than the lateness allows"
    return Rejection(name, None, "late", reason)
