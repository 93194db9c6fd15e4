"""Access paths: comparisons that must hold for a query to select anything, wherever it does.

The queries whose constants meet such a comparison at a node are found by an index over the
constants. They are *candidates*: the others need not be looked at. Where an expression is true, at
least one comparison of each `AnyOf` holds, and all of each `AllOf`; a comparison that holds does
not make the expression true.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias

from extract.filtertool.matchers.columnar.operands import (
    Comparison,
    StringSearch,
    comparison_of,
    operand_of,
    search_of,
)
from extract.xpath.ast import Binary, Expr, FilterPath, FunctionCall, LocationPath, Step, Union
from extract.xpath.functions import Type
from extract.xpath.parameters import has_parameters
from extract.xpath.types import is_positional, type_of


class AccessLeaf(NamedTuple):
    """A comparison that can be looked up in an index over constants.

    Attributes:
        prefix: Leads from the context node to the nodes at which the value is taken; without steps,
            to the context node itself.
        test: The comparison.
    """

    prefix: LocationPath
    test: Comparison | StringSearch


class AllOf(NamedTuple):
    """Conditions that all must hold; the best one to look up comes first, as far as is known."""

    parts: tuple[Access, ...]


class AnyOf(NamedTuple):
    """Conditions of which one must hold."""

    parts: tuple[Access, ...]


Access: TypeAlias = AccessLeaf | AllOf | AnyOf

SELF: Final = LocationPath(False, ())


def access_to(conditions: Iterable[Expr]) -> Access | None:
    """Returns what must hold where all conditions are true; None if nothing is known.

    >>> from extract.xpath.parameters import parse_shape
    >>> access = access_to([parse_shape("a[b = $string1 and not(c)] or d > $number2")])
    >>> [str(part.test.value) for part in access.parts]
    ['a[not(c)]/b', 'd']
    """
    return _all_of([access for access in map(_access, conditions) if access is not None])


def conjuncts(expr: Expr) -> list[Expr]:
    """Returns the operands of ``and``, at any depth."""
    if isinstance(expr, Binary) and expr.op == "and":
        return [*conjuncts(expr.left), *conjuncts(expr.right)]
    return [expr]


def relaxed(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Returns steps without parameters that select at least the same nodes.

    >>> from extract.xpath.parameters import parse_shape
    >>> path = parse_shape("a[2][b = $string1][c][1]/d")
    >>> str(LocationPath(False, relaxed(path.steps)))
    'a[2][c]/d'
    """
    return tuple([_relaxed(step) for step in steps])


def _relaxed(step: Step) -> Step:
    """Positions after a filter with parameters depend on these; other filters do not."""
    fixed: list[Expr] = []
    free = True
    for predicate in step.predicates:
        if has_parameters(predicate):
            free = False
            if not is_positional(predicate):
                fixed += [one for one in conjuncts(predicate) if not has_parameters(one)]
        elif free or not is_positional(predicate):
            fixed.append(predicate)
    return step if free else Step(step.axis, step.test, tuple(fixed))


def _access(expr: Expr) -> Access | None:
    """Returns what must hold where an expression is true."""
    if not has_parameters(expr):
        return None
    if isinstance(expr, Binary):
        if expr.op == "and":
            return access_to([expr.left, expr.right])
        if expr.op == "or":
            return _any_of([_access(expr.left), _access(expr.right)])
        return _compared(expr)
    if isinstance(expr, FunctionCall):
        if expr.name == "boolean" and not expr.prefix:
            return _access(expr.arguments[0])
        search = search_of(expr)
        return None if search is None or not search.inside else AccessLeaf(SELF, search)
    if isinstance(expr, Union):
        return _any_of([_access(part) for part in expr.parts])
    if isinstance(expr, LocationPath):
        return _path(expr)
    return _access(expr.primary) if isinstance(expr, FilterPath) else None


def _compared(expr: Binary) -> Access | None:
    comparison = comparison_of(expr)
    if comparison is not None:
        return None if comparison.op == "!=" else AccessLeaf(SELF, comparison)
    sides = (expr.left, expr.right)
    if any(type_of(side) is Type.BOOLEAN for side in sides):
        return None
    # A node set that compares is not empty.
    parts = [_access(side) for side in sides if type_of(side) is Type.NODES]
    for path, other in (sides, sides[::-1]):
        if isinstance(path, LocationPath) and operand_of(other) is not None:
            looser = LocationPath(path.absolute, relaxed(path.steps))
            left, right = (looser, other) if path is expr.left else (other, looser)
            parts.append(_access(Binary(expr.op, left, right)))
    return _all_of([part for part in parts if part is not None])


def _path(path: LocationPath) -> Access | None:
    """Returns what must hold where a path selects a node."""
    parts: list[Access] = []
    for number, step in enumerate(path.steps, 1):
        prefix = LocationPath(path.absolute, relaxed(path.steps[:number]))
        inner = [part for one in step.predicates if _is_truth(one) for part in conjuncts(one)]
        for access in map(_access, inner):
            if access is not None:
                parts.append(_led(prefix, access))
    return _all_of(parts)


def _is_truth(predicate: Expr) -> bool:
    return type_of(predicate) is not Type.NUMBER


def _led(prefix: LocationPath, access: Access) -> Access:
    """Moves conditions from the end of a path to its start."""
    if not isinstance(access, AccessLeaf):
        return access._replace(parts=tuple([_led(prefix, part) for part in access.parts]))
    value = access.test.value
    if isinstance(value, LocationPath) and isinstance(access.test, Comparison):
        return AccessLeaf(SELF, access.test._replace(value=_joined(prefix, value)))
    return access._replace(prefix=_joined(prefix, access.prefix))


def _joined(first: LocationPath, then: LocationPath) -> LocationPath:
    if then.absolute:
        return then
    return LocationPath(first.absolute, (*first.steps, *then.steps))


def _all_of(parts: Sequence[Access]) -> Access | None:
    flat: list[Access] = []
    for part in parts:
        flat += part.parts if isinstance(part, AllOf) else (part,)
    if len(flat) > 1:
        return AllOf(tuple(sorted(flat, key=_rank)))
    return flat[0] if flat else None


def _any_of(parts: Sequence[Access | None]) -> Access | None:
    """One part that cannot be looked up spoils the others."""
    flat: list[Access] = []
    for part in parts:
        if part is None:
            return None
        flat += part.parts if isinstance(part, AnyOf) else (part,)
    return AnyOf(tuple(flat))


def _rank(access: Access) -> int:
    """Few candidates, as a rule, come first; what takes long to count, last."""
    if not isinstance(access, AccessLeaf):
        return 1
    if isinstance(access.test, Comparison):
        return 0 if access.test.op == "=" else 2
    return 3 if access.test.begin else 4
