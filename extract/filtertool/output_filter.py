"""`OutputFilter`: from documents to what FLWR subscriptions make of them.

The push engine writes most results while it has a document. Of all other queries and documents, the
usual filter says which match, and `flwr.slow_outputs` makes their results on a tree.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from extract.chunktool.input.source import open_source
from extract.chunktool.scan.wellformed import error_parts, rejection_of
from extract.errors import DocumentError
from extract.filtertool.batch_filter import MOST_BYTES
from extract.filtertool.flwr.parsed_queries import ParsedQueries
from extract.filtertool.flwr.slow_outputs import SlowOutputs
from extract.filtertool.loaded_batch import LoadedBatch, NamedDocument
from extract.filtertool.matchers.protocol import MatcherFactory
from extract.filtertool.matchers.push.engine import PushEngine
from extract.filtertool.matchers.push.native import native_available
from extract.filtertool.options import Options
from extract.filtertool.output_matching import OutputMatching
from extract.filtertool.output_pieces import OutputPieces, readable
from extract.filtertool.output_queries import OutputQueries
from extract.filtertool.results.account import PresentFigures, added
from extract.filtertool.results.batch_outcome import FilterOutcome
from extract.filtertool.results.findings import Findings
from extract.filtertool.results.outcome import DocumentOutcome, Rejection
from extract.filtertool.results.output_rows import (
    WrittenOutputs,
    output_findings,
    outputs_by_document,
)
from extract.filtertool.results.seconds import Seconds
from extract.filtertool.scheme_view import SchemeView
from extract.filtertool.written_queries import WrittenQueries
from extract.scheme.model import Scheme
from extract.scheme.registered import CustomOutput
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
        ids: The ids of all subscribers of the scheme, as they were at the beginning.
        queries: The queries, divided between the engine and others; None without the engine.
    """

    def __init__(
        self, scheme: Scheme, factory: MatcherFactory, options: Options, claims: bool = True
    ) -> None:
        self._source: SchemeView | Callable[[], SchemeView] = SchemeView.of(scheme)
        self._factory = factory
        self.options = options
        self.ids: TextColumn = scheme.directory.ids
        self._flwr = ParsedQueries(self.ids, scheme.outputs)
        self._slow = SlowOutputs(self._flwr, options.limits)
        self._past: Mapping[str, float] = {}  # figures of filters that are gone
        self._trees = 0  # documents of which results were made on trees
        self.queries: OutputQueries | None = None
        if native_available() and options.kernel is not False:
            engine = PushEngine(
                scheme.schema, scheme.namespaces, "output", options.limits, claims=claims
            )
            self.queries = OutputQueries(WrittenQueries(engine, self._flwr), self._flwr)
            self.queries.add_all(scheme)

    @property
    def written(self) -> Collection[int]:
        """The numbers of subscribers whose results the engine writes."""
        return () if self.queries is None else set(self.queries.written)

    @property
    def on_pieces(self) -> Collection[int]:
        """The numbers of those whose results on large documents it writes piece by piece."""
        return set() if self._pieces is None else set(self._pieces.numbers.tolist())

    # -- changes

    def name(self, first: int, added: Sequence[tuple[str, CustomOutput | None]]) -> None:
        """Tells of subscribers that `queries` will have.

        Args:
            first: The number of the first of them; others have the numbers behind.
            added: The id of each, and what its query makes; None if it is no FLWR.
        """
        for number, (identifier, output) in enumerate(added, first):
            self._flwr.name(number, identifier, output)

    def changed(self, view: Callable[[], SchemeView], gone: Iterable[int]) -> None:
        """Takes note that `queries` have changed.

        Args:
            view: Returns the scheme as it is now; called when a document needs it.
            gone: The numbers of queries that were removed.
        """
        self._source = view
        self._past = self._past_figures(("_all", "_pieces", "_beside_pieces"))
        for name in ("_view", "_all", "_pieces", "_beside_pieces"):
            self.__dict__.pop(name, None)
        self._slow.forget(gone)
        self._flwr.forget(gone)
        if self.queries is not None and not self.queries.changed(view):
            self._past = self._past_figures(("_rest",))
            self.__dict__.pop("_rest", None)

    def process(self, documents: Iterable[NamedDocument]) -> list[FilterOutcome]:
        """Filters a batch of documents, each with its name; outcomes are in their order.

        The value of a row is what its subscriber gets.
        """
        seconds, started = Seconds(), time.perf_counter()
        batch = LoadedBatch(documents, MOST_BYTES, self.options.limits)
        seconds.since("chunk", started)
        outcomes: dict[int, DocumentOutcome] = {}
        if self.queries is not None:
            started = time.perf_counter()
            done, written = self.queries.written.engine.write(batch.loaded)
            seconds.since("match", started)
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
        in_order = [outcomes[place] for place in range(len(batch))]
        if in_order:
            seconds.update_by(in_order[-1].seconds)
            figures, worker = PresentFigures(self.figures), os.getpid()
            in_order[-1] = replace(in_order[-1], worker=worker, figures=figures, seconds=seconds)
        return list(in_order)

    def figures(self) -> Mapping[str, float]:
        """Returns the sums of the engine's and the matchers' figures so far."""
        own: dict[str, float] = {"lxml_units": self._trees}
        if self.queries is not None:
            written = self.queries.written
            own |= {f"push_{name}": n for name, n in written.engine.figures().items()}
            own["push_questions"] = len(written)
        return added([own, self._past_figures(("_all", "_rest", "_pieces", "_beside_pieces"))])

    def _past_figures(self, names: Iterable[str]) -> Mapping[str, float]:
        """The figures of filters that are gone, and of some that there are."""
        filters = [self.__dict__[name] for name in names if self.__dict__.get(name) is not None]
        return added([self._past, *[one.figures() for one in filters]])

    # -- what the engine does not write

    @cached_property
    def _view(self) -> SchemeView:
        """The scheme as it is now, and the numbers of subscribers."""
        return self._source if isinstance(self._source, SchemeView) else self._source()

    @property
    def _numbers(self) -> NDArray[np.int64]:
        """The numbers of all FLWR queries that select something with XPath."""
        scheme, numbers = self._view
        rows = [scheme.directory.find(one) for one in scheme.outputs]
        return numbers[[row for row in sorted(rows) if row >= 0]].astype(np.int64)

    @cached_property
    def _all(self) -> OutputMatching:
        """Says which queries match."""
        return self._matching(self._numbers)

    @cached_property
    def _rest(self) -> OutputMatching:
        """The same, of those queries whose results the engine does not write."""
        written = self.written
        matching = self._matching([n for n in self._numbers.tolist() if n not in written])
        if self.queries is not None:
            self.queries.matching = matching
        return matching

    def _matching(self, numbers: Iterable[int]) -> OutputMatching:
        return OutputMatching(self._view, numbers, self._factory, self.options)

    def _rest_of(self, batch: LoadedBatch, places: Sequence[int]) -> dict[int, DocumentOutcome]:
        """The results of the rest of the queries, by the places of documents."""
        if not places or not self.queries or not self.queries.has_rest:
            return {}
        named = [(batch.names[place], batch.data(place)) for place in places]
        pairs = zip(places, self._rest.process(named), strict=True)
        return {place: self._made(one, batch.data(place)) for place, one in pairs}

    # -- one document

    def _one(self, document: NamedDocument, large: bool) -> DocumentOutcome:
        """The outcome of a document that the engine does not take as it is."""
        if not large:
            return self._slowly(document, self._all, large)
        name, limits = document[0], self.options.limits
        try:
            with readable(document[1], name, limits) as (content, read):
                joined = None
                if self._pieces is not None:
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
        if self.queries is None:
            return None
        pieces = OutputPieces(self._view, self.queries.written, self.options)
        return pieces if len(pieces.numbers) else None

    @cached_property
    def _beside_pieces(self) -> OutputMatching | None:
        """Says which of the other queries match."""
        assert self._pieces is not None
        matching = self._matching(np.setdiff1d(self._numbers, self._pieces.numbers))
        return matching if len(matching) else None

    def _slowly(
        self, document: NamedDocument, matching: OutputMatching, large: bool
    ) -> DocumentOutcome:
        """The outcome of a document for some of the queries, with results made on its tree."""
        name, content = document
        done = None
        if large:  # it may not be needed in memory
            (done,) = matching.process([document])
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
                ids = [self._flwr.id(n) for n in done.findings.subscriber.tolist()]
                failed = [Rejection(name, one, "filter", limit) for one in ids]
                rejections = (*done.rejections, *failed)
                return replace(done, findings=Findings.none(), rejections=rejections)
            hint = "raise the limit if there is memory for it"
            return _rejected(name, DocumentError(f"it is too large, and {limit}", hint, name))
        if done is None:
            (done,) = matching.process([(name, data)])
        return self._made(done, data)

    def _made(self, done: DocumentOutcome, data: bytes) -> DocumentOutcome:
        """The outcome of a document with results in place of queries that match."""
        if done.fate == "rejected":
            return done
        done = replace(done, bytes=len(data))
        chosen = sorted(done.findings.subscriber.tolist())
        self._trees += bool(chosen)
        made: list[tuple[int, str]] = []
        failed: list[Rejection] = []
        try:
            for number, text, reason in self._slow.make(data, chosen):
                if reason:
                    failed.append(Rejection.of_query(done.document, self._flwr.id(number), reason))
                elif text is not None:
                    made.append((number, text))
        except etree.XMLSyntaxError as error:
            reason, hint, *place = rejection_of(*error_parts(error))
            return _rejected(done.document, DocumentError(reason, hint, done.document, *place))
        rejections = (*done.rejections, *failed)
        return replace(done, findings=output_findings(made), rejections=rejections)

    def _outcome(
        self, name: str, size: int, made: WrittenOutputs, rest: DocumentOutcome | None
    ) -> DocumentOutcome:
        """The outcome of a document whose results the engine wrote, with those of other queries."""
        too_long = self.options.limits.passed("query_bytes")
        rejections = [
            Rejection(name, self._flwr.id(number), "filter", too_long) for number in made.too_long
        ]
        findings, seconds = made.results, Seconds()
        if rest is not None:
            findings = Findings.together([findings, rest.findings])
            rejections += rest.rejections
            seconds.update_by(rest.seconds)
        return DocumentOutcome(
            name,
            "conforming",
            findings,
            tuple(rejections),
            bytes=size,
            scanner="kernel",
            seconds=seconds,
        )


def _rejected(name: str, error: DocumentError) -> DocumentOutcome:
    offset = error.offset if error.offset >= 0 else None
    rejection = Rejection(name, None, "chunk", error.reason, error.line or None, offset)
    return DocumentOutcome(name, "rejected", Findings.none(), (rejection,), error=error)
