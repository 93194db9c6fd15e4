"""The evaluation of documents: their state on the way, and the matchers of a plan."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from extract.errors import DocumentError, MatcherError
from extract.filtertool.matchers.protocol import (
    Answers,
    Matcher,
    MatcherFactory,
    Nodes,
    Select,
    Unit,
    build_matcher,
)
from extract.filtertool.options import Options
from extract.filtertool.query_plan import PlanPart, QueryPlan
from extract.filtertool.results.describe_nodes import NodeDescriber
from extract.filtertool.results.merge import Answered, Merger
from extract.filtertool.results.owners import Indices
from extract.filtertool.results.seconds import Seconds
from extract.filtertool.units import DocumentUnits
from extract.scheme.garbage import no_collection


@dataclass(slots=True)
class DocumentEvaluation:
    """The evaluation of one document: its state between the scan and the outcome.

    Attributes:
        units: The document's units.
        merger: Collects the answers of the units.
        started: When the document was opened.
        whole: Why the document is evaluated whole; empty if it is not.
        nonconforming: Whether it breaks the schema.
        error: Why it is rejected; None if it is not.
        seconds: Time by stage.
        answer_seconds: By chunk, the seconds until its answers were ready.
    """

    units: DocumentUnits
    merger: Merger
    started: float
    whole: str = ""
    nonconforming: bool = False
    error: DocumentError | None = None
    seconds: Seconds = field(default_factory=Seconds)
    answer_seconds: dict[str, float] = field(default_factory=dict)

    @property
    def by_units(self) -> bool:
        """Whether the units are evaluated, and not the whole document."""
        return self.error is None and not self.whole

    def ready(self, chunk: str) -> float:
        """Records that the answers of a chunk are ready; returns the seconds since the start."""
        self.answer_seconds[chunk] = seconds = time.perf_counter() - self.started
        return seconds


class _QuestionSet(NamedTuple):
    """The questions of a part that one matcher answers together.

    Attributes:
        matcher: The matcher.
        select: Whether it returns nodes, counts, or only which questions match.
        queries: The query of each question.
    """

    matcher: Matcher
    select: Select
    queries: Indices


class PlanEvaluator:
    """Evaluates the questions of a query plan.

    Args:
        plan: The questions.
        factory: Makes the matchers that answer them.
        options: How to filter.
    """

    def __init__(self, plan: QueryPlan, factory: MatcherFactory, options: Options) -> None:
        self._plan = plan
        self._factory = factory.with_limits(options.limits)
        self._options = options
        self._sets: dict[int, list[_QuestionSet]] = {}

    def evaluate(self, batch: Sequence[DocumentEvaluation]) -> None:
        """Evaluates every part on all documents of a batch at once."""
        started = time.perf_counter()
        scanned = documents = [document for document in batch if document.by_units]
        for number, part in enumerate(self._plan.parts):
            documents = [document for document in documents if document.by_units]
            self.evaluate_part(number, documents)
            for document in documents:
                document.ready(part.output.id)
        if scanned:
            scanned[0].seconds["match"] = time.perf_counter() - started

    def evaluate_part(self, number: int, documents: Sequence[DocumentEvaluation]) -> None:
        """Evaluates one part on all documents; their mergers collect the answers.

        A document on which the part cannot be evaluated is then evaluated whole.
        """
        units = [document.units.units[number] for document in documents]
        for questions in self._question_sets(number):
            try:
                self._take(
                    documents, number, questions, questions.matcher.match(units, questions.select)
                )
            except MatcherError:
                for document, unit in zip(documents, units, strict=True):
                    self._evaluate_alone(document, number, unit, questions)

    def figures(self) -> dict[str, float]:
        """Returns the sums of the matchers' figures so far."""
        total: dict[str, float] = {}
        for sets in self._sets.values():
            for group in sets:
                for name, number in group.matcher.report().figures.items():
                    total[name] = total.get(name, 0) + number
        return total

    def _question_sets(self, number: int) -> list[_QuestionSet]:
        """Returns the questions of a part with their matchers, which are built on first use."""
        sets = self._sets.get(number)
        if sets is None:
            part, select = self._plan.parts[number], self._options.select
            groups = [(np.arange(len(part.questions)), select)]
            if select == "count" and part.shared.any():
                # A node in several chunks counts once: that takes the nodes themselves.
                groups = [(np.flatnonzero(part.shared), "nodes")]
                groups.append((np.flatnonzero(~part.shared), "count"))
            sets = self._sets[number] = [
                self._question_set(part, chosen.tolist(), how)
                for chosen, how in groups
                if len(chosen)
            ]
        return sets

    def _question_set(self, part: PlanPart, chosen: Sequence[int], how: Select) -> _QuestionSet:
        """Builds the matcher for some questions of a part."""
        questions = [part.questions[n] for n in chosen]
        with no_collection():
            matcher = build_matcher(self._factory, questions, self._plan.namespaces)
        return _QuestionSet(matcher, how, part.queries_of(chosen))

    def _evaluate_alone(
        self, document: DocumentEvaluation, number: int, unit: Unit, questions: _QuestionSet
    ) -> None:
        try:
            self._take(
                [document], number, questions, questions.matcher.match([unit], questions.select)
            )
        except MatcherError as error:
            # libxml2 has the last word on documents: it judges the whole one.
            document.whole = f"a chunk could not be evaluated: {error.reason}"

    def _take(
        self,
        documents: Sequence[DocumentEvaluation],
        number: int,
        questions: _QuestionSet,
        answers: Answers,
    ) -> None:
        """Distributes the answers of a part over the documents."""
        for value in answers.values:
            query = int(questions.queries[value.question])
            documents[value.unit].merger.value(query, value.value)
        for failure in answers.failures:
            query = int(questions.queries[failure.question])
            documents[failure.unit].merger.fail(query, failure.reason)
        if questions.select != "nodes":
            bounds = np.searchsorted(answers.unit, np.arange(len(documents) + 1)).tolist()
            for n, document in enumerate(documents):
                rows = slice(bounds[n], bounds[n + 1])
                queries = questions.queries[answers.question[rows]]
                document.merger.counts(queries, answers.count[rows].astype(np.int64))
            return
        nodes = answers.nodes
        assert nodes is not None, f"{self._factory.name} gives no nodes"
        bounds = np.searchsorted(nodes.unit, np.arange(len(documents) + 1)).tolist()
        options = self._options
        for n, document in enumerate(documents):
            table, origin = document.units.units[number].table, document.units.origins[number]
            rows = slice(bounds[n], bounds[n + 1])
            queries = questions.queries[nodes.question[rows]]
            selected = Nodes(nodes.unit[rows], queries, nodes.refs.take(rows))
            describer = NodeDescriber(table, options.limits.value_bytes, options.standalone, origin)
            document.merger.nodes(Answered(table, selected, describer, origin))
