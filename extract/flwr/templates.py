"""FLWR queries as templates: texts that differ in constants are parsed once.

A text is divided at ``return`` into a head, which says what is bound, and a result, which says what
is made of it; many queries have the same of one and other ones of the other. Whatever looks like a
literal is cut out of both. When a head or a result is parsed for the first time, it is known which
of these are literals of expressions; those that are parameters may differ in further queries, and
all others must be the same.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Generic, NamedTuple, TypeVar

from extract.flwr.ast import ElementConstructor, Loop
from extract.flwr.expressions import MARK
from extract.flwr.parser import ParsedFlwr, parse_clauses
from extract.flwr.query import FlwrQuery, parse_with_literals
from extract.limits import DEFAULTS, Limits
from extract.xpath.ast import Expr, quote
from extract.xpath.names import NOT_XML
from extract.xpath.parameters import shape_of

_LITERAL: Final = re.compile(
    r"""("[^"]*"|'[^']*'|(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]*)?)"""
)
_BLANK: Final = "\x01"  # for a literal; no query has this character
_RETURN: Final = "return"
_NAMES: Final = frozenset("_.$@:/-")
_BEHIND: Final = frozenset(" \t\r\n<")
_SPACE: Final = " \t\r\n"
_MOST: Final = 1 << 17  # families of templates that are remembered

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, eq=False)
class FlwrHead:
    """What queries with other constants bind.

    Attributes:
        query: The first of them.
        environment: Heads with the same number bind the same variables, to what results may use,
            and order bindings alike.
    """

    query: FlwrQuery
    environment: int
    _parts: tuple[str, ...] = ()
    _places: tuple[tuple[int, bool], ...] = ()  # the number of a constant, and if it is a string

    def xpath(self, constants: Sequence[str]) -> str:
        """The XPath that selects what a query binds; without its condition if `query.rest` is."""
        out = [self._parts[0]]
        for (number, is_string), part in zip(self._places, self._parts[1:], strict=True):
            out += (quote(constants[number]) if is_string else constants[number], part)
        return "".join(out)


@dataclass(frozen=True, slots=True, eq=False)
class FlwrResult:
    """What queries with other constants make of their bindings.

    Attributes:
        query: The first of them, whose head may be another one.
        sources: For each parameter of `query.bound` the number of the constant that it has; -1 if
            it has the same value in all of these queries.
    """

    query: FlwrQuery
    sources: tuple[int, ...] = ()


class ReadFlwr(NamedTuple):
    """A query, as its templates and their constants."""

    head: FlwrHead
    result: FlwrResult
    head_constants: tuple[str, ...] = ()
    result_constants: tuple[str, ...] = ()

    @property
    def xpath(self) -> str:
        """The XPath that selects what it binds."""
        return self.head.xpath(self.head_constants)


class FlwrReader:
    """Reads queries, and learns their templates.

    Args:
        limits: How long and deep a query may be.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or DEFAULTS
        self._scopes: dict[frozenset[tuple[str, str]], int] = {frozenset(): 0}
        self._environments: dict[Hashable, int] = {}
        self._heads: dict[tuple[int, str, str], _Family[FlwrHead]] = {}
        self._results: dict[tuple[int, str, str], _Family[FlwrResult]] = {}

    def read(self, text: str, namespaces: Mapping[str, str]) -> ReadFlwr:
        """Reads a query.

        Raises:
            QuerySyntaxError: It is none of the subset that is taken, or can only fail.
        """
        scope = 0
        if namespaces:
            scope = self._scopes.setdefault(frozenset(namespaces.items()), len(self._scopes))
        divided = _divided(text) if len(text) <= self._limits.xpath_chars else None
        if divided is None:
            return self._parsed(text, namespaces)
        head, result = divided
        heads = self._heads.get((scope, *head.key))
        own, constants = heads.member(head.literals) if heads is not None else (None, ())
        if own is None:
            return self._parsed(text, namespaces, scope, divided)
        results = self._results.get((own.environment, *result.key))
        if results is not None:
            made, others = results.member(result.literals)
            if made is not None:
                return ReadFlwr(own, made, constants, others)
        if result.literals:
            return self._parsed(text, namespaces, scope, divided)
        parsed, query = parse_with_literals(text, namespaces, self._limits)
        if not _is_divided_so(parsed, head):
            return _alone(query)
        made = FlwrResult(query)
        self._results[own.environment, *result.key] = _Family((), {(): made})
        return ReadFlwr(own, made, constants, ())

    def _parsed(
        self,
        text: str,
        namespaces: Mapping[str, str],
        scope: int = 0,
        divided: tuple[_Half, _Half] | None = None,
    ) -> ReadFlwr:
        """Parses a query, and learns its templates if it was divided."""
        if len(self._heads) + len(self._results) > _MOST:
            self._heads, self._results = {}, {}
        parsed, query = parse_with_literals(text, namespaces, self._limits)
        if divided is None or not _is_divided_so(parsed, divided[0]):
            return _alone(query)
        marked = FlwrQuery(text, namespaces, *_marked(text, self._limits))
        head, result = divided
        numbers = {(one.start, one.end): n for n, one in enumerate(parsed.literals)}
        in_head = [numbers.get(span) for span in head.spans(0)]
        behind = head.length + len(_RETURN)
        in_result = [numbers.get(span) for span in result.spans(behind)]
        loop = marked.loop
        around = _marks([*[one.expr for one in loop.lets], *[one.expr for one in loop.order]])
        roles = tuple([one is not None and one not in around for one in in_head])
        loop = query.loop
        environment = self._environment(scope, text[: loop.offset], loop)
        values = [one.value for one in parsed.literals]
        pattern = _pattern(str(marked.binding), values, _chosen(in_head, roles))
        heads = self._heads.setdefault((scope, *head.key), _Family(roles))
        of_head = heads.learn(head.literals, roles, FlwrHead(query, environment, *pattern))
        parameters = _parameters(marked)
        fixed = {mark for mark, role in parameters if not role}
        used = {mark for mark, _ in parameters} - fixed
        roles = tuple([one in used for one in in_result])
        chosen = _chosen(in_result, roles)
        sources = [chosen.index(m) if m in chosen else -1 for m, role in parameters if role]
        results = self._results.setdefault((environment, *result.key), _Family(roles))
        made = results.learn(result.literals, roles, FlwrResult(query, tuple(sources)))
        if of_head is None or made is None:
            return _alone(query)
        return ReadFlwr(of_head[0], made[0], of_head[1], made[1])

    def _environment(self, scope: int, text: str, loop: Loop) -> int:
        lets = tuple([(one.name, str(one.expr)) for one in loop.lets])
        order = tuple([(str(one.expr), one.descending) for one in loop.order])
        key = (scope, text, lets, order)
        return self._environments.setdefault(key, len(self._environments))


@lru_cache(maxsize=4)
def shared_reader(limits: Limits) -> FlwrReader:
    """A reader that whoever reads queries in this process may use."""
    return FlwrReader(limits)


# -- texts


class _Half(NamedTuple):
    """A part of a text, with `_BLANK` for what looks like a literal."""

    text: str
    literals: list[str]

    @property
    def key(self) -> tuple[str, str]:
        """The text, and which of its literals are strings."""
        literals = self.literals
        kinds = "".join(["s" if one[0] in "\"'" else "n" for one in literals]) if literals else ""
        return self.text, kinds

    @property
    def length(self) -> int:
        """The number of characters."""
        return len(self.text) - len(self.literals) + sum(map(len, self.literals))

    def spans(self, at: int) -> Iterator[tuple[int, int]]:
        """Where each literal starts and ends."""
        for part, literal in zip(self.text.split(_BLANK), self.literals, strict=False):
            at += len(part)
            yield at, at + len(literal)
            at += len(literal)


def _divided(text: str) -> tuple[_Half, _Half] | None:
    """What is before and behind ``return``; None if it is not to be seen where that is."""
    parts = _LITERAL.split(text)
    blanked = _BLANK.join(parts[::2])
    middle = blanked.find(_RETURN)
    while middle >= 0 and _in_name(blanked, middle, middle + len(_RETURN)):
        middle = blanked.find(_RETURN, middle + 1)
    if middle < 0 or blanked.count(_BLANK) != len(parts) // 2:
        return None
    head = blanked[:middle]
    count = head.count(_BLANK)
    literals = parts[1::2]
    behind = blanked[middle + len(_RETURN) :]
    return _Half(head, literals[:count]), _Half(behind, literals[count:])


def _in_name(text: str, start: int, end: int) -> bool:
    """Whether a word is only a part of a name, or of a path."""
    before, behind = text[max(0, start - 1) : start], text[end : end + 1]
    return before.isalnum() or before in _NAMES or behind not in _BEHIND


def _is_divided_so(parsed: ParsedFlwr, head: _Half) -> bool:
    return len(parsed.text[: parsed.result].rstrip(_SPACE)) == head.length + len(_RETURN)


# -- templates


def _alone(query: FlwrQuery) -> ReadFlwr:
    """A query that shares nothing with others."""
    return ReadFlwr(FlwrHead(query, -1, (str(query.binding),)), FlwrResult(query))


@dataclass(frozen=True, slots=True)
class _Family(Generic[_T]):
    """Texts that differ in what looks like a literal.

    Attributes:
        roles: For each of these whether it is a parameter.
    """

    roles: tuple[bool, ...]
    _members: dict[tuple[str, ...], _T] = field(default_factory=dict)

    def member(self, literals: Sequence[str]) -> tuple[_T | None, tuple[str, ...]]:
        """The template of a text, if it is known, and the constants of the text."""
        if not literals:
            return self._members.get(()), ()
        constants, fixed = self._sorted(literals)
        if constants is None:
            return None, ()
        return self._members.get(fixed), constants

    def learn(
        self, literals: Sequence[str], roles: tuple[bool, ...], template: _T
    ) -> tuple[_T, tuple[str, ...]] | None:
        """Takes a template in, unless it is known; returns it, and the constants of its text.

        None: a constant of the text is not what is written, or its literals have other roles.
        """
        constants, fixed = self._sorted(literals)
        if constants is None or roles != self.roles:
            return None
        return self._members.setdefault(fixed, template), constants

    def _sorted(self, literals: Sequence[str]) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
        """The constants, None if one of them has to be parsed; and what belongs to the shape."""
        constants: list[str] = []
        fixed: list[str] = []
        for literal, role in zip(literals, self.roles, strict=True):
            if not role:
                fixed.append(literal)
                continue
            constant = _constant(literal)
            if constant is None:
                return None, ()
            constants.append(constant)
        return tuple(constants), tuple(fixed)


def _constant(literal: str) -> str | None:
    """The value of a literal; None if that takes a parser."""
    if literal[0] not in "\"'":
        return None if literal[0] == "." else literal
    value = literal[1:-1]
    if "&" in value or not (value.isprintable() or NOT_XML.search(value) is None):
        return None
    return value


def _marked(text: str, limits: Limits) -> tuple[ElementConstructor | None, Loop]:
    parsed = parse_clauses(text, limits, marked=True)
    return parsed.outer, parsed.loop


def _marks(exprs: Iterable[Expr]) -> set[int]:
    """The numbers of marked literals."""
    return {int(mark) for expr in exprs for mark in MARK.findall(str(expr))}


def _chosen(numbers: Sequence[int | None], roles: Sequence[bool]) -> list[int]:
    pairs = zip(numbers, roles, strict=True)
    return [one for one, role in pairs if role and one is not None]


def _pattern(
    marked: str, values: Sequence[str], chosen: Sequence[int]
) -> tuple[tuple[str, ...], tuple[tuple[int, bool], ...]]:
    """The text of an expression around some of its literals, and which of these.

    Args:
        marked: The expression, with marks.
        values: The values of all literals.
        chosen: The numbers of these literals.
    """
    places: list[tuple[int, bool]] = []
    parts, end = [""], 0
    for mark in MARK.finditer(marked):
        parts[-1] += marked[end : mark.start()]
        number, is_string, end = int(mark[1]), mark[0][0] == "'", mark.end()
        if number in chosen:
            places.append((chosen.index(number), is_string))
            parts.append("")
        else:
            parts[-1] += quote(values[number]) if is_string else values[number]
    parts[-1] += marked[end:]
    return tuple(parts), tuple(places)


def _parameters(marked: FlwrQuery) -> list[tuple[int, bool]]:
    """The literals of `FlwrQuery.bound`, and whether each is a parameter there."""
    found: list[tuple[int, bool]] = []
    for expr in marked.bound:
        shape = shape_of(expr)
        for value, role in zip(shape.values, shape.roles, strict=True):
            mark = MARK.fullmatch(value)
            if mark:
                found.append((int(mark[1]), role))
    return found
