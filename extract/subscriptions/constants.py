"""The constants of queries that share a template: a column for each of its parameters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from extract.subscriptions.columns import Offsets, TextColumn
from extract.subscriptions.records import numbers_of
from extract.xpath.ast import ParameterType


@dataclass(frozen=True, slots=True, eq=False)
class Constants:
    """The constants of some queries of one template.

    >>> constants = Constants.of(["string", "number"], [("YHOO", "50"), ("IBM", "99.5")])
    >>> len(constants), constants.row(1), constants.variables(0)
    (2, ('IBM', '99.5'), {'string1': 'YHOO', 'number2': 50.0})

    Attributes:
        texts: For each parameter the constants as they are written, strings without quotes.
        numbers: For each parameter that is a number its constants as libxml2 reads them; None for a
            string.
    """

    texts: tuple[TextColumn, ...]
    numbers: tuple[NDArray[np.float64] | None, ...]

    @classmethod
    def of(cls, types: Sequence[ParameterType], rows: Sequence[Sequence[str]]) -> Constants:
        """The constants of some queries, given one by one."""
        columns = [TextColumn.of([row[n] for row in rows]) for n in range(len(types))]
        return cls.of_columns(types, columns)

    @classmethod
    def of_one(cls, types: Sequence[ParameterType], row: Sequence[str]) -> Constants:
        """The constants of one query: the columns share what they can."""
        every = TextColumn.of(row)
        return cls.of_columns(types, [every[n : n + 1] for n in range(len(types))])

    @classmethod
    def of_columns(cls, types: Sequence[ParameterType], columns: Sequence[TextColumn]) -> Constants:
        """The constants of some queries, given by parameter."""
        pairs = zip(types, columns, strict=True)
        numbers = [numbers_of(column) if kind == "number" else None for kind, column in pairs]
        return cls(tuple(columns), tuple(numbers))

    def __len__(self) -> int:
        """The number of queries."""
        return len(self.texts[0])

    @property
    def types(self) -> tuple[ParameterType, ...]:
        """The types of the parameters."""
        return tuple(["string" if one is None else "number" for one in self.numbers])

    def row(self, query: int) -> tuple[str, ...]:
        """The constants of one query, as they are written."""
        return tuple([column.text(query) for column in self.texts])

    def rows(self) -> Iterator[tuple[str, ...]]:
        """The constants of each query, as they are written."""
        return zip(*self.texts, strict=True)

    def variables(self, query: int) -> dict[str, str | float]:
        """The constants of one query by the names that the parameters have as variables."""
        values: dict[str, str | float] = {}
        for number, (column, numbers) in enumerate(zip(self.texts, self.numbers, strict=True), 1):
            if numbers is None:
                values[f"string{number}"] = column.text(query)
            else:
                values[f"number{number}"] = float(numbers[query])
        return values

    def take(self, queries: Offsets) -> Constants:
        """The constants of some of the queries."""
        numbers = [None if one is None else one[queries] for one in self.numbers]
        return Constants(tuple([one.take(queries) for one in self.texts]), tuple(numbers))
