"""Static types: what an expression gives, and whether a predicate counts positions.

Every XPath 1.0 expression has a type that can be read off its text. Whether a predicate is a number
(``b[2]``, ``b[count(c)]``) or asks for a position decides which rewrites keep its meaning
(TRAPS 6).
"""

from __future__ import annotations

from functools import lru_cache

from extract.xpath.ast import (
    Binary,
    Expr,
    FilterPath,
    FunctionCall,
    LocationPath,
    Negate,
    Number,
    Parameter,
    Step,
    StringLiteral,
    Union,
)
from extract.xpath.functions import EXSLT_REGEXP, FUNCTIONS, Type
from extract.xpath.traverse import children

_ARITHMETIC = frozenset({"+", "-", "*", "div", "mod"})


def type_of(expr: Expr) -> Type:
    """The type of the expression's value.

    >>> from extract.xpath.parser import parse
    >>> type_of(parse("count(a) > 1")), type_of(parse("-a")), type_of(parse("(a)[1]"))
    (<Type.BOOLEAN: 'boolean'>, <Type.NUMBER: 'number'>, <Type.NODES: 'nodes'>)
    """
    if isinstance(expr, (LocationPath, FilterPath, Union)):
        return Type.NODES
    if isinstance(expr, Binary):
        return Type.NUMBER if expr.op in _ARITHMETIC else Type.BOOLEAN
    if isinstance(expr, (Negate, Number)):
        return Type.NUMBER
    if isinstance(expr, FunctionCall):
        name = f"{{{EXSLT_REGEXP}}}{expr.name}" if expr.prefix else expr.name
        function = FUNCTIONS.get(name)
        # An unknown function is turned away by `check`; until then nothing is assumed of it.
        return function.result if function else Type.NODES
    if isinstance(expr, Parameter):
        return Type(expr.type)
    return Type.STRING if isinstance(expr, StringLiteral) else Type.NODES


@lru_cache(maxsize=1 << 16)
def is_positional(predicate: Expr) -> bool:
    """Whether a predicate's truth depends on where its node stands among the others.

    >>> from extract.xpath.parser import parse
    >>> [is_positional(parse(p)) for p in ("2", "count(c)", "last() > 1", "c[1]", "c", "c = 2")]
    [True, True, True, False, False, False]
    """
    return type_of(predicate) is Type.NUMBER or counts(predicate)


def counts(expr: Expr) -> bool:
    """Whether the expression calls ``position()`` or ``last()`` for its own context."""
    # Predicates and later steps have a context of their own; only the start shares this one.
    if isinstance(expr, (LocationPath, StringLiteral, Number, Parameter)):
        return False
    if isinstance(expr, Binary):
        return counts(expr.left) or counts(expr.right)
    if isinstance(expr, FunctionCall):
        if expr.name in ("position", "last") and not expr.prefix:
            return True
        return any(map(counts, expr.arguments))
    if isinstance(expr, FilterPath):
        return counts(expr.primary)
    return any(map(counts, children(expr)))


def has_positions(step: Step) -> bool:
    """Whether any predicate of the step is positional."""
    return bool(step.predicates) and any(map(is_positional, step.predicates))
