"""Whether what a query makes of a binding is found below the bound node."""

from __future__ import annotations

from typing import Final

from extract.flwr.query import FlwrQuery, enclosed
from extract.xpath.ast import Expr, FilterPath, FunctionCall, LocationPath
from extract.xpath.traverse import children

_DOWN: Final = frozenset({"child", "descendant", "descendant-or-self", "self", "attribute"})
_ELSEWHERE: Final = frozenset({"id", "lang"})


def looks_below(query: FlwrQuery) -> bool:
    """Whether results and their order are made of bound nodes, and of what is below them.

    >>> from extract.flwr.query import parse_flwr
    >>> texts = "$a/b[. = $a/@c]", "/d/e", "$a/../f", "$a/b[preceding::c]"
    >>> parsed = [parse_flwr(f"for $a in //a return <r>{{ {one} }}</r>", {}) for one in texts]
    >>> list(map(looks_below, parsed))
    [True, False, False, False]
    """
    if query.rest is not None or (query.outer is not None and any(enclosed(query.outer))):
        return False
    return all(map(_goes_down, query.bound))


def _goes_down(expr: Expr) -> bool:
    if isinstance(expr, LocationPath) and expr.absolute:
        return False
    if isinstance(expr, (LocationPath, FilterPath)):
        if any(step.axis not in _DOWN for step in expr.steps):
            return False
    elif isinstance(expr, FunctionCall) and (expr.prefix or expr.name in _ELSEWHERE):
        return False
    return all(map(_goes_down, children(expr)))
