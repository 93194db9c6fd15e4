"""Expressions with variables, written as expressions without.

XPath has no side effects, so that a variable may be replaced by what it stands for. What is left is
the variable of ``for``; an expression that uses it only to walk from it is one that starts at the
bound node.
"""

from __future__ import annotations

from collections.abc import Mapping

from extract.xpath.ast import (
    ANY_DEPTH,
    HERE,
    Expr,
    FilterPath,
    FunctionCall,
    LocationPath,
    Step,
    Variable,
    make_path,
)
from extract.xpath.ast import ANY_NODE as _ANY
from extract.xpath.functions import FUNCTIONS
from extract.xpath.traverse import children, rebuild, substitute

_DOCUMENT = LocationPath(True, ())


def from_document(expr: Expr) -> Expr:
    """The same expression for any context node: what started at the document still does.

    >>> from extract.xpath.parser import parse
    >>> str(from_document(parse("concat(a/b, string(), $s/c[d])")))
    'concat(/a/b, string(/), $s/c[d])'
    """
    if isinstance(expr, LocationPath):
        return expr if expr.absolute else make_path(True, _without_here(expr.steps))
    if isinstance(expr, FilterPath):
        return FilterPath(from_document(expr.primary), expr.predicates, expr.steps)
    if isinstance(expr, FunctionCall):
        function = None if expr.prefix else FUNCTIONS.get(expr.name)
        if expr.name == "lang" and not expr.prefix:  # it takes no node
            here = Step("self", _ANY, (rebuild(expr, from_document),))
            return FunctionCall("boolean", (LocationPath(True, (here,)),))
        if function is not None and function.context and not expr.arguments:
            return FunctionCall(expr.name, (_DOCUMENT,))
    return rebuild(expr, from_document)


def _without_here(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    return steps[1:] if steps and steps[0] == HERE else steps


def replaced(expr: Expr, values: Mapping[str, Expr]) -> Expr:
    """An expression whose variables are replaced by values, where they have any."""
    return substitute(expr, Variable, lambda one: values.get(one.name, one))


def size(expr: Expr, sizes: Mapping[str, int]) -> int:
    """The number of parts of an expression, with values of such sizes in place of variables."""
    if isinstance(expr, Variable):
        return sizes.get(expr.name, 1)
    return 1 + sum([size(part, sizes) for part in children(expr)])


def mentions(expr: Expr) -> bool:
    """Whether there is a variable in an expression."""
    return isinstance(expr, Variable) or any(map(mentions, children(expr)))


def from_bound_node(expr: Expr) -> Expr | None:
    """An expression with one variable as one that starts at its node; None if there is none.

    >>> from extract.xpath.parser import parse
    >>> str(from_bound_node(parse("count($s/a) > 1 and $s[b]//c = /d")))
    'count(a) > 1 and self::node()[b]//c = /d'
    >>> from_bound_node(parse("$s/p[@ref = $s/@id]"))  # in the predicate, a p is the context node
    """
    if isinstance(expr, Variable):
        return make_path(False, (HERE,))
    if isinstance(expr, LocationPath):
        return None if mentions(expr) else expr
    if isinstance(expr, FilterPath):
        inner = [*expr.predicates, *[one for step in expr.steps for one in step.predicates]]
        if any(map(mentions, inner)):
            return None
        if isinstance(expr.primary, Variable):
            steps = expr.steps
            if expr.predicates:
                steps = (Step("self", _ANY, expr.predicates), *steps)
            elif steps[:1] == (ANY_DEPTH,):
                steps = (HERE, *steps)
            return make_path(False, steps)
        primary = from_bound_node(expr.primary)
        return None if primary is None else FilterPath(primary, expr.predicates, expr.steps)
    parts = [from_bound_node(part) for part in children(expr)]
    if None in parts:
        return None
    rest = iter(parts)
    return rebuild(expr, lambda _: next(rest) or expr)
