"""Chains of queries: what rows publish is joined at once, by the queries that read it.

Published documents are numbered, and joined, in the order of one process: breadth first from each
input document. So one task follows a chain from its beginning to its end.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from extract.filtertool.joins.by_value import JoinPart, PlacedRow, ValueJoins
from extract.filtertool.joins.documents import JoinDocument
from extract.filtertool.joins.joined import Joined
from extract.filtertool.joins.lateness import Late
from extract.filtertool.joins.numbering import Arrival
from extract.filtertool.joins.plan import StreamCounts
from extract.filtertool.joins.publishing import Publishing
from extract.filtertool.joins.room import STATE
from extract.filtertool.results.outcome import Rejection
from extract.limits import Limits


class InputResult(NamedTuple):
    """What one input document leads to.

    Attributes:
        rows: The rows, in the order of one process.
        rejections: What was rejected.
        is_accepted: Whether the document was accepted.
    """

    rows: list[Joined]
    rejections: list[Rejection]
    is_accepted: bool = True


class ChainJoins:
    """Joins input documents one after the other, and what their rows publish.

    Args:
        joins: Finds witnesses and joins documents; None if no query reads what is published.
        part: The queries.
        clock: How many documents were accepted before, published ones included.
        places: How many documents published streams have.
        limits: How many documents one may lead to.

    Attributes:
        clock, places: As given; they change as documents come.
    """

    def __init__(
        self,
        joins: ValueJoins | None,
        part: JoinPart | None,
        clock: int,
        places: Mapping[str, int],
        limits: Limits,
    ) -> None:
        self._joins = joins
        self._part = part
        self._limits = limits
        self.clock = clock
        self.places: Counter[str] = Counter(places)
        self._dropped: set[tuple[int, int, str | None]] = set()  # several processes may do so

    def follow(
        self,
        stream: str,
        document: JoinDocument | None,
        arrival: Arrival,
        found: Iterable[PlacedRow] = (),
        rejections: Iterable[Rejection] = (),
    ) -> InputResult:
        """Joins an input document, and what its rows publish.

        Args:
            stream: Its stream.
            document: The document, with its witnesses; None if no query needs it.
            arrival: Where it stands among input documents.
            found: Its rows of queries that are joined elsewhere.
            rejections: What was rejected before.
        """
        result = InputResult([], list(rejections))
        publishing = Publishing(arrival.name, self._limits)
        inputs = Counter(arrival.counts.places)
        rows = [*found]
        if self._joins is not None and self._part is not None and document is not None:
            numbers = arrival._replace(clock=self.clock, counts=self._counts(arrival.seq, inputs))
            numbers.number(document)
            rows += self._joins.go_on(document, numbers, self._part)
        self.clock += 1
        inputs[stream] += 1
        waiting = deque(self._take(rows, result, publishing))
        while waiting:
            published = waiting.popleft()
            place = self.places[published.stream]
            name = f"{published.stream}#{place}"
            counts = self._counts(arrival.seq + 1, inputs)
            time = published.time
            late = Late()
            if self._joins is not None:
                late = self._joins.times.late(published.stream, name, time, published=True)
            numbers = Arrival(name, time, place, place, self.clock, counts, late.timelines)
            numbers.number(published)
            self.clock += 1
            self.places[published.stream] += 1
            if self._joins is not None and self._part is not None:
                result.rejections.extend((*self._joins.read(published), *late.rejections))
                found = self._joins.go_on(published, numbers, self._part)
                waiting += self._take(found, result, publishing)
        return result

    def counts(self, inputs: StreamCounts) -> StreamCounts:
        """Returns the numbers of documents so far, given those of input documents."""
        return self._counts(inputs.inputs, inputs.places)

    def _counts(self, seq: int, inputs: Mapping[str, int]) -> StreamCounts:
        return StreamCounts(seq, {**inputs, **self.places})

    def _take(
        self, found: Iterable[PlacedRow], result: InputResult, publishing: Publishing
    ) -> list[JoinDocument]:
        """Adds rows to a result, and returns the documents that they publish."""
        published: list[JoinDocument] = []
        for placed in sorted(found, key=lambda one: one[1:5]):
            row = placed.row
            if isinstance(row, Rejection):
                key = placed.left, placed.right, row.document
                if row.stage != STATE or key not in self._dropped:
                    result.rejections.append(row)
                if row.stage == STATE:
                    self._dropped.add(key)
                continue
            result.rows.append(row)
            is_published = bool(placed.publish)
            if is_published and self._joins is not None and self._joins.reads(placed.publish):
                is_published, refused = publishing.take(row.query)
                result.rejections.extend(refused)
            if is_published:
                later = max(row.left_time, row.right_time)
                data = row.output.encode()
                published.append(JoinDocument(placed.publish, "", later, 0, 0, 0, True, data))
        return published
