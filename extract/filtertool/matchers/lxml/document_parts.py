"""Parts of an expression that have one value in a document, whatever node they are asked at.

libxml2 evaluates an absolute path inside a filter again for each candidate:
``/r/b/i[/r/h/t = 'K'][c = 1]`` looks for ``/r/h/t`` as often as there are ``i``. Such a part
becomes a variable, whose value is computed once for a document and shared by all queries that have
the part.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from extract.xpath.ast import (
    Binary,
    Expr,
    FilterPath,
    FunctionCall,
    LocationPath,
    Negate,
    Number,
    StringLiteral,
    Union,
    Variable,
)
from extract.xpath.functions import FUNCTIONS, Type
from extract.xpath.parser import parse
from extract.xpath.traverse import rebuild
from extract.xpath.types import type_of

# An absolute path behind something else, which may be a filter.
_INNER: Final = re.compile(r"[\[(|,=<>+*\s-]/")
_CONNECTIVES: Final = frozenset({"and", "or"})
_COMPARISONS: Final = frozenset({"=", "!=", "<", "<=", ">", ">="})
_TRUTH: Final = frozenset({"not", "boolean"})
_TEXTS: Final = frozenset(
    {
        "concat", "contains", "normalize-space", "number", "starts-with", "string",
        "string-length", "substring", "substring-after", "substring-before", "translate",
    }
)  # fmt: skip
_ELSEWHERE: Final = frozenset({"id", "lang", "last", "position", "table"})


class DividedExpressions(NamedTuple):
    """Expressions whose parts are variables.

    Attributes:
        xpaths: The expressions.
        parts: For each variable the expression of its value, which is no node set. It may have
            variables that the expressions had before.
    """

    xpaths: tuple[str, ...]
    parts: dict[str, str]


def divide(xpaths: Sequence[str]) -> DividedExpressions | None:
    """Replaces parts of expressions by variables; None if there is no such part.

    An expression and what it becomes have the same value on each document on which no part fails,
    for the types of parts stay.

    >>> divide(["/r/i[/r/t = 'K'][c = 1]"])
    DividedExpressions(xpaths=('/r/i[$document1][c = 1]',), parts={'document1': "/r/t = 'K'"})
    >>> divide(["/r/i[not(/r/t) or c > count(//i)]"]).parts
    {'document1': 'not(/r/t)', 'document2': 'count(//i)'}
    >>> divide(["count(/r/i[c = /r/t])"]), divide(["/r/i[3]"])
    (None, None)
    """
    if not any("[" in xpath and _INNER.search(xpath) for xpath in xpaths):
        return None
    divider = _Divider()
    divided = [str(divider.outside(parse(xpath))) for xpath in xpaths]
    return DividedExpressions(tuple(divided), divider.parts) if divider.parts else None


class _Divider:
    """Goes through an expression; ``parts`` are those that it has replaced."""

    def __init__(self) -> None:
        self.parts: dict[str, str] = {}

    def outside(self, expr: Expr) -> Expr:
        """An expression whose context is the document; only filters have another one."""
        if isinstance(expr, (LocationPath, FilterPath)):
            return self._filters(expr)
        return rebuild(expr, self.outside)

    def _filters(self, expr: LocationPath | FilterPath) -> Expr:
        """A path with its filters divided."""
        first = expr.primary if isinstance(expr, FilterPath) else None

        def change(inner: Expr) -> Expr:
            return self.outside(inner) if inner is first else self._condition(inner)

        return rebuild(expr, change)

    def _condition(self, expr: Expr) -> Expr:
        """What is asked for its truth; a number in a filter is a position, and stays a number."""
        if type_of(expr) is Type.NODES and _is_of_document(expr):
            return self._variable(f"boolean({expr})")
        return self._value(expr)

    def _text(self, expr: Expr) -> Expr:
        """What is asked for its string."""
        if type_of(expr) is Type.NODES and _is_of_document(expr):
            return self._variable(f"string({expr})")
        return self._value(expr)

    def _value(self, expr: Expr) -> Expr:
        """What is asked for its value, inside of a filter."""
        if type_of(expr) is not Type.NODES and _looks(expr) and _is_of_document(expr):
            return self._variable(str(expr))
        if isinstance(expr, Binary) and expr.op in _CONNECTIVES:
            return rebuild(expr, self._condition)
        if isinstance(expr, FunctionCall) and not expr.prefix:
            if expr.name in _TRUTH:
                return rebuild(expr, self._condition)
            if expr.name in _TEXTS:
                return rebuild(expr, self._text)
        if isinstance(expr, LocationPath):
            return self._filters(expr)
        if isinstance(expr, FilterPath):
            return expr  # its first part may be anything
        return rebuild(expr, self._value)

    def _variable(self, text: str) -> Expr:
        for name, known in self.parts.items():
            if known == text:
                return Variable(name)
        name = f"document{len(self.parts) + 1}"
        self.parts[name] = text
        return Variable(name)


def _looks(expr: Expr) -> bool:
    """Whether an expression looks at the document at all."""
    if isinstance(expr, (LocationPath, FilterPath, Union)):
        return True
    if isinstance(expr, Binary):
        return _looks(expr.left) or _looks(expr.right)
    if isinstance(expr, Negate):
        return _looks(expr.operand)
    return isinstance(expr, FunctionCall) and any(map(_looks, expr.arguments))


def _is_of_document(expr: Expr) -> bool:
    """Whether an expression has the same value at every node."""
    if isinstance(expr, LocationPath):
        return expr.absolute
    if isinstance(expr, (StringLiteral, Number, Variable)):
        return True
    if isinstance(expr, Union):
        return all(map(_is_of_document, expr.parts))
    if isinstance(expr, Binary):
        return _is_of_document(expr.left) and _is_of_document(expr.right)
    if isinstance(expr, Negate):
        return _is_of_document(expr.operand)
    if isinstance(expr, FunctionCall):
        function = None if expr.prefix or expr.name in _ELSEWHERE else FUNCTIONS.get(expr.name)
        if function is None or (function.context and not expr.arguments):
            return False
        return all(map(_is_of_document, expr.arguments))
    return False
