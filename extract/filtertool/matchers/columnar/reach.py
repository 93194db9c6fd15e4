"""Filters that many questions share: the rows from which a relative path selects a node.

A path is followed from its end: first the nodes that its last step may select, then those of their
parents that the step before may select, and so on. This does not depend on the start of the path,
so it is done once for a batch, and once for all paths with the same end.
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
"""An operator and a constant, with which some node at the end of a path must compare."""

SEARCHES: Final = frozenset({"contains", "starts-with"})
_FIRST: Final = Number("1")

PARENT: Final = "parent"
ANCESTOR: Final = "ancestor"


class Link:
    """The rest of a path from one of its hops on. Equal links are the same object."""

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
    """Returns the path as links; None if it has no hops, or one that must be followed forward."""
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
    """Returns a path and its comparison; None if the expression is not a path and a constant."""
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
    """Returns the search of ``contains()`` or ``starts-with()`` in the first node of a path.

    Only for paths of children and attributes, of which the first node is easy to find. The empty
    string is in every string, even where there is no node.
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
    """Yields the steps to the first node: ``a/b/@c`` is ``a[b/@c][1]/b[@c][1]/@c``."""
    for number, step in enumerate(steps, 1):
        if number < len(steps):
            yield step.where(make_path(False, tuple(steps[number:]))).where(_FIRST)
        elif (
            step.axis == "attribute" and isinstance(step.test, NameTest) and step.test.local != "*"
        ):
            yield step  # there is only one
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
    """Whether a goal compares for equality or inequality with a string."""
    return goal is not None and goal[0] in ("=", "!=") and isinstance(goal[1], bytes)


def part_of(goal: Goal) -> bytes:
    """Returns the string that a goal of `SEARCHES` searches for."""
    op, value = goal
    assert isinstance(value, bytes)
    return sought(value, op == "starts-with")


def meets(texts: Coded, goal: Goal) -> Bools:
    """Returns a mask of the values that compare with a constant."""
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
        self._back: weakref.ref[Evaluator] = weakref.ref(run)  # the evaluator refers to this object
        self._columns = run.columns
        self._masks: dict[Link, Bools | None] = {}
        self._own: dict[int, tuple[Ints, Coded]] = {}

    @property
    def _run(self) -> Evaluator:
        run = self._back()
        assert run is not None
        return run

    def exists(self, path: LocationPath, nodes: Ints) -> Bools | None:
        """Whether the path selects a node from each node; None if it must be followed forward."""
        return self._holds(path, None, nodes)

    def compared(self, expr: Expr, nodes: Ints) -> Bools | None:
        """Compares a path with a constant at each node; None for other expressions."""
        compared = goal_of(expr)
        return None if compared is None else self._holds(compared[0], compared[1], nodes)

    def _holds(self, path: LocationPath, goal: Goal | None, nodes: Ints) -> Bools | None:
        steps = hops(path.steps)
        if path.absolute:
            documents = self._columns.documents
            holds = self._holds(LocationPath(False, path.steps), goal, documents)
            return None if holds is None else holds[self._columns.unit_of(nodes)]
        if not steps:
            return np.ones(len(nodes), np.bool_) if goal is None else meets(self.own(nodes), goal)
        link = chain(steps, goal)
        return None if link is None else self.holds(link, nodes)

    def own(self, nodes: Ints) -> Coded:
        """Returns the string values of nodes, cached by array."""
        cached = self._own.get(id(nodes))
        if cached is None:
            cached = self._own[id(nodes)] = (nodes, self._run.strings.coded(nodes))
        return cached[1]

    def holds(self, link: Link, nodes: Ints) -> Bools:
        """Returns a mask of the nodes from which a path selects a node."""
        columns = self._columns
        if link.axis == PARENT or link.axis == ANCESTOR:
            nodes = columns.parent_of(nodes)
        mask = self.mask(link)
        if mask is None:
            return np.zeros(len(nodes), np.bool_)
        if nodes.size and (nodes.max() >= columns.rows or nodes.min() < 0):
            holds = (nodes >= 0) & (nodes < columns.rows)
            holds[holds] = mask[nodes[holds]]
            return holds
        return mask[nodes]

    def mask(self, link: Link) -> Bools | None:
        """Returns a mask of the rows from which a path selects a node; None for no rows.

        For a path that goes up: the rows that its first step may select; or, for ``ancestor``,
            these rows
        and their descendants.
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
        """Returns the nodes that the first step may select and from which the rest leads on."""
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
