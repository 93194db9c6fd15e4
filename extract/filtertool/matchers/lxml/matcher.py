"""The lxml matcher: one compiled XPath for each branch, evaluated by libxml2.

This matcher defines the answers: it answers every question, and the tests compare the others with
it. Queries that differ in their constants alone are compiled once, and their constants bound as
variables. Its time grows with the number of queries; prefer ``columnar`` for many. Its questions
can change (`UpdatableMatcher`) at the cost of the added ones.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, Literal

from lxml import etree

from extract.chunktool.scan.node_table import NodeTable
from extract.errors import MatcherError
from extract.filtertool.matchers.answer_collector import Collector
from extract.filtertool.matchers.cost_bound import Bound, limit_for
from extract.filtertool.matchers.lxml.parsed_unit import (
    NO_VARIABLES,
    ParsedUnit,
    Unplaced,
    Variables,
    compiled,
    local_names,
    open_in_child,
    plain,
    select_in_child,
    value_in_child,
)
from extract.filtertool.matchers.node_refs import NodeRefs, TableRefs
from extract.filtertool.matchers.protocol import (
    Answers,
    Matcher,
    MatcherReport,
    Question,
    Select,
    Unit,
)
from extract.filtertool.processes.memory import is_out_of_memory
from extract.filtertool.processes.sandbox import Before, MemoryLimit, TimeLimit, shared_sandbox
from extract.limits import DEFAULTS, Limits
from extract.xpath.functions import Type

_FEW: Final = 4  # queries of one question whose constants are kept as variables

# Expressions that may select the document node, which libxml2 counts and extract does not.
_DOCUMENT_NODE: Final = ("node()", "/.", "..", ")[", ")/")


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
        self._questions: list[_Question] = []
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
                    try:
                        self._answer(collector, evaluation, question, values, number, index, select)
                    except MatcherError:
                        raise
                    except Exception as error:  # includes errors of functions such as re:test()
                        if is_out_of_memory(error):  # not the question's fault
                            raise MemoryError from error
                        collector.fail(number, index, self._reason(error))
                    index += 1
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
        fresh = [_Question(question, self._namespaces, self._limit) for question in added]
        self._questions = [*remaining, *fresh]

    def report(self) -> MatcherReport:
        """Returns the figures of the work so far."""
        queries = sum([question.queries for question in self._questions])
        return MatcherReport({"lxml_questions": queries, **self._figures})

    def _evaluation(self, unit: Unit) -> _Evaluation:
        if unit.xml is None:
            raise MatcherError("the lxml matcher needs the unit as XML")
        try:
            return _Evaluation(unit.xml, unit.table)
        except etree.XMLSyntaxError as error:
            raise MatcherError(f"libxml2 rejects a chunk: {error}") from error

    def _answer(
        self,
        collector: Collector,
        unit: _Evaluation,
        question: _Question,
        values: Variables,
        number: int,
        index: int,
        select: Select,
    ) -> None:
        guarded = unit.size > question.allowed and not question.affords(unit)
        if guarded:
            self._figures["guarded_evaluations"] += 1
        if question.type is not Type.NODES:
            collector.value(number, index, self._value(unit, question, values, guarded))
        elif guarded or select == "nodes" or not question.countable:
            refs = self._select(unit, question, values, guarded)
            if select == "nodes":
                collector.nodes(number, index, unit.unique(refs))
            elif len(question.branches) > 1 and select == "count":
                collector.count(number, index, len(unit.unique(refs)))
            else:
                collector.count(number, index, len(refs))
        else:
            collector.count(number, index, self._count(unit, question, values, select))

    def _value(
        self, unit: _Evaluation, question: _Question, values: Variables, guarded: bool
    ) -> float | str | bool:
        if guarded:
            args = (question.branches[0], self._namespaces, values)
            value: float | str | bool = self._in_child(value_in_child, args, unit)
            return value
        return plain(question.compiled[0](unit.parsed.tree, **values))

    def _select(
        self, unit: _Evaluation, question: _Question, values: Variables, guarded: bool
    ) -> NodeRefs:
        if guarded:
            args = (question.branches, self._namespaces, values)
            refs: NodeRefs = self._in_child(select_in_child, args, unit)
            return refs
        return unit.parsed.select(question.compiled, values)

    def _in_child(
        self, function: Callable[..., Any], args: tuple[Any, ...], unit: _Evaluation
    ) -> Any:
        seconds, memory = self._limits.query_seconds, self._limits.query_memory
        return shared_sandbox().call(
            function, *args, seconds=seconds, memory=memory, before=unit.opening
        )

    def _count(
        self, unit: _Evaluation, question: _Question, values: Variables, select: Select
    ) -> int:
        """Counts the nodes that a query selects, without listing them where possible."""
        tree = unit.parsed.tree
        if select == "doc":
            return int(any(exists(tree, **values) for exists in question.existing))
        counts = [int(count(tree, **values)) for count in question.counting]
        if sum(map(bool, counts)) <= 1:
            return sum(counts)
        filled = [branch for branch, n in zip(question.compiled, counts, strict=True) if n]
        return len(unit.unique(unit.parsed.select(filled, values)))

    def _reason(self, error: Exception) -> str:
        if isinstance(error, TimeLimit):
            return self._limits.passed("query_seconds")
        if isinstance(error, MemoryLimit):
            return self._limits.passed("query_memory")
        if isinstance(error, Unplaced):
            return f"it selects {error}, which has no place in a chunk"
        return f"libxml2 cannot evaluate it: {error}"


def better_as_written(question: Question) -> bool:
    """Whether libxml2 evaluates the query as written faster than its branches.

    libxml2 unites node sets by comparing every node with every other: those of the operands of
        ``|``,
    and those that ``//`` selects below each of many nodes. Expanded branches have more of both.
    """
    if not question.original:
        return False
    if question.type is not Type.NODES:
        return any("|" in xpath or "//" in xpath for xpath in question.branches)
    # The document node is no match and must not be counted: `/ | //a` stays as it is.
    return any("//" in xpath for xpath in question.branches) and "|" not in question.original


class _Question:
    """A question that is compiled on first use."""

    def __init__(self, question: Question, namespaces: Mapping[str, str], limit: float) -> None:
        self.branches, self.type, _, self._constants = question
        self.queries = question.queries
        self._only: Sequence[Variables] = (NO_VARIABLES,)
        if self._constants is not None and self.queries <= _FEW:
            self._only = [self._constants.variables(number) for number in range(self.queries)]
            self._constants = None
        if better_as_written(question):
            self.branches = (question.original,)
        self._namespaces = namespaces
        self._limit = limit

    def values(self) -> Iterator[Variables]:
        """Returns the constants of each query, as variables."""
        if self._constants is None:
            return iter(self._only)
        return map(self._constants.variables, range(self.queries))

    @cached_property
    def _bounds(self) -> list[Bound]:
        return [Bound(xpath, self._limit) for xpath in self.branches]

    @cached_property
    def allowed(self) -> float:
        """The number of elements up to which no branch takes very long."""
        return min([bound.allowed for bound in self._bounds], default=math.inf)

    def affords(self, unit: _Evaluation) -> bool:
        """Whether no branch takes very long on a unit, by the names of its elements."""
        return all(bound.affords(unit.size, unit.named) for bound in self._bounds)

    @cached_property
    def countable(self) -> bool:
        """Whether libxml2's count of nodes is the right one."""
        return not any(
            xpath == "/" or any(part in xpath for part in _DOCUMENT_NODE) for xpath in self.branches
        )

    @cached_property
    def compiled(self) -> list[Any]:
        """The branches."""
        return self._all("{}")

    @cached_property
    def counting(self) -> list[Any]:
        """The branches inside ``count()``."""
        return self._all("count({})")

    @cached_property
    def existing(self) -> list[Any]:
        """The branches inside ``boolean()``."""
        return self._all("boolean({})")

    def _all(self, form: str) -> list[Any]:
        return [compiled(form.format(xpath), self._namespaces) for xpath in self.branches]


class _Evaluation:
    """The evaluation of one unit."""

    def __init__(self, xml: bytes, table: NodeTable) -> None:
        self.opening = Before(object(), open_in_child, (xml,))
        self.parsed = ParsedUnit(xml)
        self.size = len(table)
        self.unique = TableRefs(table).unique
        self._named: Counter[str] | None = None

    def named(self) -> Counter[str]:
        """The number of elements by local name."""
        if self._named is None:
            self._named = local_names(self.parsed.tree)
        return self._named
