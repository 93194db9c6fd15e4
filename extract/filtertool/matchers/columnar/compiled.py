"""The questions that columns answer, compiled once for any number of batches.

Queries without parameters are numbered on their own: all of them are answered together (`bulk`),
or one by one where they are not of that form. Questions with constants are answered each for all
its queries (`parametric`), unless they have few.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from extract.filtertool.matchers.columnar.accept import reason_against
from extract.filtertool.matchers.columnar.answering import Selection, answers_of, with_counts
from extract.filtertool.matchers.columnar.axes import Axes
from extract.filtertool.matchers.columnar.bulk import Bulk
from extract.filtertool.matchers.columnar.columns import BeyondMemory, Bools, Columns, Ints
from extract.filtertool.matchers.columnar.evaluator import ContextNodes, Evaluator
from extract.filtertool.matchers.columnar.names import NameBook
from extract.filtertool.matchers.columnar.parametric import ParametricQuestion, ParametricRun
from extract.filtertool.matchers.columnar.plan import BranchPlan
from extract.filtertool.matchers.columnar.spines import Declined, Spines
from extract.filtertool.matchers.cost_bound import Bound
from extract.filtertool.matchers.protocol import (
    Answers,
    Question,
    Select,
    Unit,
    Value,
    numbering,
)
from extract.schema.model import XML_NAMESPACE
from extract.subscriptions.constants import Constants
from extract.xpath.ast import Expr
from extract.xpath.functions import Type
from extract.xpath.parser import parse

# An absolute path in a filter, or siblings of siblings: the work grows with the square of the
# nodes, or faster. Other questions are not examined, because there may be very many.
_DOUBTFUL: Final = re.compile(r"[\[(,=<>+|-]\s*/|\b(?:and|or|div|mod)\s*/|-sibling::")
_NUMERAL: Final = re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]*)?")
_ANY: Final = -1  # as a name: any


class _AloneQuery(NamedTuple):
    """A query without parameters that is evaluated on its own."""

    query: int  # among those without parameters
    question: int
    type: Type
    expr: Expr


class CompiledQuestions:
    """The questions of a matcher, as far as columns can answer them.

    Args:
        questions: All questions.
        namespaces: Prefix to namespace URI.
        limit: The cost from which a question may take very long.
        together: The number of queries from which on a question is evaluated for all its queries
            together.

    Attributes:
        declined: The reason for each question that columns cannot answer.
    """

    def __init__(
        self,
        questions: Sequence[Question],
        namespaces: Mapping[str, str],
        limit: float,
        together: int,
    ) -> None:
        self._namespaces = dict(namespaces)
        self._names = NameBook()
        self.declined: dict[int, str] = {}
        self._numbers = array("i")  # of the queries without parameters, among all queries
        self._alone: list[_AloneQuery] = []
        self._parametric: dict[int, ParametricQuestion] = {}
        self._bounds: dict[int, list[Bound]] = {}  # of questions that may take very long
        starts = numbering(questions).tolist()
        spines = Spines()
        for number, question in enumerate(questions):
            doubtful = [xpath for xpath in question.branches if _DOUBTFUL.search(xpath)]
            try:
                if question.constants is None:
                    self._numbers.append(starts[number])
                    self._add(spines, number, (question,), not doubtful)
                elif question.queries < together and _can_be_written(question.constants):
                    self._numbers.extend(range(starts[number], starts[number + 1]))
                    self._add(spines, number, tuple(question.each()), not doubtful)
                else:
                    self._parametric[number] = ParametricQuestion(question, starts[number])
            except Declined as declined:
                self.declined[number] = declined.reason
                continue
            if doubtful:
                self._bounds[number] = [Bound(xpath, limit) for xpath in doubtful]
        self._paths = _PathColumns(self._parametric, spines, self._names, self._namespaces)
        self._plan = BranchPlan(spines, self._names, namespaces)
        self._names.keep()
        self._all_plain = len(self._numbers) == starts[-1]

    def _add(
        self, spines: Spines, number: int, queries: tuple[Question, ...], in_bulk: bool
    ) -> None:
        """Adds all queries of a question, the last ones that were numbered, or none.

        Raises:
            Declined: Columns cannot answer a part of it.
        """
        parts: list[tuple[int, tuple[int, int, int]]] = []
        alone: list[_AloneQuery] = []
        for query, (branches, kind, _, _) in enumerate(queries, len(self._numbers) - len(queries)):
            for xpath in branches:
                split = spines.read(xpath) if in_bulk and kind is Type.NODES else None
                if split is None:
                    expr = parse(xpath)
                    reason = reason_against(expr)
                    if reason:
                        raise Declined(reason)
                    alone.append(_AloneQuery(query, number, kind, expr))
                else:
                    parts.append((query, split))
        for query, part in parts:
            spines.add(query, part)
        self._alone += alone

    def too_costly(self, units: Sequence[Unit]) -> set[int]:
        """Returns the questions that may take very long on one of the units."""
        if not self._bounds:
            return set()
        most = max(len(unit.table) for unit in units)
        bounds = self._bounds.items()
        return {n for n, limits in bounds if not all(bound.affords(most) for bound in limits)}

    # -- matching

    def match(
        self, units: Sequence[Unit], select: Select, late: Collection[int]
    ) -> tuple[Answers, set[int]]:
        """Answers all questions but those in ``late``.

        Returns:
            The answers, and the questions that were not answered: those in ``late``, and some that
            would take too much memory.

        Raises:
            BeyondMemory: Fewer units at once may take less memory, or none will.
        """
        self._names.forget()
        columns = Columns([unit.table for unit in units], self._names)
        run = Evaluator(Axes(columns, self._namespaces))
        bulk = Bulk(self._plan, run)
        selections: list[Selection] = []
        values: list[Value] = []
        at = ContextNodes(columns.documents)
        for query, question, kind, expr in self._alone:
            if question in late:
                continue
            number = self._numbers[query]
            if kind is Type.NODES:
                nodes = run.nodes(expr, at).nodes
                selections.append(Selection(np.full(len(nodes), number), nodes))
            else:
                values += _values(run, number, kind, expr, at)
        left = self._answer_parametric(run, bulk, late, selections, values)
        return self._answers(columns, bulk, select, selections, values), left

    def _answer_parametric(
        self,
        run: Evaluator,
        bulk: Bulk,
        late: Collection[int],
        selections: list[Selection],
        values: list[Value],
    ) -> set[int]:
        """Adds the answers to questions with constants; returns those that were not answered."""
        left = set(late)
        parametric = ParametricRun(run)
        for number, paths in self._paths.here(run, bulk).items():
            question = self._parametric[number]
            if number in left:
                continue
            try:
                if question.value is not None:
                    values += parametric.values(question)
                else:
                    selections += parametric.selections(question, paths)
            except BeyondMemory:
                if len(run.columns.documents) > 1:
                    raise
                left.add(number)
        return left

    def _answers(
        self,
        columns: Columns,
        bulk: Bulk,
        select: Select,
        selections: list[Selection],
        values: list[Value],
    ) -> Answers:
        """Adds the answers to queries that are answered together."""
        if not len(self._plan.question):
            return answers_of(columns, selections, select, values)
        count = len(self._numbers)
        if select == "doc":
            matching = [(unit, self._among_all(query)) for unit, query in bulk.matching(count)]
            return answers_of(columns, selections, select, values, matching)
        counted = None
        if select == "count":
            counted = bulk.counting(count, {alone.query for alone in self._alone})
        selections += [Selection(self._among_all(query), rows) for query, rows in bulk.selecting()]
        answers = answers_of(columns, selections, select, values)
        if counted is None:
            return answers
        unit, query, counts = counted
        return with_counts(answers, unit, self._among_all(query), counts)

    def _among_all(self, queries: Ints) -> Ints:
        """Returns the numbers that queries without parameters have among all queries."""
        return queries if self._all_plain else self._number_column[queries]

    @cached_property
    def _number_column(self) -> Ints:
        return np.array(self._numbers, np.int64)


class _PathColumns:
    """The branches of questions with constants, as columns: which of them a batch may have."""

    def __init__(
        self,
        questions: Mapping[int, ParametricQuestion],
        spines: Spines,
        names: NameBook,
        namespaces: Mapping[str, str],
    ) -> None:
        bound = {**namespaces, "": "", "xml": XML_NAMESPACE}
        rows: list[tuple[int, int, int, int]] = []
        for number, question in questions.items():
            if question.value is not None:
                rows.append((number, 0, 0, _ANY))
            for place, path in enumerate(question.paths):
                last = path.last_name
                name = _ANY if last is None else names.number(bound[last.prefix], last.local)
                rows.append((number, place, spines.spine_of(path.names), name))
        self._rows = np.array(rows, np.int64).reshape(-1, 4)

    def here(self, run: Evaluator, bulk: Bulk) -> dict[int, list[int]]:
        """Returns the questions that may select something, each with its branches that may."""
        if not len(self._rows):
            return {}
        question, place, spine, name = self._rows.T
        has_name: Bools = name == _ANY
        has_name |= np.diff(run.axes.by_name[1])[name] > 0
        alive = np.flatnonzero(bulk.has_rows(spine) & has_name)
        paths: dict[int, list[int]] = {}
        for number, path in zip(question[alive].tolist(), place[alive].tolist(), strict=True):
            paths.setdefault(number, []).append(path)
        return paths


def _can_be_written(constants: Constants) -> bool:
    """Whether all constants are literals of XPath; those of queries are."""
    for kind, column in zip(constants.types, constants.texts, strict=True):
        for text in column:
            if ("'" in text and '"' in text) if kind == "string" else not _NUMERAL.fullmatch(text):
                return False
    return True


def _values(run: Evaluator, number: int, kind: Type, expr: Expr, at: ContextNodes) -> list[Value]:
    values: list[bool | float | str]
    if kind is Type.BOOLEAN:
        values = run.truth(expr, at).tolist()
    elif kind is Type.NUMBER:
        values = run.number(expr, at).tolist()
    else:
        values = [text.decode() for text in run.string(expr, at).tolist()]
    return [Value(unit, number, value) for unit, value in enumerate(values)]
