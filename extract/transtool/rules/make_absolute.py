"""A subscription starts at the document node, whatever its paths look like."""

from __future__ import annotations

from dataclasses import replace

from extract.xpath.ast import Expr, FilterPath, FunctionCall, LocationPath, make_path
from extract.xpath.functions import FUNCTIONS
from extract.xpath.traverse import rebuild


def make_absolute(expr: Expr) -> Expr:
    """Makes paths outside of filters absolute, and says which node ``string()`` is about.

    >>> from extract.xpath.parser import parse
    >>> str(make_absolute(parse("count(a/b[c]) + string-length()")))
    'count(/a/b[c]) + string-length(/)'
    """
    if isinstance(expr, LocationPath):
        return expr if expr.absolute else replace(expr, absolute=True)
    if isinstance(expr, FilterPath):
        primary = make_absolute(expr.primary)
        return expr if primary is expr.primary else replace(expr, primary=primary)
    if isinstance(expr, FunctionCall) and not expr.arguments and not expr.prefix:
        function = FUNCTIONS.get(expr.name)
        if function is not None and function.context:
            return replace(expr, arguments=(make_path(True, ()),))
    return rebuild(expr, make_absolute)
