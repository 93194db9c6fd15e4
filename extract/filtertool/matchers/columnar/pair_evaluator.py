"""Evaluates expressions with parameters, for many pairs of a context node and a query at once.

Parts without parameters are evaluated for the distinct nodes alone, by the evaluator of the batch,
which keeps what questions share. Comparisons of such a part with a parameter take the same few
operations on columns for any number of pairs; other parts with parameters are evaluated for every
pair.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from extract.filtertool.matchers.columnar import functions
from extract.filtertool.matchers.columnar.axes import REVERSE, Pairs
from extract.filtertool.matchers.columnar.columns import NOTHING, Bools, Ints, distinct
from extract.filtertool.matchers.columnar.comparison import compare
from extract.filtertool.matchers.columnar.constant_columns import ConstantColumns
from extract.filtertool.matchers.columnar.evaluator import (
    ContextNodes,
    Evaluator,
    QueryContexts,
    composed,
    positions,
)
from extract.filtertool.matchers.columnar.hops import CHILD, DESCENDANT, Hop, hops
from extract.filtertool.matchers.columnar.node_values import ValueCache
from extract.filtertool.matchers.columnar.operands import (
    Operand,
    comparison_of,
    search_of,
)
from extract.filtertool.matchers.columnar.strings import Coded, Texts
from extract.xpath.ast import (
    Binary,
    Expr,
    FilterPath,
    FunctionCall,
    LocationPath,
    Parameter,
    Step,
    Union,
)
from extract.xpath.functions import Type
from extract.xpath.parameters import has_parameters
from extract.xpath.types import counts, is_positional, type_of

Floats = NDArray[np.float64]
Column = TypeVar("Column", Bools, Floats, Texts)


class PairEvaluator(Evaluator):
    """Evaluates expressions of one question on one batch.

    Args:
        plain: Evaluates what has no parameters.
        values: The values of the batch's nodes.
        constants: The constants of the question.
    """

    def __init__(self, plain: Evaluator, values: ValueCache, constants: ConstantColumns) -> None:
        super().__init__(plain.axes)
        self._plain = plain
        self._values = values
        self._constants = constants

    def contexts(self, nodes: Ints, place: Ints, query: Ints) -> ContextNodes:
        """Returns pairs as contexts: each a place among distinct nodes, and a query."""
        return ContextNodes(nodes[place], queries=QueryContexts(nodes, place, query))

    # -- truth

    def truth(self, expr: Expr, at: ContextNodes) -> Bools:
        """Returns the expression as a boolean at each pair."""
        queries = at.queries
        if queries is None:
            return self._plain.truth(expr, at)
        if not has_parameters(expr):
            return self._plain.truth(expr, _nodes_of(expr, at))[_places_of(expr, at)]
        comparison, search = comparison_of(expr), search_of(expr)
        if comparison is not None:
            values = self._values.of(comparison.value, queries.distinct)
            return values.compared(comparison, self._constants, queries.place, queries.query)
        if search is not None:
            values = self._values.strings(search.value, queries.distinct)
            return values.searched(search, self._constants, queries.place, queries.query)
        if type_of(expr) is Type.NODES:
            exists = np.zeros(len(at.nodes), np.bool_)
            exists[self.nodes(expr, at).owner] = True
            return exists
        if type_of(expr) is Type.NUMBER:
            value = self.number(expr, at)
            true: Bools = (value != 0) & ~np.isnan(value)
            return true
        if type_of(expr) is Type.STRING:
            return np.array([text != b"" for text in self.string(expr, at).tolist()], np.bool_)
        return self._boolean(expr, at)

    def _boolean(self, expr: Expr, at: ContextNodes) -> Bools:
        if isinstance(expr, Binary):
            if expr.op not in ("and", "or"):
                return compare(self, expr, at)
            holds = self.truth(expr.left, at).copy()
            undecided = np.flatnonzero(holds if expr.op == "and" else ~holds)
            if undecided.size:
                holds[undecided] = self.truth(expr.right, narrowed(at, undecided))
            return holds
        assert isinstance(expr, FunctionCall)
        if expr.name == "not":
            return ~self.truth(expr.arguments[0], at)
        if expr.name == "boolean":
            return self.truth(expr.arguments[0], at)
        return functions.boolean(self, expr, at)

    # -- numbers and strings

    def number(self, expr: Expr, at: ContextNodes) -> Floats:
        """Returns the expression as a number at each pair."""
        if at.queries is None:
            return self._plain.number(expr, at)
        if isinstance(expr, Parameter):
            return self._constants.numbers(Operand(expr.index, expr.type))[at.queries.query]
        if has_parameters(expr):
            return super().number(expr, at)
        return self._plain.number(expr, _nodes_of(expr, at))[_places_of(expr, at)]

    def string(self, expr: Expr, at: ContextNodes) -> Texts:
        """Returns the expression as a string at each pair."""
        if at.queries is None:
            return self._plain.string(expr, at)
        if isinstance(expr, Parameter):
            return self._constants.strings(Operand(expr.index, expr.type), at.queries.query)
        if has_parameters(expr):
            return super().string(expr, at)
        return self._plain.string(expr, _nodes_of(expr, at))[_places_of(expr, at)]

    def first_coded(self, expr: Expr, at: ContextNodes) -> Coded:
        """Returns the expression, a node set, as strings."""
        return Coded(self.string(expr, at).tolist())

    # -- nodes

    def nodes(self, expr: Expr, at: ContextNodes) -> Pairs:
        """Returns the nodes that the expression selects at each pair."""
        queries = at.queries
        if queries is None:
            return self._plain.nodes(expr, at)
        if not has_parameters(expr):
            selected = self._plain.nodes(expr, ContextNodes(queries.distinct))
            return composed(queries.place, selected)
        if isinstance(expr, Union):
            return self.axes.united([self.nodes(part, at) for part in expr.parts])
        if isinstance(expr, LocationPath):
            return self._path(expr, queries)
        assert isinstance(expr, FilterPath)
        selected = self.nodes(expr.primary, at)
        for predicate in expr.predicates:
            selected = self._passing(selected, predicate, False, queries.query)
        return self._onward(selected, hops(expr.steps), queries.query)

    def _path(self, path: LocationPath, queries: QueryContexts) -> Pairs:
        if path.absolute:  # the same nodes for all contexts of a unit and a query
            unit = self.columns.unit_of(queries.distinct)[queries.place]
            span = self._constants.queries
            keys, back = np.unique(unit * span + queries.query, return_inverse=True)
            starts = QueryContexts(self.columns.documents, keys // span, keys % span)
            return composed(back, self._path(LocationPath(False, path.steps), starts))
        steps = hops(path.steps)
        free = next(n for n, hop in enumerate(steps) if _predicates(hop) != _free(hop))
        selected = self._plain.follow(steps[:free], queries.distinct)
        return self._onward(composed(queries.place, selected), steps[free:], queries.query)

    def _onward(self, selected: Pairs, path: tuple[Hop, ...], query: Ints) -> Pairs:
        """Follows a path from nodes.

        Args:
            selected: The nodes.
            path: The path.
            query: For each owner of nodes its query.
        """
        for hop in path:
            if not selected.owner.size:
                return selected
            step = self._hop(hop, selected.nodes, query[selected.owner])
            selected = self.axes.distinct(selected.owner[step.owner], step.nodes)
        return selected

    def _hop(self, hop: Hop, nodes: Ints, query: Ints) -> Pairs:
        """Returns the nodes that a hop selects from each pair of a node and a query."""
        predicates, free = _predicates(hop), _free(hop)
        rest = predicates[len(free) :]
        if hop.axis == DESCENDANT and hop.choice is not None and any(map(is_positional, rest)):
            return self._by_parent(hop, nodes, query)
        starts, back = distinct_nodes(nodes)
        selected = composed(back, self._plain.hop(_with_predicates(hop, free), starts))
        for predicate in rest:
            selected = self._passing(selected, predicate, hop.axis in REVERSE, query)
        return selected

    def _by_parent(self, hop: Hop, nodes: Ints, query: Ints) -> Pairs:
        """`_hop` to descendants whose positions count the children of their parents."""
        assert hop.choice is not None
        children = self.axes.tested(hop.choice.attribute, hop.choice.test)
        parents = distinct(self.columns.parent_of(children))
        below = self.axes.inside(parents, nodes)
        own = np.flatnonzero(np.isin(nodes, parents))
        above = self.axes.united([Pairs(own, nodes[own]), below])
        step = self._hop(Hop(CHILD, hop.choice), above.nodes, query[above.owner])
        return self.axes.distinct(above.owner[step.owner], step.nodes)

    def _passing(self, pairs: Pairs, predicate: Expr, reverse: bool, query: Ints) -> Pairs:
        """Returns the pairs that pass a predicate; ``query`` has the query of each owner."""
        if not has_parameters(predicate) or not pairs.owner.size:
            return self.filtered(pairs, predicate, reverse)
        owner, nodes = pairs
        position = size = NOTHING
        if is_positional(predicate):
            position, size = positions(owner, reverse)
        queries = QueryContexts(*distinct_nodes(nodes), query[owner])
        at = ContextNodes(nodes, position, size, queries)
        if type_of(predicate) is Type.NUMBER:
            mask = self.number(predicate, at) == position
        else:
            mask = self.truth(predicate, at)
        return Pairs(owner[mask], nodes[mask])


def narrowed(at: ContextNodes, chosen: Bools | Ints) -> ContextNodes:
    """Returns some of the contexts."""
    assert at.queries is not None
    nodes, place, query = at.queries
    return ContextNodes(
        at.nodes[chosen],
        at.position[chosen] if at.position.size else NOTHING,
        at.size[chosen] if at.size.size else NOTHING,
        QueryContexts(nodes, place[chosen], query[chosen]),
    )


def distinct_nodes(nodes: Ints) -> tuple[Ints, Ints]:
    """Returns the distinct nodes, ascending, and for each node its place among them."""
    last = int(nodes.max(initial=-1)) + 1
    if len(nodes) < last // 8:
        few, place = np.unique(nodes, return_inverse=True)
        return few, place
    there = np.zeros(last, np.bool_)
    there[nodes] = True
    places = np.cumsum(there) - 1
    return np.flatnonzero(there), places[nodes]


def _nodes_of(expr: Expr, at: ContextNodes) -> ContextNodes:
    """Returns the contexts at which an expression without parameters is evaluated."""
    assert at.queries is not None
    return at._replace(queries=None) if counts(expr) else ContextNodes(at.queries.distinct)


def _places_of(expr: Expr, at: ContextNodes) -> Ints | slice:
    """Returns the places of all contexts among those of `_nodes_of`."""
    assert at.queries is not None
    return slice(None) if counts(expr) else at.queries.place


def _predicates(hop: Hop) -> tuple[Expr, ...]:
    if hop.choice is not None:
        return hop.choice.predicates
    assert hop.step is not None
    return hop.step.predicates


def _free(hop: Hop) -> tuple[Expr, ...]:
    """Returns the predicates before the first one that has parameters."""
    predicates = _predicates(hop)
    number = next((n for n, one in enumerate(predicates) if has_parameters(one)), len(predicates))
    return predicates[:number]


def _with_predicates(hop: Hop, predicates: tuple[Expr, ...]) -> Hop:
    if hop.choice is not None:
        return hop._replace(choice=hop.choice._replace(predicates=predicates))
    assert hop.step is not None
    return hop._replace(step=Step(hop.step.axis, hop.step.test, predicates))
