"""`BatchFilter`: from batches of documents to rows, with the push engine in front.

The engine answers most queries on most documents, a batch in one call, without anything in Python
for a document. Where it cannot decide, it names the queries that may match a document, and libxml2
answers these on one tree. What is left, the usual filter (`DocumentFilter`) does: queries in later
versions of XPath, and documents that the engine does not take.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from extract.chunktool.scan.driver import edge_in_words
from extract.filtertool.document_choice import SMALL, DocumentChoice
from extract.filtertool.loaded_batch import LoadedBatch, NamedDocument
from extract.filtertool.matchers.protocol import MatcherFactory
from extract.filtertool.matchers.push.engine_answers import BatchAnswers, EngineNodes, EngineRows
from extract.filtertool.matchers.push.native import require_native
from extract.filtertool.matchers.registry import PUSH
from extract.filtertool.options import Options
from extract.filtertool.other_filters import OtherFilters
from extract.filtertool.push_queries import PushQueries
from extract.filtertool.push_stage import Failures, PushStage, StageMatches
from extract.filtertool.restored_outcomes import restored
from extract.filtertool.results.account import PresentFigures, added
from extract.filtertool.results.batch_outcome import BatchOutcome, FilterOutcome
from extract.filtertool.results.direct_rows import described_findings
from extract.filtertool.results.findings import Findings
from extract.filtertool.results.outcome import DocumentOutcome, Rejection
from extract.filtertool.results.owners import Longs
from extract.filtertool.results.seconds import Seconds
from extract.filtertool.scheme_view import SchemeView
from extract.filtertool.trees_first import MOST_ALONE, TreesAlone, TreesFirst, is_harmless
from extract.markup.plain_form import plain_form
from extract.scheme.model import Scheme
from extract.subscriptions.columns import TextColumn

MOST_BYTES: Final = 1 << 25  # larger documents are filtered one by one

Placed = tuple[int, FilterOutcome]
"""An outcome, and the place of its first document in the batch."""

_place: Final = itemgetter(0)


class BatchFilter:
    """Filters batches of documents for one scheme, whose queries may change.

    Several threads may filter at a time: the engine works for all of them, what others do waits for
    its turn. Nobody may filter while queries change.

    Args:
        scheme: The queries.
        factory: Makes the matchers for what the engine does not do; of `PushFactory`, its
            fallback does.
        options: How to filter.

    Attributes:
        options: How to filter.
        ids: The ids of all subscribers, as they were at the beginning.
        queries: The queries, divided between the engine and others.
    """

    def __init__(self, scheme: Scheme, factory: MatcherFactory, options: Options) -> None:
        require_native()
        view = SchemeView.of(scheme)
        self.options = options
        self.ids: TextColumn = scheme.directory.ids
        self.queries = PushQueries.of_forms(view, options)
        others = _without_engine(factory)
        self._others = OtherFilters(view, others, options, self.queries.rest)
        self._refused: Counter[str] = Counter()  # documents, by figure
        self._in_turn = threading.RLock()  # for all but the engine
        self._stage = PushStage(
            self.queries,
            lambda: self._others.view,
            lambda: self._others.cutter,
            options,
            self._in_turn,
        )
        self._open_stage: PushStage | None = None  # for documents that break the schema
        self._choice = DocumentChoice(len(scheme.forms), len(scheme.members), options.select)
        self._pairs: Counter[str] = Counter()
        self._has_schema = scheme.schema.kind != "none"
        self._trees_alone: TreesAlone | None = None
        self._trees_first = self._new_trees_first()

    def changed(self, view: Callable[[], SchemeView], rest: bool) -> None:
        """Takes note that `queries` have changed.

        Args:
            view: Returns the scheme as it is now; called when a document needs it.
            rest: Whether queries have changed that the engine does not answer.
        """
        self._others = self._others.after(view, self.queries.rest if rest else None)
        self._open_stage = self.queries.engine.other = None
        self._choice.resize(len(self.queries.forms), len(self.queries.engine))
        if self._trees_alone is not None:
            self._pairs["pairs_lxml"] += self._trees_alone.pairs
        self._trees_alone = None
        self._trees_first = self._new_trees_first()

    def _new_trees_first(self) -> TreesFirst | None:
        if self._is_checked or not TreesFirst.is_useful(self.queries, self.options):
            return None
        return TreesFirst(self._alone, self.options.limits, self.queries)

    @property
    def _is_checked(self) -> bool:
        """Whether rows depend on which documents keep the schema."""
        return self._has_schema and self.options.on_nonconforming == "reject"

    def _alone(self) -> TreesAlone:
        if self._trees_alone is None:
            self._trees_alone = TreesAlone(self._others.view, self.options, self._in_turn)
        return self._trees_alone

    def process(self, documents: Iterable[NamedDocument]) -> list[FilterOutcome]:
        """Filters a batch of documents, each with its name.

        Documents that were matched together have one outcome, at the place of the first of them;
        otherwise outcomes are in the order of the documents.
        """
        # What documents that break the schema are is told by the engine alone.
        filtered = self._process if self._has_schema else self.process_quietly
        outcomes = filtered(documents)
        if outcomes:
            figures = PresentFigures(self.figures)
            outcomes[-1] = replace(outcomes[-1], worker=os.getpid(), figures=figures)
        return outcomes

    def process_quietly(self, documents: Iterable[NamedDocument]) -> list[FilterOutcome]:
        """The same for callers that report nothing: without figures, and without a look at the
        schema where rows do not depend on it."""
        if self._trees_first is not None:
            return self._trees_first.process(documents, self._process_quietly)
        return self._process(documents, quietly=True)

    def _process_quietly(self, documents: Iterable[NamedDocument]) -> list[FilterOutcome]:
        return self._process(documents, quietly=True)

    def _process(
        self, documents: Iterable[NamedDocument], quietly: bool = False
    ) -> list[FilterOutcome]:
        seconds = Seconds()
        started = time.perf_counter()
        most = self._choice.columns_from or MOST_BYTES
        batch = LoadedBatch(documents, min(most, MOST_BYTES), self.options.limits)
        seconds.since("chunk", started)
        outcomes = self._filtered(batch, seconds, quietly)
        assert outcomes is not None
        return outcomes

    def _filtered(
        self, batch: LoadedBatch, seconds: Seconds, quietly: bool, plain: bool = False
    ) -> list[FilterOutcome] | None:
        """The outcomes of a batch.

        Args:
            batch: The documents.
            seconds: Takes the time.
            quietly: Whether nothing is reported but rows.
            plain: Whether this is the plain form of a document that the engine did not take: then
                None is returned if it does not take it either.
        """
        others, matched_from = self._others, time.perf_counter()
        measured = batch.largest >= SMALL
        spent = time.thread_time() if measured else 0.0
        answers = self._answers(batch.loaded)
        done, own = answers.done, answers.own
        if plain and not set(done.tolist()) <= {1, 2}:
            return None
        by_itself = not (others.has_rest or self.options.standalone)
        is_simple = by_itself and not len(own.candidates.unit)
        is_described = own.nodes is None or all(own.nodes.described)
        if is_simple and is_described and self._all_is_done(batch, answers):
            self._stage.count_pairs(len(batch), 0)
            seconds["match"] = time.perf_counter() - matched_from
            if measured:
                self._choice.note(batch.loaded, time.thread_time() - spent)
            if own.nodes is None:
                return [_whole(batch, own.matches, seconds)]
            return _described(batch, own.nodes, seconds)
        outcomes: list[Placed] = []
        matched = np.zeros(len(batch), np.bool_)
        if 1 in done.tobytes():
            found = self._stage.complete(batch.loaded, done == 1, own)
            seconds["match"] = time.perf_counter() - matched_from
            if measured:
                self._choice.note(batch.loaded, time.thread_time() - spent)
            matched[batch.places] = found.done
            if by_itself and own.nodes is None and matched.all() and found.is_without_failures:
                return [_whole(batch, self._stage.counted(found), seconds)]
            outcomes = self._taken(batch, matched, found, seconds)
        if not matched.all():
            with self._in_turn:
                outcomes += self._others_than(batch, matched, answers, quietly)
            outcomes.sort(key=_place)
        batch.close()
        return [outcome for _, outcome in outcomes]

    def _taken(
        self,
        batch: LoadedBatch,
        matched: NDArray[np.bool_],
        found: StageMatches,
        seconds: Seconds,
    ) -> list[Placed]:
        """The outcomes of documents that the engine takes."""
        rest: Mapping[int, DocumentOutcome] = {}
        if self._others.has_rest:
            with self._in_turn:
                rest = self._others.rest_of(batch, batch.places[found.done].tolist())
        if not matched.any():
            return []
        if self.options.select == "nodes":
            with self._in_turn:
                return list(self._one_by_one(batch, found, rest, seconds))
        return self._together(batch, matched, found, rest, seconds)

    def _others_than(
        self,
        batch: LoadedBatch,
        matched: NDArray[np.bool_],
        answers: BatchAnswers,
        quietly: bool,
    ) -> list[Placed]:
        """The outcomes of documents that the engine does not take, or that break the schema."""
        outcomes = list(self.match_breaking(batch, answers))
        if len(outcomes) < len(batch):
            breaking = {place for place, _ in outcomes}
            odd = [n for n in np.flatnonzero(~matched).tolist() if n not in breaking]
            self._refused["push_large_documents"] += len(batch.large)
            outcomes += self._odd(batch, odd, quietly)
        return outcomes

    def _answers(self, documents: Sequence[bytes]) -> BatchAnswers:
        """The answers of the engine; at the first document that breaks the schema, one for such
        documents is made, too."""
        engine = self.queries.engine
        engine.conditions = self.queries.conditions
        answers = engine.match_all(documents)
        if answers.broken and engine.other is None and self.options.on_nonconforming == "fallback":
            with self._in_turn:
                if self._open_stage is None:
                    view, options = self._others.view, self.options
                    queries = PushQueries.as_written(view, options, engine.names)
                    queries.engine.conditions = queries.conditions
                    self._open_stage = PushStage(
                        queries,
                        lambda: self._others.view,
                        lambda: self._others.open_cutter,
                        options,
                        self._in_turn,
                    )
                    engine.other = queries.engine
            answers = engine.match_all(documents)
        return answers

    def _all_is_done(self, batch: LoadedBatch, answers: BatchAnswers) -> bool:
        """Whether the engine has matched all documents, and at least one."""
        count = len(answers.done)
        return 0 < count == len(batch) == answers.done.tobytes().count(1)

    def figures(self) -> Mapping[str, float]:
        """Returns the sums of the engine's and the matchers' figures so far."""
        engine = self.queries.engine
        figures: dict[str, float] = {
            "push_questions": len(engine) - len(self.queries.trees),
            "push_refused_questions": len(self.queries.rest) + len(self.queries.trees),
            "push_large_documents": self._refused["push_large_documents"],
            "push_refused_documents": self._refused["push_refused_documents"],
        }
        figures |= {f"push_{name}": number for name, number in engine.figures().items()}
        stages = [self._stage] if self._open_stage is None else [self._stage, self._open_stage]
        parts: list[Mapping[str, float]] = [one.figures() for one in stages]
        if self._trees_alone is not None:
            parts.append({"pairs_lxml": self._trees_alone.pairs})
        with self._in_turn:
            return added([figures, self._pairs, *parts, self._others.figures()])

    # -- rows of documents together

    def _together(
        self,
        batch: LoadedBatch,
        matched: NDArray[np.bool_],
        found: StageMatches,
        rest: Mapping[int, DocumentOutcome],
        seconds: Seconds,
    ) -> list[Placed]:
        """Outcomes of documents that were matched, with the places of the first of each."""
        rows = self._stage.counted(found)
        failures = self._stage.failures(found)
        if len(batch.places) < len(batch):
            rows = rows._replace(unit=batch.places[rows.unit].astype(np.int32))
            failures = {int(batch.places[unit]): failed for unit, failed in failures.items()}
        if rest:
            rows = _with_rest(rows, rest, self.options.select == "count")
        rejections = self._rejections(batch, failures)
        outcomes: list[Placed] = []
        for first, end in _runs(matched):
            own = slice(0, len(rows.unit))
            if end - first < len(batch):
                own = slice(*np.searchsorted(rows.unit, [first, end]).tolist())
            others = [rest[place] for place in range(first, end)] if rest else []
            outcome = BatchOutcome(
                batch.names[first:end],
                batch.sizes(first, end),
                rows.unit[own] - np.int32(first),
                rows.query[own],
                rows.value[own],
                seconds,
                others,
                failed={n - first: why for n, why in rejections.items() if first <= n < end},
            )
            seconds = Seconds()
            outcomes.append((first, outcome))
        return outcomes

    def _rejections(
        self, batch: LoadedBatch, failures: Mapping[int, Failures]
    ) -> dict[int, tuple[Rejection, ...]]:
        """By place of a document, queries that could not be evaluated on it."""
        ids = self._others.ids({number for failed in failures.values() for number in failed})
        return {
            place: tuple(
                [
                    Rejection.of_query(batch.names[place], ids[number], why)
                    for number, why in sorted(failed.items())
                ]
            )
            for place, failed in failures.items()
        }

    # -- rows of documents one by one

    def _one_by_one(
        self,
        batch: LoadedBatch,
        found: StageMatches,
        rest: Mapping[int, DocumentOutcome],
        seconds: Seconds,
    ) -> Iterator[Placed]:
        """Outcomes of documents with nodes, and their places."""
        started = time.perf_counter()
        for unit, findings, failed in self._stage.nodes(found):
            place = int(batch.places[unit])
            rejections = self._rejections(batch, {place: failed})[place] if failed else ()
            other = rest.get(place)
            if other is not None:
                findings = Findings.together([findings, other.findings])
                rejections += other.rejections
                seconds.update_by(other.seconds)
            seconds.since("rows", started)
            outcome = DocumentOutcome(
                batch.names[place],
                "conforming",
                findings,
                rejections,
                bytes=len(batch.data(place)),
                scanner="kernel",
                notes=() if other is None else other.notes,
                seconds=seconds,
            )
            seconds, started = Seconds(), time.perf_counter()
            yield place, outcome

    # -- documents that the engine does not take

    def _odd(self, batch: LoadedBatch, places: Sequence[int], quietly: bool) -> Iterator[Placed]:
        """Yields the outcomes of documents that the engine does not take as they are."""
        for place in places:
            if place in batch.large:
                yield place, self._large(batch, place, quietly)
                continue
            plain = self._plainly(batch, place, quietly)
            if plain is not None:
                yield place, plain
                continue
            self._refused["push_refused_documents"] += 1
            alone = self._by_trees(batch, place) if quietly else None
            if alone is not None:
                yield place, alone
                continue
            yield place, self._counted(self._others.whole(batch.document(place)))

    def _large(self, batch: LoadedBatch, place: int, quietly: bool) -> FilterOutcome:
        """The outcome of a document that has too many bytes for the engine, or costs less in
        columns, unless it breaks the schema."""
        self._refused["push_refused_documents"] += 1
        started = time.thread_time()
        is_chosen = self._choice.columns_from is not None
        outcome = None
        if is_chosen and self._has_schema and self.options.on_nonconforming == "fallback":
            outcome = self._others.keeping(batch.document(place))
            if outcome is None:
                loaded = LoadedBatch([batch.document(place)], MOST_BYTES, self.options.limits)
                done = None if loaded.large else self._filtered(loaded, Seconds(), quietly)
                if done is not None:
                    return done[0]
        outcome = outcome or self._others.whole(batch.document(place))
        if outcome.fate == "conforming":
            self._choice.learn(True, outcome.bytes, time.thread_time() - started)
        return self._counted(outcome)

    def _counted(self, outcome: DocumentOutcome) -> DocumentOutcome:
        """An outcome without the engine, of which note is taken."""
        how = "pairs_columns" if outcome.fate == "conforming" else "pairs_whole"
        self._pairs[how] += len(self._others.view.numbers)
        return outcome

    def _by_trees(self, batch: LoadedBatch, place: int) -> FilterOutcome | None:
        """The outcome of a document by libxml2 alone, if that is worth while and can do no harm."""
        if (
            self.options.select not in ("doc", "count")
            or self._is_checked
            or len(self.queries.engine) > MOST_ALONE
            or len(self.queries.rest)
        ):
            return None
        data, alone = batch.in_memory(place), self._alone()
        if data is None or len(data) > alone.most or b"<!DOCTYPE" not in data:
            return None
        if not is_harmless(data, self.options.limits):
            return None
        return alone.outcome([(batch.names[place], data)])

    def _plainly(self, batch: LoadedBatch, place: int, quietly: bool) -> FilterOutcome | None:
        """The outcome of a document by way of its plain form, if the engine takes that."""
        data = batch.in_memory(place)
        form = None if data is None else plain_form(data)
        if form is None or len(form.data) > MOST_BYTES:
            return None
        named = [(batch.names[place], form.data)]
        loaded = LoadedBatch(named, MOST_BYTES, self.options.limits)
        outcomes = self._filtered(loaded, Seconds(), quietly, plain=True)
        return None if outcomes is None else restored(outcomes[0], form)

    def match_breaking(self, batch: LoadedBatch, answers: BatchAnswers) -> Iterator[Placed]:
        """Yields the outcomes of documents that break the schema.

        The queries as they were written hold for these, too; an engine of their own has matched
        them right after the scan.

        Args:
            batch: The documents.
            answers: What the engines found in those that are loaded.
        """
        if answers.other is None or self._open_stage is None:
            return
        stage, others, started = self._open_stage, self._others, time.perf_counter()
        found = stage.complete(batch.loaded, answers.done == 2, answers.other)
        rest: Mapping[int, DocumentOutcome] = {}
        if others.has_rest:
            rest = others.rest_of(batch, batch.places[found.done].tolist())
        for unit, findings, failed in stage.findings(found):
            place = int(batch.places[unit])
            rejections = self._rejections(batch, {place: failed})[place] if failed else ()
            other = rest.get(place)
            if other is not None:
                findings = Findings.together([findings, other.findings])
                rejections += other.rejections
            seconds = Seconds()
            seconds.since("whole", started)
            started = time.perf_counter()
            yield (
                place,
                DocumentOutcome(
                    batch.names[place],
                    "nonconforming",
                    findings,
                    rejections,
                    True,
                    len(batch.loaded[unit]),
                    "kernel",
                    (edge_in_words(answers.broken[unit]),),
                    seconds,
                ),
            )


def _whole(batch: LoadedBatch, rows: EngineRows, seconds: Seconds) -> FilterOutcome:
    """The outcome of a batch that the engine did all of."""
    sizes = batch.sizes(0, len(batch))
    return BatchOutcome(batch.names, sizes, rows.unit, rows.query, rows.value, seconds=seconds)


def _described(batch: LoadedBatch, nodes: EngineNodes, seconds: Seconds) -> list[FilterOutcome]:
    """The outcomes of documents whose nodes the engine has found and described."""
    outcomes: list[FilterOutcome] = []
    for unit, name in enumerate(batch.names):
        findings, size = described_findings(nodes, unit), len(batch.loaded[unit])
        outcomes.append(
            DocumentOutcome(name, "conforming", findings, (), False, size, "kernel", (), seconds)
        )
        seconds = Seconds()
    return outcomes


def _with_rest(rows: EngineRows, rest: Mapping[int, DocumentOutcome], counting: bool) -> EngineRows:
    """Rows of the engine, and those of the rest of the queries."""
    more = [(place, done.findings) for place, done in rest.items() if len(done.findings)]
    places = [np.full(len(one), place, np.int32) for place, one in more]
    unit = np.concatenate([rows.unit, *places])
    query = np.concatenate([rows.query, *[one.subscriber for _, one in more]])
    order = np.lexsort((query, unit))
    value: Longs = rows.value
    if counting:
        value = np.concatenate([value, *[one.count for _, one in more]])[order]
    return EngineRows(unit[order], query[order], value, rows.number)


def _runs(matched: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """The ranges of documents next to each other that were matched.

    >>> list(_runs(np.array([True, True, False, True])))
    [(0, 2), (3, 4)]
    """
    if matched.all():
        if len(matched):
            yield 0, len(matched)
        return
    edges = np.flatnonzero(np.diff(matched, prepend=False, append=False)).tolist()
    yield from zip(edges[::2], edges[1::2], strict=True)


def _without_engine(factory: MatcherFactory) -> MatcherFactory:
    """What makes the matchers for the rest: of the engine as a matcher, its fallback does."""
    if factory.name != PUSH:
        return factory
    from extract.filtertool.matchers.push.factory import PushFactory  # with columns: 100 ms

    return factory.fallback if isinstance(factory, PushFactory) else factory
