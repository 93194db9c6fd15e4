"""Decides filters by the schema, and writes the others in one canonical way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from extract.schema.model import local_of, namespace_of
from extract.transtool.branch import Spine
from extract.transtool.knowledge import COMPARISONS
from extract.xpath.ast import (
    FALSE,
    HERE,
    TRUE,
    Binary,
    Expr,
    FilterPath,
    FunctionCall,
    LocationPath,
    Union,
    make_path,
    union,
)
from extract.xpath.functions import Type
from extract.xpath.name_functions import asks_name, truth_of_name
from extract.xpath.parameters import literal_text
from extract.xpath.traverse import rebuild
from extract.xpath.types import conjuncts, is_positional, type_of

if TYPE_CHECKING:
    from extract.transtool.context import Context


def simplify_filter(
    spine: Spine, predicates: tuple[Expr, ...], context: Context
) -> tuple[Expr, ...] | None:
    """Returns the predicates in normal form, or None if they cannot all hold at this place.

    ``/a/b[zzz or m]`` ==> ``/a/b[m]``; ``/a/b[not(zzz)]`` ==> ``/a/b``; ``/a/b[k and m]`` ==>
    ``/a/b[k][m]``

    Filters that count positions keep their place in the order, and so do the ones around them.
    """
    out: list[Expr] = []
    for predicate in predicates:
        filters = context.filters(spine, predicate, simplify_predicate)
        if filters is None:
            return None
        out.extend(filters)
    return in_order(out)


def simplify_predicate(spine: Spine, predicate: Expr, context: Context) -> tuple[Expr, ...] | None:
    """Returns the filters that a predicate becomes at this place; None if it cannot hold."""
    if is_positional(predicate):
        return (simplify_value(spine, predicate, context),)
    simple = _truth(spine, predicate, context)
    if simple == FALSE:
        return None
    return () if simple == TRUE else tuple(conjuncts(simple))


def in_order(predicates: list[Expr]) -> tuple[Expr, ...]:
    """Sorts and deduplicates predicates between the positional ones, which stay in place."""
    if len(predicates) < 2:
        return tuple(predicates)
    out: list[Expr] = []
    run: list[Expr] = []
    for predicate in [*predicates, None]:
        if predicate is None or is_positional(predicate):
            out.extend(in_text_order(run))
            run = []
            if predicate is not None:
                out.append(predicate)
        else:
            run.append(predicate)
    return tuple(out)


def united(parts: Sequence[Expr]) -> Expr:
    """Returns the union of node sets, each once and in alphabetical order."""
    together = union(tuple(parts))
    if not isinstance(together, Union):
        return together
    return union(tuple(in_text_order(together.parts)))


def in_text_order(exprs: Iterable[Expr]) -> list[Expr]:
    """Returns expressions in alphabetical order, each text once.

    Parameters that know a constant count as that constant.
    """
    texts: dict[str, Expr] = {}
    for expr in exprs:
        texts.setdefault(literal_text(expr), expr)
    return [texts[text] for text in sorted(texts)]


def _truth(spine: Spine, expr: Expr, context: Context) -> Expr:
    """Returns the expression as a condition; `TRUE` or `FALSE` where the schema decides it."""
    if isinstance(expr, LocationPath):
        selected = context.nodes(spine, expr)
        if selected is None:
            return FALSE
        paths = selected.parts if isinstance(selected, Union) else (selected,)
        for path in paths:
            if path == _HERE or context.is_certain(spine, path):
                return TRUE
        return selected
    if isinstance(expr, Union):
        parts = [_truth(spine, p, context) for p in expr.parts]
        if TRUE in parts:
            return TRUE
        left = [p for p in parts if p != FALSE]
        return united(left) if left else FALSE
    if asks_name(expr) and not spine.place.unknown:
        name = spine.place.name
        holds = truth_of_name(expr, namespace_of(name), local_of(name))
        if holds is not None:
            return TRUE if holds else FALSE
    if isinstance(expr, Binary):
        if expr.op in ("and", "or"):
            return _connect(expr, spine, context)
        if expr.op in COMPARISONS:
            return _compare(expr, spine, context)
    if isinstance(expr, FunctionCall) and expr.name in ("not", "boolean") and not expr.prefix:
        call = _boolean(spine, expr, context)
        if call.name == "boolean" and not is_positional(call.arguments[0]):
            return call.arguments[0]
        return call
    return simplify_value(spine, expr, context)


def _boolean(spine: Spine, call: FunctionCall, context: Context) -> FunctionCall:
    """Returns ``not(x)`` or ``boolean(x)``; `TRUE` or `FALSE` where the schema decides it."""
    inner = _truth(spine, call.arguments[0], context)
    if inner in (TRUE, FALSE):
        return TRUE if (inner == TRUE) == (call.name == "boolean") else FALSE
    return call if inner is call.arguments[0] else FunctionCall(call.name, (inner,))


def _connect(expr: Binary, spine: Spine, context: Context) -> Expr:
    left, right = _truth(spine, expr.left, context), _truth(spine, expr.right, context)
    decides, neutral = (FALSE, TRUE) if expr.op == "and" else (TRUE, FALSE)
    if decides in (left, right):
        return decides
    for operand, other in ((left, right), (right, left)):
        if operand == neutral:
            # Alone, a number would be a position: count(c) and true() is not count(c).
            return FunctionCall("boolean", (other,)) if type_of(other) is Type.NUMBER else other
    return expr if left is expr.left and right is expr.right else Binary(expr.op, left, right)


def _compare(expr: Binary, spine: Spine, context: Context) -> Expr:
    for operand, other in ((expr.left, expr.right), (expr.right, expr.left)):
        # An empty node set compares as false with everything but a boolean.
        if (
            isinstance(operand, (LocationPath, Union))
            and type_of(other) is not Type.BOOLEAN
            and context.nodes(spine, operand) is None
        ):
            return FALSE
    return simplify_value(spine, expr, context)


def simplify_value(spine: Spine, expr: Expr, context: Context) -> Expr:
    """Returns an expression used for its value, with its paths in normal form."""
    if isinstance(expr, (LocationPath, Union)):
        return context.nodes(spine, expr) or expr
    if isinstance(expr, FilterPath):
        primary = simplify_value(spine, expr.primary, context)
        if primary is expr.primary:
            return expr
        return FilterPath(primary, expr.predicates, expr.steps)
    if isinstance(expr, FunctionCall) and expr.name in ("not", "boolean") and not expr.prefix:
        return _boolean(spine, expr, context)
    return rebuild(expr, lambda e: simplify_value(spine, e, context))


_HERE = make_path(False, (HERE,))
