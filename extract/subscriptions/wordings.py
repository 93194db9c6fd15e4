"""Reads queries: from the text of each to its template, its constants, and how it is written.

The first query of a shape is parsed. Of each further one the tokens are looked up, and its
constants taken out: `wording_index` does that by the text, and for texts that differ in white space
or quotes their tokens (`extract.xpath.tokens`) are looked up here.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from extract.errors import QuerySyntaxError
from extract.limits import DEFAULTS, Limits
from extract.subscriptions.bindings import Bindings, bindings_of
from extract.subscriptions.columns import TextColumn
from extract.subscriptions.members import template_of
from extract.subscriptions.native import native_tokens
from extract.subscriptions.records import Records
from extract.subscriptions.wording_index import Classes, Match, literal_order, wording_index
from extract.xpath.check import parse_checked
from extract.xpath.parameters import QueryShape, filled, placeholder_starts, shape_of
from extract.xpath.reference_tables import KnownTables, no_tables
from extract.xpath.tokens import Literal, Tokens, length_limit_passed, tokenise

BLANK: Final = "\x01"  # in a wording, for the value of each parameter; no query has this character


class ShapedByConstants(Exception):
    """A query cannot share a template, for its constants decide on its shape."""


class Resolution(NamedTuple):
    """The template of a query.

    Attributes:
        template: Its number.
        xpath: Its canonical text, in which parameters are variables.
        classes: The parameters whose constants must have the same order in all members, by class.
        relative: Whether the query was made absolute.
    """

    template: int
    xpath: str
    classes: tuple[tuple[int, ...], ...] = ()
    relative: bool = False


class Resolver(Protocol):
    """Numbers the templates of queries."""

    def __call__(self, shape: QueryShape, namespaces: Mapping[str, str]) -> Resolution:
        """Returns the template of a query.

        Args:
            shape: The query.
            namespaces: What its prefixes stand for.

        Raises:
            ShapedByConstants: The query has parameters, and must be given again without any.
        """


class ReadQueries(NamedTuple):
    """The outcome of reading many queries.

    Attributes:
        records: For each its wording, `NO_WORDING` if it is rejected or passed over, and a record.
        errors: Why a query is rejected, by position.
        passed_over: The positions of texts that are no XPath, and were to be passed over.
    """

    records: Records
    errors: dict[int, QuerySyntaxError]
    passed_over: list[int]


class _Family(NamedTuple):
    """What expressions with the same tokens have in common: see `wording_index`."""

    roles: tuple[bool, ...]
    classes: Classes


class WordingNumbers:
    """Numbers the texts in which templates are written.

    A query that is written in the canonical form of its template has the template's number as its
    code; any other has ``-1 - number``, with the number of its wording.

    Attributes:
        templates: For each wording its template.
        texts: For each wording its text, with `BLANK` for each parameter.
    """

    def __init__(self) -> None:
        self.templates = array("i")
        self.texts: list[str] = []
        self._numbers: dict[tuple[int, str], int] = {}

    def code(self, template: int, text: str) -> int:
        """The code for a text with `BLANK` for each parameter; an empty one is canonical."""
        if not text:
            return template
        number = self._numbers.setdefault((template, text), len(self.texts))
        if number == len(self.texts):
            self.templates.append(template)
            self.texts.append(text)
        return -1 - number

    def code_of(
        self, template: int, canonical: str, xpath: str, tokens: Tokens, roles: Sequence[bool]
    ) -> tuple[int, tuple[str, ...]]:
        """The code of a query, and its constants.

        Args:
            template: The number of its template.
            canonical: The canonical text of the template.
            xpath: The query as written.
            tokens: Its tokens.
            roles: For each of its literals, whether it is a parameter: see `roles_of`.

        Raises:
            ValueError: It has other literals.
        """
        pairs = zip(tokens.literals, roles, strict=True)
        constants = tuple([literal.value for literal, role in pairs if role])
        if filled(canonical, constants) == xpath:
            return template, constants
        return self.code(template, _blanked(xpath, tokens.literals, roles)), constants

    def template_of(self, code: int) -> int:
        """The template of a query."""
        return template_of(code, self.templates)

    def written(self, code: int, canonical: str, constants: Sequence[str]) -> str:
        """The text of a query as it is written.

        Args:
            code: Its code.
            canonical: The canonical text of its template.
            constants: Its constants.
        """
        return written(self.texts[~code] if code < 0 else "", canonical, constants)


class Wordings(WordingNumbers):
    """Reads queries, and learns how templates are written.

    Args:
        resolve: Numbers the templates.
        limits: How long and deep a query may be.
        tables: The tables that queries may join.

    Attributes:
        relative: The codes of queries that were made absolute.
    """

    def __init__(
        self, resolve: Resolver, limits: Limits | None = None, tables: KnownTables = no_tables
    ) -> None:
        super().__init__()
        self.relative: set[int] = set()
        self._resolve = resolve
        self._limits = limits or DEFAULTS
        self._tables = tables
        self._index = wording_index(self._limits)
        self._native = native_tokens()  # which looks at the environment each time
        self._scopes: dict[frozenset[tuple[str, str]], int] = {frozenset(): 0}
        self._families: dict[tuple[int, bytes], _Family] = {}
        self._known: dict[tuple[int, bytes, tuple[str, ...], tuple[int, ...]], Resolution] = {}

    def read(self, xpath: str, namespaces: Mapping[str, str]) -> Match:
        """Reads a query.

        Returns:
            Its code, and its constants.

        Raises:
            QuerySyntaxError: It cannot be evaluated.
        """
        scope = self._scope(namespaces)
        match = self._index.find(xpath, scope)
        if match is None:
            self._learn(xpath, namespaces, scope)
            match = self._index.find(xpath, scope)
            assert match is not None
        return match

    def read_all(
        self,
        xpaths: TextColumn,
        ids: TextColumn,
        namespaces: Bindings,
        is_other: Callable[[str], bool] = lambda _: False,
    ) -> ReadQueries:
        """Reads many queries; one that cannot be evaluated does not stop the others.

        Args:
            xpaths: The queries.
            ids: Their ids.
            namespaces: What their prefixes stand for.
            is_other: Whether to pass over a text that no known template has.
        """
        scopes = self._all_scopes(namespaces)
        errors: dict[int, QuerySyntaxError] = {}
        passed_over: list[int] = []

        def learn(position: int) -> bool:
            text = xpaths.text(position)
            if is_other(text):
                passed_over.append(position)
                return False
            scope = scopes[position if len(scopes) > 1 else 0]
            try:
                self._learn(text, bindings_of(namespaces, position), int(scope))
            except QuerySyntaxError as error:
                # Its traceback would keep all that is at work here, in a circle.
                errors[position] = error.with_traceback(None)
                return False
            return True

        records = self._index.find_all(xpaths, ids, scopes, learn)
        return ReadQueries(records, errors, passed_over)

    def _all_scopes(self, namespaces: Bindings) -> NDArray[np.int32]:
        """The scopes of many queries; one for all if they see the same namespaces."""
        if isinstance(namespaces, Mapping):
            return np.array([self._scope(namespaces)], np.int32)
        scopes: dict[int, int] = {}  # many queries share one dictionary
        for one in namespaces:
            if id(one) not in scopes:
                scopes[id(one)] = self._scope(one)
        return np.array([scopes[id(one)] for one in namespaces], np.int32)

    def _scope(self, namespaces: Mapping[str, str]) -> int:
        """A number for some bindings; equal ones have one number."""
        if not namespaces:
            return 0
        return self._scopes.setdefault(frozenset(namespaces.items()), len(self._scopes))

    def _learn(self, xpath: str, namespaces: Mapping[str, str], scope: int) -> None:
        """Learns the wording of a query that the index does not know."""
        passed = length_limit_passed(xpath, self._limits)
        tokens = None if passed else _tokens_of(xpath, self._native)
        key = b"" if tokens is None else tokens.key
        scoped = scope if b":" in key or b"\x13" in key else 0
        family = self._families.get((scoped, key))
        resolution = None
        if family is not None and tokens is not None:
            resolution = self._known.get((scoped, key, *_shape(tokens.literals, family)))
        if resolution is None or family is None or tokens is None:
            literals = tokens is None or bool(tokens.literals)
            family, resolution = self._parsed(xpath, namespaces, literals)
            if tokens is None:
                raise AssertionError(f"{xpath!r} parses, and has no tokens")
            if tokens.literals:
                self._families[scoped, key] = family
                self._known[scoped, key, *_shape(tokens.literals, family)] = resolution
        code, _ = self.code_of(resolution.template, resolution.xpath, xpath, tokens, family.roles)
        if resolution.relative:
            self.relative.add(code)
        self._index.learn(xpath, scope, family.roles, family.classes, code)

    def _parsed(
        self, xpath: str, namespaces: Mapping[str, str], literals: bool
    ) -> tuple[_Family, Resolution]:
        """Parses a query, which may have literals or not."""
        expression = parse_checked(xpath, namespaces, self._limits, self._tables)
        shape = shape_of(expression) if literals else QueryShape(expression, (), ())
        try:
            resolution = self._resolve(shape, namespaces)
        except ShapedByConstants:
            shape = QueryShape(expression, (False,) * len(shape.roles), shape.values)
            resolution = self._resolve(shape, namespaces)
        places = [place for place, role in enumerate(shape.roles) if role]
        classes = tuple([tuple([places[n] for n in several]) for several in resolution.classes])
        return _Family(shape.roles, classes), resolution


def written(text: str, canonical: str, constants: Sequence[str]) -> str:
    """The text of a query as it is written.

    Args:
        text: Its wording; empty for the canonical one.
        canonical: The canonical text of its template.
        constants: Its constants.

    >>> written(f'a [b="{BLANK}"]', "/a[b = $string1]", ["x"]), written("", "/a[b = $string1]", "x")
    ('a [b="x"]', "/a[b = 'x']")
    """
    if not text:
        return filled(canonical, constants)
    parts = text.split(BLANK)
    out = [parts[0]]
    for constant, part in zip(constants, parts[1:], strict=True):
        out += (constant, part)
    return "".join(out)


def roles_of(canonical: str) -> tuple[bool, ...]:
    """For each literal of a template's queries, whether it is a parameter.

    >>> roles_of("/a[b = $string1][3]/c[d > -$number2]")
    (True, False, True)
    """
    tokens = tokens_of(canonical)
    if tokens is None:
        raise ValueError("a template that has no tokens")
    places = [(literal.start, False) for literal in tokens.literals]
    places += [(start, True) for start in placeholder_starts(canonical)]
    return tuple([role for _, role in sorted(places)])


def tokens_of(text: str) -> Tokens | None:
    """The tokens of an expression, read in C where that was compiled."""
    return _tokens_of(text, native_tokens())


def _tokens_of(text: str, native: Any) -> Tokens | None:
    """The tokens of an expression, read by a module in C if there is one."""
    if native is None:
        return tokenise(text)
    tokens = native.tokenise(text)
    if tokens is None:
        return None
    key, literals = tokens
    return Tokens(key, tuple([Literal(*literal) for literal in literals]))


def _shape(literals: Sequence[Literal], family: _Family) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """What of the literals belongs to the template: the values of some, and the order of others."""
    pairs = zip(literals, family.roles, strict=True)
    values = tuple([literal.value for literal, role in pairs if not role])
    return values, literal_order(literals, family.classes)


def _blanked(xpath: str, literals: Sequence[Literal], roles: Sequence[bool]) -> str:
    """The text with `BLANK` for each parameter."""
    parts: list[str] = []
    start = 0
    for literal, role in zip(literals, roles, strict=True):
        if role:
            parts += (xpath[start : literal.start], BLANK)
            start = literal.start + len(literal.value)
    return "".join((*parts, xpath[start:]))
