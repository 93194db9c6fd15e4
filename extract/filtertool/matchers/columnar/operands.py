"""What expressions with parameters compare: a value that has none with one parameter.

Such comparisons are most of what templates consist of, and are decided for many pairs of a node and
a query at once: the value once for each node, the constant once for each query.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from extract.filtertool.matchers.columnar.comparison import MIRRORED
from extract.filtertool.matchers.columnar.reach import SEARCHES
from extract.xpath.ast import (
    Binary,
    Expr,
    FunctionCall,
    Negate,
    Parameter,
    ParameterType,
)
from extract.xpath.functions import Type
from extract.xpath.parameters import has_parameters
from extract.xpath.types import counts, type_of

_CACHED: Final = 1 << 14


class Operand(NamedTuple):
    """A parameter with the signs before it.

    Attributes:
        parameter: The number of the parameter, from 0.
        type: The type of its value; with a sign it is a number.
        negative: Whether the value is negated.
    """

    parameter: int
    type: ParameterType
    negative: bool = False


class Comparison(NamedTuple):
    """A comparison of a value without parameters and a parameter.

    Attributes:
        value: The left side; not a boolean.
        op: The operator.
        operand: The right side.
        numeric: Whether numbers are compared, not strings.
    """

    value: Expr
    op: str
    operand: Operand
    numeric: bool


class StringSearch(NamedTuple):
    """A search for a parameter in the string of a value without parameters, or the reverse.

    Attributes:
        value: The value.
        begin: Whether the one must begin with the other: ``starts-with()``, not ``contains()``.
        operand: The parameter.
        inside: Whether the parameter is sought in the value, and not the value in the parameter.
    """

    value: Expr
    begin: bool
    operand: Operand
    inside: bool


def operand_of(expr: Expr) -> Operand | None:
    """Returns a parameter with its signs; None for all other expressions."""
    if isinstance(expr, Parameter):
        return Operand(expr.index, expr.type)
    if isinstance(expr, Negate):
        operand = operand_of(expr.operand)
        if operand is not None:
            return Operand(operand.parameter, "number", not operand.negative)
    return None


@lru_cache(maxsize=_CACHED)
def comparison_of(expr: Expr) -> Comparison | None:
    """Returns the comparison of a value with a parameter; None for all other expressions.

    >>> from extract.xpath.parameters import parse_shape
    >>> comparison = comparison_of(parse_shape("-$number1 < price"))
    >>> str(comparison.value), comparison.op, comparison.operand.negative
    ('price', '>', True)
    """
    if not isinstance(expr, Binary) or expr.op not in MIRRORED:
        return None
    op, value, operand = expr.op, expr.left, operand_of(expr.right)
    if operand is None:
        op, value, operand = MIRRORED[op], expr.right, operand_of(expr.left)
    if operand is None or not _stands_alone(value) or type_of(value) is Type.BOOLEAN:
        return None
    numbers = operand.type == "number" or type_of(value) is Type.NUMBER
    return Comparison(value, op, operand, numbers or op not in ("=", "!="))


@lru_cache(maxsize=_CACHED)
def search_of(expr: Expr) -> StringSearch | None:
    """Returns the search of ``contains()`` or ``starts-with()`` for a parameter, or in it."""
    if not isinstance(expr, FunctionCall) or expr.prefix or expr.name not in SEARCHES:
        return None
    where, what = expr.arguments
    begin = expr.name == "starts-with"
    sought, searched = operand_of(what), operand_of(where)
    if sought is not None and _stands_alone(where):
        return StringSearch(where, begin, sought, True)
    if searched is not None and _stands_alone(what):
        return StringSearch(what, begin, searched, False)
    return None


def _stands_alone(value: Expr) -> bool:
    """Whether a value depends on the context node alone, not on parameters or positions."""
    return not has_parameters(value) and not counts(value)
