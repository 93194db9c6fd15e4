"""Can a chunk be cut into pieces, one or more records each, that are evaluated apart?

The *records* of a chunk are the elements at its prefix. A branch may be evaluated record by record
if it never looks beyond the record that it is in (TRAPS 24): no filter that leaves the record's
subtree, and nothing on the record's own step, or above it, that counts or compares siblings. The
ancestors' tags with their attributes are in every piece.
"""

from __future__ import annotations

from extract.xpath.ast import Expr, FilterPath, FunctionCall, LocationPath, Step
from extract.xpath.traverse import children
from extract.xpath.types import has_positions

_INSIDE = frozenset({"child", "descendant", "descendant-or-self", "self", "attribute"})


def why_not_splittable(branch: Expr, depth: int) -> str:
    """Why a branch cannot be evaluated record by record; empty if it can.

    Args:
        branch: A branch of a normal form.
        depth: Number of steps of the chunk's prefix, which the branch's spine starts with.

    >>> from extract.xpath.parser import parse
    >>> why_not_splittable(parse("/db/student[name]/email"), 2)
    ''
    >>> why_not_splittable(parse("/db/student[3]"), 2)
    'student[3] counts records'
    >>> why_not_splittable(parse("/db[professor]/student"), 2)
    'db[professor] looks beyond the record'
    """
    if not isinstance(branch, LocationPath):
        return "it is not a plain path"
    for i, step in enumerate(branch.steps):
        if i < depth and has_positions(step):
            return f"{step} counts records"
        if step.axis not in _INSIDE:
            return f"{step} may leave the record"
        for predicate in step.predicates:
            if i < depth - 1:
                if not _only_attributes(predicate):
                    return f"{step} looks beyond the record"
            elif not _stays_inside(predicate):
                return f"{step} looks beyond the record"
    return ""


def _stays_inside(expr: Expr) -> bool:
    """Whether an expression looks only at its context node and below it."""
    if isinstance(expr, LocationPath):
        return not expr.absolute and all(map(_step_stays, expr.steps))
    if isinstance(expr, FilterPath):
        return (
            _stays_inside(expr.primary)
            and all(map(_stays_inside, expr.predicates))
            and all(map(_step_stays, expr.steps))
        )
    if isinstance(expr, FunctionCall) and expr.name == "id":
        return False
    return all(map(_stays_inside, children(expr)))


def _step_stays(step: Step) -> bool:
    return step.axis in _INSIDE and all(map(_stays_inside, step.predicates))


def _only_attributes(expr: Expr) -> bool:
    """Whether a filter above the record looks at nothing but attributes, which pieces keep."""
    if isinstance(expr, LocationPath):
        return (
            not expr.absolute
            and len(expr.steps) == 1
            and expr.steps[0].axis == "attribute"
            and all(map(_only_attributes, expr.steps[0].predicates))
        )
    if isinstance(expr, FilterPath):
        return False
    if isinstance(expr, FunctionCall):
        looks_here = expr.name in ("string", "number", "string-length", "normalize-space")
        if expr.name == "id" or (looks_here and not expr.arguments):
            return False
    return all(map(_only_attributes, children(expr)))
