"""Filters that ask about nodes above, moved up to these: the engine's conditions only look down.

``/a/b[../c = 1]`` selects the same nodes as ``/a[c = 1]/b``, and so does ``//b[ancestor::a/c = 1]``
as ``//a[c = 1]//b``. Positions stay as they are: what holds of a parent holds of all its children,
so that no filter on them is in the way of another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from extract.filtertool.matchers.push.node_sets import HERE, PARENT, leaves_root
from extract.xpath.ast import (
    ANY_DEPTH,
    ANY_NAME,
    Binary,
    Expr,
    FunctionCall,
    LocationPath,
    NameTest,
    Negate,
    Number,
    Parameter,
    Step,
    StringLiteral,
    make_path,
    make_step,
    union,
)
from extract.xpath.functions import Type
from extract.xpath.traverse import rebuild
from extract.xpath.types import conjuncts, is_positional, may_be_document, type_of

_COMPARISONS: Final = frozenset({"=", "!=", "<", "<=", ">", ">="})
_CONSTANT: Final = frozenset({"true", "false", "id"})  # functions that do not ask the context node
_MOST_LIFTED: Final = 16  # steps whose filters are moved, and filters of one that are tried
_Steps = tuple[Step, ...]


class _Below(Exception):
    """A filter also asks about the node itself."""


def lifted(expr: Expr) -> Expr:
    """The expression with such filters moved up, where that is possible.

    >>> from extract.xpath.parser import parse
    >>> str(lifted(parse("/a/b[../c = 1 and d]/@e[../../f]")))
    '/a[c = 1][f]/b[d]/@e'
    >>> str(lifted(parse("//b[../c]"))), str(lifted(parse("//b[not(../c)]")))
    ('//*[c]/b', '//*[not(c)]/b | /b[not(/c)]')
    >>> str(lifted(parse("/a/b/c[ancestor::a/d = 1]"))), str(lifted(parse("//c[ancestor::a]")))
    ('/a[d = 1]/b/c', '//a//c')
    """
    expr = rebuild(expr, lifted)
    if not isinstance(expr, LocationPath):
        return expr
    found = [make_path(expr.absolute, steps) for steps in _lifted(expr.steps, expr.absolute)]
    return union(tuple(found))


def _lifted(steps: _Steps, absolute: bool, most: int = _MOST_LIFTED) -> list[_Steps]:
    """The steps of paths that together select the same nodes, with filters of so many steps moved
    at most."""
    for number in range(len(steps) - 1 if most else -1, -1, -1):
        step = steps[number]
        if not step.predicates or step.axis not in ("child", "attribute"):
            continue
        if number or absolute:
            filters = _divided(step.predicates, _asked_of_parent)
            if filters.moved:
                ways = _to_parent(steps, number, filters, absolute)
                if ways:
                    return [one for way in ways for one in _lifted(way, absolute, most - 1)]
        if number and absolute:
            filters = _divided(step.predicates, lambda one: one if _ancestor(one) else None)
            for asked in filters.moved[:_MOST_LIFTED]:
                rest = [*filters.kept, *[one for one in filters.moved if one is not asked]]
                way = _to_ancestor(steps, number, asked, rest)
                if way is not None:
                    return _lifted(way, absolute, most - 1)
    return [steps]


class _Filters(NamedTuple):
    """Filters of a step: those that stay, and what is moved up; each also as it was."""

    kept: list[Expr]
    moved: list[Expr]
    before: list[Expr]


def _divided(predicates: Sequence[Expr], moved: Callable[[Expr], Expr | None]) -> _Filters:
    filters = _Filters([], [], [])
    for predicate in predicates:
        for part in [predicate] if is_positional(predicate) else conjuncts(predicate):
            above = None if is_positional(part) else moved(part)
            if above is None:
                filters.kept.append(part)
            else:
                filters.moved.append(above)
                filters.before.append(part)
    return filters


def _with(step: Step, predicates: Sequence[Expr]) -> Step:
    return make_step(step.axis, step.test, tuple(predicates))


# -- parents


def _asked_of_parent(predicate: Expr) -> Expr | None:
    """A filter as its node's parent is asked it; None if it asks about something else, too."""
    asked = False

    def above(expr: Expr) -> Expr:
        nonlocal asked
        if isinstance(expr, LocationPath):
            if expr.absolute:
                return expr
            if expr.steps[0] != PARENT:
                raise _Below
            asked = True
            return make_path(False, expr.steps[1:]) if len(expr.steps) > 1 else HERE
        if isinstance(expr, FunctionCall):
            here = not expr.arguments or expr.name == "lang"
            if expr.prefix or (here and expr.name not in _CONSTANT):
                raise _Below
            return replace(expr, arguments=tuple(map(above, expr.arguments)))
        if isinstance(expr, Binary):
            return replace(expr, left=above(expr.left), right=above(expr.right))
        if isinstance(expr, Negate):
            return replace(expr, operand=above(expr.operand))
        if isinstance(expr, (StringLiteral, Number, Parameter)):
            return expr
        raise _Below

    try:
        moved = above(predicate)
    except _Below:
        return None
    return moved if asked else None


def _to_parent(steps: _Steps, number: int, filters: _Filters, absolute: bool) -> list[_Steps]:
    """The steps with filters at the parent; none where that may be the document node, or not."""
    step, after = _with(steps[number], filters.kept), steps[number + 1 :]
    if not number:  # the parent is the document node
        return [(_with(step, [*filters.kept, *map(_at_document, filters.before)]), *after)]
    parent, before = steps[number - 1], steps[: number - 1]
    if parent != ANY_DEPTH:
        return [(*before, _with(parent, [*parent.predicates, *filters.moved]), step, *after)]
    moved = tuple(filters.moved)
    if not may_be_document(make_path(True, before)):
        return [(*before, make_step("descendant-or-self", ANY_NAME, moved), step, *after)]
    if before or not absolute:
        return []
    ways: list[_Steps] = [(ANY_DEPTH, make_step("child", ANY_NAME, moved), step, *after)]
    if not any(_fails_at_document(one, step) for one in filters.before):
        ways += _to_parent((steps[number], *after), 0, filters, absolute)
    return ways


def _at_document(expr: Expr) -> Expr:
    """What is asked of the parent, for the root element, whose parent is the document node."""
    if isinstance(expr, LocationPath):
        return expr if expr.absolute else make_path(True, expr.steps[1:])
    return rebuild(expr, _at_document)


def _fails_at_document(expr: Expr, step: Step) -> bool:
    """Whether what is asked of the parent is false if the step selects the root element."""
    if isinstance(expr, Binary) and expr.op in _COMPARISONS:
        sides = (expr.left, expr.right)
        return Type.BOOLEAN not in map(type_of, sides) and any(
            _fails_at_document(side, step) for side in sides
        )
    if not isinstance(expr, LocationPath) or expr.absolute or len(expr.steps) < 2:
        return False
    return leaves_root(step, expr.steps[1:])


# -- ancestors


def _ancestor(expr: Expr) -> LocationPath | None:
    """The path to an ancestor with a name that a filter asks about, and only about that."""
    if isinstance(expr, Binary) and expr.op in _COMPARISONS:
        for asked, other in ((expr.left, expr.right), (expr.right, expr.left)):
            if isinstance(asked, LocationPath) and _is_literal(other):
                return _ancestor(asked)
        return None
    if not isinstance(expr, LocationPath) or expr.absolute:
        return None
    first = expr.steps[0]
    named = isinstance(first.test, NameTest) and first.test.local != "*"
    positional = any(map(is_positional, first.predicates))
    return expr if first.axis == "ancestor" and named and not positional else None


def _is_literal(expr: Expr) -> bool:
    while isinstance(expr, Negate):
        expr = expr.operand
    return isinstance(expr, (StringLiteral, Number, Parameter))


def _to_ancestor(steps: _Steps, number: int, asked: Expr, rest: Sequence[Expr]) -> _Steps | None:
    """The steps with a filter at the only one that can be the ancestor; None if there are more."""
    path = _ancestor(asked)
    assert path is not None
    ancestor, step = path.steps[0], _with(steps[number], rest)
    own = [*ancestor.predicates, *_of_ancestor(asked, path)]
    if number == 1 and steps[0] == ANY_DEPTH:
        named = make_step("child", ancestor.test, tuple(own))
        return (ANY_DEPTH, named, ANY_DEPTH, step, *steps[2:])
    may_be = [at for at in range(number) if _may_be(steps[at], ancestor.test)]
    if len(may_be) != 1:
        return None
    at = may_be[0]
    if steps[at].axis != "child" or steps[at].test != ancestor.test:
        return None  # a descendant of that name may be below another
    above = _with(steps[at], [*steps[at].predicates, *own])
    return (*steps[:at], above, *steps[at + 1 : number], step, *steps[number + 1 :])


def _may_be(step: Step, test: object) -> bool:
    """Whether a step may select the ancestor, or ancestors that are not in the path."""
    assert isinstance(test, NameTest)
    by_name = isinstance(step.test, NameTest) and step.test.local != "*"
    return step.axis != "child" or not by_name or step.test.local == test.local  # type: ignore[union-attr]


def _of_ancestor(asked: Expr, path: LocationPath) -> list[Expr]:
    """What a filter asks of the ancestor itself."""
    below = make_path(False, path.steps[1:]) if len(path.steps) > 1 else HERE
    if isinstance(asked, Binary):
        if asked.left is path:
            return [replace(asked, left=below)]
        return [replace(asked, right=below)]
    return [below] if len(path.steps) > 1 else []
