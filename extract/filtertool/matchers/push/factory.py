"""The matcher ``push``: the engine as a matcher, with a fallback for the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from extract.filtertool.matchers.columnar.answering import PartialAnswers, united
from extract.filtertool.matchers.columnar.factory import ColumnarFactory
from extract.filtertool.matchers.protocol import (
    Answers,
    Matcher,
    MatcherFactory,
    MatcherReport,
    Nodes,
    Question,
    Select,
    Unit,
    build_matcher,
    numbering,
)
from extract.filtertool.matchers.push.engine import PushEngine
from extract.filtertool.matchers.push.engine_answers import EngineRows, node_refs
from extract.filtertool.matchers.push.literals import with_parameters
from extract.filtertool.matchers.push.native import require_native
from extract.limits import DEFAULTS, Limits
from extract.schema.model import Schema

Indices = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class PushFactory:
    """Makes matchers that answer all questions on a document in one pass, in C.

    Attributes:
        fallback: Makes the matcher for questions and documents that the engine does not take.
        limits: How large documents may be.

    Raises:
        MatcherError: The engine was not compiled.
    """

    name: str = "push"
    consumes: Literal["xml", "table"] = "xml"
    templates: bool = True
    fallback: MatcherFactory = field(default_factory=ColumnarFactory)
    limits: Limits = DEFAULTS

    def __post_init__(self) -> None:
        require_native()  # so that this is told once, before any worker is started

    def build(self, questions: Sequence[Question], namespaces: Mapping[str, str]) -> Matcher:
        """Builds a matcher for these questions."""
        return PushMatcher(questions, namespaces, self.fallback, self.limits)

    def with_limits(self, limits: Limits) -> PushFactory:
        """Returns a factory whose matchers enforce limits for one question."""
        return replace(self, fallback=self.fallback.with_limits(limits), limits=limits)


class PushMatcher:
    """Answers questions with the engine; see `PushFactory`."""

    def __init__(
        self,
        questions: Sequence[Question],
        namespaces: Mapping[str, str],
        fallback: MatcherFactory,
        limits: Limits,
    ) -> None:
        self._questions = [with_parameters(question) for question in questions]
        self._originals = tuple(questions)
        self._starts = numbering(questions)
        self._namespaces = namespaces
        self._fallback = fallback
        self._limits = limits
        self._engines: dict[Select, tuple[PushEngine, list[int]]] = {}
        self._others: dict[tuple[int, ...], tuple[Matcher, Indices]] = {}
        self._figures: Counter[str] = Counter()

    def match(self, units: Sequence[Unit], select: Select) -> Answers:
        """Answers all questions on each of the units.

        Raises:
            MatcherError: A unit cannot be evaluated.
        """
        engine, left = self._engine(select)
        documents = [unit.xml or b"" for unit in units]
        done, matches, overrun = engine.match(documents)
        done[overrun.unit] = -1
        matches = matches.where(done[matches.unit] == 1)
        places = np.arange(len(units), dtype=np.int32)
        shares = [PartialAnswers(_answers(matches, select), places, self._every_query)]
        if left:
            shares.append(self._ask(tuple(left), units, places, select))
        odd = np.flatnonzero(done != 1).astype(np.int32)
        if len(odd):
            own = [n for n in range(len(self._questions)) if n not in set(left)]
            shares.append(self._ask(tuple(own), [units[n] for n in odd.tolist()], odd, select))
            self._figures["push_refused_documents"] += len(odd)
        self._figures["push_units"] += len(units)
        return united(shares, select, [])

    def report(self) -> MatcherReport:
        """Returns the figures of the work so far."""
        figures: Counter[str] = Counter(self._figures)
        for engine, left in self._engines.values():
            refused = len(self._queries_of(left))
            queries = int(self._starts[-1]) - refused
            figures["push_questions"] = max(figures["push_questions"], queries)
            figures["push_refused_questions"] = max(figures["push_refused_questions"], refused)
            figures.update({f"push_{name}": n for name, n in engine.figures().items()})
        return MatcherReport(dict(figures))

    @property
    def _every_query(self) -> Indices:
        return np.arange(int(self._starts[-1]), dtype=np.int32)

    def _engine(self, select: Select) -> tuple[PushEngine, list[int]]:
        """The engine for what is to be selected, and the questions that it does not take."""
        made = self._engines.get(select)
        if made is None:
            engine = PushEngine(Schema.none(), self._namespaces, select, self._limits)
            left = []
            for number, question in enumerate(self._questions):
                if engine.takes(number, question):
                    queries = np.arange(*self._starts[number : number + 2], dtype=np.int32)
                    engine.add(number, question, queries)
                else:
                    left.append(number)
            made = self._engines[select] = (engine, left)
        return made

    def _ask(
        self, questions: tuple[int, ...], units: Sequence[Unit], places: Indices, select: Select
    ) -> PartialAnswers:
        """Asks the fallback some questions."""
        if questions not in self._others:
            chosen = [self._originals[n] for n in questions]
            matcher = build_matcher(self._fallback, chosen, self._namespaces)
            self._others[questions] = (matcher, self._queries_of(questions))
        matcher, queries = self._others[questions]
        return PartialAnswers(matcher.match(units, select), places, queries)

    def _queries_of(self, questions: Sequence[int]) -> Indices:
        ranges = [np.arange(*self._starts[n : n + 2], dtype=np.int32) for n in questions]
        return np.concatenate([np.empty(0, np.int32), *ranges])


def _answers(rows: EngineRows, select: Select) -> Answers:
    if select != "nodes":
        ones = np.ones(len(rows.unit), np.int64)
        return Answers(rows.unit, rows.query, rows.value if select == "count" else ones)
    nodes = Nodes(rows.unit, rows.query, node_refs(rows))
    new = np.ones(len(rows.unit), np.bool_)
    new[1:] = (rows.unit[1:] != rows.unit[:-1]) | (rows.query[1:] != rows.query[:-1])
    first = np.flatnonzero(new)
    count = np.diff(np.append(first, len(new)))
    return Answers(rows.unit[first], rows.query[first], count, nodes)
