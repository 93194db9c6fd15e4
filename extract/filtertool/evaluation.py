"""The evaluation of documents: their state on the way, and what asks the questions of a plan."""

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
)
from extract.filtertool.options import Options
from extract.filtertool.query_plan import QueryPlan
from extract.filtertool.results.describe_nodes import NodeDescriber
from extract.filtertool.results.merge import Answered, Merger
from extract.filtertool.results.owners import Indices
from extract.filtertool.results.seconds import Seconds
from extract.filtertool.units import DocumentUnits


@dataclass(slots=True)
class DocumentEvaluation:
    """The evaluation of one document: its state between the scan and the outcome.

    Attributes:
        units: The document's units.
        merger: Takes the answers of the units.
        started: When the document was opened.
        whole: Why the document is to be evaluated whole; empty if it is not.
        nonconforming: Whether it breaks the schema.
        error: Why it is rejected; None if it is not.
        seconds: Time by stage.
        answer_seconds: By chunk, after how many seconds its answers were ready.
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
        """Whether questions are asked of the units, and not of the whole document."""
        return self.error is None and not self.whole

    def ready(self, chunk: str) -> float:
        """Notes that the answers of a chunk are ready; returns after how many seconds."""
        self.answer_seconds[chunk] = seconds = time.perf_counter() - self.started
        return seconds


class _QuestionSet(NamedTuple):
    """Questions of a part that one matcher answers together.

    Attributes:
        matcher: The matcher.
        select: What it is asked for.
        queries: The query of each question.
    """

    matcher: Matcher
    select: Select
    queries: Indices


class PlanEvaluator:
    """Asks the questions of a query plan.

    Args:
        plan: The questions.
        factory: Makes the matchers that answer them.
        options: What is asked for.
    """

    def __init__(self, plan: QueryPlan, factory: MatcherFactory, options: Options) -> None:
        self._plan = plan
        self._factory = factory.with_limits(options.limits)
        self._options = options
        self._sets: dict[int, list[_QuestionSet]] = {}

    def evaluate(self, batch: Sequence[DocumentEvaluation]) -> None:
        """Asks the questions of every part, on all documents of a batch at once."""
        started = time.perf_counter()
        scanned = documents = [each for each in batch if each.by_units]
        for number, part in enumerate(self._plan.parts):
            documents = [each for each in documents if each.by_units]
            self.evaluate_part(number, documents)
            for each in documents:
                each.ready(part.output.id)
        if scanned:
            scanned[0].seconds["match"] = time.perf_counter() - started

    def evaluate_part(self, number: int, documents: Sequence[DocumentEvaluation]) -> None:
        """Asks the questions of one part on all documents; their mergers take the answers.

        A document of which the part cannot be evaluated is then to be evaluated whole.
        """
        units = [document.units.units[number] for document in documents]
        for asked in self._question_sets(number):
            try:
                self._take(documents, number, asked, asked.matcher.match(units, asked.select))
            except MatcherError:
                for document, unit in zip(documents, units, strict=True):
                    self._evaluate_alone(document, number, unit, asked)

    def figures(self) -> dict[str, float]:
        """Returns what the matchers report of their work so far, added up."""
        total: dict[str, float] = {}
        for sets in self._sets.values():
            for one in sets:
                for name, number in one.matcher.report().figures.items():
                    total[name] = total.get(name, 0) + number
        return total

    def _question_sets(self, number: int) -> list[_QuestionSet]:
        """Returns the questions of a part with their matchers, built when they are first needed."""
        sets = self._sets.get(number)
        if sets is None:
            part, select = self._plan.parts[number], self._options.select
            groups = [(np.arange(len(part.questions)), select)]
            if select == "count" and part.shared.any():
                # A node that several chunks have counts once: nodes are needed to see that.
                groups = [(np.flatnonzero(part.shared), "nodes")]
                groups.append((np.flatnonzero(~part.shared), "count"))
            build, bound = self._factory.build, self._plan.namespaces
            sets = self._sets[number] = [
                _QuestionSet(
                    build([part.questions[n] for n in ours], bound), how, part.queries[ours]
                )
                for ours, how in groups
                if len(ours)
            ]
        return sets

    def _evaluate_alone(
        self, document: DocumentEvaluation, number: int, unit: Unit, asked: _QuestionSet
    ) -> None:
        try:
            self._take([document], number, asked, asked.matcher.match([unit], asked.select))
        except MatcherError as error:
            # libxml2 has the last word on documents; it will say it on the whole one.
            document.whole = f"a chunk could not be evaluated: {error.reason}"

    def _take(
        self,
        documents: Sequence[DocumentEvaluation],
        number: int,
        asked: _QuestionSet,
        answers: Answers,
    ) -> None:
        """Distributes the answers of a part over the documents."""
        for value in answers.values:
            query = int(asked.queries[value.question])
            documents[value.unit].merger.value(query, value.value)
        for failure in answers.failures:
            query = int(asked.queries[failure.question])
            documents[failure.unit].merger.fail(query, failure.reason)
        if asked.select != "nodes":
            bounds = np.searchsorted(answers.unit, np.arange(len(documents) + 1)).tolist()
            for n, document in enumerate(documents):
                ours = slice(bounds[n], bounds[n + 1])
                queries = asked.queries[answers.question[ours]]
                document.merger.counts(queries, answers.count[ours].astype(np.int64))
            return
        nodes = answers.nodes
        assert nodes is not None, f"{self._factory.name} gives no nodes"
        bounds = np.searchsorted(nodes.unit, np.arange(len(documents) + 1)).tolist()
        options = self._options
        for n, document in enumerate(documents):
            table, origin = document.units.units[number].table, document.units.origins[number]
            ours = slice(bounds[n], bounds[n + 1])
            queries = asked.queries[nodes.question[ours]]
            mine = Nodes(nodes.unit[ours], queries, nodes.refs.take(ours))
            describer = NodeDescriber(table, options.limits.value_bytes, options.standalone, origin)
            document.merger.nodes(Answered(table, mine, describer, origin))
