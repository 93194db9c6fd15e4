"""Templates: a subscription is a shape and its constants.

Queries that differ in nothing but the values of parameters are members of one template, whatever
their white space, quotes and abbreviations:

>>> templates = Templates()
>>> templates.add("/stock[symbol = 'YHOO' and price > 50]")
Member(template=0, constants=('YHOO', '50'))
>>> templates.add('/child::stock[symbol="IBM"and price>99.5]')
Member(template=0, constants=('IBM', '99.5'))
>>> templates[0].text
'/stock[symbol = $string1 and price > $number2]'
>>> templates[0].query(["it's", "1e3"])
'/stock[symbol = "it\\'s" and price > 1e3]'

Which literals are parameters says `extract.xpath.parameters`. `extract.preptool.registry` does the
same for the queries of a scheme, whose templates also have a normal form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extract.errors import QuerySyntaxError
from extract.limits import Limits
from extract.subscriptions.bindings import Bindings, bindings_of
from extract.subscriptions.columns import TextColumn
from extract.subscriptions.members import templates_of
from extract.subscriptions.model import Subscriptions
from extract.subscriptions.wording_index import NO_WORDING
from extract.subscriptions.wordings import Resolution, Wordings
from extract.xpath.ast import Expr, ParameterType
from extract.xpath.later import FIRST, parse_later
from extract.xpath.parameters import QueryShape, filled, parameter_types, parse_shape
from extract.xpath.traverse import prefixes_in


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
    parameters: tuple[ParameterType, ...] = ()
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
        return filled(self.text, constants) if constants else self.text


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
        self._limits = limits
        self._templates: list[Template] = []
        self._numbers: dict[Template, int] = {}
        self._wordings = Wordings(self._resolve, limits)

    def __len__(self) -> int:
        return len(self._templates)

    def __iter__(self) -> Iterator[Template]:
        return iter(self._templates)

    def __getitem__(self, number: int) -> Template:
        return self._templates[number]

    def add(
        self, xpath: str, namespaces: Mapping[str, str] | None = None, version: str = FIRST
    ) -> Member:
        """Adds a query.

        Args:
            xpath: The query.
            namespaces: What its prefixes stand for.
            version: The version of XPath.

        Raises:
            QuerySyntaxError: It cannot be evaluated; nothing was added.
        """
        bound = namespaces or {}
        if version != FIRST:
            return Member(self._add_later(xpath, bound, version), ())
        code, constants = self._wordings.read(xpath, bound)
        return Member(self._wordings.template_of(code), constants)

    def add_all(
        self,
        xpaths: TextColumn | Sequence[str],
        namespaces: Bindings | None = None,
        version: str = FIRST,
    ) -> Added:
        """Adds many queries; one that cannot be evaluated does not stop the others."""
        texts = xpaths if isinstance(xpaths, TextColumn) else TextColumn.of(xpaths)
        bound = namespaces or {}
        if version != FIRST:
            return self._add_all_later(texts, bound, version)
        nameless = np.zeros(len(texts), np.int64)
        ids = TextColumn(b"", nameless, nameless)
        records, errors, _ = self._wordings.read_all(texts, ids, bound)
        templates = np.full(len(texts), -1, np.int32)
        read = records.wordings != NO_WORDING
        templates[read] = templates_of(records.wordings[read], self._wordings.templates)
        return Added(templates, errors)

    def add_subscriptions(self, subscriptions: Subscriptions) -> Added:
        """Adds all queries of a file or list, each in its namespaces and version."""
        blocks = [np.empty(0, np.int32)]
        errors: dict[int, QuerySyntaxError] = {}
        start = 0
        for block in subscriptions.blocks():
            added = self.add_all(block.xpaths, block.namespaces, block.version)
            errors.update((start + position, error) for position, error in added.errors.items())
            blocks.append(added.templates)
            start += len(block)
        return Added(np.concatenate(blocks), errors)

    def _resolve(self, shape: QueryShape, namespaces: Mapping[str, str]) -> Resolution:
        """The template of the first query of a shape."""
        expression = shape.expression
        used = prefixes_in(expression) - {"xml"} if namespaces else ()
        bound = tuple(sorted((prefix, namespaces[prefix]) for prefix in used))
        text = str(expression)
        return Resolution(self._number(Template(text, parameter_types(expression), bound)), text)

    def _add_all_later(self, texts: TextColumn, namespaces: Bindings, version: str) -> Added:
        templates = np.full(len(texts), -1, np.int32)
        errors: dict[int, QuerySyntaxError] = {}
        for position, text in enumerate(texts):
            try:
                own = bindings_of(namespaces, position)
                templates[position] = self._add_later(text, own, version)
            except QuerySyntaxError as error:
                errors[position] = error
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
    numbers = added.templates
    members = np.bincount(numbers[numbers >= 0], minlength=len(templates)).astype(np.int64)
    sizes = np.append(members, 0)[numbers]  # the last one for those with none
    return TemplateCounts(len(templates), len(added.errors), sizes)
