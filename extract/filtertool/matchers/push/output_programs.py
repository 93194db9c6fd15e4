"""Results of FLWR queries as programs, by which the engine writes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from extract.filtertool.matchers.push.conditions import Cell, NameNumbers
from extract.filtertool.matchers.push.literals import shifted
from extract.filtertool.matchers.push.order_claims import OrderClaims
from extract.filtertool.matchers.push.translator import Translator
from extract.filtertool.matchers.push.words import PathWords
from extract.flwr.ast import Characters, Content, ElementConstructor, Enclosed, Loop, Markup
from extract.flwr.names import expanded_name
from extract.flwr.query import FlwrQuery, enclosed
from extract.markup.escape import escaped_text, escaped_value
from extract.subscriptions.constants import Constants
from extract.xpath.ast import (
    HERE,
    Expr,
    FunctionCall,
    LocationPath,
    NameTest,
    ParameterType,
    Step,
    StringLiteral,
)
from extract.xpath.parameters import parameter_types, shape_of
from extract.xpath.traverse import children

# Operations, as in ``outputs.h``.
_WRITE, _COPY, _VALUES, _STRING, _NUMBER, _SPECIFY, _KEY = range(7)
# Kinds of keys of an order.
KEY_FIRST, KEY_STRING, KEY_NUMBER, KEY_COUNT = range(4)
# What marks the parts of results with their keys: no character of XML.
BINDING, KEY, RESULT = b"\x01", b"\x02", b"\x03"
_IN_ORDER: Final = 2  # beside 1 for an absolute path
_UNNUMBERED: Final = -1  # a path; the engine numbers it
_LARGEST: Final = (1 << 31) - 1


class OutputProgram(NamedTuple):
    """How the engine writes the result of a query.

    Attributes:
        words: The operations.
        text: The characters that they write.
        cells: The constants of conditions, and which of `values` they are.
        types: The types of `values`.
        values: The constants of the query, as they are written.
        texts: Whether it looks at text nodes.
        stays_below: Whether it looks at nothing but what is below each bound node.
    """

    words: tuple[int, ...]
    text: bytes
    cells: tuple[Cell, ...]
    types: tuple[ParameterType, ...]
    values: tuple[str, ...]
    texts: bool
    stays_below: bool

    def with_values(self, constants: Sequence[str], sources: Sequence[int]) -> OutputProgram:
        """The program of a query with other constants.

        Args:
            constants: These.
            sources: For each of `values` the number of its constant; -1: it stays.
        """
        pairs = zip(self.values, sources, strict=True)
        values = [constants[n] if n >= 0 else value for value, n in pairs]
        return self._replace(values=tuple(values))

    @property
    def frame(self) -> tuple[bytes, bytes]:
        """What comes before and behind the results of all bindings."""
        _, _, before, length, *_ = self.words
        behind, size = self.words[-2:]
        return self.text[before : before + length], self.text[behind : behind + size]

    @property
    def keys(self) -> tuple[tuple[int, bool], ...]:
        """For each key of its order the kind, and whether it descends."""
        return tuple([(kind, bool(down)) for _, (kind, down, *_) in self._keys()])

    @property
    def for_pieces(self) -> OutputProgram:
        """The program without frame, which writes keys in place of ordering by them.

        A binding is ``BINDING``, each key behind ``KEY``, and the result behind ``RESULT``. A key
        of kind `KEY_FIRST` has a count of nodes before it. Without an order it is the result alone.
        """
        words, text = (*self.words[:3], 0, *self.words[4:-1], 0), self.text
        keys = list(self._keys())
        if not keys:
            return self._replace(words=words)
        begin, end = keys[0][0], keys[-1][0] + 2 + words[keys[-1][0] + 1]
        marks = {
            mark: (_WRITE, 2, len(text) + n, 1) for n, mark in enumerate((BINDING, KEY, RESULT))
        }
        written = [*marks[BINDING]]
        for _, (kind, _, *path) in keys:
            written += marks[KEY]
            if kind in (KEY_FIRST, KEY_COUNT):
                written += (_NUMBER, len(path), *path)
            if kind == KEY_FIRST:
                written += marks[KEY]
            if kind != KEY_COUNT:
                written += (_STRING, len(path) + 1, 0, *path)
        words = (*words[:begin], *written, *marks[RESULT], *words[end:])
        return self._replace(words=words, text=text + BINDING + KEY + RESULT)

    def _keys(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Where the keys of its order stand in the words, and their operands."""
        at = 2 + self.words[1]  # behind what comes before all results
        while self.words[at] == _KEY:
            yield at, self.words[at + 2 : at + 2 + self.words[at + 1]]
            at += 2 + self.words[at + 1]

    def constants(self) -> Constants | None:
        """The constants of the query, one row; None if there are none."""
        return Constants.of(self.types, [self.values]) if self.types else None


class _NotTaken(Exception):
    """The engine does not write such a result."""


def takes_bindings(query: FlwrQuery) -> bool:
    """Whether the engine writes results for what a query binds, if it finds that."""
    return query.rest is None and _binds_elements(query.binding)


def compile_output(
    query: FlwrQuery, names: NameNumbers, claims: OrderClaims | None
) -> OutputProgram | None:
    """The program for a query's result; None if the engine does not write such a one.

    Args:
        query: The query. Whatever it binds, the program is the same.
        names: Numbers the names in paths.
        claims: Says where nodes come in document order; None: nobody knows.
    """
    try:
        return _OutputCompiler(query, names, claims).program()
    except _NotTaken:
        return None


def _binds_elements(binding: Expr) -> bool:
    if not isinstance(binding, LocationPath) or not binding.steps:
        return False
    last = binding.steps[-1]
    return last.axis in ("child", "descendant") and isinstance(last.test, NameTest)


class _OutputCompiler:
    """Compiles one query."""

    def __init__(self, query: FlwrQuery, names: NameNumbers, claims: OrderClaims | None) -> None:
        self._query = query
        self._claims = claims
        types: list[ParameterType] = []
        values: list[str] = []
        shapes: list[Expr] = []
        for expr in query.bound:
            shape = shape_of(expr)
            shapes.append(shifted(shape.expression, len(types)))
            types += parameter_types(shape.expression)
            values += [one for one, role in zip(shape.values, shape.roles, strict=True) if role]
        self._types, self._values = tuple(types), tuple(values)
        empty = [n for n, one in enumerate(values) if types[n] == "string" and not one]
        self._translator = Translator(names, frozenset(empty))
        keys = len(query.loop.order)
        self._keys = shapes[:keys]
        inside = map(id, enclosed(query.loop.result))
        self._shapes = dict(zip(inside, shapes[keys:], strict=True))
        self._text = bytearray()
        self._words: list[int] = []
        self._pending = ""  # characters that are not written yet

    def program(self) -> OutputProgram:
        """Compiles the query."""
        query = self._query
        scope = dict(query.namespaces)
        if query.outer is None:
            self._loop(query.loop, scope, {})
        else:
            self._element(query.outer, scope, {})
        self._flush(always=True)
        cells = tuple(self._translator.cells)
        words, text, texts = tuple(self._words), bytes(self._text), self._translator.texts
        below = not any(map(_looks_elsewhere, query.bound))
        return OutputProgram(words, text, cells, self._types, self._values, texts, below)

    # -- characters

    def _put(self, text: str) -> None:
        self._pending += text

    def _flush(self, always: bool = False) -> None:
        """Writes an operation for pending characters."""
        data = self._pending.encode()
        if not data and not always:
            return
        if len(self._text) + len(data) > _LARGEST:
            raise _NotTaken
        self._words += (_WRITE, 2, len(self._text), len(data))
        self._text += data
        self._pending = ""

    # -- the loop

    def _loop(self, loop: Loop, scope: dict[str, str], declared: dict[str, str]) -> None:
        self._flush(always=True)
        for key, expr in zip(loop.order, self._keys, strict=True):
            kind, path = _key(expr)
            self._operation(_KEY, [kind, int(key.descending), *self._located(path)])
        self._element(loop.result, scope, declared)
        self._flush()

    # -- constructors

    def _element(
        self, element: ElementConstructor, scope: dict[str, str], declared: dict[str, str]
    ) -> None:
        scope, declared = {**scope, **dict(element.namespaces)}, dict(declared)
        uri, _ = expanded_name(element.name, scope)
        self._put(f"<{element.name}")
        prefix = element.name.rpartition(":")[0]
        wanted = {**dict(element.namespaces), **({prefix: uri} if prefix else {})}
        for attribute in element.attributes:
            own = attribute.name.rpartition(":")[0]
            if own:
                wanted[own] = expanded_name(attribute.name, scope)[0]
        for name, to in wanted.items():
            if name != "xml" and declared.get(name) != to:
                declared[name] = to
                self._put(f' xmlns{":" if name else ""}{name}="{escaped_value(to)}"')
        for attribute in element.attributes:
            self._put(f' {attribute.name}="')
            for part in attribute.value:
                self._value(part)
            self._put('"')
        content = self._leading_attributes(element)
        if not content:
            self._put("/>")
            return
        self._put(">")
        for inner in content:
            self._content(inner, scope, declared)
        self._put(f"</{element.name}>")

    def _leading_attributes(self, element: ElementConstructor) -> tuple[Content, ...]:
        """Writes attributes that the content begins with; returns the rest of it."""
        names = {attribute.name for attribute in element.attributes}
        for number, inner in enumerate(element.content):
            expr = self._shapes.get(id(inner)) if isinstance(inner, Enclosed) else None
            if not isinstance(expr, LocationPath) or not _selects_attributes(expr):
                return element.content[number:]
            (step,) = expr.steps if len(expr.steps) == 1 else (HERE,)
            if not _is_plain_name(step) or expr.absolute or str(step.test) in names:
                raise _NotTaken  # there may be several of one name
            names.add(str(step.test))
            data = str(step.test).encode()
            self._flush()
            at = len(self._text)
            self._text += data
            self._operation(_SPECIFY, [at, len(data), *self._located(expr)])
        return ()

    def _content(self, content: Content, scope: dict[str, str], declared: dict[str, str]) -> None:
        if isinstance(content, Characters):
            self._put(escaped_text(content.value))
        elif isinstance(content, Markup):
            self._put(content.text)
        elif isinstance(content, ElementConstructor):
            self._element(content, scope, declared)
        elif isinstance(content, Loop):
            self._loop(content, scope, declared)
        else:
            self._enclosed(content, declared)

    def _enclosed(self, content: Enclosed, declared: dict[str, str]) -> None:
        expr = self._shape(content)
        if not isinstance(expr, LocationPath):
            self._single(expr, in_attribute=False)
            return
        if _selects_attributes(expr):
            raise _NotTaken
        self._operation(_COPY, [int(bool(declared.get(""))), *self._located(expr)])

    def _value(self, part: Characters | Enclosed) -> None:
        if isinstance(part, Characters):
            self._put(escaped_value(part.value))
            return
        expr = self._shape(part)
        if isinstance(expr, LocationPath):
            self._operation(_VALUES, self._located(expr))
        else:
            self._single(expr, in_attribute=True)

    def _single(self, expr: Expr, in_attribute: bool) -> None:
        """Writes a string or a number."""
        if isinstance(expr, StringLiteral):
            self._put((escaped_value if in_attribute else escaped_text)(expr.value))
            return
        if not isinstance(expr, FunctionCall) or expr.prefix or len(expr.arguments) != 1:
            raise _NotTaken
        argument = expr.arguments[0]
        if expr.name == "count":
            self._operation(_NUMBER, self._located(argument))
        elif expr.name == "string":
            self._operation(_STRING, [int(in_attribute), *self._located(argument)])
        else:
            raise _NotTaken

    # -- expressions

    def _shape(self, content: Enclosed) -> Expr:
        expr = self._shapes.get(id(content))
        if expr is None:  # around the loop
            raise _NotTaken
        return expr

    def _operation(self, operation: int, operands: list[int]) -> None:
        self._flush()
        self._words += (operation, len(operands), *operands)

    def _located(self, expr: Expr) -> list[int]:
        if not isinstance(expr, LocationPath) or (expr.absolute and not expr.steps):
            raise _NotTaken
        path, whole, exact = self._translator.path(expr, True)
        if path is None or not whole or not exact:
            raise _NotTaken
        absolute, *words = PathWords(self._translator.cells).located(path)
        claims, namespaces = self._claims, self._query.namespaces
        sorted_ = claims is not None and claims.in_order(expr, namespaces)
        return [_UNNUMBERED, absolute | _IN_ORDER * sorted_, *words]


def _key(expr: Expr) -> tuple[int, Expr]:
    """The kind of a key of an order, and its path."""
    if isinstance(expr, LocationPath):
        return KEY_FIRST, expr
    if isinstance(expr, FunctionCall) and not expr.prefix and len(expr.arguments) == 1:
        kinds = {"string": KEY_STRING, "number": KEY_NUMBER, "count": KEY_COUNT}
        if expr.name in kinds:
            return kinds[expr.name], expr.arguments[0]
    raise _NotTaken


def _looks_elsewhere(expr: Expr) -> bool:
    """Whether there is a path from the document node in an expression."""
    if isinstance(expr, LocationPath) and expr.absolute:
        return True
    return any(map(_looks_elsewhere, children(expr)))


def _selects_attributes(path: LocationPath) -> bool:
    return bool(path.steps) and path.steps[-1].axis == "attribute"


def _is_plain_name(step: Step) -> bool:
    test = step.test
    return (
        step.axis == "attribute"
        and not step.predicates
        and isinstance(test, NameTest)
        and not test.prefix
        and test.local != "*"
    )
