"""The columnar matcher, and its division of work with the fallback."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from extract.errors import MatcherError
from extract.filtertool.matchers.columnar.accept import reason_against, reason_against_document
from extract.filtertool.matchers.columnar.answering import (
    PartialAnswers,
    Selection,
    answers_of,
    united,
    with_counts,
)
from extract.filtertool.matchers.columnar.axes import Axes
from extract.filtertool.matchers.columnar.bulk import Bulk
from extract.filtertool.matchers.columnar.columns import BeyondMemory, Columns
from extract.filtertool.matchers.columnar.evaluator import ContextNodes, Evaluator
from extract.filtertool.matchers.columnar.names import NameBook
from extract.filtertool.matchers.columnar.plan import BranchPlan
from extract.filtertool.matchers.columnar.spines import Declined, Spines
from extract.filtertool.matchers.cost_bound import LIMIT, Bound, limit_for
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
    Value,
)
from extract.limits import DEFAULTS, Limits
from extract.xpath.ast import Expr
from extract.xpath.functions import Type
from extract.xpath.parser import parse

Indices = NDArray[np.int32]

# An absolute path in a filter, or siblings of siblings: the work grows with the square of the
# nodes, or faster. Other questions are not examined, because there may be very many.
_DOUBTFUL: Final = re.compile(r"[\[(,=<>+|-]\s*/|\b(?:and|or|div|mod)\s*/|-sibling::")
_GUARDED: Final = "guarded_evaluations"


@dataclass(frozen=True, slots=True)
class ColumnarFactory:
    """Makes matchers that answer questions together, by operations on columns of nodes.

    Attributes:
        fallback: Makes the matcher for questions that columns cannot answer; None for none.
        seconds: The time limit for a question. One that may take longer goes to the fallback.
    """

    name: str = "columnar"
    consumes: Literal["xml", "table"] = "table"
    fallback: MatcherFactory | None = field(default_factory=LxmlFactory)
    seconds: float = DEFAULTS.query_seconds

    def build(self, questions: Sequence[Question], namespaces: Mapping[str, str]) -> Matcher:
        """Builds a matcher for these questions."""
        return ColumnarMatcher(questions, namespaces, self.fallback, limit_for(self.seconds))

    def with_limits(self, limits: Limits) -> ColumnarFactory:
        """Returns a factory whose matchers enforce limits for one question."""
        fallback = None if self.fallback is None else self.fallback.with_limits(limits)
        return replace(self, fallback=fallback, seconds=limits.query_seconds)


class ColumnarMatcher:
    """Answers questions on columns; see `ColumnarFactory`.

    Attributes:
        declined: The reason for each question that goes to the fallback.
    """

    def __init__(
        self,
        questions: Sequence[Question],
        namespaces: Mapping[str, str],
        fallback: MatcherFactory | None,
        limit: float = LIMIT,
    ) -> None:
        self._questions = tuple(questions)
        self._namespaces = dict(namespaces)
        self._fallback = fallback
        self._names = NameBook()
        self.declined: dict[int, str] = {}
        self._alone: list[tuple[int, Expr]] = []  # questions that are evaluated one by one
        self._bounds: dict[int, list[Bound]] = {}  # of questions that may take very long
        self._limit = limit
        spines = Spines()
        for number, question in enumerate(questions):
            try:
                self._add(spines, number, question)
            except Declined as declined:
                self.declined[number] = declined.reason
        self._plan = BranchPlan(spines, self._names, namespaces)
        self._names.keep()
        self._left = np.array(sorted(self.declined), np.int32)
        self._own = np.setdiff1d(np.arange(len(questions), dtype=np.int32), self._left)
        self._matchers: dict[str, Matcher] = {}
        self._figures: Counter[str] = Counter()

    def _add(self, spines: Spines, number: int, question: Question) -> None:
        parts = []
        alone = []
        doubtful = [xpath for xpath in question.branches if _DOUBTFUL.search(xpath)]
        for xpath in question.branches:
            together = question.type is Type.NODES and not doubtful
            split = spines.read(xpath) if together else None
            if split is None:
                expr = parse(xpath)
                reason = reason_against(expr)
                if reason:
                    raise Declined(reason)
                alone.append((number, expr))
            else:
                parts.append(split)
        for part in parts:
            spines.add(number, part)
        self._alone += alone
        if doubtful:
            self._bounds[number] = [Bound(xpath, self._limit) for xpath in doubtful]

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
            shares.append(self._ask_other("own", self._own, units, places, select))
        failures: list[Failure] = []
        if len(self._left) and self._fallback is not None:
            all_units = np.arange(len(units), dtype=np.int32)
            shares.append(self._ask_other("left", self._left, units, all_units, select))
        elif len(self._left):
            failures = [
                Failure(unit, number, f"columns cannot answer {reason}")
                for unit in range(len(units))
                for number, reason in self.declined.items()
            ]
        self._figures["units"] += len(units)
        if len(shares) == 1 and len(plain) == len(units) and not failures:
            return shares[0].answers
        return united(shares, select, failures)

    def report(self) -> MatcherReport:
        """Returns the figures of the work so far."""
        figures = {"columnar_questions": len(self._own), "lxml_questions": len(self._left)}
        guarded = [matcher.report().figures.get(_GUARDED, 0) for matcher in self._matchers.values()]
        if any(guarded):
            figures[_GUARDED] = int(sum(guarded))
        return MatcherReport({**figures, **self._figures})

    def _ask_other(
        self, name: str, questions: Indices, units: Sequence[Unit], places: Indices, select: Select
    ) -> PartialAnswers:
        if self._fallback is None:
            raise MatcherError("columns cannot say what is in this document")
        if name not in self._matchers:
            chosen = [self._questions[n] for n in questions.tolist()]
            self._matchers[name] = self._fallback.build(chosen, self._namespaces)
        if name == "own":
            self._figures["units_left"] += len(places)
        answers = self._matchers[name].match([units[n] for n in places.tolist()], select)
        return PartialAnswers(answers, places, questions)

    def _shares(
        self, units: Sequence[Unit], places: Indices, select: Select
    ) -> list[PartialAnswers]:
        all_questions = np.arange(len(self._questions), dtype=np.int32)
        late = self._too_costly(units)
        try:
            shares = [PartialAnswers(self._match(units, select, late), places, all_questions)]
            for number in sorted(late):  # the fallback guards them, each separately
                local, question = (
                    np.arange(len(units), dtype=np.int32),
                    np.array([number], np.int32),
                )
                share = self._ask_other(f"late {number}", question, units, local, select)
                shares.append(share._replace(units=places))
            self._figures["questions_left"] += len(late) * len(units)
            return shares
        except BeyondMemory:
            if len(units) == 1:
                local = np.zeros(1, np.int32)
                share = self._ask_other("own", self._own, units, local, select)
                return [share._replace(units=places)]
        middle = len(units) // 2
        return [
            *self._shares(units[:middle], places[:middle], select),
            *self._shares(units[middle:], places[middle:], select),
        ]

    def _too_costly(self, units: Sequence[Unit]) -> set[int]:
        """Returns the questions that may take very long on one of the units."""
        if not self._bounds or self._fallback is None:
            return set()
        most = max(len(unit.table) for unit in units)
        bounds = self._bounds.items()
        return {n for n, limits in bounds if not all(bound.affords(most) for bound in limits)}

    def _match(self, units: Sequence[Unit], select: Select, late: Collection[int]) -> Answers:
        """Answers all questions but those in ``late``."""
        self._names.forget()
        columns = Columns([unit.table for unit in units], self._names)
        run = Evaluator(Axes(columns, self._namespaces))
        bulk = Bulk(self._plan, run)
        selections: list[Selection] = []
        values: list[Value] = []
        at = ContextNodes(columns.documents)
        for number, expr in self._alone:
            if number in late:
                continue
            kind = self._questions[number].type
            if kind is Type.NODES:
                nodes = run.nodes(expr, at).nodes
                selections.append(Selection(np.full(len(nodes), number), nodes))
            else:
                values += _values(run, number, kind, expr, at)
        if select == "doc":
            matching = bulk.matching(len(self._questions))
            return answers_of(columns, selections, select, values, matching)
        counted = None
        if select == "count":
            counted = bulk.counting(len(self._questions), {number for number, _ in self._alone})
        selections += [Selection(*part) for part in bulk.selecting()]
        answers = answers_of(columns, selections, select, values)
        return answers if counted is None else with_counts(answers, *counted)


def _values(run: Evaluator, number: int, kind: Type, expr: Expr, at: ContextNodes) -> list[Value]:
    values: list[bool | float | str]
    if kind is Type.BOOLEAN:
        values = run.truth(expr, at).tolist()
    elif kind is Type.NUMBER:
        values = run.number(expr, at).tolist()
    else:
        values = [text.decode() for text in run.string(expr, at).tolist()]
    return [Value(unit, number, value) for unit, value in enumerate(values)]


def _oddity(unit: Unit) -> str:
    table = unit.table
    if not len(table):
        return "no root"
    return reason_against_document(table.data, int(table.elements.start[0]))
