"""Asking a matcher: the questions of a part of documents, and what becomes of the answers."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from extract.errors import DocumentError, MatcherError
from extract.filtertool.cutting import Cut
from extract.filtertool.describe_nodes import NodeDescriber
from extract.filtertool.matcher import Answers, Matcher, MatcherFactory, Nodes, Select, Unit
from extract.filtertool.options import Options
from extract.filtertool.plan import Indices, Plan
from extract.filtertool.registry import within
from extract.filtertool.results import Answered, Merger
from extract.filtertool.seconds import Seconds


@dataclass(slots=True)
class Underway:
    """A document on its way.

    Attributes:
        name: Its name.
        cut: It, cut; None if that failed.
        merger: Takes the answers; None unless it conforms.
        whole: Why it is to be evaluated whole; empty if it is not.
        error: Why it is rejected.
        nonconforming: Whether it breaks the schema.
        seconds: Time by stage.
        began: When it was taken up.
        delivered: How many seconds after that the answers of each chunk were there.
    """

    name: str
    cut: Cut | None = None
    merger: Merger | None = None
    whole: str = ""
    error: DocumentError | None = None
    nonconforming: bool = False
    seconds: Seconds = field(default_factory=Seconds)
    began: float = field(default_factory=time.perf_counter)
    delivered: dict[str, float] = field(default_factory=dict)

    @property
    def parts(self) -> Cut:
        """It, cut."""
        assert self.cut is not None
        return self.cut

    @property
    def answers(self) -> Merger:
        """What takes the answers."""
        assert self.merger is not None
        return self.merger

    def deliver(self, chunk: str) -> float:
        """Notes that the answers of a chunk are there; returns after how many seconds."""
        self.delivered[chunk] = spent = time.perf_counter() - self.began
        return spent


class _Asked(NamedTuple):
    """Questions of a part that are answered in one go."""

    matcher: Matcher
    select: Select
    queries: Indices


class Asker:
    """Asks the questions of a plan.

    Args:
        plan: The questions.
        factory: How to answer them.
        options: What is asked for.
    """

    def __init__(self, plan: Plan, factory: MatcherFactory, options: Options) -> None:
        self._plan = plan
        self._factory = within(factory, options.limits)
        self._options = options
        self._asked: dict[int, list[_Asked]] = {}

    def ask(self, number: int, documents: Sequence[Underway]) -> None:
        """Asks all questions of a part on all documents; their mergers take the answers.

        A document of which the part cannot be evaluated is then to be evaluated whole.
        """
        units = [document.parts.units[number] for document in documents]
        for asked in self._asked_of(number):
            try:
                self._take(documents, number, asked, asked.matcher.match(units, asked.select))
            except MatcherError:
                for document, unit in zip(documents, units, strict=True):
                    self._ask_alone(document, number, unit, asked)

    def figures(self) -> Mapping[str, float]:
        """What the matchers say of their work so far, all together."""
        total: dict[str, float] = {}
        for asked in self._asked.values():
            for one in asked:
                for name, number in one.matcher.report().figures.items():
                    total[name] = total.get(name, 0) + number
        return total

    def _asked_of(self, number: int) -> list[_Asked]:
        """The matchers for a part, built when they are first needed."""
        known = self._asked.get(number)
        if known is None:
            part, select = self._plan.parts[number], self._options.select
            groups = [(np.arange(len(part.questions)), select)]
            if select == "count" and part.shared.any():
                # Nodes that several chunks have found must be told apart to be counted.
                groups = [(np.flatnonzero(part.shared), "nodes")]
                groups.append((np.flatnonzero(~part.shared), "count"))
            build, bound = self._factory.build, self._plan.namespaces
            known = self._asked[number] = [
                _Asked(build([part.questions[n] for n in ours], bound), how, part.queries[ours])
                for ours, how in groups
                if len(ours)
            ]
        return known

    def _ask_alone(self, document: Underway, number: int, unit: Unit, asked: _Asked) -> None:
        try:
            self._take([document], number, asked, asked.matcher.match([unit], asked.select))
        except MatcherError as error:
            # libxml2 has the last word on documents; it will say it on the whole one.
            document.whole = f"a chunk could not be evaluated: {error.reason}"

    def _take(
        self, documents: Sequence[Underway], number: int, asked: _Asked, answers: Answers
    ) -> None:
        """Distributes the answers of a part over the documents."""
        for value in answers.values:
            query = int(asked.queries[value.question])
            documents[value.unit].answers.value(query, value.value)
        for failure in answers.failures:
            query = int(asked.queries[failure.question])
            documents[failure.unit].answers.fail(query, failure.reason)
        if asked.select != "nodes":
            bounds = np.searchsorted(answers.unit, np.arange(len(documents) + 1)).tolist()
            for n, document in enumerate(documents):
                ours = slice(bounds[n], bounds[n + 1])
                queries = asked.queries[answers.question[ours]]
                document.answers.counts(queries, answers.count[ours].astype(np.int64))
            return
        nodes = answers.nodes
        assert nodes is not None, f"{self._factory.name} gives no nodes"
        bounds = np.searchsorted(nodes.unit, np.arange(len(documents) + 1)).tolist()
        options = self._options
        for n, document in enumerate(documents):
            table, origin = document.parts.units[number].table, document.parts.origins[number]
            ours = slice(bounds[n], bounds[n + 1])
            queries = asked.queries[nodes.question[ours]]
            mine = Nodes(nodes.unit[ours], queries, nodes.refs.take(ours))
            describer = NodeDescriber(table, options.limits.value_bytes, options.standalone, origin)
            document.answers.nodes(Answered(table, mine, describer, origin))
