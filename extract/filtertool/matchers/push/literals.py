"""Questions whose literals become parameters, which the engine takes as constants."""

from __future__ import annotations

from extract.filtertool.matchers.protocol import Question
from extract.subscriptions.constants import Constants
from extract.xpath.ast import Expr, Parameter, ParameterType
from extract.xpath.parameters import parameter_types, shape_of
from extract.xpath.parser import parse
from extract.xpath.traverse import substitute


def with_parameters(question: Question) -> Question:
    """The question with a parameter for each literal that can be one, and its constants.

    A question that has constants stays as it is, for all of its literals are part of its shape.

    >>> asked = with_parameters(Question(("/a[b = 'x']", "/c[d > 1]")))
    >>> asked.branches, asked.constants.row(0)
    (('/a[b = $string1]', '/c[d > $number2]'), ('x', '1'))
    """
    if question.constants is not None:
        return question
    types: list[ParameterType] = []
    values: list[str] = []
    branches = []
    for text in (question.original,) if question.original else question.branches:
        shape = shape_of(parse(text))
        own = [value for value, role in zip(shape.values, shape.roles, strict=True) if role]
        branches.append(str(shifted(shape.expression, len(types))))
        types += parameter_types(shape.expression)
        values += own
    constants = Constants.of(types, [values]) if types else None
    if question.original:
        return question._replace(original=branches[0], constants=constants)
    return question._replace(branches=tuple(branches), constants=constants)


def shifted(expr: Expr, by: int) -> Expr:
    """The expression with higher numbers of parameters."""
    if not by:
        return expr
    return substitute(expr, Parameter, lambda one: Parameter(one.index + by, one.type))
