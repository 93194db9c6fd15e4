"""Filters that many questions share: from which rows a relative path leads anywhere.

A path is taken from its end: the nodes that its last step can lead to, then their parents, of these
those that the step before can lead to, and so on. That does not depend on where the path starts, so
it is done once for a batch, and once for all paths that end alike.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeGuard

import numpy as np

from extract.filtertool.matchers.columnar.columns import Bools, Ints
from extract.filtertool.matchers.columnar.comparison import MIRRORED, OPERATORS
from extract.filtertool.matchers.columnar.hops import CHILD, DESCENDANT, Hop, NodePattern, hops
from extract.filtertool.matchers.columnar.strings import Coded, sought
from extract.xpath.ast import (
    ANY_NODE,
    HERE,
    Binary,
    Expr,
    FunctionCall,
    LocationPath,
    NameTest,
    Negate,
    Number,
    Step,
    StringLiteral,
    make_path,
)
from extract.xpath.numbers import to_number
from extract.xpath.types import has_positions

if TYPE_CHECKING:
    from extract.filtertool.matchers.columnar.evaluator import Evaluator

Goal = tuple[str, bytes | float]
"""An operator and a constant: what some node at the end of a path must compare with."""

SEARCHES: Final = frozenset({"contains", "starts-with"})
_FIRST: Final = Number("1")

PARENT: Final = "parent"
ANCESTOR: Final = "ancestor"


class Link:
    """The rest of a path from one of its hops on. Equal ones are the same object."""

    __slots__ = ("axis", "choice", "goal", "rest")

    def __init__(
        self, axis: str, choice: NodePattern, rest: Link | None, goal: Goal | None
    ) -> None:
        self.axis = axis
        self.choice = choice
        self.rest = rest
        self.goal = goal


@lru_cache(maxsize=1 << 18)
def _link(axis: str, choice: NodePattern, rest: Link | None, goal: Goal | None) -> Link:
    return Link(axis, choice, rest, goal)


@lru_cache(maxsize=1 << 18)
def chain(path: tuple[Hop, ...], goal: Goal | None = None) -> Link | None:
    """The path from its first hop on; None if it has none, or one that must be followed forward."""
    link: Link | None = None
    for hop in reversed(path):
        choice = hop.choice
        if choice is None:
            step = hop.step
            assert step is not None
            if hop.axis not in (PARENT, ANCESTOR) or has_positions(step):
                return None
            choice = NodePattern(False, step.test, step.predicates)
        link = _link(hop.axis, choice, link, goal if link is None else None)
    return link


@lru_cache(maxsize=1 << 18)
def goal_of(expr: Expr) -> tuple[LocationPath, Goal] | None:
    """The path and what it is compared with; None if that is not a path and a constant."""
    if isinstance(expr, FunctionCall):
        return _found_in(expr)
    if not isinstance(expr, Binary) or expr.op not in OPERATORS:
        return None
    op, left, right = expr.op, expr.left, expr.right
    if isinstance(right, LocationPath):
        op, left, right = MIRRORED[op], right, left
    if not isinstance(left, LocationPath):
        return None
    value = _constant(right)
    if value is None:
        return None
    if isinstance(value, bytes) and op not in ("=", "!="):
        value = to_number(value)
    return left, (op, value)


def _found_in(call: FunctionCall) -> tuple[LocationPath, Goal] | None:
    """What ``contains()`` or ``starts-with()`` asks of the first node of a path.

    Only of a path to children and attributes, for of its nodes the first is easily told. An empty
    string is in every other, also where there is no node.
    """
    if call.name not in SEARCHES or call.prefix:
        return None
    path, word = call.arguments
    if not isinstance(path, LocationPath) or path.absolute or not isinstance(word, StringLiteral):
        return None
    steps = [step for step in path.steps if step != HERE]
    if not word.value or not all(step.axis in ("attribute", "child") for step in steps):
        return None
    return make_path(False, tuple(_firsts(steps))), (call.name, word.value.encode())


def _firsts(steps: Sequence[Step]) -> Iterator[Step]:
    """The steps to the first node: ``a/b/@c`` is ``a[b/@c][1]/b[@c][1]/@c``."""
    for number, step in enumerate(steps, 1):
        if number < len(steps):
            yield step.where(make_path(False, tuple(steps[number:]))).where(_FIRST)
        elif (
            step.axis == "attribute" and isinstance(step.test, NameTest) and step.test.local != "*"
        ):
            yield step  # there is no second
        else:
            yield step.where(_FIRST)


def _constant(expr: Expr) -> bytes | float | None:
    if isinstance(expr, StringLiteral):
        return expr.value.encode()
    if isinstance(expr, Number):
        return to_number(expr.text.encode())
    if isinstance(expr, Negate) and isinstance(expr.operand, Number):
        return -to_number(expr.operand.text.encode())
    return None


def is_word(goal: Goal | None) -> TypeGuard[tuple[str, bytes]]:
    """Whether a goal is to be, or not to be, some word."""
    return goal is not None and goal[0] in ("=", "!=") and isinstance(goal[1], bytes)


def part_of(goal: Goal) -> bytes:
    """What is to be searched for, of a goal that is one of `SEARCHES`."""
    op, value = goal
    assert isinstance(value, bytes)
    return sought(value, op == "starts-with")


def meets(texts: Coded, goal: Goal) -> Bools:
    """Which of some values compare with a constant."""
    op, value = goal
    if op in SEARCHES:
        assert isinstance(value, bytes)
        return texts.holding(value, op == "starts-with")[texts.code]
    if isinstance(value, bytes):
        result: Bools = OPERATORS[op](texts.code, texts.find(value))
    else:
        result = OPERATORS[op](texts.numbers, value)[texts.code]
    return result


class Reach:
    """Evaluates the filters of one batch."""

    def __init__(self, run: Evaluator) -> None:
        self._back: weakref.ref[Evaluator] = weakref.ref(run)  # it holds us
        self._columns = run.columns
        self._masks: dict[Link, Bools | None] = {}
        self._own: dict[int, tuple[Ints, Coded]] = {}

    @property
    def _run(self) -> Evaluator:
        run = self._back()
        assert run is not None
        return run

    def exists(self, path: LocationPath, nodes: Ints) -> Bools | None:
        """Whether the path leads anywhere from each node; None if it cannot be said here."""
        return self._holds(path, None, nodes)

    def compared(self, expr: Expr, nodes: Ints) -> Bools | None:
        """A comparison of a path and a constant at each node; None if it is something else."""
        found = goal_of(expr)
        return None if found is None else self._holds(found[0], found[1], nodes)

    def _holds(self, path: LocationPath, goal: Goal | None, nodes: Ints) -> Bools | None:
        steps = hops(path.steps)
        if path.absolute:
            documents = self._columns.documents
            found = self._holds(LocationPath(False, path.steps), goal, documents)
            return None if found is None else found[self._columns.unit_of(nodes)]
        if not steps:
            return np.ones(len(nodes), np.bool_) if goal is None else meets(self.own(nodes), goal)
        link = chain(steps, goal)
        return None if link is None else self.holds(link, nodes)

    def own(self, nodes: Ints) -> Coded:
        """The string values of nodes, remembered for the same array."""
        known = self._own.get(id(nodes))
        if known is None:
            known = self._own[id(nodes)] = (nodes, self._run.strings.coded(nodes))
        return known[1]

    def holds(self, link: Link, nodes: Ints) -> Bools:
        """From which nodes a path leads anywhere."""
        columns = self._columns
        if link.axis == PARENT or link.axis == ANCESTOR:
            nodes = columns.parent_of(nodes)
        mask = self.mask(link)
        if mask is None:
            return np.zeros(len(nodes), np.bool_)
        if nodes.size and (nodes.max() >= columns.rows or nodes.min() < 0):
            there = (nodes >= 0) & (nodes < columns.rows)
            there[there] = mask[nodes[there]]
            return there
        return mask[nodes]

    def mask(self, link: Link) -> Bools | None:
        """From which rows a path leads anywhere; None for nowhere.

        For a path that goes up: to which rows its first step may go; or, for ``ancestor``, which
        rows are such or inside of such.
        """
        if link in self._masks:
            return self._masks[link]
        targets = self.targets(link)
        found: Bools | None = None
        if targets.size:
            found = np.zeros(self._columns.rows, np.bool_)
            if link.axis == CHILD:
                found[self._columns.parent_of(targets)] = True
            elif link.axis == DESCENDANT:
                self._columns.mark_upward(found, self._columns.parent_of(targets))
            else:
                found[targets] = True
                if link.axis == ANCESTOR:
                    self._spread(found)
        self._masks[link] = found
        return found

    def _spread(self, found: Bools) -> None:
        for rows in self._columns.levels[1:]:
            found[rows] |= found[self._columns.up[rows]]

    def targets(self, link: Link) -> Ints:
        """The nodes that the first step may lead to, and from which the rest leads on."""
        up = link.axis == PARENT or link.axis == ANCESTOR
        if up and link.choice.test == ANY_NODE:
            nodes = self._any_rows(link.choice)
        else:
            nodes = self._run.chosen(link.choice)
            if up and nodes.size and nodes[-1] >= self._columns.rows:
                nodes = nodes[:0]  # texts, comments and processing instructions have no children
        if link.rest is not None:
            return nodes[self.holds(link.rest, nodes)] if nodes.size else nodes
        if link.goal is None or not nodes.size:
            return nodes
        if up:
            return nodes[meets(self.own(nodes), link.goal)]
        texts = self._run.coded(link.choice)
        op, value = link.goal
        if op == "=" and isinstance(value, bytes):
            return nodes[texts.where(value)]
        return nodes[meets(texts, link.goal)]

    def _any_rows(self, choice: NodePattern) -> Ints:
        from extract.filtertool.matchers.columnar.evaluator import ContextNodes

        nodes: Ints = np.arange(self._columns.rows)
        for predicate in choice.predicates:
            nodes = nodes[self._run.truth(predicate, ContextNodes(nodes))]
        return nodes
