"""XPath 1.0 as frozen values.

Every node is immutable, hashable and comparable by value; there are no parent pointers, so parts
are shared freely. ``str(node)`` is canonical XPath and ``parse(str(node)) == node``.

Names are those of the XPath specification: a `LocationPath` has `Step`s; a step has an axis, a node
test and predicates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Final, Literal, TypeAlias, TypeVar, get_args

from extract.xpath.node import Node, initialise_in_c

T = TypeVar("T")

Axis: TypeAlias = Literal[
    "ancestor",
    "ancestor-or-self",
    "attribute",
    "child",
    "descendant",
    "descendant-or-self",
    "following",
    "following-sibling",
    "namespace",
    "parent",
    "preceding",
    "preceding-sibling",
    "self",
]

ParameterType: TypeAlias = Literal["string", "number"]

AXES: Final[frozenset[str]] = frozenset(get_args(Axis))

# Binding strength of binary operators, weakest first, as the XPath 1.0 grammar nests them.
PRECEDENCE: Final[dict[str, int]] = {
    "or": 1,
    "and": 2,
    "=": 3,
    "!=": 3,
    "<": 4,
    "<=": 4,
    ">": 4,
    ">=": 4,
    "+": 5,
    "-": 5,
    "*": 6,
    "div": 6,
    "mod": 6,
}
_UNARY, _UNION, _PATH, _PRIMARY = 7, 8, 9, 10


@dataclass(frozen=True, slots=True, eq=False)
class NameTest(Node):
    """``name``, ``p:name``, ``p:*`` or ``*``: nodes of the axis' principal kind by name."""

    local: str
    prefix: str = ""

    def _format(self) -> str:
        return f"{self.prefix}:{self.local}" if self.prefix else self.local


@dataclass(frozen=True, slots=True, eq=False)
class KindTest(Node):
    """``node()``, ``text()``, ``comment()``, ``processing-instruction('target')``."""

    kind: Literal["node", "text", "comment", "processing-instruction"]
    target: str | None = None

    def _format(self) -> str:
        return f"{self.kind}({'' if self.target is None else quote(self.target)})"


NodeTest: TypeAlias = NameTest | KindTest

_DOTS: Final[dict[str, str]] = {"parent": "..", "self": "."}

ANY_NODE: Final = KindTest("node")
ANY_NAME: Final = NameTest("*")


@dataclass(frozen=True, slots=True, eq=False)
class Step(Node):
    """One location step: ``axis::test[predicate]…``."""

    axis: Axis
    test: NodeTest
    predicates: tuple[Expr, ...] = ()

    def _format(self) -> str:
        axis, predicates, test = self.axis, self.predicates, str(self.test)
        if axis == "attribute":
            test = f"@{test}"
        elif axis != "child":
            if axis in _DOTS and not predicates and self.test == ANY_NODE:
                return _DOTS[axis]
            test = f"{axis}::{test}"
        return test + "".join([f"[{p}]" for p in predicates]) if predicates else test

    def where(self, *predicates: Expr) -> Step:
        """The same step with these predicates added after its own."""
        return make_step(self.axis, self.test, self.predicates + predicates)


ANY_DEPTH: Final = Step("descendant-or-self", ANY_NODE)  # what ``//`` abbreviates
HERE: Final = Step("self", ANY_NODE)
UP: Final = Step("parent", ANY_NODE)


@dataclass(frozen=True, slots=True, eq=False)
class LocationPath(Node):
    """``/a/b`` (absolute) or ``a/b``; an absolute path without steps is the document node ``/``."""

    absolute: bool
    steps: tuple[Step, ...]

    def _format(self) -> str:
        return path_text(self.steps, "/" if self.absolute else "")


@dataclass(frozen=True, slots=True, eq=False)
class FilterPath(Node):
    """A path that starts from an expression: ``(//a)[3]/b``, ``id('x')/name``."""

    primary: Expr
    predicates: tuple[Expr, ...] = ()
    steps: tuple[Step, ...] = ()

    def _format(self) -> str:
        primary = _operand(self.primary, _PRIMARY)
        head = primary + "".join([f"[{p}]" for p in self.predicates])
        return f"{head}{path_text(self.steps, '/')}" if self.steps else head


@dataclass(frozen=True, slots=True, eq=False)
class Union(Node):
    """``a | b | c``; never nested directly in another union."""

    parts: tuple[Expr, ...]

    def _format(self) -> str:
        return " | ".join([_operand(p, _PATH) for p in self.parts])


@dataclass(frozen=True, slots=True, eq=False)
class Binary(Node):
    """``left op right``, with the operators of `PRECEDENCE`; all of them associate to the left."""

    op: str
    left: Expr
    right: Expr

    def _format(self) -> str:
        strength = PRECEDENCE[self.op]
        row, left = [_operand(self.right, strength + 1)], self.left
        while isinstance(left, Binary) and left.op == self.op:  # whose texts nobody asks for
            row.append(_operand(left.right, strength + 1))
            left = left.left
        text, between = _operand(left, strength), f" {self.op} "
        if not text.endswith("/") and not any(one.endswith("/") for one in row[1:]):
            return between.join([text, *reversed(row)])
        # A lone "/" would take the operator for its first step: "/ or a" is the path "/or" and "a".
        for right in reversed(row):
            text = f"({text}){between}{right}" if text.endswith("/") else f"{text}{between}{right}"
        return text


@dataclass(frozen=True, slots=True, eq=False)
class Negate(Node):
    """``-operand``."""

    operand: Expr

    def _format(self) -> str:
        # libxml2 counts minus signs modulo 2, so that "---x" has one; "-(-(-x))" keeps all three.
        return f"-{_operand(self.operand, _UNION)}"


@dataclass(frozen=True, slots=True, eq=False)
class FunctionCall(Node):
    """``name(argument, …)``."""

    name: str
    arguments: tuple[Expr, ...] = ()
    prefix: str = ""

    def _format(self) -> str:
        name = f"{self.prefix}:{self.name}" if self.prefix else self.name
        return f"{name}({', '.join([str(a) for a in self.arguments])})"


@dataclass(frozen=True, slots=True, eq=False)
class StringLiteral(Node):
    """A quoted string."""

    value: str

    def _format(self) -> str:
        return quote(self.value)


@dataclass(frozen=True, slots=True, eq=False)
class Number(Node):
    """A number as written; libxml2's conversion of digits is its own (TRAPS 2), so they stay."""

    text: str

    def _format(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, eq=False)
class Variable(Node):
    """``$name``. Parsed, so that the error can say what it is; nothing binds variables here."""

    name: str
    prefix: str = ""

    def _format(self) -> str:
        return f"${self.prefix}:{self.name}" if self.prefix else f"${self.name}"


@dataclass(frozen=True, slots=True, eq=False)
class Parameter(Node):
    """A literal of a template, whose value each member of the template has for itself.

    Its text is that of a variable, ``$string1`` or ``$number2``, and libxml2 gives the member's
    answer where the variable has the member's value: see `extract.xpath.parameters`.

    Attributes:
        index: Its number among the parameters of the template, from 0.
        type: Its type.
        value: The constant of one member, where the order of filters depends on it; else None.
    """

    index: int
    type: ParameterType
    value: str | None = None

    @property
    def name(self) -> str:
        """The name of the variable."""
        return f"{self.type}{self.index + 1}"

    def _format(self) -> str:
        return f"${self.name}"


Expr: TypeAlias = (
    LocationPath
    | FilterPath
    | Union
    | Binary
    | Negate
    | FunctionCall
    | StringLiteral
    | Number
    | Variable
    | Parameter
)

initialise_in_c(NameTest, KindTest, Step, LocationPath, FilterPath, Union, Binary)
initialise_in_c(Negate, FunctionCall, StringLiteral, Number, Variable, Parameter)

_SHARED: Final = 1 << 16  # how many equal nodes are kept as one


@lru_cache(maxsize=_SHARED)
def name_test(local: str, prefix: str = "") -> NameTest:
    """A `NameTest`; equal ones are mostly one object, which makes them quick to compare."""
    return NameTest(local, prefix)


@lru_cache(maxsize=_SHARED)
def make_step(axis: Axis, test: NodeTest, predicates: tuple[Expr, ...] = ()) -> Step:
    """A `Step`; equal ones are mostly one object, which makes them quick to compare."""
    return Step(axis, test, predicates)


@lru_cache(maxsize=_SHARED)
def make_path(absolute: bool, steps: tuple[Step, ...]) -> LocationPath:
    """A `LocationPath`; equal ones are mostly one object, which makes them quick to compare."""
    return LocationPath(absolute, steps)


@lru_cache(maxsize=_SHARED)
def make_parameter(index: int, kind: ParameterType) -> Parameter:
    """A `Parameter` without a value; equal ones are mostly one object."""
    return Parameter(index, kind)


def forget_shared() -> None:
    """Forgets which nodes are kept as one; equal ones that are made later are other objects.

    For a process that runs for months while queries come and go: the nodes of queries that are long
    gone would take one to two KB each, of up to 65,536 queries.
    """
    for one in (name_test, make_step, make_path, make_parameter):
        one.cache_clear()


TRUE: Final = FunctionCall("true")
FALSE: Final = FunctionCall("false")


def quote(value: str) -> str:
    """An XPath literal for ``value``, which may hold one kind of quote but not both.

    >>> quote("it's"), quote("x")
    ('"it\\'s"', "'x'")
    """
    return f'"{value}"' if "'" in value else f"'{value}'"


def path_text(steps: tuple[Step, ...], start: str) -> str:
    """The steps as text after ``start``, with ``//`` where it abbreviates.

    >>> path_text((ANY_DEPTH, Step("child", NameTest("a"))), "/")
    '//a'
    """
    for step in steps:
        if step.axis == "descendant-or-self":
            break
    else:
        if not steps:
            return start
        text = "/".join(map(str, steps))
        return f"{start.removesuffix('/')}/{text}" if start else text
    out, slash = [start.removesuffix("/")], "/" if start else ""
    last = len(steps) - 1
    for i, step in enumerate(steps):
        if step.axis == "descendant-or-self" and slash == "/" and i < last and step == ANY_DEPTH:
            slash = "//"
        else:
            out.append(f"{slash}{step}")
            slash = "/"
    return "".join(out) if steps else start


def union(parts: tuple[Expr, ...]) -> Expr:
    """The union of node sets; of just one, that one."""
    flat: list[Expr] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Union) else (part,))
    return flat[0] if len(flat) == 1 else Union(tuple(flat))


MAX_ROW: Final = 32  # operands of "or" or "and" that are left as a row


def chain(op: str, operands: list[T], join: Callable[[T, T], T]) -> T:
    """``a op b op c``, joined from the left as the grammar says.

    A row of more than `MAX_ROW` operands of ``or`` or ``and`` is halved until its pieces are short:
    the value is the same, the operands keep their order, and the tree does not get deep.

    >>> chain("or", ["a", "b", "c"], "({} or {})".format)
    '((a or b) or c)'
    """
    if op in ("or", "and") and len(operands) > MAX_ROW:
        return _halved(operands, join)
    return reduce(join, operands)


def _halved(operands: list[T], join: Callable[[T, T], T]) -> T:
    # As text, a row of half as many operands as allowed and a group for each halving: read again,
    # it is short enough to be left alone.
    if len(operands) <= MAX_ROW // 2:
        return reduce(join, operands)
    middle = len(operands) // 2
    return join(_halved(operands[:middle], join), _halved(operands[middle:], join))


def _strength(expr: Expr) -> int:
    if isinstance(expr, Binary):
        return PRECEDENCE[expr.op]
    if isinstance(expr, Negate):
        return _UNARY
    if isinstance(expr, Union):
        return _UNION
    if isinstance(expr, (LocationPath, FilterPath)):
        return _PATH
    return _PRIMARY


def _operand(expr: Expr, strength: int) -> str:
    """``expr`` as text, in parentheses where an operator of this strength would tear it apart."""
    return f"({expr})" if _strength(expr) < strength else str(expr)
