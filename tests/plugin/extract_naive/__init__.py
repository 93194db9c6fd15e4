"""A matcher for `extract` in a package of its own: short, slow and right.

It shows all that a matcher must do. It parses each unit, evaluates each branch of each question
with lxml, and says of each node which row of the node table it is, or which of that row's texts,
comments or attributes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from extract.filtertool.matchers.answer_collector import Collector
from extract.filtertool.matchers.lxml.parsed_unit import ParsedUnit, compiled, plain
from extract.filtertool.matchers.node_refs import TableRefs
from extract.filtertool.matchers.protocol import (
    Answers,
    MatcherReport,
    Question,
    Select,
    Unit,
    UnlimitedFactory,
)
from extract.xpath.functions import Type


@dataclass(frozen=True)
class NaiveFactory(UnlimitedFactory):
    """Makes naive matchers. It is sent to the workers, so it is small and can be pickled.

    It holds no limits of time or memory for a question: `UnlimitedFactory` says so.
    """

    name: str = "naive"
    consumes: Literal["xml", "table"] = "xml"

    def build(self, questions: Sequence[Question], namespaces: Mapping[str, str]) -> NaiveMatcher:
        """A matcher for these questions."""
        return NaiveMatcher(questions, namespaces)


class NaiveMatcher:
    """Answers one question after the other, on one unit after the other."""

    def __init__(self, questions: Sequence[Question], namespaces: Mapping[str, str]) -> None:
        self._questions = questions
        self._namespaces = namespaces
        self._evaluations = 0

    def match(self, units: Sequence[Unit], select: Select) -> Answers:
        """Answers all questions on each of the units."""
        collector = Collector(select)
        for number, unit in enumerate(units):
            assert unit.xml is not None
            parsed = ParsedUnit(unit.xml)
            for index, question in enumerate(self._questions):
                self._evaluations += 1
                try:
                    self._answer(collector, unit, parsed, number, index, question, select)
                except Exception as error:  # one bad question must not stop the others
                    collector.fail(number, index, str(error))
        return collector.answers()

    def report(self) -> MatcherReport:
        """What was done so far."""
        return MatcherReport({"naive_evaluations": self._evaluations})

    def _answer(
        self,
        collector: Collector,
        unit: Unit,
        parsed: ParsedUnit,
        number: int,
        index: int,
        question: Question,
        select: Select,
    ) -> None:
        if question.type is not Type.NODES:
            (xpath,) = question.branches
            collector.value(number, index, plain(compiled(xpath, self._namespaces)(parsed.tree)))
            return
        branches = [compiled(xpath, self._namespaces) for xpath in question.branches]
        # Branches may select the same nodes, and each in its own order.
        refs = TableRefs(unit.table).unique(parsed.select(branches))
        if select == "nodes":
            collector.nodes(number, index, refs)
        else:
            collector.count(number, index, len(refs))
