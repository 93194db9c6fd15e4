"""Walking through expressions and changing parts of them.

A query is walked through some ten times until it is in a filter, so this is in C where that was
compiled (``_node.pyx``). What is here is the same in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, TypeVar

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
from extract.xpath.native import native
from extract.xpath.node import Node

_T = TypeVar("_T", bound=Node)
_LEAVES: Final = (StringLiteral, Number, Parameter, Variable)


def children_in_python(expr: Expr) -> Iterable[Expr]:
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


def rebuild_in_python(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """``expr`` with ``change`` applied to its direct sub-expressions; itself if none changed.

    >>> from extract.xpath.parser import parse
    >>> str(rebuild(parse("a[b] | c"), lambda e: parse("x")))
    'x | x'
    """
    if isinstance(expr, LocationPath):
        steps = _change_steps(expr.steps, change)
        return expr if steps is expr.steps else make_path(expr.absolute, steps)
    if isinstance(expr, _LEAVES):
        return expr
    if isinstance(expr, FilterPath):
        primary = change(expr.primary)
        predicates = _change_all(expr.predicates, change)
        steps = _change_steps(expr.steps, change)
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


def _change_steps(steps: tuple[Step, ...], change: Callable[[Expr], Expr]) -> tuple[Step, ...]:
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


def substitute_in_python(expr: Expr, kind: type[_T], change: Callable[[_T], Expr]) -> Expr:
    """``expr`` with ``change`` applied to the nodes of a class; itself if none changed.

    What is inside of such a node is left to ``change``.

    >>> from extract.xpath.parser import parse
    >>> str(substitute(parse("a[b = 1]/c[2]"), Number, lambda e: parse(f"-{e}")))
    'a[b = -1]/c[-2]'
    """
    if isinstance(expr, kind):
        return change(expr)
    return rebuild_in_python(expr, lambda inner: substitute_in_python(inner, kind, change))


def any_in_python(expr: Expr, kind: type[_T], test: Callable[[_T], Any]) -> bool:
    """Whether a node of a class, anywhere in ``expr``, passes a test.

    >>> from extract.xpath.parser import parse
    >>> any_in(parse("a[b = 1]"), Number, lambda one: one.text == "1")
    True
    """
    if isinstance(expr, kind) and test(expr):
        return True
    return any(any_in_python(inner, kind, test) for inner in children_in_python(expr))


_NATIVE: Final = native("_node")

if TYPE_CHECKING or _NATIVE is None:
    children, rebuild = children_in_python, rebuild_in_python
    substitute, any_in = substitute_in_python, any_in_python
else:
    _NATIVE.make_nodes_with(make_path, make_step, union)
    children, rebuild = _NATIVE.children, _NATIVE.rebuild
    substitute, any_in = _NATIVE.substitute, _NATIVE.any_in


def size_of(expr: Expr) -> int:
    """How many nodes the tree of an expression has; each step is one.

    >>> from extract.xpath.parser import parse
    >>> size_of(parse("/a/b[c = 1]"))
    7
    """
    steps = len(expr.steps) if isinstance(expr, (LocationPath, FilterPath)) else 0
    return 1 + steps + sum(map(size_of, children(expr)))


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
