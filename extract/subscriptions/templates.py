"""Templates: a subscription is a shape and its constants.

Queries that differ in nothing but the values of parameters are members of one template, whatever
their white space, quotes and abbreviations:

>>> templates = Templates()
>>> templates.add("/stock[symbol = 'YHOO' and price > 50]", name="q1")
Member(template=0, constants=('YHOO', '50'))
>>> templates.add('/child::stock[symbol="IBM"and price>99.5]', name="q2")
Member(template=0, constants=('IBM', '99.5'))
>>> templates[0].text
'/stock[symbol = $string1 and price > $number2]'
>>> templates[0].query(["it's", "1e3"])
'/stock[symbol = "it\\'s" and price > 1e3]'
>>> templates.members(0).ids.text(1)
'q2'

Which literals are parameters says `extract.xpath.parameters`. The first query of a shape is parsed;
for each further one its tokens are looked up, and its constants are added to the columns of the
template's members.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extract.errors import QuerySyntaxError
from extract.limits import DEFAULTS, Limits
from extract.subscriptions.columns import TextColumn
from extract.subscriptions.members import Members, MemberStore
from extract.subscriptions.model import Subscriptions
from extract.subscriptions.template_index import template_index
from extract.xpath.ast import Expr
from extract.xpath.check import parse_checked
from extract.xpath.later import FIRST, parse_later
from extract.xpath.parameters import parameter_types, parse_shape, shape_of, with_constants
from extract.xpath.traverse import prefixes_in

_LITERAL: Final = re.compile("[\"'0-9]")


@dataclass(frozen=True, slots=True)
class Template:
    """The shape that some queries share.

    Attributes:
        text: The canonical text of the shape, in which a parameter is a variable; in a later
            version of XPath the query as it is written, which has no parameters.
        parameters: The types of the parameters.
        namespaces: What the prefixes of the text stand for, sorted by prefix.
        version: The version of XPath.
    """

    text: str
    parameters: tuple[Literal["string", "number"], ...] = ()
    namespaces: tuple[tuple[str, str], ...] = ()
    version: str = FIRST

    def expression(self) -> Expr:
        """The shape as values: parsed each time, because a text takes less memory.

        Raises:
            ValueError: It is in a later version of XPath.
        """
        if self.version != FIRST:
            raise ValueError(f"a query in XPath {self.version} has no expression here")
        return parse_shape(self.text)

    def query(self, constants: Sequence[str]) -> str:
        """The query that has these constants.

        Args:
            constants: For each parameter the string, without quotes and with one kind of them at
                most, or the number as the query has it written.
        """
        if len(constants) != len(self.parameters):
            raise ValueError(f"{len(constants)} constants for {len(self.parameters)} parameters")
        return str(with_constants(self.expression(), constants)) if constants else self.text


class Member(NamedTuple):
    """One query of a template.

    Attributes:
        template: The number of the template.
        constants: Its constants as they are written, strings without quotes.
    """

    template: int
    constants: tuple[str, ...]


class Added(NamedTuple):
    """The outcome of adding many queries.

    Attributes:
        templates: For each query the number of its template; -1 if it was rejected.
        errors: Why a query was rejected, by position.
    """

    templates: NDArray[np.int32]
    errors: dict[int, QuerySyntaxError]


class Templates:
    """The templates of some queries, numbered in the order of their first members.

    Args:
        limits: How long and deep a query may be.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or DEFAULTS
        self._templates: list[Template] = []
        self._numbers: dict[Template, int] = {}
        self._index = template_index(self._limits.xpath_chars)
        self._scopes: dict[frozenset[tuple[str, str]], int] = {frozenset(): 0}
        self._store = MemberStore()

    def __len__(self) -> int:
        return len(self._templates)

    def __iter__(self) -> Iterator[Template]:
        return iter(self._templates)

    def __getitem__(self, number: int) -> Template:
        return self._templates[number]

    def add(
        self,
        xpath: str,
        namespaces: Mapping[str, str] | None = None,
        name: str = "",
        version: str = FIRST,
    ) -> Member:
        """Adds a query.

        Args:
            xpath: The query.
            namespaces: What its prefixes stand for.
            name: The id by which it is known among the members of its template.
            version: The version of XPath.

        Raises:
            QuerySyntaxError: It cannot be evaluated; nothing was added.
        """
        bound = namespaces or {}
        scope = self._scope(bound)
        if version != FIRST:
            member = Member(self._add_later(xpath, bound, version), ())
        else:
            match = self._index.find(xpath, scope)
            if match is None:
                self._learn(xpath, bound, scope)
                match = self._index.find(xpath, scope)
                assert match is not None
            member = Member(*match)
        self._store.append(member.template, name, member.constants)
        return member

    def add_all(
        self,
        xpaths: TextColumn | Sequence[str],
        ids: TextColumn | Sequence[str],
        namespaces: Mapping[str, str] | None = None,
        version: str = FIRST,
    ) -> Added:
        """Adds many queries; one that cannot be evaluated does not stop the others.

        Such a query takes a row of its own all the same, so that rows and queries count alike.

        Args:
            xpaths: The queries.
            ids: For each the id by which it is known.
            namespaces: What their prefixes stand for.
            version: Their version of XPath.
        """
        texts = xpaths if isinstance(xpaths, TextColumn) else TextColumn.of(xpaths)
        names = ids if isinstance(ids, TextColumn) else TextColumn.of(ids)
        if len(texts) != len(names):
            raise ValueError(f"{len(texts)} queries and {len(names)} ids")
        bound = namespaces or {}
        if version != FIRST:
            return self._add_all_later(texts, names, bound, version)
        scope = self._scope(bound)
        errors: dict[int, QuerySyntaxError] = {}

        def learn(position: int) -> None:
            try:
                self._learn(texts.text(position), bound, scope)
            except QuerySyntaxError as error:
                errors[position] = error

        records = self._index.find_all(texts, names, scope, learn)
        self._store.extend(records)
        return Added(records.templates, errors)

    def add_subscriptions(self, subscriptions: Subscriptions) -> Added:
        """Adds all queries of a file or list, each in its namespaces and version."""
        blocks = [np.empty(0, np.int32)]
        errors: dict[int, QuerySyntaxError] = {}
        start = 0
        for block in subscriptions.blocks():
            added = self.add_all(block.xpaths, block.ids, block.namespaces, block.version)
            errors.update((start + position, error) for position, error in added.errors.items())
            blocks.append(added.templates)
            start += len(block)
        return Added(np.concatenate(blocks), errors)

    def row(self, row: int) -> tuple[str, Member | None]:
        """The id of the query that was added as the n-th, from 0, and its member; None if none."""
        name, *constants = self._store.fields(row)
        template = self._store.template_of(row)
        return name, None if template < 0 else Member(template, tuple(constants))

    def members(self, number: int) -> Members:
        """The members of a template, as columns."""
        return self._store.members(number, self._templates[number].parameters)

    def counts(self) -> NDArray[np.int64]:
        """For each template how many members it has."""
        return self._store.counts(len(self._templates))

    def _scope(self, namespaces: Mapping[str, str]) -> int:
        """A number for some bindings; equal ones have one number."""
        if not namespaces:
            return 0
        return self._scopes.setdefault(frozenset(namespaces.items()), len(self._scopes))

    def _learn(self, xpath: str, namespaces: Mapping[str, str], scope: int) -> None:
        """Parses the first query of a shape."""
        expression = parse_checked(xpath, namespaces, self._limits)
        roles: tuple[bool, ...] = ()
        types: tuple[Literal["string", "number"], ...] = ()
        if _LITERAL.search(xpath):
            expression, roles, _ = shape_of(expression)
            types = parameter_types(expression)
        used = prefixes_in(expression) - {"xml"} if namespaces else ()
        bound = tuple(sorted((prefix, namespaces[prefix]) for prefix in used))
        number = self._number(Template(str(expression), types, bound))
        self._index.learn(xpath, scope, roles, number)

    def _add_all_later(
        self, texts: TextColumn, names: TextColumn, namespaces: Mapping[str, str], version: str
    ) -> Added:
        templates = np.full(len(texts), -1, np.int32)
        errors: dict[int, QuerySyntaxError] = {}
        for position, (text, name) in enumerate(zip(texts, names, strict=True)):
            try:
                templates[position] = self._add_later(text, namespaces, version)
            except QuerySyntaxError as error:
                errors[position] = error
            self._store.append(int(templates[position]), name, ())
        return Added(templates, errors)

    def _add_later(self, xpath: str, namespaces: Mapping[str, str], version: str) -> int:
        """The template of a query in a later version of XPath, which has no parameters."""
        text = xpath.strip(" \t\r\n")
        parse_later(xpath, version, namespaces, self._limits)
        used = sorted((p, uri) for p, uri in namespaces.items() if f"{p}:" in text)
        return self._number(Template(text, (), tuple(used), version))

    def _number(self, template: Template) -> int:
        number = self._numbers.setdefault(template, len(self._templates))
        if number == len(self._templates):
            self._templates.append(template)
        return number


@dataclass(frozen=True, slots=True, eq=False)
class TemplateCounts:
    """How many templates some subscriptions have, and how many share each.

    Attributes:
        templates: The number of templates.
        rejected: The number of subscriptions that have none, for they cannot be evaluated.
        sizes: For each subscription, in its order, how many have its template, itself included; 0
            if it has none.
    """

    templates: int
    rejected: int
    sizes: NDArray[np.int64]


def template_counts(subscriptions: Subscriptions, limits: Limits | None = None) -> TemplateCounts:
    """Counts the templates of some subscriptions.

    >>> counts = template_counts(Subscriptions.of(["//a[b = 1]", "//a[ b=2 ]", "//a", "//a["]))
    >>> counts.templates, counts.rejected, counts.sizes.tolist()
    (2, 1, [2, 2, 1, 0])
    """
    templates = Templates(limits)
    added = templates.add_subscriptions(subscriptions)
    sizes = np.append(templates.counts(), 0)[added.templates]  # the last one for those with none
    return TemplateCounts(len(templates), len(added.errors), sizes)
