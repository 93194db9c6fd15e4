"""The templates of a scheme: shapes of queries, their normal forms, and how they are written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from extract.subscriptions.wordings import written
from extract.xpath.ast import ParameterType
from extract.xpath.functions import Type
from extract.xpath.parameters import divided, filled, renumbered

Ints32 = NDArray[np.int32]


class Form(NamedTuple):
    """A normal form: what is evaluated for all queries that have it, with the constants of each.

    Attributes:
        branches: The branches: indices into `Scheme.branches`. Parameters are numbered in the order
            in which the branches mention them.
        type: What it gives; only for `Type.NODES` may there be several branches.
    """

    branches: tuple[int, ...]
    type: Type = Type.NODES


class RegisteredTemplate(NamedTuple):
    """A template with its normal form.

    Attributes:
        xpath: The queries in canonical form, from the document node and with the scheme's prefixes;
            a parameter is a variable.
        form: The number of the normal form; -1 if the queries match nothing.
        arguments: For each parameter of the form the parameter of the template.
        reason: Why the queries match nothing; empty if they may.
    """

    xpath: str
    form: int
    arguments: tuple[int, ...] = ()
    reason: str = ""


@dataclass(frozen=True, eq=False)
class RegisteredTemplates(Sequence[RegisteredTemplate]):
    """The templates of a scheme. In columns, for there may be a million of them.

    Attributes:
        xpaths: `RegisteredTemplate.xpath` of each.
        forms: `RegisteredTemplate.form` of each.
        at: Where the arguments of each start, and one more for the end.
        arguments: `RegisteredTemplate.arguments` of all.
        reasons: `RegisteredTemplate.reason` of those that have one, by number.
    """

    xpaths: tuple[str, ...] = field(repr=False)
    forms: Ints32 = field(repr=False)
    at: Ints32 = field(repr=False)
    arguments: Ints32 = field(repr=False)
    reasons: Mapping[int, str] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, rows: Iterable[RegisteredTemplate]) -> RegisteredTemplates:
        """The table of some templates, in their order."""
        every = list(rows)
        sizes = [len(row.arguments) for row in every]
        return cls(
            tuple([row.xpath for row in every]),
            np.array([row.form for row in every], np.int32),
            np.cumsum([0, *sizes], dtype=np.int32),
            np.array([one for row in every for one in row.arguments], np.int32),
            {number: row.reason for number, row in enumerate(every) if row.reason},
        )

    def __len__(self) -> int:
        return len(self.xpaths)

    @overload
    def __getitem__(self, index: int) -> RegisteredTemplate: ...
    @overload
    def __getitem__(self, index: slice) -> RegisteredTemplates: ...
    def __getitem__(self, index: int | slice) -> RegisteredTemplate | RegisteredTemplates:
        if isinstance(index, slice):
            return RegisteredTemplates.of([self[n] for n in range(*index.indices(len(self)))])
        first, end = self.at.item(index), self.at.item(index + 1)
        return RegisteredTemplate(
            self.xpaths[index],
            self.forms.item(index),
            tuple(self.arguments[first:end].tolist()) if first < end else (),
            self.reasons.get(index, ""),
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RegisteredTemplates):
            return NotImplemented
        return (
            self.xpaths == other.xpaths
            and self.reasons == other.reasons
            and np.array_equal(self.forms, other.forms)
            and np.array_equal(self.at, other.at)
            and np.array_equal(self.arguments, other.arguments)
        )

    def __hash__(self) -> int:
        return hash(self.xpaths)

    @cached_property
    def parameters(self) -> Ints32:
        """For each template the number of its parameters."""
        sizes = [len(divided(one)[1]) if "$" in one else 0 for one in self.xpaths]
        return np.array(sizes, np.int32)


class WordingTable(NamedTuple):
    """How templates are written, where they are not written in canonical form.

    Attributes:
        templates: For each wording its template.
        texts: For each wording its text, with `extract.subscriptions.wordings.BLANK` for each
            parameter.
    """

    templates: tuple[int, ...] = ()
    texts: tuple[str, ...] = ()

    def written(self, code: int, canonical: str, constants: Sequence[str]) -> str:
        """The text of a query as it is written.

        Args:
            code: The member's code, as in `Members.codes`.
            canonical: The canonical text of its template.
            constants: Its constants.
        """
        return written(self.texts[~code] if code < 0 else "", canonical, constants)


def form_parameters(xpaths: Iterable[str]) -> tuple[ParameterType, ...]:
    """The types of the parameters of a form, whose branches these are."""
    types: dict[int, ParameterType] = {}
    for xpath in xpaths:
        if "$" in xpath:
            types.update(divided(xpath)[1])
    return tuple([types[number] for number in range(len(types))])


def form_constants(template: RegisteredTemplate, constants: Sequence[str]) -> tuple[str, ...]:
    """The constants of a member in the order of its form's parameters."""
    return tuple([constants[number] for number in template.arguments])


def in_form_numbers(xpath: str, arguments: Sequence[int], parameters: int) -> str:
    """The text of a template with the parameters of its form.

    Args:
        xpath: The text.
        arguments: For each parameter of the form that of the template.
        parameters: How many parameters the template has.

    Returns:
        The text; empty if it has parameters that the form does not have.

    >>> in_form_numbers("/a[b = $string1][c > $number2]", (1, 0), 2)
    '/a[b = $string2][c > $number1]'
    """
    if all(number == argument for number, argument in enumerate(arguments)):
        return xpath if len(arguments) == parameters else ""
    numbers: list[int | None] = [None] * parameters
    for number, argument in enumerate(arguments):
        numbers[argument] = number
    return "" if None in numbers else renumbered(xpath, numbers)


def filled_branches(xpaths: Iterable[str], constants: Sequence[str]) -> tuple[str, ...]:
    """The branches of a form with constants."""
    return tuple([filled(xpath, constants) for xpath in xpaths])
