"""Evaluates XPath expressions on columns, for many context nodes at once.

There is a method for each type: `truth`, `number`, `string` and `nodes` return the expression's
    value
converted to that type, as libxml2 converts it. The cost does not depend on the number of questions;
see `reach` for the filters that many questions share.
"""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extract.filtertool.matchers.columnar import functions
from extract.filtertool.matchers.columnar.axes import REVERSE, Axes, Grouped, Pairs, ranges
from extract.filtertool.matchers.columnar.columns import NOTHING, Bools, Columns, Ints
from extract.filtertool.matchers.columnar.comparison import compare
from extract.filtertool.matchers.columnar.hops import CHILD, DESCENDANT, Hop, NodePattern, hops
from extract.filtertool.matchers.columnar.numbers import to_numbers, to_text
from extract.filtertool.matchers.columnar.reach import Reach
from extract.filtertool.matchers.columnar.strings import Coded, Strings, Texts, as_texts
from extract.xpath.ast import (
    PRECEDENCE,
    Binary,
    Expr,
    FilterPath,
    FunctionCall,
    LocationPath,
    Negate,
    Number,
    Step,
    StringLiteral,
    Union,
)
from extract.xpath.functions import Type
from extract.xpath.numbers import to_number
from extract.xpath.types import is_positional, type_of

Floats = NDArray[np.float64]

_EQUALITY = PRECEDENCE["="]
_RELATION = PRECEDENCE["<"]


class QueryContexts(NamedTuple):
    """The queries for which expressions with parameters are evaluated at context nodes.

    Attributes:
        distinct: The context nodes, each once.
        place: For each context node its place among them.
        query: For each context node the query.
    """

    distinct: Ints
    place: Ints
    query: Ints


class ContextNodes(NamedTuple):
    """The context of an evaluation.

    Attributes:
        nodes: The context nodes.
        position, size: ``position()`` and ``last()`` at each of them; empty where no expression
            uses them.
        queries: The query of each of them; None where no expression has parameters.
    """

    nodes: Ints
    position: Ints = NOTHING
    size: Ints = NOTHING
    queries: QueryContexts | None = None


class Evaluator:
    """Evaluates expressions on one batch."""

    def __init__(self, axes: Axes) -> None:
        self.axes = axes
        self.columns: Columns = axes.columns
        self.strings = Strings(axes.columns)
        self.reach = Reach(self)
        self._chosen: dict[NodePattern, Ints] = {}
        self._groups: dict[NodePattern, Grouped] = {}
        self._coded: dict[NodePattern, Coded] = {}
        # The key's nodes stay referenced, so that no other array gets their identity.
        self._first: dict[tuple[Expr, int], tuple[Ints, Coded]] = {}

    # -- truth

    def truth(self, expr: Expr, at: ContextNodes) -> Bools:
        """Returns the expression as a boolean at each context node."""
        if isinstance(expr, (LocationPath, FilterPath, Union)):
            return self._exists(expr, at)
        if isinstance(expr, Binary):
            if expr.op == "and":
                return self.truth(expr.left, at) & self.truth(expr.right, at)
            if expr.op == "or":
                return self.truth(expr.left, at) | self.truth(expr.right, at)
            if PRECEDENCE[expr.op] in (_EQUALITY, _RELATION):
                quick = self.reach.compared(expr, at.nodes)
                return quick if quick is not None else compare(self, expr, at)
        if isinstance(expr, FunctionCall):
            if expr.name == "not":
                return ~self.truth(expr.arguments[0], at)
            if expr.name == "boolean":
                return self.truth(expr.arguments[0], at)
        kind = type_of(expr)
        if kind is Type.NUMBER:
            value = self.number(expr, at)
            true: Bools = (value != 0) & ~np.isnan(value)
            return true
        if kind is Type.BOOLEAN:
            assert isinstance(expr, FunctionCall)
            quick = self.reach.compared(expr, at.nodes)
            return quick if quick is not None else functions.boolean(self, expr, at)
        texts = self.string(expr, at)
        return np.array([text != b"" for text in texts.tolist()], np.bool_)

    def _exists(self, expr: Expr, at: ContextNodes) -> Bools:
        if isinstance(expr, Union):
            return reduce(np.logical_or, [self._exists(part, at) for part in expr.parts])
        if isinstance(expr, LocationPath):
            quick = self.reach.exists(expr, at.nodes)
            if quick is not None:
                return quick
        exists = np.zeros(len(at.nodes), np.bool_)
        exists[self.nodes(expr, at).owner] = True
        return exists

    # -- numbers and strings

    def number(self, expr: Expr, at: ContextNodes) -> Floats:
        """Returns the expression as a number at each context node."""
        if isinstance(expr, Number):
            return np.full(len(at.nodes), to_number(expr.text.encode()))
        if isinstance(expr, Negate):
            return -self.number(expr.operand, at)
        if type_of(expr) is Type.NUMBER:
            if isinstance(expr, Binary):
                return self._arithmetic(expr, at)
            assert isinstance(expr, FunctionCall)
            return functions.number(self, expr, at)
        if type_of(expr) is Type.BOOLEAN:
            return self.truth(expr, at).astype(np.float64)
        return to_numbers(self.string(expr, at))

    def _arithmetic(self, expr: Binary, at: ContextNodes) -> Floats:
        left, right = self.number(expr.left, at), self.number(expr.right, at)
        with np.errstate(all="ignore"):
            if expr.op == "+":
                return left + right
            if expr.op == "-":
                return left - right
            if expr.op == "*":
                return left * right
            return left / right if expr.op == "div" else np.fmod(left, right)

    def string(self, expr: Expr, at: ContextNodes) -> Texts:
        """Returns the expression as a string at each context node."""
        if isinstance(expr, StringLiteral):
            return as_texts([expr.value.encode()] * len(at.nodes))
        kind = type_of(expr)
        if kind is Type.NUMBER:
            return as_texts([to_text(value) for value in self.number(expr, at).tolist()])
        if kind is Type.BOOLEAN:
            words = [b"false", b"true"]
            return as_texts([words[value] for value in self.truth(expr, at).tolist()])
        if kind is Type.STRING:
            assert isinstance(expr, FunctionCall)
            return functions.string(self, expr, at)
        return self.first_strings(self.nodes(expr, at), len(at.nodes))

    def first_coded(self, expr: Expr, at: ContextNodes) -> Coded:
        """Returns the expression, a node set, as strings; cached by context nodes."""
        key = (expr, id(at.nodes))
        cached = self._first.get(key)
        if cached is None:
            texts = self.first_strings(self.nodes(expr, at), len(at.nodes))
            cached = self._first[key] = (at.nodes, Coded(texts.tolist()))
        return cached[1]

    def first_strings(self, pairs: Pairs, count: int) -> Texts:
        """Returns the string values of the first nodes; empty where there is none."""
        out = as_texts([b""] * count)
        if pairs.owner.size:
            index, first = np.unique(pairs.owner, return_index=True)
            out[index] = as_texts(self.strings.of(pairs.nodes[first]))
        return out

    # -- nodes

    def nodes(self, expr: Expr, at: ContextNodes) -> Pairs:
        """Returns the nodes that the expression selects at each context node."""
        if isinstance(expr, Union):
            return self.axes.united([self.nodes(part, at) for part in expr.parts])
        if isinstance(expr, LocationPath):
            if not expr.absolute:
                return self.follow(hops(expr.steps), at.nodes)
            units = self.columns.unit_of(at.nodes)
            selected = self.follow(hops(expr.steps), self.columns.documents)
            return composed(units, selected)
        assert isinstance(expr, FilterPath)
        selected = self.nodes(expr.primary, at)
        for predicate in expr.predicates:
            selected = self.filtered(selected, predicate, False)
        return self._followed(selected, hops(expr.steps))

    def follow(self, path: tuple[Hop, ...], nodes: Ints) -> Pairs:
        """Returns the nodes that a relative path selects from each node."""
        if not path:
            return Pairs(np.arange(len(nodes)), nodes)
        return self._followed(self.hop(path[0], nodes), path[1:])

    def _followed(self, selected: Pairs, path: tuple[Hop, ...]) -> Pairs:
        for hop in path:
            if not selected.owner.size:
                return selected
            starts, back = np.unique(selected.nodes, return_inverse=True)
            onward = self.hop(hop, starts)
            step = composed(back, onward)
            selected = self.axes.distinct(selected.owner[step.owner], step.nodes)
        return selected

    def hop(self, hop: Hop, nodes: Ints) -> Pairs:
        """Returns the nodes that one hop selects from each node."""
        if hop.choice is None:
            assert hop.step is not None
            return self._step(hop.step, nodes)
        if hop.axis == CHILD:
            return self.axes.below(self._grouped(hop.choice), nodes)
        assert hop.axis == DESCENDANT
        return self.axes.inside(self.chosen(hop.choice), nodes)

    def chosen(self, choice: NodePattern) -> Ints:
        """Returns the nodes of a pattern, in document order."""
        nodes = self._chosen.get(choice)
        if nodes is None:
            nodes = self._chosen[choice] = self._choose(choice)
        return nodes

    def _choose(self, choice: NodePattern) -> Ints:
        attribute, test, predicates = choice
        nodes = self.axes.tested(attribute, test)
        if any(map(is_positional, predicates)):
            grouped = self.axes.grouped(attribute, test)
            selected = Pairs(grouped.parents, grouped.nodes)
            for predicate in predicates:
                selected = self.filtered(selected, predicate, False)
            return selected.nodes[np.argsort(self.columns.order_of(selected.nodes), kind="stable")]
        for predicate in predicates:
            if nodes.size:
                nodes = nodes[self.truth(predicate, ContextNodes(nodes))]
        return nodes

    def _grouped(self, choice: NodePattern) -> Grouped:
        if not choice.predicates:
            return self.axes.grouped(choice.attribute, choice.test)
        groups = self._groups.get(choice)
        if groups is None:
            groups = self._groups[choice] = self.axes.group(self.chosen(choice))
        return groups

    def coded(self, choice: NodePattern) -> Coded:
        """Returns the string values of a pattern's nodes."""
        values = self._coded.get(choice)
        if values is None:
            values = self._coded[choice] = self.strings.coded(self.chosen(choice))
        return values

    def _step(self, step: Step, nodes: Ints) -> Pairs:
        selected = self.axes.walk(step.axis, step.test, nodes)
        for predicate in step.predicates:
            selected = self.filtered(selected, predicate, step.axis in REVERSE)
        return selected

    def filtered(self, pairs: Pairs, predicate: Expr, reverse: bool) -> Pairs:
        """Returns the pairs that pass a predicate; positions count the pairs of the same owner."""
        index, nodes = pairs
        if not index.size:
            return pairs
        if not is_positional(predicate):
            distinct, back = np.unique(nodes, return_inverse=True)
            mask = self.truth(predicate, ContextNodes(distinct))[back]
            return Pairs(index[mask], nodes[mask])
        position, size = positions(index, reverse)
        at = ContextNodes(nodes, position, size)
        if type_of(predicate) is Type.NUMBER:
            mask = self.number(predicate, at) == position
        else:
            mask = self.truth(predicate, at)
        return Pairs(index[mask], nodes[mask])


def positions(owner: Ints, reverse: bool) -> tuple[Ints, Ints]:
    """Returns the position of each node among those of its owner, and their number."""
    begins = np.flatnonzero(np.append(True, owner[1:] != owner[:-1]))
    sizes = np.diff(np.append(begins, len(owner)))
    size = np.repeat(sizes, sizes)
    position = np.arange(len(owner)) - np.repeat(begins, sizes) + 1
    return size + 1 - position if reverse else position, size


def composed(numbers: Ints, pairs: Pairs) -> Pairs:
    """Returns, for each number, the nodes that it owns."""
    low = np.searchsorted(pairs.owner, numbers)
    return ranges(low, np.searchsorted(pairs.owner, numbers, "right"), pairs.nodes)
