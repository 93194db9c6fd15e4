"""Which literals of an expression are parameters, and which belong to its shape.

A parameter is a literal whose value changes neither what an expression means statically nor which
parts of a document it looks at, so that expressions which differ in it can share all that is
computed before a document comes:

* an operand of a comparison with what depends on the document: ``price > 50``, ``-5 < change``,
  ``count(b) = 2``;
* an argument of ``contains()``, ``starts-with()``, ``substring-before()`` or ``substring-after()``
  whose other argument depends on the document.

All other literals are shape:

* positions: in a predicate that is a number (``b[2]``, ``b[string-length("x")]``), and in a
  comparison or call with ``position()`` or ``last()``;
* names: in a comparison or call with ``local-name()``, ``name()`` or ``namespace-uri()``, which a
  schema decides;
* what is decided without a document: ``1 = 2``, ``contains("ab", "b")``;
* truth: ``a["x"]``, ``not("")``, ``(a = 1) = "no"``;
* what feeds ``id()``, ``lang()``, ``table()`` or a regular expression, and the target of
  ``processing-instruction()``;
* operands of arithmetic and arguments of other functions: ``price * 1.1``, ``substring(a, 2)``.
  They are part of the value that is compared, which then is one value for all members.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias, cast

from extract.xpath.ast import (
    Binary,
    Expr,
    FilterPath,
    FunctionCall,
    KindTest,
    LocationPath,
    Negate,
    Number,
    Parameter,
    ParameterType,
    Step,
    StringLiteral,
    Variable,
    make_parameter,
    make_path,
    make_step,
    quote,
)
from extract.xpath.functions import FUNCTIONS, Type
from extract.xpath.name_functions import is_name
from extract.xpath.native import native
from extract.xpath.parser import parse
from extract.xpath.traverse import children, rebuild, substitute
from extract.xpath.types import counts, type_of

_COMPARISONS: Final = frozenset({"=", "!=", "<", "<=", ">", ">="})
_SEARCHES: Final = frozenset({"contains", "starts-with", "substring-before", "substring-after"})
_PLACEHOLDER: Final = re.compile(r"""'[^']*'|"[^"]*"|\$(string|number)([0-9]+)""")
_NATIVE: Final = native("_parser")
_OPAQUE: Final = frozenset({"id", "lang", "table"})
_VARIABLE: Final = _OPAQUE | {"position", "last"}  # the document decides, whatever the arguments


class QueryShape(NamedTuple):
    """An expression whose parameters have no values.

    Attributes:
        expression: It, with a `Parameter` for each literal that is one.
        roles: For each literal, in the order of the text, whether it is a parameter.
        values: For each literal its value, as `extract.xpath.tokens.Literal` has it.
    """

    expression: Expr
    roles: tuple[bool, ...]
    values: tuple[str, ...]


def shape_of(expr: Expr) -> QueryShape:
    """The shape of an expression.

    >>> from extract.xpath.parser import parse
    >>> shape = shape_of(parse("/a[b = 'x'][3]/c[d > -5]"))
    >>> str(shape.expression), shape.roles
    ('/a[b = $string1][3]/c[d > -$number2]', (True, False, True))
    """
    marker = _Marker()
    expression = marker.mark(expr, fixed=False, opaque=False)
    return QueryShape(expression, tuple(marker.roles), tuple(marker.values))


def parameter_types(expr: Expr) -> tuple[ParameterType, ...]:
    """The types of an expression's parameters, in their order."""
    if isinstance(expr, Parameter):
        return (expr.type,)
    return tuple([kind for inner in children(expr) for kind in parameter_types(inner)])


def with_values(expr: Expr, values: Sequence[str]) -> Expr:
    """The expression with parameters that know the constants of one member."""
    return substitute(
        expr, Parameter, lambda one: Parameter(one.index, one.type, values[one.index])
    )


def literal_text(expr: Expr) -> str:
    """The text of an expression, with a literal for each parameter that has a value.

    >>> one = Parameter(0, "string", "x")
    >>> str(one), literal_text(one), literal_text(Parameter(0, "string"))
    ('$string1', "'x'", '$string1')
    """
    text = str(expr)
    return _literal_text(expr) if "$" in text else text


@lru_cache(maxsize=1 << 12)
def _literal_text(expr: Expr) -> str:
    return str(substitute(expr, Parameter, _literal))


def _literal(parameter: Parameter) -> Expr:
    if parameter.value is None:
        return parameter
    return _literal_of(parameter, parameter.value)


def _literal_of(parameter: Parameter, value: str) -> StringLiteral | Number:
    return StringLiteral(value) if parameter.type == "string" else Number(value)


@lru_cache(maxsize=1 << 14)
def has_parameters(expr: Expr) -> bool:
    """Whether the value of an expression depends on parameters.

    >>> [has_parameters(parse_shape(text)) for text in ("a[b = $string1]/c", "a[b = 'x']")]
    [True, False]
    """
    return isinstance(expr, Parameter) or any(map(has_parameters, children(expr)))


class Placeholder(NamedTuple):
    """A place in a text where a parameter stands: its number, from 0, and type."""

    number: int
    type: ParameterType


_Divided: TypeAlias = tuple[tuple[str, ...], tuple[Placeholder, ...]]


@lru_cache(maxsize=1 << 14)
def divided(text: str) -> _Divided:
    """A text with parameters, divided: the parts between them, one more, and the parameters.

    >>> divided("/a[b = $string1][c = '$string1']")
    (('/a[b = ', "][c = '$string1']"), (Placeholder(number=0, type='string'),))
    """
    if _NATIVE is not None:
        return cast(_Divided, _NATIVE.divide(text, Placeholder))
    return divided_in_python(text)


def divided_in_python(text: str) -> _Divided:
    """The same as `divided`, without the part in C."""
    parts: list[str] = []
    places: list[Placeholder] = []
    start = 0
    for found in _PLACEHOLDER.finditer(text):
        if found[1]:
            places.append(Placeholder(int(found[2]) - 1, cast(ParameterType, found[1])))
            parts.append(text[start : found.start()])
            start = found.end()
    return (*parts, text[start:]), tuple(places)


def placeholder_starts(text: str) -> list[int]:
    """Where the parameters of a text start."""
    return [found.start() for found in _PLACEHOLDER.finditer(text) if found[1]]


def filled(text: str, constants: Sequence[str]) -> str:
    """A text with parameters, such as an XPath or a reason, in which each has its constant.

    >>> filled("/a[b = $string1 and c > $number2]", ["it's", "1e3"])
    '/a[b = "it\\'s" and c > 1e3]'
    """
    if "$" not in text:
        return text
    parts, places = divided(text)
    out = [parts[0]]
    for (index, kind), part in zip(places, parts[1:], strict=True):
        out += (quote(constants[index]) if kind == "string" else constants[index], part)
    return "".join(out)


def renumbered(text: str, numbers: Sequence[int | None]) -> str:
    """A text with parameters, in which they have other numbers.

    Args:
        text: The text.
        numbers: For each parameter its new index.
    """
    if "$" not in text:
        return text
    parts, places = divided(text)
    out = [parts[0]]
    for (index, kind), part in zip(places, parts[1:], strict=True):
        number = numbers[index]
        assert number is not None
        out += (f"${kind}{number + 1}", part)
    return "".join(out)


def with_constants(expr: Expr, constants: Sequence[str]) -> Expr:
    """The expression with a literal in place of each parameter.

    >>> str(with_constants(parse_shape("/a[b = $string1]"), ["it's"]))
    '/a[b = "it\\'s"]'
    """
    return substitute(expr, Parameter, lambda one: _literal_of(one, constants[one.index]))


def parse_shape(text: str) -> Expr:
    """Reads what ``str`` makes of an expression with parameters.

    >>> parse_shape("$number1 > a").left
    Parameter(index=0, type='number', value=None)
    """
    known = _SHAPES.pop(text, None)  # nearly always the only one who asks
    if known is not None:
        return known
    expr = parse(text)
    return substitute(expr, Variable, _parameter) if "$" in text else expr


_SHAPES: Final[dict[str, Expr]] = {}
_MOST_SHAPES: Final = 1 << 13


def remember_shape(text: str, expr: Expr) -> None:
    """Keeps an expression for the next one who calls `parse_shape` with its text.

    A scheme has its queries as texts; whoever prepares one and filters with it would parse each
    twice. When there are very many, the others are forgotten.
    """
    if len(_SHAPES) >= _MOST_SHAPES:
        _SHAPES.clear()
    _SHAPES[text] = expr


def _parameter(variable: Variable) -> Parameter:
    kind: ParameterType = "string" if variable.name.startswith("string") else "number"
    return make_parameter(int(variable.name.removeprefix(kind)) - 1, kind)


class _Marker:
    """Goes through an expression in the order of its text.

    ``fixed`` says that all literals are shape outside of inner predicates, ``opaque`` that all are.
    A part without parameters stays the same object.
    """

    __slots__ = ("parameters", "roles", "values")

    def __init__(self) -> None:
        self.roles: list[bool] = []
        self.values: list[str] = []
        self.parameters = 0

    def mark(self, expr: Expr, fixed: bool, opaque: bool) -> Expr:
        before = self.parameters
        if isinstance(expr, LocationPath):
            if not any(one.predicates or isinstance(one.test, KindTest) for one in expr.steps):
                return expr
            steps = self._steps(expr.steps, opaque)
            return make_path(expr.absolute, steps) if self.parameters > before else expr
        if isinstance(expr, (StringLiteral, Number)):
            self._add(expr, False)
            return expr
        marked = self._mark(expr, fixed, opaque)
        return marked if self.parameters > before else expr

    def _mark(self, expr: Expr, fixed: bool, opaque: bool) -> Expr:
        if isinstance(expr, Binary):
            if expr.op in _COMPARISONS:
                return Binary(expr.op, *self._pair(expr.left, expr.right, fixed, opaque))
            left = self.mark(expr.left, fixed, opaque)
            return Binary(expr.op, left, self.mark(expr.right, fixed, opaque))
        if isinstance(expr, FunctionCall):
            return FunctionCall(expr.name, self._arguments(expr, fixed, opaque), expr.prefix)
        if isinstance(expr, FilterPath):
            primary = self.mark(expr.primary, fixed, opaque)
            predicates = self._predicates(expr.predicates, opaque)
            return FilterPath(primary, predicates, self._steps(expr.steps, opaque))
        return rebuild(expr, lambda inner: self.mark(inner, fixed, opaque))

    def _arguments(self, call: FunctionCall, fixed: bool, opaque: bool) -> tuple[Expr, ...]:
        if not call.prefix and call.name in _SEARCHES and len(call.arguments) == 2:
            return self._pair(call.arguments[0], call.arguments[1], fixed, opaque)
        if call.prefix or call.name in _OPAQUE:
            fixed = opaque = True
        return tuple([self.mark(one, fixed, opaque) for one in call.arguments])

    def _pair(self, left: Expr, right: Expr, fixed: bool, opaque: bool) -> tuple[Expr, Expr]:
        """Two expressions whose values are compared, or sought in each other."""
        if not fixed:
            fixed = counts(left) or counts(right) or is_name(left) or is_name(right)
        return (
            self._operand(left, right, fixed, opaque),
            self._operand(right, left, fixed, opaque),
        )

    def _operand(self, expr: Expr, other: Expr, fixed: bool, opaque: bool) -> Expr:
        if (
            not fixed
            and isinstance(expr, (StringLiteral, Number, Negate))
            and not is_constant(other)
            and type_of(other) is not Type.BOOLEAN
        ):
            parameter = self._parameter(expr)
            if parameter is not None:
                return parameter
        return self.mark(expr, fixed, opaque)

    def _parameter(self, expr: Expr) -> Expr | None:
        """A literal as a parameter, with the signs before it; None if it is something else."""
        if isinstance(expr, Negate) and not isinstance(expr.operand, StringLiteral):
            operand = self._parameter(expr.operand)
            return None if operand is None else Negate(operand)
        if not isinstance(expr, (StringLiteral, Number)):
            return None
        self._add(expr, True)
        self.parameters += 1
        kind: ParameterType = "string" if isinstance(expr, StringLiteral) else "number"
        return make_parameter(self.parameters - 1, kind)

    def _add(self, literal: StringLiteral | Number, role: bool) -> None:
        self.roles.append(role)
        self.values.append(literal.value if isinstance(literal, StringLiteral) else literal.text)

    def _steps(self, steps: tuple[Step, ...], opaque: bool) -> tuple[Step, ...]:
        marked = []
        for step in steps:
            if isinstance(step.test, KindTest) and step.test.target is not None:
                self.roles.append(False)
                self.values.append(step.test.target)
            if step.predicates:
                before = self.parameters
                predicates = self._predicates(step.predicates, opaque)
                if self.parameters > before:
                    step = make_step(step.axis, step.test, predicates)
            marked.append(step)
        return tuple(marked)

    def _predicates(self, predicates: tuple[Expr, ...], opaque: bool) -> tuple[Expr, ...]:
        return tuple([self._predicate(one, opaque) for one in predicates])

    def _predicate(self, predicate: Expr, opaque: bool) -> Expr:
        """A predicate, as `mark` gives it; queries of one set share most of them."""
        key = (predicate, opaque, self.parameters)
        shape = _MARKED.get(key)
        if shape is None:
            marker = _Marker()
            marker.parameters = self.parameters
            marked = marker.mark(predicate, opaque or type_of(predicate) is Type.NUMBER, opaque)
            if len(_MARKED) >= _MOST_SHAPES:
                _MARKED.clear()
            shape = QueryShape(marked, tuple(marker.roles), tuple(marker.values))
            _MARKED[key] = shape
        self.roles += shape.roles
        self.values += shape.values
        self.parameters += sum(shape.roles)
        return shape.expression


# The shapes of predicates, by how many parameters were before them.
_MARKED: Final[dict[tuple[Expr, bool, int], QueryShape]] = {}


def is_constant(expr: Expr) -> bool:
    """Whether the value of an expression is known without a document.

    >>> [is_constant(parse(text)) for text in ("1 + 1", "concat('a', 'b')", "string()", "a = 1")]
    [True, True, False, False]
    """
    if isinstance(expr, (StringLiteral, Number)):
        return True
    if isinstance(expr, Binary):
        return is_constant(expr.left) and is_constant(expr.right)
    if isinstance(expr, Negate):
        return is_constant(expr.operand)
    if isinstance(expr, FunctionCall):
        function = None if expr.prefix or expr.name in _VARIABLE else FUNCTIONS.get(expr.name)
        if function is None or (function.context and not expr.arguments):
            return False
        return all(map(is_constant, expr.arguments))
    return False
