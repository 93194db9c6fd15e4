"""The canonical queries of a scheme as FILTERTOOL numbers them: form by form, with their owners."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from extract.filtertool.results.owners import Longs, Owners
from extract.scheme.directory import CanonicalQueries
from extract.scheme.model import Scheme
from extract.scheme.templates import form_parameters, in_form_numbers
from extract.subscriptions.columns import TextColumn
from extract.subscriptions.constants import Constants
from extract.xpath.parameters import divided


@dataclass(frozen=True, slots=True, eq=False)
class NumberedQueries:
    """Canonical queries, those of one form together, in the order of their first members.

    Attributes:
        at: For each form the number of its first query, and one more for the end.
        first: For each query its first member.
        owners: For each query its members.
    """

    at: Longs
    first: Longs
    owners: Owners

    @classmethod
    def of(cls, queries: CanonicalQueries, forms: int) -> NumberedQueries:
        """Numbers queries of so many forms."""
        order = np.argsort(queries.forms, kind="stable")
        at = np.searchsorted(queries.forms[order], np.arange(forms + 1))
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        members = np.flatnonzero(queries.of_members >= 0)
        numbers = rank[queries.of_members[members]]
        by = np.argsort(numbers, kind="stable")
        ends = np.searchsorted(numbers[by], np.arange(len(order) + 1))
        return cls(at, queries.first[order], Owners(ends, members[by].astype(np.int32)))

    def __len__(self) -> int:
        return len(self.first)

    def numbers(self, form: int) -> range:
        """The queries of a form."""
        return range(int(self.at[form]), int(self.at[form + 1]))

    def members(self, form: int) -> Longs:
        """The first members of the queries of a form."""
        return self.first[self.at[form] : self.at[form + 1]]


def form_constants_of(scheme: Scheme, form: int, rows: Longs) -> Constants | None:
    """The constants of members in the order of their form's parameters; None if it has none.

    Args:
        scheme: The scheme.
        form: The form.
        rows: Members that have it.
    """
    types = form_parameters([scheme.branches.xpaths[n] for n in scheme.forms[form].branches])
    if not types:
        return None
    if len(rows) == 1:
        return Constants.of_one(types, scheme.directory.constants(int(rows[0])))
    templates = scheme.directory.templates[rows]
    if (templates == templates[0]).all():  # nearly always
        arguments = scheme.templates[int(templates[0])].arguments
        return Constants.of_columns(types, [scheme.members.constants(rows, n) for n in arguments])
    columns: list[list[TextColumn]] = [[] for _ in types]
    order: list[Longs] = []
    for template in sorted(set(templates.tolist())):
        places = np.flatnonzero(templates == template)
        order.append(places)
        for column, argument in zip(columns, scheme.templates[template].arguments, strict=True):
            column.append(scheme.members.constants(rows[places], argument))
    back = np.argsort(np.concatenate(order))
    texts = [TextColumn.concat(parts).take(back) for parts in columns]
    return Constants.of_columns(types, texts)


def template_constants_of(scheme: Scheme, template: int, rows: Longs) -> Constants | None:
    """The constants of members of a template; None if it has no parameters."""
    types = [place.type for place in divided(scheme.templates.xpaths[template])[1]]
    if not types:
        return None
    columns = [scheme.members.constants(rows, number) for number in range(len(types))]
    return Constants.of_columns(types, columns)


def original_of(scheme: Scheme, form: int, template: int) -> str:
    """The queries of a form as they were written, with the form's parameters.

    Empty if they have constants that the form does not have.

    Args:
        scheme: The scheme.
        form: The form.
        template: A template that has it.
    """
    written = scheme.templates[template]
    parameters = int(scheme.templates.parameters[template])
    return in_form_numbers(written.xpath, written.arguments, parameters)
