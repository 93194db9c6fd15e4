"""Makes a subscription start at the document node, whatever its paths look like."""

from __future__ import annotations

from dataclasses import replace

from extract.xpath.ast import (
    ANY_NODE,
    Expr,
    FilterPath,
    FunctionCall,
    LocationPath,
    make_path,
    make_step,
)
from extract.xpath.functions import FUNCTIONS
from extract.xpath.traverse import rebuild


def make_absolute(expr: Expr) -> Expr:
    """Makes paths outside of filters absolute, and adds the implicit argument of ``string()``.

    >>> from extract.xpath.parser import parse
    >>> str(make_absolute(parse("count(a/b[c]) + string-length()")))
    'count(/a/b[c]) + string-length(/)'
    >>> str(make_absolute(parse("lang('en')")))
    "boolean(/self::node()[lang('en')])"
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
    if isinstance(expr, FunctionCall) and expr.name == "lang" and not expr.prefix:
        # The function tests its context node, and takes no other; in lxml that is the root element.
        itself = make_step("self", ANY_NODE, (rebuild(expr, make_absolute),))
        return FunctionCall("boolean", (make_path(True, (itself,)),))
    return rebuild(expr, make_absolute)
