"""Numbers of documents that arrive in batches, and which values need no more be kept.

A stream never knows all documents; so they are numbered as they come, and what is to be known of
earlier ones is small enough to be saved with each batch. Tasks that keep documents by value hear of
time only when a document with their value arrives; so they are told when they can let go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b

from extract.filtertool.joins.job import JoinJob
from extract.filtertool.joins.numbering import Arrival, late_document
from extract.filtertool.joins.plan import StreamCounts
from extract.filtertool.results.outcome import Rejection
from extract.xscl.ast import EVERY_STREAM


@dataclass(slots=True)
class ArrivingDocuments:
    """How far a stream of documents has come.

    Attributes:
        queries: The digest of the queries: what tasks keep is of no use to others.
        inputs: How many documents were accepted.
        places: How many of each stream.
        latest: The latest time; None before the first document.
        horizon: No document is accepted whose time is earlier; None if any is.
        kept: The documents that tasks may keep: time, stream, seq, place, and keys of values.
    """

    queries: str
    inputs: int = 0
    places: Counter[str] = field(default_factory=Counter)
    latest: int | None = None
    horizon: int | None = None
    kept: list[tuple[int, str, int, int, frozenset[bytes]]] = field(default_factory=list)

    def late(self, name: str, time: int) -> Rejection | None:
        """Returns the rejection of a document that would be late now."""
        if self.horizon is None or time >= self.horizon:
            return None
        return late_document(name, time, self.horizon)

    def accept(
        self, stream: str, name: str, time: int, keys: Iterable[bytes], lateness: int | None
    ) -> Arrival:
        """Numbers the next document, which is not late."""
        counts = self.counts()
        seq, place = self.inputs, self.places[stream]
        self.inputs += 1
        self.places[stream] += 1
        self.latest = time if self.latest is None else max(self.latest, time)
        if lateness is not None:
            self.horizon = self.latest - lateness
        values = frozenset(keys)
        if values:
            self.kept.append((time, stream, seq, place, values))
        return Arrival(name, time, seq, place, seq, counts, self.horizon)

    def counts(self) -> StreamCounts:
        """Returns the numbers of documents so far."""
        return StreamCounts(self.inputs, self.places)

    def past(self, job: JoinJob) -> set[bytes]:
        """Returns keys of values with documents that are past all windows; each is told once."""
        times = [q.window.size for _, q in job.queries if not q.window.events]
        events: dict[str, int] = {}
        for _, query in job.queries:
            if query.window.events:
                for stream in query.streams:
                    events[stream] = max(events.get(stream, 0), query.window.size)
        keys: set[bytes] = set()
        left = []
        for one in self.kept:
            time, stream, seq, place, values = one
            needed = bool(times) and (self.horizon is None or time + max(times) >= self.horizon)
            needed |= self.inputs - events.get(EVERY_STREAM, 0) <= seq
            needed |= self.places[stream] - events.get(stream, 0) <= place
            if needed:
                left.append(one)
            else:
                keys |= values
        self.kept = left
        return keys


def queries_digest(job: JoinJob) -> str:
    """Returns what differs for jobs with other queries."""
    texts = [(m.id, query.text, sorted(query.namespaces.items())) for m, query in job.queries]
    return blake2b(repr(texts).encode(), digest_size=16).hexdigest()
