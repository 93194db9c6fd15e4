"""Reads tree patterns: XPath in which steps may be bound to variables.

A binding is kept in the syntax tree as a predicate of its step, a call of a function that XPath
cannot spell. `normal_form` takes these out again.
"""

from __future__ import annotations

import re
from typing import Final

from extract.errors import QuerySyntaxError
from extract.limits import Limits
from extract.xpath.ast import Expr, FunctionCall, LocationPath, Number, Step, StringLiteral
from extract.xpath.mentions import Parsed
from extract.xpath.parser import ExpressionParser
from extract.xpath.traverse import children
from extract.xscl.bindings import VARIABLE, VariableBinding, take_bindings

_MARK: Final = "->"
_AS: Final = re.compile(rf"AS[ \t\r\n]+({VARIABLE.pattern})")
_EXAMPLE: Final = "write the name of the variable, as in book->x1"


class PatternParser(ExpressionParser):
    """One pass over the part of a query that comes after ``FROM``.

    Args:
        text: The whole query.
        start: Where that part begins.
        limits: How large the query may be.
    """

    __slots__ = ("_open", "original")

    def __init__(self, text: str, start: int, limits: Limits) -> None:
        blanked, bindings = take_bindings(text, start)
        super().__init__(blanked, limits)
        self.original = text
        self.parsed = Parsed(text, self.parsed.expr)
        self.at = start
        self._open = bindings  # those that no step has claimed
        for one in bindings:
            if not one.name:
                raise self.error("there is no variable after the arrow", _EXAMPLE, one.start)

    def pattern(self) -> LocationPath:
        """Reads the path of a side, from its first slash on."""
        begin = self.at
        path = self.location_path()
        self._refuse(begin, self.at)
        return path

    def plain_steps(self) -> list[Step] | None:
        """None: a plain step may be bound, so each is read by `step`."""
        return None

    def step(self) -> Step:
        """One step, with its bindings as predicates."""
        self.skip()
        begin = self.at
        step = super().step()
        while True:
            self.skip()
            ours = self._claim(begin, self.at)
            word = _AS.match(self.text, self.at)
            if word:
                ours.append(VariableBinding(self.at, word[1], word.start(1)))
                self.at = word.end()
            if not ours:
                return step
            if len(ours) > 1 or binding_of(step) is not None:
                raise self.error(
                    "this step is bound twice", "bind it to one variable", ours[-1].start
                )
            more = self.predicates() if word else ()
            mark = FunctionCall(_MARK, (StringLiteral(ours[0].name), Number(str(ours[0].start))))
            step = Step(step.axis, step.test, (*step.predicates, mark, *more))

    def predicate(self) -> Expr:
        """A predicate, in which every binding belongs to a step."""
        opened = self.at
        around, self.height = self.height, 0
        self.at += 1
        self.brackets += 1
        expr = self.expression(1)
        self.brackets -= 1
        self.close("]", opened)
        self._refuse(opened, self.at)
        self.height = max(around, self.height)
        return expr

    def _claim(self, begin: int, end: int) -> list[VariableBinding]:
        ours = [one for one in self._open if begin <= one.start < end]
        if ours:
            self._open = [one for one in self._open if one not in ours]
        return ours

    def _refuse(self, begin: int, end: int) -> None:
        for one in self._claim(begin, end):
            hint = "bind a step, as in a->x; of a union, make a query for each part"
            raise self.error("a binding has to follow a step", hint, one.start)

    def error(self, reason: str, hint: str = "", offset: int | None = None) -> QuerySyntaxError:
        """An error at this place, or at another one, of the query as written."""
        at = self.at if offset is None else offset
        return QuerySyntaxError(reason, hint, xpath=self.original, offset=at)


def is_mark(expr: Expr) -> bool:
    """Whether a predicate stands for a binding."""
    return isinstance(expr, FunctionCall) and expr.name == _MARK


def binding_of(step: Step) -> VariableBinding | None:
    """The binding of a step; None if it has none."""
    return next((_binding(one) for one in step.predicates if is_mark(one)), None)


def bindings_in(expr: Expr) -> list[VariableBinding]:
    """The bindings of all steps in an expression, in the order of the text."""
    if is_mark(expr):
        return [_binding(expr)]
    return [one for child in children(expr) for one in bindings_in(child)]


def _binding(mark: Expr) -> VariableBinding:
    assert isinstance(mark, FunctionCall)
    name, place = mark.arguments
    assert isinstance(name, StringLiteral)
    assert isinstance(place, Number)
    return VariableBinding(int(place.text), name.value, int(place.text))
