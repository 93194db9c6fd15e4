"""Moves unions to the top, and removes parentheses."""

from __future__ import annotations

from itertools import takewhile
from typing import Final

from extract.xpath.ast import (
    ANY_NODE,
    Expr,
    FilterPath,
    LocationPath,
    Step,
    Union,
    make_path,
    make_step,
    union,
)
from extract.xpath.types import is_positional

_MOST_COPIED: Final = 1 << 16  # characters of what follows a union, for all of its parts


def split_union(expr: Expr) -> Expr:
    """Distributes steps and filters over a union in front of them.

    Steps start from each node separately, so ``(a | b)/c[1]`` is ``a/c[1] | b/c[1]``. A filter on
    the union itself moves inside unless it counts: ``(a | b)[1]`` is one node and stays.

    >>> from extract.xpath.parser import parse
    >>> str(split_union(parse("(/a | /b)/c[1]"))), str(split_union(parse("(//a)[x][3]/b")))
    ('/a/c[1] | /b/c[1]', '(//a[x])[3]/b')
    """
    if isinstance(expr, Union):
        parts = tuple([split_union(p) for p in expr.parts])
        return expr if all(map(_same, parts, expr.parts)) else union(parts)
    if not isinstance(expr, FilterPath):
        return expr
    primary = split_union(expr.primary)
    predicates = expr.predicates
    if isinstance(primary, Union):
        rest = sum(map(len, map(str, (*predicates, *expr.steps))))
        if len(primary.parts) * rest > _MOST_COPIED:
            return expr
    if isinstance(primary, (LocationPath, Union)):
        some = tuple(takewhile(lambda one: not is_positional(one), predicates))
        filtered = _filter(primary, some) if some else None
        if filtered is not None:
            primary, predicates = filtered, predicates[len(some) :]
    if not predicates:
        walked = _walk(primary, expr.steps)
        if walked is not None:
            return expr if walked == expr else walked
    if primary is expr.primary and len(predicates) == len(expr.predicates):
        return expr
    if isinstance(primary, FilterPath) and not predicates:
        return FilterPath(primary.primary, primary.predicates, primary.steps + expr.steps)
    return FilterPath(primary, predicates, expr.steps)


def _filter(expr: Expr, predicates: tuple[Expr, ...]) -> Expr | None:
    """Adds filters to the last step of each path of a node set."""
    if isinstance(expr, LocationPath):
        last = expr.steps[-1] if expr.steps else make_step("self", ANY_NODE)
        return make_path(expr.absolute, (*expr.steps[:-1], last.where(*predicates)))
    if isinstance(expr, Union):
        parts = [_filter(p, predicates) for p in expr.parts]
        complete = tuple([p for p in parts if p is not None])
        return union(complete) if len(complete) == len(parts) else None
    return None


def _walk(expr: Expr, steps: tuple[Step, ...]) -> Expr | None:
    """Appends steps to each path of a node set."""
    if not steps:
        return expr
    if isinstance(expr, LocationPath):
        return make_path(expr.absolute, expr.steps + steps)
    if isinstance(expr, Union):
        parts = [_walk(p, steps) for p in expr.parts]
        complete = tuple([p for p in parts if p is not None])
        return union(complete) if len(complete) == len(parts) else None
    if isinstance(expr, FilterPath):
        return FilterPath(expr.primary, expr.predicates, expr.steps + steps)
    return FilterPath(expr, (), steps)


def _same(a: Expr, b: Expr) -> bool:
    return a is b
