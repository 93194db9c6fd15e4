"""Joins on several cores of one machine: the values are shared out among processes.

    read      all processes   each reads a part of a batch of documents: witnesses and values
    number    this process    arrival numbers, windows in events, late documents
    join      all processes   each joins the documents of its share of the values
    publish   this process    takes the rows in their order; what they publish is joined here

Queries that read input streams are joined in the shares; those that read what others publish, here.
Rows and their order are those of one process.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from time import time_ns
from typing import Final

from extract.errors import JoinError
from extract.filtertool.joins.by_value import PlacedRow, ValueJoins
from extract.filtertool.joins.chains import ChainJoins, InputResult
from extract.filtertool.joins.documents import JoinDocument
from extract.filtertool.joins.inputs import JoinInput
from extract.filtertool.joins.job import JoinJob
from extract.filtertool.joins.joined import JoinState
from extract.filtertool.joins.lateness import Lateness
from extract.filtertool.joins.numbering import Arrival
from extract.filtertool.joins.plan import StreamCounts
from extract.filtertool.joins.room import StateLimit
from extract.filtertool.joins.shares import JoinShare, ReadDocument, ShareAnswer
from extract.filtertool.processes.crew import Crew
from extract.filtertool.results.outcome import Rejection
from extract.xscl.times import microseconds

BATCH: Final = 64  # documents for each process


@dataclass(slots=True)
class Progress:
    """How far a stream of documents has come.

    Attributes:
        clock: How many documents were accepted, published ones included.
        counts: How many of each stream.
        times: How far the streams have come.
        kept: The documents that later ones may join.
    """

    clock: int
    counts: StreamCounts
    times: Lateness
    kept: Sequence[JoinDocument]


class ParallelJoins:
    """Joins documents in several processes.

    Args:
        job: The queries.
        jobs: How many processes.
        progress: How far the documents have come; it changes as they go on.
        limit: How much memory all kept documents may take.

    Attributes:
        state: What all processes keep; a document may be kept by several.
    """

    def __init__(
        self, job: JoinJob, jobs: int, progress: Progress, limit: StateLimit | None = None
    ) -> None:
        self._job = job
        self._progress = progress
        self._first_clock = progress.clock
        self._clocks: list[int] = []  # of input documents that processes number one by one
        self._counted = {s for _, q in job.queries if q.window.events for s in q.streams}
        chained = bool(job.chained)
        if limit is not None:
            limit = replace(limit, parts=jobs + chained)
        self._later = ValueJoins(job, limit) if chained else None
        places = {stream: progress.counts.places[stream] for stream in job.published}
        part = None if self._later is None else self._later.later
        if self._later is not None:
            self._later.times = deepcopy(progress.times)  # chains follow when a batch is numbered
        self._chains = ChainJoins(self._later, part, progress.clock, places, job.limits)
        self._crew = Crew(partial(JoinShare, job, jobs, limit), jobs)
        self.state = JoinState(0, 0, 0)
        kept = [one.bare() for one in progress.kept]
        inputs = [pickle.dumps(one) for one in kept if not one.published]
        if inputs:
            self._crew.call("keep", [(share, inputs) for share in range(jobs)])
        if self._later is not None:
            for document in kept:
                self._later.read(document)
                self._later.keep(document)

    def close(self) -> None:
        """Ends the processes."""
        self._crew.close()

    def results(self, inputs: Iterable[JoinInput | Rejection]) -> Iterator[InputResult]:
        """Yields what each input leads to, in order.

        Raises:
            JoinError: A stream is published by a query, or the state is full.
            ExtractError: A process was killed.
        """
        waiting = iter(inputs)
        while batch := list(islice(waiting, BATCH * len(self._crew))):
            yield from self._batch(batch)

    def _batch(self, batch: list[JoinInput | Rejection]) -> Iterator[InputResult]:
        documents = [one for one in batch if isinstance(one, JoinInput)]
        for one in documents:
            if one.stream in self._job.published:
                reason = f"the stream {one.stream!r} is published by a query"
                raise JoinError(reason, "give documents of another stream", one.name)
        size = len(self._crew)
        parts = self._crew.call("read", [(documents[n::size],) for n in range(size)])
        read = iter([parts[n % size][n // size] for n in range(len(documents))])
        accepted: list[tuple[ReadDocument, Arrival | None, list[Rejection]]] = []
        for given in batch:
            if isinstance(given, JoinInput):
                accepted.append(self._accept(given, next(read)))
            else:
                accepted.append((ReadDocument("", True, ()), None, [given]))
        rows = self._shared([(one, arrival) for one, arrival, _ in accepted if arrival])
        for known, arrival, rejections in accepted:
            if arrival is None:
                yield InputResult([], rejections, is_accepted=False)
            else:
                found = rows.get(arrival.clock, [])
                yield self._follow(known, arrival, found, rejections)

    def _accept(
        self, given: JoinInput, read: ReadDocument
    ) -> tuple[ReadDocument, Arrival | None, list[Rejection]]:
        """Numbers a document, or rejects it."""
        now = self._progress
        if given.time is None:
            moment = now.times.arrival(given.stream, time_ns() // 1_000)
        else:
            moment = microseconds(given.time)
        late = now.times.late(given.stream, given.name, moment)
        if late.whole:
            return read, None, list(late.rejections)
        if read.failed:
            return read, None, list(read.rejections)
        seq, place = now.counts.inputs, now.counts.places[given.stream]
        counts = StreamCounts(seq, {one: now.counts.places[one] for one in self._counted})
        now.counts.inputs += 1
        now.counts.places[given.stream] += 1
        now.times.accept(given.stream, moment)
        clock = self._first_clock + len(self._clocks)
        self._clocks.append(-1)
        arrival = Arrival(given.name, moment, seq, place, clock, counts, late.timelines)
        return read, arrival, [*read.rejections, *late.rejections]

    def _shared(self, documents: list[tuple[ReadDocument, Arrival]]) -> dict[int, list[PlacedRow]]:
        """The rows of the shares, by the document that led to them."""
        given: list[list[tuple[bytes, Arrival]]] = [[] for _ in range(len(self._crew))]
        for one, arrival in documents:
            for share in one.shares:
                assert one.content is not None
                given[share].append((one.content, arrival))
        answers: list[ShareAnswer] = self._crew.call("join", list(enumerate(given)))
        states = [one.state for one in answers]
        states += [] if self._later is None else [self._later.state]
        self.state = JoinState(*map(sum, zip(*states, strict=True)))
        rows: dict[int, list[PlacedRow]] = {}
        for answer in answers:
            for row in answer.rows:
                rows.setdefault(row.trigger, []).append(row)
        return rows

    def _follow(
        self,
        read: ReadDocument,
        arrival: Arrival,
        found: list[PlacedRow],
        rejections: list[Rejection],
    ) -> InputResult:
        """Puts rows in order, and joins what they publish."""
        self._clocks[arrival.clock - self._first_clock] = self._chains.clock
        document: JoinDocument | None = None
        if self._later is not None:
            self._later.times.accept(read.stream, arrival.time)
            document = None if read.content is None else pickle.loads(read.content)
        return self._chains.follow(read.stream, document, arrival, found, rejections)

    def end(self) -> Progress:
        """Returns how far the documents have come, with all that are still needed."""
        self._progress.clock = self._chains.clock
        self._progress.counts.places |= self._chains.places
        kept: dict[int, JoinDocument] = {}
        for documents in self._crew.call("needed", [()] * len(self._crew)):
            for document in documents:
                if document.clock >= self._first_clock:
                    document.clock = self._clocks[document.clock - self._first_clock]
                kept[document.clock] = document
        if self._later is not None:
            kept |= {document.clock: document for document in self._later.needed()}
        self._progress.kept = [kept[clock] for clock in sorted(kept)]
        return self._progress
