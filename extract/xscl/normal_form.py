"""Turns patterns with bindings into trees of variables: the value-join normal form.

``//book->x1[.//author->x2]/title->x3`` becomes a root ``//book`` with two nodes below:
``.//author`` and ``title``. What has no binding stays as a predicate. A predicate that has one may
go, since the node below says the same; it stays, without its bindings, where a position is counted
after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from extract.errors import QuerySyntaxError
from extract.xpath.ast import (
    HERE,
    Binary,
    Expr,
    FunctionCall,
    LocationPath,
    Number,
    Step,
    StringLiteral,
    make_path,
    make_step,
)
from extract.xpath.traverse import rebuild
from extract.xpath.types import is_positional
from extract.xscl.ast import PatternNode
from extract.xscl.patterns import binding_of, bindings_in, is_mark

_COMPARISONS: Final = ("=", "!=", "<", "<=", ">", ">=")
_SWAPPED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}

NAMESPACE_NODE: Final = "a namespace node cannot be bound or compared"
NAMESPACE_HINT: Final = "bind the element, and test its namespaces: a->x[namespace::p = 'uri']"

Refuse = Callable[[str, str, int], QuerySyntaxError]


@dataclass(frozen=True, slots=True)
class VariableTrees:
    """Makes trees of variables.

    Attributes:
        error: Makes an error of a reason, a hint and a place in the query.
    """

    error: Refuse

    def root(self, path: LocationPath, offset: int) -> PatternNode:
        """Returns the tree of a pattern.

        Args:
            path: The pattern, with bindings as marks.
            offset: Where it stands, for errors.

        Raises:
            QuerySyntaxError: A binding stands where its nodes would not be known.
        """
        node = self._node(path.absolute, path.steps)
        if node is None:
            reason = "this side has no variable"
            raise self.error(reason, "bind what is compared, as in //book->x1[id->x2]", offset)
        return node

    def _node(self, absolute: bool, steps: Sequence[Step]) -> PatternNode | None:
        """The tree of some steps; None if nothing in them is bound."""
        for number, step in enumerate(steps):
            binding = binding_of(step)
            others = [one for one in step.predicates if not is_mark(one)]
            bound = [bool(bindings_in(one)) for one in others]
            if binding is None and not any(bound):
                continue
            branches, kept = list[PatternNode](), list[Expr]()
            for place, predicate in enumerate(others):
                if not bound[place]:
                    kept.append(predicate)
                    continue
                branches += self._branches(predicate)
                if any(is_positional(without_bindings(one)) for one in others[place + 1 :]):
                    kept.append(without_bindings(predicate))
                elif isinstance(predicate, Binary) and predicate.op == "and":
                    kept += [one for one in _terms(predicate) if not bindings_in(one)]
            if number + 1 < len(steps):
                below = self._node(False, steps[number + 1 :])
                if below is None:  # only tested
                    kept.append(make_path(False, tuple(steps[number + 1 :])))
                else:
                    branches.append(below)
            here = make_step(step.axis, step.test, tuple(kept))
            path = make_path(absolute, (*steps[:number], here))
            if has_namespace_nodes(path.steps):
                first = binding or next(found for one in others for found in bindings_in(one))
                raise self.error(NAMESPACE_NODE, NAMESPACE_HINT, first.start)
            return PatternNode(binding.name if binding else "", path, tuple(branches))
        return None

    def _branches(self, predicate: Expr) -> list[PatternNode]:
        """The trees of a predicate that has bindings."""
        if isinstance(predicate, Binary) and predicate.op == "and":
            bound = [one for one in _terms(predicate) if bindings_in(one)]
            return [node for one in bound for node in self._branches(one)]
        if isinstance(predicate, Binary) and predicate.op in _COMPARISONS:
            predicate = self._compared(predicate)
        if isinstance(predicate, LocationPath):
            node = self._node(predicate.absolute, predicate.steps)
            assert node is not None
            return [node]
        raise self._refused(predicate)

    def _compared(self, comparison: Binary) -> LocationPath:
        """``a->x = 'b'`` as ``a[. = 'b']->x``: the nodes of which the comparison holds."""
        path, other, op = comparison.left, comparison.right, comparison.op
        if isinstance(other, LocationPath):
            path, other, op = other, path, _SWAPPED.get(op, op)
        if not isinstance(path, LocationPath) or not isinstance(other, (StringLiteral, Number)):
            raise self._refused(comparison)
        last = path.steps[-1].where(Binary(op, make_path(False, (HERE,)), other))
        return LocationPath(path.absolute, (*path.steps[:-1], last))

    def _refused(self, expr: Expr) -> QuerySyntaxError:
        first = bindings_in(expr)[0]
        if isinstance(expr, FunctionCall):
            where = f"inside of {expr.name}()"
        elif isinstance(expr, Binary) and expr.op in _COMPARISONS:
            where = f"in a comparison with '{expr.op}'"
        else:
            where = f"under '{expr.op}'" if isinstance(expr, Binary) else "in this expression"
        reason = f"{first.name} cannot be bound {where}"
        hint = f"bind a path that has to exist: [path->{first.name}], or several joined by 'and'"
        return self.error(reason, hint, first.start)


def has_namespace_nodes(steps: Sequence[Step]) -> bool:
    """Whether a path may lead to namespace nodes, which have no place in a document."""
    return any(step.axis == "namespace" for step in steps)


def without_bindings(expr: Expr) -> Expr:
    """An expression of which all bindings are gone."""
    if isinstance(expr, LocationPath):
        steps = [
            replace(
                step,
                predicates=tuple([without_bindings(p) for p in step.predicates if not is_mark(p)]),
            )
            for step in expr.steps
        ]
        return LocationPath(expr.absolute, tuple(steps))
    return rebuild(expr, without_bindings)


def with_hidden(root: PatternNode, variable: str, hidden: PatternNode) -> PatternNode:
    """A tree with one more node below a variable."""
    children = tuple([with_hidden(child, variable, hidden) for child in root.children])
    if root.variable == variable:
        children = (*children, hidden)
    return replace(root, children=children)


def _terms(expr: Expr) -> list[Expr]:
    """The operands of a row of ``and``."""
    if isinstance(expr, Binary) and expr.op == "and":
        return [*_terms(expr.left), *_terms(expr.right)]
    return [expr]
