"""`OutputFilter`: from documents to what FLWR subscriptions make of them.

The push engine writes most results while it has a document. Of all other queries and documents, the
usual filter says which match, and `flwr.slow_outputs` makes their results on a tree.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extract.chunktool.input.source import Document, open_source
from extract.errors import DocumentError
from extract.filtertool.batch_filter import MOST_BYTES
from extract.filtertool.flwr.output_queries import OutputPrograms, ParsedQueries
from extract.filtertool.flwr.slow_outputs import SlowOutputs
from extract.filtertool.job import Job, JobFilter
from extract.filtertool.loaded_batch import LoadedBatch, NamedDocument
from extract.filtertool.matchers.protocol import MatcherFactory
from extract.filtertool.matchers.push.engine import PushEngine
from extract.filtertool.matchers.push.native import native_available
from extract.filtertool.matchers.push.output_programs import OutputProgram
from extract.filtertool.options import Options
from extract.filtertool.output_pieces import OutputPieces, readable
from extract.filtertool.push_queries import members_by_key, question_of
from extract.filtertool.results.account import added
from extract.filtertool.results.batch_outcome import FilterOutcome, document_outcomes
from extract.filtertool.results.findings import Findings
from extract.filtertool.results.outcome import DocumentOutcome, Rejection
from extract.filtertool.results.output_rows import (
    WrittenOutputs,
    output_findings,
    outputs_by_document,
)
from extract.scheme.garbage import no_collection
from extract.scheme.model import Scheme
from extract.scheme.selection import scheme_of_members
from extract.subscriptions.columns import TextColumn


class OutputFilter:
    """Filters documents for the FLWR subscriptions of a scheme.

    Args:
        scheme: The subscriptions; those that are no FLWR have no results.
        factory: Makes the matchers for what the engine does not do.
        options: How to filter.
        claims: Whether to rely on the schema for the order of nodes; results are the same.

    Attributes:
        options: How to filter.
        ids: The ids of all subscribers of the scheme.
    """

    def __init__(
        self, scheme: Scheme, factory: MatcherFactory, options: Options, claims: bool = True
    ) -> None:
        rows = [scheme.directory.find(one) for one in scheme.outputs]
        self._rows = np.array(sorted(row for row in rows if row >= 0), np.int64)
        self._scheme = scheme
        self._factory = factory
        self.options = options
        self.ids: TextColumn = scheme.directory.ids
        self._flwr = ParsedQueries(self.ids, scheme.outputs)
        self._slow = SlowOutputs(self._flwr, options.limits)
        self._engine: PushEngine | None = None
        self._programs: dict[int, OutputProgram] = {}
        if native_available() and options.kernel is not False:
            self._make_engine(claims)

    def _make_engine(self, claims: bool) -> None:
        scheme = self._scheme
        limits = self.options.limits
        engine = PushEngine(scheme.schema, scheme.namespaces, "output", limits, claims=claims)
        programs = OutputPrograms(engine, self._flwr)
        is_output = np.zeros(len(scheme.directory.forms) + 1, np.bool_)
        is_output[self._rows] = True
        with no_collection():
            for form, members in members_by_key(scheme.directory.forms):
                rows = members[is_output[members]]
                if not len(rows) or not engine.takes(form, question_of(scheme, form, rows)):
                    continue
                own = rows[[programs.add(row) for row in rows.tolist()]]
                if len(own):
                    engine.add(form, question_of(scheme, form, own), own.astype(np.int32))
            for program, numbers in programs.numbers.items():
                engine.add_program(program, numbers)
                self._programs |= dict.fromkeys(numbers, program)
        self._engine = engine

    @property
    def written(self) -> Collection[int]:
        """The numbers of subscribers whose results the engine writes."""
        return self._programs.keys()

    @property
    def on_pieces(self) -> Collection[int]:
        """The numbers of those whose results on large documents it writes piece by piece."""
        return set() if self._pieces is None else set(self._pieces.numbers.tolist())

    def process(self, documents: Iterable[NamedDocument]) -> list[FilterOutcome]:
        """Filters a batch of documents, each with its name; outcomes are in their order.

        The value of a row is what its subscriber gets.
        """
        batch = LoadedBatch(documents, MOST_BYTES, self.options.limits)
        outcomes: dict[int, DocumentOutcome] = {}
        if self._engine is not None:
            done, written = self._engine.write(batch.loaded)
            matched = batch.places[done == 1].tolist()
            made = outputs_by_document(written, len(batch.loaded))
            rest = self._rest_of(batch, matched)
            for number in np.flatnonzero(done == 1).tolist():
                place = int(batch.places[number])
                size = len(batch.loaded[number])
                own, others = made[number], rest.get(place)
                outcomes[place] = self._outcome(batch.names[place], size, own, others)
        for place in range(len(batch)):
            if place not in outcomes:
                large = place in batch.large
                outcomes[place] = self._one(batch.document(place), large)
        batch.close()
        return [outcomes[place] for place in range(len(batch))]

    def figures(self) -> Mapping[str, float]:
        """Returns the sums of the engine's and the matchers' figures so far."""
        parts = [] if self._engine is None else [self._engine.figures()]
        engine = {f"push_{name}": n for part in parts for name, n in part.items()}
        filters = [
            self.__dict__[key]
            for key in ("_all", "_rest", "_beside_pieces")
            if key in self.__dict__
        ]
        return added([engine, *[one.filter.figures() for one in filters if one is not None]])

    # -- what the engine does not write

    @cached_property
    def _all(self) -> _Matching:
        """Says which queries match."""
        return self._matching(self._rows)

    @cached_property
    def _rest(self) -> _Matching | None:
        """The same, of those queries whose results the engine does not write."""
        rows = self._rows[[row not in self.written for row in self._rows.tolist()]]
        matching = self._matching(rows)
        return matching if len(matching.numbers) else None

    def _matching(self, rows: NDArray[np.int64]) -> _Matching:
        scheme = self._scheme
        later = [(n, one) for n, one in enumerate(scheme.later, len(scheme.members))]
        own = [(n, one) for n, one in later if one.subscriber.id in scheme.outputs]
        chosen = scheme_of_members(scheme, rows, tuple([one for _, one in own]))
        job = Job(chosen, self._factory, replace(self.options, select="doc"))
        numbers = np.concatenate([rows, np.array([n for n, _ in own], np.int64)])
        return _Matching(job.filter(), numbers)

    def _rest_of(self, batch: LoadedBatch, places: Sequence[int]) -> dict[int, DocumentOutcome]:
        """The results of the rest of the queries, by the places of documents."""
        if self._rest is None or not places:
            return {}
        ready, numbers = self._rest
        named = [(batch.names[place], batch.data(place)) for place in places]
        done = document_outcomes(ready.process(named))
        pairs = zip(places, done, strict=True)
        return {place: self._made(one, batch.data(place), numbers) for place, one in pairs}

    # -- one document

    def _one(self, document: NamedDocument, large: bool) -> DocumentOutcome:
        """The outcome of a document that the engine does not take as it is."""
        if not large or self._pieces is None:
            return self._slowly(document, self._all, large)
        name, limits = document[0], self.options.limits
        try:
            with readable(document[1], name, limits) as (content, read):
                joined = self._pieces.results(name, content, read)
                if joined is None:
                    return self._slowly((name, content), self._all, large)
                rest = None
                if self._beside_pieces is not None:
                    rest = self._slowly((name, content), self._beside_pieces, large)
        except DocumentError as error:
            return _rejected(name, error)
        size, texts = joined
        made = [(number, text) for number, text in texts.items() if text is not None]
        too_long = [number for number, text in texts.items() if text is None]
        return self._outcome(name, size, WrittenOutputs(output_findings(made), too_long), rest)

    @cached_property
    def _pieces(self) -> OutputPieces | None:
        """Answers what it can of large documents, piece by piece."""
        if self._engine is None:
            return None
        pieces = OutputPieces(self._scheme, self._programs, self.options)
        return pieces if len(pieces.numbers) else None

    @cached_property
    def _beside_pieces(self) -> _Matching | None:
        """Says which of the other queries match."""
        assert self._pieces is not None
        matching = self._matching(np.setdiff1d(self._rows, self._pieces.numbers))
        return matching if len(matching.numbers) else None

    def _slowly(self, document: NamedDocument, matching: _Matching, large: bool) -> DocumentOutcome:
        """The outcome of a document for some of the queries, with results made on its tree."""
        name, content = document
        ready, numbers = matching
        done = None
        if large:  # it may not be needed in memory
            (done,) = document_outcomes(ready.process([document]))
            if done.fate == "rejected" or not len(done.findings):
                return done
        try:
            with open_source(content, name, self.options.limits) as source:
                data = source.load(self.options.limits.whole_bytes)
        except DocumentError as error:
            return _rejected(name, error)
        if data is None:
            limit = self.options.limits.passed("whole_bytes")
            if done is not None:
                ids = [self.ids[n] for n in numbers[done.findings.subscriber].tolist()]
                failed = [Rejection(name, one, "filter", limit) for one in ids]
                rejections = (*done.rejections, *failed)
                return replace(done, findings=Findings.none(), rejections=rejections)
            hint = "raise the limit if there is memory for it"
            return _rejected(name, DocumentError(f"it is too large, and {limit}", hint, name))
        if done is None:
            (done,) = document_outcomes(ready.process([(name, data)]))
        return self._made(done, data, numbers)

    def _made(
        self, done: DocumentOutcome, data: bytes, numbers: NDArray[np.int64]
    ) -> DocumentOutcome:
        """The outcome of a document with results in place of queries that match."""
        if done.fate == "rejected":
            return done
        done = replace(done, bytes=len(data))
        chosen = numbers[done.findings.subscriber].tolist()
        made: list[tuple[int, str]] = []
        failed: list[Rejection] = []
        for number, text, reason in self._slow.make(data, chosen):
            if reason:
                failed.append(Rejection(done.document, self.ids[number], "filter", reason))
            elif text is not None:
                made.append((number, text))
        rejections = (*done.rejections, *failed)
        return replace(done, findings=output_findings(made), rejections=rejections)

    def _outcome(
        self, name: str, size: int, made: WrittenOutputs, rest: DocumentOutcome | None
    ) -> DocumentOutcome:
        """The outcome of a document whose results the engine wrote, with those of other queries."""
        too_long = self.options.limits.passed("query_bytes")
        rejections = [
            Rejection(name, self.ids[number], "filter", too_long) for number in made.too_long
        ]
        findings = made.results
        if rest is not None:
            findings = Findings.together([findings, rest.findings])
            rejections += rest.rejections
        return DocumentOutcome(
            name, "conforming", findings, tuple(rejections), bytes=size, scanner="kernel"
        )


class _Matching(NamedTuple):
    """Says which FLWR queries match, and what numbers they have in the scheme."""

    filter: JobFilter[Document]
    numbers: NDArray[np.int64]


def _rejected(name: str, error: DocumentError) -> DocumentOutcome:
    offset = error.offset if error.offset >= 0 else None
    rejection = Rejection(name, None, "chunk", error.reason, error.line or None, offset)
    return DocumentOutcome(name, "rejected", Findings.none(), (rejection,), error=error)
