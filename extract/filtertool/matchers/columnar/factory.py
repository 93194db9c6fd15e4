"""The columnar matcher, and its division of work with the fallback."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from extract.errors import MatcherError
from extract.filtertool.matchers.columnar.accept import reason_against_document
from extract.filtertool.matchers.columnar.answering import PartialAnswers, united
from extract.filtertool.matchers.columnar.columns import BeyondMemory
from extract.filtertool.matchers.columnar.compiled import CompiledQuestions
from extract.filtertool.matchers.cost_bound import LIMIT, limit_for
from extract.filtertool.matchers.lxml.matcher import LxmlFactory
from extract.filtertool.matchers.protocol import (
    Answers,
    Failure,
    Matcher,
    MatcherFactory,
    MatcherReport,
    Question,
    Select,
    Unit,
    build_matcher,
    numbering,
)
from extract.limits import DEFAULTS, Limits

Indices = NDArray[np.int32]

TOGETHER: Final = 12  # measured: from there on they take less time together
_GUARDED: Final = "guarded_evaluations"


@dataclass(frozen=True, slots=True)
class ColumnarFactory:
    """Makes matchers that answer questions together, by operations on columns of nodes.

    Attributes:
        fallback: Makes the matcher for questions that columns cannot answer; None for none.
        seconds: The time limit for a question. One that may take longer goes to the fallback.
        together: The number of queries from which on a question with constants is evaluated for all
            its queries together. With fewer, each of them becomes a question of its own, which
            shares equal parts with other questions.
    """

    name: str = "columnar"
    consumes: Literal["xml", "table"] = "table"
    templates: bool = True
    fallback: MatcherFactory | None = field(default_factory=LxmlFactory)
    seconds: float = DEFAULTS.query_seconds
    together: int = TOGETHER

    def build(self, questions: Sequence[Question], namespaces: Mapping[str, str]) -> Matcher:
        """Builds a matcher for these questions."""
        limit = limit_for(self.seconds)
        return ColumnarMatcher(questions, namespaces, self.fallback, limit, self.together)

    def with_limits(self, limits: Limits) -> ColumnarFactory:
        """Returns a factory whose matchers enforce limits for one question."""
        fallback = None if self.fallback is None else self.fallback.with_limits(limits)
        return replace(self, fallback=fallback, seconds=limits.query_seconds)


class ColumnarMatcher:
    """Answers questions on columns; see `ColumnarFactory`."""

    def __init__(
        self,
        questions: Sequence[Question],
        namespaces: Mapping[str, str],
        fallback: MatcherFactory | None,
        limit: float = LIMIT,
        together: int = TOGETHER,
    ) -> None:
        self._questions = tuple(questions)
        self._starts = numbering(questions)
        self._namespaces = dict(namespaces)
        self._fallback = fallback
        self._compiled = CompiledQuestions(questions, namespaces, limit, together)
        declined = self._compiled.declined
        self._left = np.array(sorted(declined), np.int64)
        self._own = np.setdiff1d(np.arange(len(questions)), self._left)
        self._matchers: dict[str | tuple[int, ...], tuple[Matcher, Indices]] = {}
        self._figures: Counter[str] = Counter()

    @property
    def declined(self) -> Mapping[int, str]:
        """The reason for each question that goes to the fallback."""
        return self._compiled.declined

    # -- matching

    def match(self, units: Sequence[Unit], select: Select) -> Answers:
        """Answers all questions on each of the units.

        Raises:
            MatcherError: Columns cannot answer on a unit, and there is no fallback.
        """
        odd = np.array([bool(_oddity(unit)) for unit in units], np.bool_)
        plain = np.flatnonzero(~odd).astype(np.int32)
        shares: list[PartialAnswers] = []
        if len(plain) and len(self._own):
            shares += self._shares([units[n] for n in plain.tolist()], plain, select)
        if odd.any():
            places = np.flatnonzero(odd).astype(np.int32)
            shares.append(self._ask_own([units[n] for n in places.tolist()], places, select))
        failures: list[Failure] = []
        if len(self._left) and self._fallback is not None:
            all_units = np.arange(len(units), dtype=np.int32)
            shares.append(self._ask_other("left", self._left, units, all_units, select))
        elif len(self._left):
            failures = self._failures(len(units))
        self._figures["units"] += len(units)
        if len(shares) == 1 and len(plain) == len(units) and not failures:
            return shares[0].answers
        return united(shares, select, failures)

    def report(self) -> MatcherReport:
        """Returns the figures of the work so far."""
        left = len(self._queries_of(self._left))
        figures = {"columnar_questions": int(self._starts[-1]) - left, "lxml_questions": left}
        reports = [matcher.report() for matcher, _ in self._matchers.values()]
        guarded = [report.figures.get(_GUARDED, 0) for report in reports]
        if any(guarded):
            figures[_GUARDED] = int(sum(guarded))
        return MatcherReport({**figures, **self._figures})

    def _shares(
        self, units: Sequence[Unit], places: Indices, select: Select
    ) -> list[PartialAnswers]:
        late = set() if self._fallback is None else self._compiled.too_costly(units)
        try:
            answers, late = self._compiled.match(units, select, late)
        except BeyondMemory:
            if len(units) == 1:
                return [self._ask_own(units, places, select)]
        else:
            shares = [PartialAnswers(answers, places, self._all_queries)]
            if late:  # the fallback guards them, each separately
                chosen = tuple(sorted(late))
                numbers = np.array(chosen, np.int64)
                shares.append(self._ask_other(chosen, numbers, units, places, select))
                self._figures["questions_left"] += len(shares[1].questions) * len(units)
            return shares
        middle = len(units) // 2
        return [
            *self._shares(units[:middle], places[:middle], select),
            *self._shares(units[middle:], places[middle:], select),
        ]

    # -- the fallback

    def _ask_own(self, units: Sequence[Unit], places: Indices, select: Select) -> PartialAnswers:
        """Asks the fallback on units for which columns are not enough."""
        share = self._ask_other("own", self._own, units, places, select)
        self._figures["units_left"] += len(places)
        return share

    def _ask_other(
        self,
        key: str | tuple[int, ...],
        questions: NDArray[np.int64],
        units: Sequence[Unit],
        places: Indices,
        select: Select,
    ) -> PartialAnswers:
        """Asks the fallback.

        Args:
            key: Identifies the questions.
            questions: Their numbers.
            units: The units.
            places: The numbers of the units in the batch.
            select: What to select.
        """
        if self._fallback is None:
            raise MatcherError("columns cannot say what is in this document")
        if key not in self._matchers:
            chosen = [self._questions[n] for n in questions.tolist()]
            matcher = build_matcher(self._fallback, chosen, self._namespaces)
            self._matchers[key] = (matcher, self._queries_of(questions))
        matcher, queries = self._matchers[key]
        return PartialAnswers(matcher.match(units, select), places, queries)

    def _queries_of(self, questions: NDArray[np.int64]) -> Indices:
        """Returns the numbers of all queries of some questions."""
        starts = self._starts[questions]
        sizes = self._starts[questions + 1] - starts
        before = np.cumsum(sizes) - sizes
        numbers: Indices = (np.repeat(starts - before, sizes) + np.arange(sizes.sum())).astype(
            np.int32
        )
        return numbers

    @cached_property
    def _all_queries(self) -> Indices:
        return np.arange(self._starts[-1], dtype=np.int32)

    def _failures(self, units: int) -> list[Failure]:
        """Returns a failure for each unit and each query that nobody answers."""
        return [
            Failure(unit, query, f"columns cannot answer {reason}")
            for unit in range(units)
            for number, reason in self.declined.items()
            for query in range(int(self._starts[number]), int(self._starts[number + 1]))
        ]


def _oddity(unit: Unit) -> str:
    table = unit.table
    if not len(table):
        return "no root"
    return reason_against_document(table.data, int(table.elements.start[0]))
