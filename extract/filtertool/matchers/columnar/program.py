"""Filters and tails as a program: a list of operations, each of which gives a set of rows.

All filters and tails of all questions are one program; operations that are the same are there once.
An operation comes after those that it uses, so the whole program runs in one go, in C
(`_sets.pyx`), or operation by operation as asked for, on masks (`dense`).
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from functools import cached_property
from typing import Final, NamedTuple

from extract.filtertool.matchers.columnar.hops import CHILD, DESCENDANT, Hop, NodePattern, hops
from extract.filtertool.matchers.columnar.names import NameBook
from extract.filtertool.matchers.columnar.reach import SEARCHES, Goal, goal_of, is_word, part_of
from extract.filtertool.matchers.columnar.strings import Words
from extract.schema.model import XML_NAMESPACE
from extract.xpath.ast import (
    ANY_NODE,
    Binary,
    Expr,
    FunctionCall,
    LocationPath,
    NameTest,
    Union,
)
from extract.xpath.types import is_positional

# Operations. What they use is in the columns `first` and `second`, where -1 is nothing.
HOP: Final = 0  # parents of the rows that have a name and are in `first` and in `second`
DEEP_HOP: Final = 1  # ancestors of these
SEED: Final = 2  # the given rows
DEEP_SEED: Final = 3  # the given rows and their ancestors
AND: Final = 4
OR: Final = 5
NOT: Final = 6

ANY: Final = -1  # as a name: any element
NONE: Final = -1  # as an operand


class Given(NamedTuple):
    """Rows that are found otherwise.

    Attributes:
        column: The nodes, as a number into `Program.columns`.
        goal: What their string values compare with.
        parents: Whether the rows are the parents of the nodes, not these themselves.
    """

    column: int
    goal: Goal | None
    parents: bool


class FromTail(NamedTuple):
    """The rows of spines from which a tail leads anywhere, by the tail's number."""

    tail: int


class Program:
    """The operations of all questions.

    Attributes:
        op: What each operation does.
        name: The number of a name, or `ANY`; for `SEED` and `DEEP_SEED` a number into ``given``.
        first, second: Which operations it uses.
        given: What must be found otherwise.
        columns: Nodes whose rows must be found.
    """

    def __init__(self, names: NameBook, namespaces: Mapping[str, str]) -> None:
        self.op, self.name, self.first, self.second = (array("i") for _ in range(4))
        self.given: list[Given | FromTail] = []
        self.columns: list[NodePattern] = []
        self._names = names
        self._namespaces = {**namespaces, "": "", "xml": XML_NAMESPACE}
        self._known: dict[tuple[int, int, int, int], int] = {}
        self._givens: dict[Given | FromTail, int] = {}
        self._columns: dict[NodePattern, int] = {}
        self._exprs: dict[Expr, int] = {}

    def __len__(self) -> int:
        return len(self.op)

    @cached_property
    def parts(self) -> list[dict[bytes, int]]:
        """For each of the columns what is to be found in its values, numbered."""
        parts: list[dict[bytes, int]] = [{} for _ in self.columns]
        for given in self.given:
            if isinstance(given, Given) and given.goal is not None and given.goal[0] in SEARCHES:
                part = part_of(given.goal)
                parts[given.column].setdefault(part, len(parts[given.column]))
        return parts

    @cached_property
    def words(self) -> list[Words]:
        """For each of the columns what its values are compared with."""
        words = [Words() for _ in self.columns]
        for given in self.given:
            if isinstance(given, Given) and is_word(given.goal):
                words[given.column].add(given.goal[1])
        return words

    # -- compiling; -1 is always: not as an operation

    def rows(self, choice: NodePattern) -> int:
        """The rows of a choice, or rows that are among all rows of its name the same."""
        found = self._predicates(choice)
        return self._seed(SEED, self._given(choice, None, False)) if found == NONE else found

    def leading(self, tail: int, path: LocationPath, down: bool) -> int:
        """The rows from which a tail leads anywhere but to the document node."""
        found = self.truth(path) if down else NONE
        return self._seed(SEED, FromTail(tail)) if found == NONE else found

    def truth(self, expr: Expr) -> int:
        """The rows at which an expression is true."""
        known = self._exprs.get(expr)
        if known is None:
            known = self._exprs[expr] = self._truth(expr)
        return known

    def _truth(self, expr: Expr) -> int:
        if isinstance(expr, LocationPath):
            return NONE if expr.absolute else self._path(hops(expr.steps), None)
        if isinstance(expr, Union):
            return self._joined(OR, [self.truth(part) for part in expr.parts])
        if isinstance(expr, Binary) and expr.op in ("and", "or"):
            op = AND if expr.op == "and" else OR
            return self._joined(op, [self.truth(expr.left), self.truth(expr.right)])
        if isinstance(expr, FunctionCall) and expr.name in ("not", "boolean"):
            inner = self.truth(expr.arguments[0])
            if inner == NONE or expr.name == "boolean":
                return inner
            return self._add(NOT, NONE, inner, NONE)
        found = goal_of(expr)
        if found is None or found[0].absolute:
            return NONE
        return self._path(hops(found[0].steps), found[1])

    def _path(self, path: tuple[Hop, ...], goal: Goal | None) -> int:
        found = NONE
        for place, hop in enumerate(reversed(path)):
            if hop.choice is None or hop.axis not in (CHILD, DESCENDANT):
                return NONE
            deep, last = hop.axis == DESCENDANT, place == 0
            found = self._hop(deep, hop.choice, found, goal if last else None, last)
            if found == NONE:
                return NONE
        return found

    def _hop(
        self, deep: bool, choice: NodePattern, rest: int, goal: Goal | None, last: bool
    ) -> int:
        rows = not choice.attribute and (
            isinstance(choice.test, NameTest) or choice.test == ANY_NODE
        )
        if last and (goal is not None or not rows or choice.test == ANY_NODE):
            return self._seed(DEEP_SEED if deep else SEED, self._given(choice, goal, True))
        if not rows:
            return NONE  # nothing but what goes up can follow
        name, filter_, test = ANY, NONE, choice.test
        if isinstance(test, NameTest) and test.local != "*":
            name = self._names.number(self._namespaces[test.prefix], test.local)
        if choice.predicates or (isinstance(test, NameTest) and name == ANY and test.prefix):
            filter_ = self.rows(choice)
        return self._add(DEEP_HOP if deep else HOP, name, filter_, rest)

    def _predicates(self, choice: NodePattern) -> int:
        """The rows at which all predicates are true; the name is left out."""
        test = choice.test
        if not isinstance(test, NameTest) or (test.local == "*" and test.prefix):
            return NONE
        if not choice.predicates or any(map(is_positional, choice.predicates)):
            return NONE
        return self._joined(AND, [self.truth(predicate) for predicate in choice.predicates])

    def _joined(self, op: int, parts: list[int]) -> int:
        if NONE in parts:
            return NONE
        found = parts[0]
        for part in parts[1:]:
            found = self._add(op, NONE, found, part)
        return found

    def _given(self, choice: NodePattern, goal: Goal | None, parents: bool) -> Given:
        number = self._columns.get(choice)
        if number is None:
            number = self._columns[choice] = len(self.columns)
            self.columns.append(choice)
        return Given(number, goal, parents)

    def _seed(self, op: int, given: Given | FromTail) -> int:
        number = self._givens.get(given)
        if number is None:
            number = self._givens[given] = len(self.given)
            self.given.append(given)
        return self._add(op, number, NONE, NONE)

    def _add(self, op: int, name: int, first: int, second: int) -> int:
        key = (op, name, first, second)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = len(self.op)
            self.op.append(op)
            self.name.append(name)
            self.first.append(first)
            self.second.append(second)
        return known
