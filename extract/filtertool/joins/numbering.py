"""Numbers of documents: what a task that sees only some of them has to know of all others.

Events are counted, and it is told for which queries documents are late, in the order in which they
arrive. Tasks that have documents by join value cannot do that; so it is done before, with
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
"""Where the content of a document is: the number of a file, and its number there."""


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


@dataclass(frozen=True, slots=True)
class KnownDocument:
    """A document that was accepted, without its content.

    Attributes:
        key: Tells where its content is.
        stream, name, time: As of `JoinDocument`.
        late: The queries that it is late for.
    """

    key: DocumentKey
    stream: str
    name: str
    time: int
    late: Late


class DocumentNumbers:
    """Numbers input documents, and tells for which queries they are late.

    Args:
        job: The queries.
    """

    def __init__(self, job: JoinJob) -> None:
        self._times = job.times()
        self._counted = {
            stream for _, query in job.queries if query.window.events for stream in query.streams
        }
        self._known: list[KnownDocument] = []

    def __len__(self) -> int:
        return len(self._known)

    def late(self, stream: str, name: str, time: int) -> Late:
        """Returns the queries that a document is late for now."""
        return self._times.late(stream, name, time)

    def accept(self, key: DocumentKey, stream: str, name: str, time: int, late: Late) -> None:
        """Takes the next document, which is not late for all queries."""
        self._times.accept(stream, time)
        self._known.append(KnownDocument(key, stream, name, time, late))

    def arrivals(self) -> Iterator[tuple[KnownDocument, Arrival]]:
        """Yields all documents in their order, with their numbers."""
        places: Counter[str] = Counter()
        for seq, one in enumerate(self._known):
            counts = StreamCounts(seq, {stream: places[stream] for stream in self._counted})
            place, late = places[one.stream], one.late.timelines
            yield one, Arrival(one.name, one.time, seq, place, seq, counts, late)
            places[one.stream] += 1
