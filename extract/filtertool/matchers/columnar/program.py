"""Filters and tails as a program: a list of operations, each with a set of rows as its result.

All filters and tails of all questions are one program, in which equal operations occur once. An
operation comes after its operands, so the whole program runs in one pass in C (`_sets.pyx`), or
operation by operation, on demand and on masks (`dense`).
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

# Operations. The columns `first` and `second` hold the operands, where -1 is none.
HOP: Final = 0  # parents of the rows with a name that are in `first` and in `second`
DEEP_HOP: Final = 1  # ancestors of these rows
SEED: Final = 2  # the seed's rows
DEEP_SEED: Final = 3  # the seed's rows and their ancestors
AND: Final = 4
OR: Final = 5
NOT: Final = 6

ANY: Final = -1  # as a name: any element
NONE: Final = -1  # as an operand


class ValueSeed(NamedTuple):
    """A seed of the program: rows that are found by node pattern and string value.

    Attributes:
        column: The nodes, as an index into `Program.columns`.
        goal: The comparison of their string values.
        parents: Whether the rows are the parents of the nodes, not the nodes themselves.
    """

    column: int
    goal: Goal | None
    parents: bool


class TailSeed(NamedTuple):
    """A seed of the program: the rows from which a tail selects a node, by the tail's number."""

    tail: int


class Program:
    """The operations of all questions.

    Attributes:
        op: The kind of each operation.
        name: The number of a name, or `ANY`; for `SEED` and `DEEP_SEED` an index into ``seeds``.
        first, second: The operands.
        seeds: The seeds.
        columns: The node patterns of the seeds.
    """

    def __init__(self, names: NameBook, namespaces: Mapping[str, str]) -> None:
        self.op, self.name, self.first, self.second = (array("i") for _ in range(4))
        self.seeds: list[ValueSeed | TailSeed] = []
        self.columns: list[NodePattern] = []
        self._names = names
        self._namespaces = {**namespaces, "": "", "xml": XML_NAMESPACE}
        self._operations: dict[tuple[int, int, int, int], int] = {}
        self._seed_numbers: dict[ValueSeed | TailSeed, int] = {}
        self._columns: dict[NodePattern, int] = {}
        self._exprs: dict[Expr, int] = {}

    def __len__(self) -> int:
        return len(self.op)

    @cached_property
    def parts(self) -> list[dict[bytes, int]]:
        """For each column the strings that are searched in its values, numbered."""
        parts: list[dict[bytes, int]] = [{} for _ in self.columns]
        for seed in self.seeds:
            if isinstance(seed, ValueSeed) and seed.goal is not None and seed.goal[0] in SEARCHES:
                part = part_of(seed.goal)
                parts[seed.column].setdefault(part, len(parts[seed.column]))
        return parts

    @cached_property
    def words(self) -> list[Words]:
        """For each column the words that its values are compared with."""
        words = [Words() for _ in self.columns]
        for seed in self.seeds:
            if isinstance(seed, ValueSeed) and is_word(seed.goal):
                words[seed.column].add(seed.goal[1])
        return words

    # -- compiling; the operation -1 stands for all rows

    def rows(self, choice: NodePattern) -> int:
        """Returns the operation with the rows of a pattern, or with a superset of the same name."""
        operation = self._predicates(choice)
        return (
            self._seed(SEED, self._value_seed(choice, None, False))
            if operation == NONE
            else operation
        )

    def leading(self, tail: int, path: LocationPath, down: bool) -> int:
        """Returns the operation with the rows from which a tail selects a node."""
        operation = self.truth(path) if down else NONE
        return self._seed(SEED, TailSeed(tail)) if operation == NONE else operation

    def truth(self, expr: Expr) -> int:
        """Returns the operation with the rows at which an expression is true."""
        operation = self._exprs.get(expr)
        if operation is None:
            operation = self._exprs[expr] = self._truth(expr)
        return operation

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
        compared = goal_of(expr)
        if compared is None or compared[0].absolute:
            return NONE
        return self._path(hops(compared[0].steps), compared[1])

    def _path(self, path: tuple[Hop, ...], goal: Goal | None) -> int:
        operation = NONE
        for place, hop in enumerate(reversed(path)):
            if hop.choice is None or hop.axis not in (CHILD, DESCENDANT):
                return NONE
            deep, last = hop.axis == DESCENDANT, place == 0
            operation = self._hop(deep, hop.choice, operation, goal if last else None, last)
            if operation == NONE:
                return NONE
        return operation

    def _hop(
        self, deep: bool, choice: NodePattern, rest: int, goal: Goal | None, last: bool
    ) -> int:
        rows = not choice.attribute and (
            isinstance(choice.test, NameTest) or choice.test == ANY_NODE
        )
        if last and (goal is not None or not rows or choice.test == ANY_NODE):
            return self._seed(DEEP_SEED if deep else SEED, self._value_seed(choice, goal, True))
        if not rows:
            return NONE  # only steps that go up can follow
        name, filter_, test = ANY, NONE, choice.test
        if isinstance(test, NameTest) and test.local != "*":
            name = self._names.number(self._namespaces[test.prefix], test.local)
        if choice.predicates or (isinstance(test, NameTest) and name == ANY and test.prefix):
            filter_ = self.rows(choice)
        return self._add(DEEP_HOP if deep else HOP, name, filter_, rest)

    def _predicates(self, choice: NodePattern) -> int:
        """Returns the operation of all predicates of a pattern, without its name."""
        test = choice.test
        if not isinstance(test, NameTest) or (test.local == "*" and test.prefix):
            return NONE
        if not choice.predicates or any(map(is_positional, choice.predicates)):
            return NONE
        return self._joined(AND, [self.truth(predicate) for predicate in choice.predicates])

    def _joined(self, op: int, parts: list[int]) -> int:
        if NONE in parts:
            return NONE
        operation = parts[0]
        for part in parts[1:]:
            operation = self._add(op, NONE, operation, part)
        return operation

    def _value_seed(self, choice: NodePattern, goal: Goal | None, parents: bool) -> ValueSeed:
        number = self._columns.get(choice)
        if number is None:
            number = self._columns[choice] = len(self.columns)
            self.columns.append(choice)
        return ValueSeed(number, goal, parents)

    def _seed(self, op: int, seed: ValueSeed | TailSeed) -> int:
        number = self._seed_numbers.get(seed)
        if number is None:
            number = self._seed_numbers[seed] = len(self.seeds)
            self.seeds.append(seed)
        return self._add(op, number, NONE, NONE)

    def _add(self, op: int, name: int, first: int, second: int) -> int:
        key = (op, name, first, second)
        number = self._operations.get(key)
        if number is None:
            number = self._operations[key] = len(self.op)
            self.op.append(op)
            self.name.append(name)
            self.first.append(first)
            self.second.append(second)
        return number
