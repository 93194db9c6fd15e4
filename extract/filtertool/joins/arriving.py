"""Numbers of documents that arrive in batches.

A stream never knows all documents; so they are numbered as they come, and what is to be known of
earlier ones is small enough to be saved with each batch.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from hashlib import blake2b

from extract.filtertool.joins.job import JoinJob
from extract.filtertool.joins.numbering import Arrival, late_document
from extract.filtertool.joins.plan import StreamCounts
from extract.filtertool.results.outcome import Rejection


@dataclass(slots=True)
class ArrivingDocuments:
    """How far a stream of documents has come.

    Attributes:
        inputs: How many documents were accepted.
        places: How many of each stream.
        latest: The latest time; None before the first document.
        horizon: No document is accepted whose time is earlier; None if any is.
    """

    inputs: int = 0
    places: Counter[str] = field(default_factory=Counter)
    latest: int | None = None
    horizon: int | None = None

    def late(self, name: str, time: int) -> Rejection | None:
        """Returns the rejection of a document that would be late now."""
        if self.horizon is None or time >= self.horizon:
            return None
        return late_document(name, time, self.horizon)

    def arrival(self, stream: str, name: str, time: int, lateness: int | None) -> Arrival:
        """Returns where the next document stands, which `accept` is to count."""
        horizon = self._horizon(time, lateness)
        seq, place = self.inputs, self.places[stream]
        return Arrival(name, time, seq, place, seq, self.counts(), horizon)

    def accept(self, stream: str, time: int, lateness: int | None) -> None:
        """Counts the next document, which is not late."""
        self.horizon = self._horizon(time, lateness)
        self.latest = time if self.latest is None else max(self.latest, time)
        self.inputs += 1
        self.places[stream] += 1

    def _horizon(self, time: int, lateness: int | None) -> int | None:
        """The horizon after a document."""
        if lateness is None:
            return self.horizon
        latest = time if self.latest is None else max(self.latest, time)
        return latest - lateness if self.horizon is None else max(self.horizon, latest - lateness)

    def counts(self) -> StreamCounts:
        """Returns the numbers of documents so far."""
        return StreamCounts(self.inputs, self.places)


def queries_digest(job: JoinJob) -> str:
    """Returns what differs for jobs with other queries."""
    texts = [(m.id, query.text, sorted(query.namespaces.items())) for m, query in job.queries]
    return blake2b(repr(texts).encode(), digest_size=16).hexdigest()
