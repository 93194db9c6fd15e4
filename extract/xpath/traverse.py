"""Walking through expressions and changing parts of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from extract.xpath.ast import (
    Binary,
    Expr,
    FilterPath,
    FunctionCall,
    LocationPath,
    NameTest,
    Negate,
    Number,
    Parameter,
    Step,
    StringLiteral,
    Union,
    Variable,
    make_path,
    make_step,
    union,
)

_LEAVES: Final = (StringLiteral, Number, Parameter, Variable)


def children(expr: Expr) -> Iterator[Expr]:
    """The direct sub-expressions of ``expr``, those in the predicates of its steps included."""
    if isinstance(expr, LocationPath):
        for step in expr.steps:
            yield from step.predicates
    elif isinstance(expr, FilterPath):
        yield expr.primary
        yield from expr.predicates
        for step in expr.steps:
            yield from step.predicates
    elif isinstance(expr, Union):
        yield from expr.parts
    elif isinstance(expr, Binary):
        yield expr.left
        yield expr.right
    elif isinstance(expr, Negate):
        yield expr.operand
    elif isinstance(expr, FunctionCall):
        yield from expr.arguments


def prefixes_in(expr: Expr) -> set[str]:
    """The prefixes that an expression uses.

    >>> from extract.xpath.parser import parse
    >>> sorted(prefixes_in(parse("/a:b[@c:d = 'e:f']")))
    ['a', 'c']
    """
    found = {expr.prefix} if isinstance(expr, FunctionCall) else set()
    if isinstance(expr, (LocationPath, FilterPath)):
        found |= {step.test.prefix for step in expr.steps if isinstance(step.test, NameTest)}
    return found.union(*map(prefixes_in, children(expr))) - {""}


def rebuild(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """``expr`` with ``change`` applied to its direct sub-expressions; itself if none changed.

    >>> from extract.xpath.parser import parse
    >>> str(rebuild(parse("a[b] | c"), lambda e: parse("x")))
    'x | x'
    """
    if isinstance(expr, LocationPath):
        steps = change_steps(expr.steps, change)
        return expr if steps is expr.steps else make_path(expr.absolute, steps)
    if isinstance(expr, _LEAVES):
        return expr
    if isinstance(expr, FilterPath):
        primary = change(expr.primary)
        predicates = _change_all(expr.predicates, change)
        steps = change_steps(expr.steps, change)
        if primary is expr.primary and predicates is expr.predicates and steps is expr.steps:
            return expr
        return FilterPath(primary, predicates, steps)
    if isinstance(expr, Union):
        parts = _change_all(expr.parts, change)
        return expr if parts is expr.parts else union(parts)
    if isinstance(expr, Binary):
        left, right = change(expr.left), change(expr.right)
        if left is expr.left and right is expr.right:
            return expr
        return Binary(expr.op, left, right)
    if isinstance(expr, Negate):
        operand = change(expr.operand)
        return expr if operand is expr.operand else Negate(operand)
    arguments = _change_all(expr.arguments, change)
    return expr if arguments is expr.arguments else FunctionCall(expr.name, arguments, expr.prefix)


def change_steps(steps: tuple[Step, ...], change: Callable[[Expr], Expr]) -> tuple[Step, ...]:
    """The steps with ``change`` applied to their predicates; the same tuple if none changed."""
    out: list[Step] | None = None
    for i, step in enumerate(steps):
        if step.predicates:
            predicates = _change_all(step.predicates, change)
            if predicates is not step.predicates:
                out = list(steps) if out is None else out
                out[i] = make_step(step.axis, step.test, predicates)
    return steps if out is None else tuple(out)


def _change_all(exprs: tuple[Expr, ...], change: Callable[[Expr], Expr]) -> tuple[Expr, ...]:
    changed = [change(e) for e in exprs]
    for before, after in zip(exprs, changed, strict=True):
        if before is not after:
            return tuple(changed)
    return exprs
