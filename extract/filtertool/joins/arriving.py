"""Numbers of documents that arrive in batches.

A stream never knows all documents; so they are numbered as they come, and what is to be known of
earlier ones is small enough to be saved with each batch.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from hashlib import blake2b

from extract.filtertool.joins.job import JoinJob
from extract.filtertool.joins.lateness import Late, Lateness
from extract.filtertool.joins.numbering import Arrival
from extract.filtertool.joins.plan import StreamCounts


@dataclass(slots=True)
class ArrivingDocuments:
    """How far a stream of documents has come.

    Attributes:
        inputs: How many documents were accepted.
        places: How many of each stream.
        times: How far the streams have come.
    """

    inputs: int
    places: Counter[str]
    times: Lateness

    def arrival(self, stream: str, name: str, time: int, late: Late) -> Arrival:
        """Returns where the next document stands, which `accept` is to count."""
        seq, place = self.inputs, self.places[stream]
        return Arrival(name, time, seq, place, seq, self.counts(), late.timelines)

    def accept(self, stream: str, time: int) -> None:
        """Counts the next document, which is not late for all queries."""
        self.times.accept(stream, time)
        self.inputs += 1
        self.places[stream] += 1

    def counts(self) -> StreamCounts:
        """Returns the numbers of documents so far."""
        return StreamCounts(self.inputs, self.places)


def queries_digest(job: JoinJob) -> str:
    """Returns what differs for jobs with other queries."""
    texts = [(m.id, query.text, sorted(query.namespaces.items())) for m, query in job.queries]
    return blake2b(repr(texts).encode(), digest_size=16).hexdigest()
