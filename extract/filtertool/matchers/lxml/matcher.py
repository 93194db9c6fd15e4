"""The lxml matcher: one compiled XPath for each branch, evaluated by libxml2.

This matcher defines the answers: it answers every question, and the tests compare the others with
it. Queries that differ in their constants alone are compiled once, and their constants bound as
variables. Its time grows with the number of queries; prefer ``columnar`` for many. Its questions
can change (`UpdatableMatcher`) at the cost of the added ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from lxml import etree

from extract.errors import MatcherError
from extract.filtertool.matchers.answer_collector import Collector
from extract.filtertool.matchers.cost_bound import limit_for
from extract.filtertool.matchers.lxml.compiled_question import CompiledQuestion
from extract.filtertool.matchers.lxml.tree_evaluation import TreeEvaluation
from extract.filtertool.matchers.node_refs import TableRefs
from extract.filtertool.matchers.protocol import (
    Answers,
    Matcher,
    MatcherReport,
    Question,
    Select,
    Unit,
)
from extract.limits import DEFAULTS, Limits


@dataclass(frozen=True, slots=True)
class LxmlFactory:
    """Makes matchers that evaluate with libxml2.

    Attributes:
        seconds: The time limit on one unit for a question that may take very long; it runs in a
            process of its own.
        memory: Its memory limit there, in bytes.
        limit: The estimated cost from which a question may take very long
            (`extract.filtertool.matchers.cost_bound`); None to derive it from ``seconds``.
    """

    name: str = "lxml"
    consumes: Literal["xml", "table"] = "xml"
    templates: bool = True
    seconds: float = DEFAULTS.query_seconds
    memory: int = DEFAULTS.query_memory
    limit: float | None = None

    def build(self, questions: Sequence[Question], namespaces: Mapping[str, str]) -> Matcher:
        """Builds a matcher for these questions."""
        limit = limit_for(self.seconds) if self.limit is None else self.limit
        limits = Limits(query_seconds=self.seconds, query_memory=self.memory)
        return LxmlMatcher(questions, namespaces, limits, limit)

    def with_limits(self, limits: Limits) -> LxmlFactory:
        """Returns a factory whose matchers enforce limits of time and memory for one question."""
        return replace(self, seconds=limits.query_seconds, memory=limits.query_memory)


class LxmlMatcher:
    """Answers questions by libxml2; see `LxmlFactory`."""

    def __init__(
        self,
        questions: Sequence[Question],
        namespaces: Mapping[str, str],
        limits: Limits,
        limit: float,
    ) -> None:
        self._namespaces = dict(namespaces)
        self._limits = limits
        self._limit = limit
        self._questions: list[CompiledQuestion] = []
        self.update(questions, ())
        self._figures: Counter[str] = Counter()

    def match(self, units: Sequence[Unit], select: Select) -> Answers:
        """Answers all questions on each of the units.

        Raises:
            MatcherError: A unit cannot be parsed.
        """
        collector = Collector(select)
        for number, unit in enumerate(units):
            evaluation = self._evaluation(unit)
            index = 0
            for question in self._questions:
                for values in question.values():
                    evaluation.answer(collector, question, values, number, index, select)
                    index += 1
            if evaluation.guarded:
                self._figures["guarded_evaluations"] += evaluation.guarded
        self._figures["units"] += len(units)
        return collector.answers()

    def update(self, added: Sequence[Question], removed: Collection[int]) -> None:
        """Changes the questions, as defined by `UpdatableMatcher.update`; others stay compiled.

        Raises:
            IndexError: There is no question with such a number.
        """
        for number in removed:
            if not 0 <= number < len(self._questions):
                raise IndexError(f"there is no question {number}")
        gone = frozenset(removed)
        remaining = [
            question for number, question in enumerate(self._questions) if number not in gone
        ]
        fresh = [CompiledQuestion(question, self._namespaces, self._limit) for question in added]
        self._questions = [*remaining, *fresh]

    def report(self) -> MatcherReport:
        """Returns the figures of the work so far."""
        queries = sum([question.queries for question in self._questions])
        return MatcherReport({"lxml_questions": queries, **self._figures})

    def _evaluation(self, unit: Unit) -> TreeEvaluation:
        if unit.xml is None:
            raise MatcherError("the lxml matcher needs the unit as XML")
        try:
            refs = TableRefs(unit.table)
            return TreeEvaluation(
                unit.xml, len(unit.table), lambda: refs, self._namespaces, self._limits
            )
        except etree.XMLSyntaxError as error:
            raise MatcherError(f"libxml2 rejects a chunk: {error}") from error
