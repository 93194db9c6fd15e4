"""Node sets as location paths, and where the step ``..`` leads from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from extract.xpath.ast import (
    ANY_NODE,
    Expr,
    FilterPath,
    FunctionCall,
    LocationPath,
    NameTest,
    Step,
    Union,
    make_path,
    make_step,
)
from extract.xpath.parser import parse
from extract.xpath.traverse import size_of
from extract.xpath.types import is_positional

NODE_SETS: Final = (LocationPath, Union, FilterPath)
PARENT: Final = Step("parent", ANY_NODE)
HERE: Final = LocationPath(False, (Step("self", ANY_NODE),))
_MOST_COPIES: Final = 32  # of what follows a union, unless that is as short
_WITH_ID: Final = parse("//*[@xml:id]")


def location_paths(expr: Expr) -> tuple[LocationPath, ...] | None:
    """The location paths that together select the nodes of an expression; None if there are none.

    >>> from extract.xpath.parser import parse
    >>> [str(path) for path in location_paths(parse("(/a | //b)[c]/d"))]
    ['/a[c]/d', '//b[c]/d']
    >>> location_paths(parse("(/a | //b)[1]")) is None
    True
    """
    if isinstance(expr, LocationPath):
        return (expr,)
    if isinstance(expr, Union):
        parts = [location_paths(part) for part in expr.parts]
        return None if None in parts else tuple([path for part in parts if part for path in part])
    if not isinstance(expr, FilterPath) or any(map(is_positional, expr.predicates)):
        return None  # a position counts the nodes of all paths together
    inner = location_paths(expr.primary)
    if inner is None or not all(path.steps for path in inner):
        return None
    if len(inner) > _MOST_COPIES and sum(map(size_of, _rest(expr))) > _MOST_COPIES:
        return None  # each of many paths would have a copy of what follows
    return tuple([_continued(path, expr) for path in inner])


def _rest(expr: FilterPath) -> list[Expr]:
    """What follows the node set that a path starts from."""
    return [*expr.predicates, make_path(False, expr.steps)]


def path_with_ids(expr: Expr) -> LocationPath | None:
    """For the nodes of ``id()``, or what follows it: a path that selects some wherever they do.

    Other attributes are IDs only where a document declares them itself, and the engine leaves such
    documents to others.

    >>> from extract.xpath.parser import parse
    >>> str(path_with_ids(parse("id('x')/name"))), path_with_ids(parse("(//x)[1]"))
    ('//*[@xml:id]', None)
    """
    if isinstance(expr, FilterPath):
        return path_with_ids(expr.primary)
    if not isinstance(expr, FunctionCall) or expr.prefix or expr.name != "id":
        return None
    assert isinstance(_WITH_ID, LocationPath)
    return _WITH_ID


def _continued(path: LocationPath, rest: FilterPath) -> LocationPath:
    """The path with the predicates and steps that follow it."""
    last = path.steps[-1]
    last = make_step(last.axis, last.test, (*last.predicates, *rest.predicates))
    return make_path(path.absolute, (*path.steps[:-1], last, *rest.steps))


def leaves_root(step: Step, rest: Sequence[Step]) -> bool:
    """Whether ``//b/../c`` has no result by way of the document node, the parent of the root.

    It would be the root, if that is both a ``b`` and a ``c``.
    """
    tests = (step.test, rest[0].test)
    names = [test.local for test in tests if isinstance(test, NameTest) and test.local != "*"]
    by_name = rest[0].axis == "child" and len(names) == 2 and names[0] != names[1]
    return rest[0].axis == "attribute" or by_name
