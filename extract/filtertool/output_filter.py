"""`OutputFilter`: from documents to what FLWR subscriptions make of them.

The push engine writes most results while it has a document. Of all other queries and documents, the
usual filter says which match, and `flwr.slow_outputs` makes their results on a tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extract.chunktool.input.source import Document, open_source
from extract.errors import DocumentError
from extract.filtertool.batch_filter import MOST_BYTES
from extract.filtertool.flwr.slow_outputs import SlowOutputs
from extract.filtertool.job import Job, JobFilter
from extract.filtertool.loaded_batch import LoadedBatch, NamedDocument
from extract.filtertool.matchers.protocol import MatcherFactory
from extract.filtertool.matchers.push.engine import EngineOutputs, PushEngine
from extract.filtertool.matchers.push.native import native_available
from extract.filtertool.matchers.push.output_programs import OutputProgram, takes_bindings
from extract.filtertool.options import Options
from extract.filtertool.push_queries import members_by_key, question_of
from extract.filtertool.results.account import added
from extract.filtertool.results.batch_outcome import FilterOutcome, document_outcomes
from extract.filtertool.results.findings import Findings
from extract.filtertool.results.node_columns import Described, DescribedLists
from extract.filtertool.results.outcome import DocumentOutcome, Rejection
from extract.flwr.query import FlwrQuery, parse_flwr
from extract.flwr.templates import FlwrHead, FlwrResult, ReadFlwr, shared_reader
from extract.limits import DEFAULTS
from extract.scheme.garbage import no_collection
from extract.scheme.model import Scheme
from extract.scheme.registered import CustomOutput
from extract.scheme.selection import scheme_of_members
from extract.subscriptions.columns import TextColumn

OUTPUT: Final = "output"  # the kind of such rows
_MANY: Final = 32  # results of a document from which on columns are faster than lists


class OutputFilter:
    """Filters documents for the FLWR subscriptions of a scheme.

    Args:
        scheme: The subscriptions; those that are no FLWR have no results.
        factory: Makes the matchers for what the engine does not do.
        options: How to filter.

    Attributes:
        options: How to filter.
        ids: The ids of all subscribers of the scheme.
        written: The numbers of subscribers whose results the engine writes.
    """

    def __init__(self, scheme: Scheme, factory: MatcherFactory, options: Options) -> None:
        rows = [scheme.directory.find(one) for one in scheme.outputs]
        self._rows = np.array(sorted(row for row in rows if row >= 0), np.int64)
        self._scheme = scheme
        self._factory = factory
        self.options = options
        self.ids: TextColumn = scheme.directory.ids
        self._flwr = _ParsedQueries(self.ids, scheme.outputs)
        self._slow = SlowOutputs(self._flwr, options.limits)
        self._engine: PushEngine | None = None
        self.written: set[int] = set()
        if native_available() and options.kernel is not False:
            self._make_engine()

    def _make_engine(self) -> None:
        scheme = self._scheme
        engine = PushEngine(scheme.schema, scheme.namespaces, "output", self.options.limits)
        programs = _Programs(engine, self._flwr)
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
                self.written.update(numbers)
        self._engine = engine

    def process(self, documents: Iterable[NamedDocument]) -> list[FilterOutcome]:
        """Filters a batch of documents, each with its name; outcomes are in their order.

        The value of a row is what its subscriber gets.
        """
        batch = LoadedBatch(documents, MOST_BYTES, self.options.limits)
        outcomes: dict[int, DocumentOutcome] = {}
        if self._engine is not None:
            done, written = self._engine.write(batch.loaded)
            matched = batch.places[done == 1].tolist()
            made = _by_document(written, len(batch.loaded))
            rest = self._rest_of(batch, matched)
            for number in np.flatnonzero(done == 1).tolist():
                place = int(batch.places[number])
                outcomes[place] = self._outcome(batch, place, made[number], rest.get(place))
        for place in range(len(batch)):
            if place not in outcomes:
                outcomes[place] = self._slowly(batch.document(place))
        return [outcomes[place] for place in range(len(batch))]

    def figures(self) -> Mapping[str, float]:
        """Returns the sums of the engine's and the matchers' figures so far."""
        parts = [] if self._engine is None else [self._engine.figures()]
        engine = {f"push_{name}": n for part in parts for name, n in part.items()}
        filters = [self.__dict__[key] for key in ("_all", "_rest") if key in self.__dict__]
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

    def _slowly(self, document: NamedDocument) -> DocumentOutcome:
        """The outcome of a document that the engine does not take."""
        name, content = document
        try:
            with open_source(content, name, self.options.limits) as source:
                data = source.load(self.options.limits.whole_bytes)
        except DocumentError as error:
            return _rejected(name, error)
        if data is None:
            limit = self.options.limits.passed("whole_bytes")
            hint = "raise the limit if there is memory for it"
            return _rejected(name, DocumentError(f"it is too large, and {limit}", hint, name))
        ready, numbers = self._all
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
        return replace(done, findings=_findings(made), rejections=rejections)

    def _outcome(
        self, batch: LoadedBatch, place: int, made: _Written, rest: DocumentOutcome | None
    ) -> DocumentOutcome:
        """The outcome of a document whose results the engine wrote, with those of other queries."""
        name, too_long = batch.names[place], self.options.limits.passed("query_bytes")
        rejections = [
            Rejection(name, self.ids[number], "filter", too_long) for number in made.too_long
        ]
        findings = made.results
        if rest is not None:
            findings = Findings.together([findings, rest.findings])
            rejections += rest.rejections
        size = len(batch.data(place))
        return DocumentOutcome(
            name, "conforming", findings, tuple(rejections), bytes=size, scanner="kernel"
        )


class _Matching(NamedTuple):
    """Says which FLWR queries match, and what numbers they have in the scheme."""

    filter: JobFilter[Document]
    numbers: NDArray[np.int64]


class _Programs:
    """The programs of queries, each compiled once for all queries that differ in constants.

    Attributes:
        numbers: The numbers of the queries with each program.
    """

    def __init__(self, engine: PushEngine, queries: _ParsedQueries) -> None:
        self.numbers: dict[OutputProgram, list[int]] = {}
        self._engine = engine
        self._queries = queries
        self._takes: dict[FlwrHead, bool] = {}
        self._compiled: dict[tuple[FlwrResult, tuple[bool, ...]], OutputProgram | None] = {}
        self._of: dict[tuple[FlwrResult, tuple[str, ...]], list[int]] = {}

    def add(self, number: int) -> bool:
        """Adds a query; returns whether the engine writes its result."""
        read = self._queries.read(number)
        takes = self._takes.get(read.head)
        if takes is None:
            takes = self._takes[read.head] = takes_bindings(read.head.query)
        if not takes:
            return False
        key = (read.result, read.result_constants)
        numbers = self._of.get(key)
        if numbers is None:
            program = self._program(number, *key)
            if program is None:
                return False
            numbers = self._of[key] = self.numbers.setdefault(program, [])
        numbers.append(number)
        return True

    def _program(
        self, number: int, result: FlwrResult, constants: tuple[str, ...]
    ) -> OutputProgram | None:
        empty = tuple([not one for one in constants])  # conditions on nothing are other ones
        if (result, empty) not in self._compiled:
            query = self._queries[number] if constants else result.query
            self._compiled[result, empty] = self._engine.program(query)
        program = self._compiled[result, empty]
        if program is None or not constants:
            return program
        return program.with_values(constants, result.sources)


class _ParsedQueries(Mapping[int, FlwrQuery]):
    """The queries of subscribers by their numbers, parsed when they are asked for."""

    def __init__(self, ids: TextColumn, outputs: Mapping[str, CustomOutput]) -> None:
        self._ids = ids
        self._outputs = outputs
        self._parsed: dict[int, FlwrQuery] = {}
        self._reader = shared_reader(DEFAULTS)

    def __getitem__(self, number: int) -> FlwrQuery:
        query = self._parsed.get(number)
        if query is None:
            output = self._outputs[self._ids.text(number)]
            query = self._parsed[number] = parse_flwr(output.flwr, output.namespaces)
        return query

    def read(self, number: int) -> ReadFlwr:
        """A query as its templates and their constants."""
        output = self._outputs[self._ids.text(number)]
        return self._reader.read(output.flwr, output.namespaces)

    def __iter__(self) -> Iterator[int]:
        return (n for n, one in enumerate(self._ids) if one in self._outputs)

    def __len__(self) -> int:
        return len(self._outputs)


class _Written(NamedTuple):
    """What the engine wrote for a document: results, and subscribers of those that are too long."""

    results: Findings
    too_long: list[int]


def _by_document(written: EngineOutputs, documents: int) -> list[_Written]:
    """What the engine wrote, document by document."""
    bounds = np.searchsorted(written.unit, np.arange(documents + 1)).tolist()
    offsets = np.concatenate([np.zeros(1, np.int64), written.end])
    return [_written(written, offsets, slice(*pair)) for pair in pairwise(bounds)]


def _written(written: EngineOutputs, offsets: NDArray[np.int64], rows: slice) -> _Written:
    """Some rows of what the engine wrote: those of one document."""
    numbers, texts = written.query[rows], written.text[rows]
    if not len(numbers):
        return _Written(Findings.none(), [])
    first, end = int(texts.min()), int(texts.max()) + 1
    too_long: list[int] = []
    if written.too_long[first:end].any():
        bad = written.too_long[texts] != 0
        too_long = numbers[bad].tolist()
        numbers, texts = numbers[~bad], texts[~bad]
    own = offsets[first : end + 1]
    described = Described([_texts(own, written.bytes)])
    return _Written(_rows(numbers, texts - np.int32(first), described), too_long)


def _texts(offsets: NDArray[np.int64], data: bytes) -> Any:
    """Texts as values, which rows refer to."""
    if len(offsets) > _MANY:
        from extract.filtertool.results.node_batches import value_batch

        return value_batch(OUTPUT, offsets, data)
    return _lists([data[start:end].decode() for start, end in pairwise(offsets.tolist())])


def _findings(made: Sequence[tuple[int, str]]) -> Findings:
    """Results as rows, whose value is the result."""
    numbers = np.array([number for number, _ in made], np.int32)
    described = Described([_lists([text for _, text in made])])
    return _rows(numbers, np.arange(len(made), dtype=np.int32), described)


def _lists(texts: Sequence[str]) -> DescribedLists:
    """Texts as values, one by one."""
    no: list[None] = [None] * len(texts)
    return DescribedLists([OUTPUT] * len(texts), [*no], [*no], [*no], [*no], [*texts], [*no])


def _rows(numbers: NDArray[np.int32], texts: NDArray[np.int32], described: Described) -> Findings:
    """Rows of results: for these subscribers, these of the texts."""
    nothing = np.empty(0, np.int64)
    return Findings(numbers, nothing, texts, np.zeros(len(numbers), np.int64), described)


def _rejected(name: str, error: DocumentError) -> DocumentOutcome:
    offset = error.offset if error.offset >= 0 else None
    rejection = Rejection(name, None, "chunk", error.reason, error.line or None, offset)
    return DocumentOutcome(name, "rejected", Findings.none(), (rejection,), error=error)
