"""The owners of queries: which subscribers the rows of a query belong to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Indices: TypeAlias = NDArray[np.int32]
Longs: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Owners:
    """The subscribers of each query: lists of numbers, in two arrays.

    Attributes:
        at: Where the list of each query begins; one more for the end.
        subscribers: The lists, one after the other.
    """

    at: Longs
    subscribers: Indices

    @classmethod
    def of(cls, lists: Iterable[Sequence[int]]) -> Owners:
        """Makes owners from the subscribers of each query."""
        rows = list(lists)
        at = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        return cls(at, np.array([one for row in rows for one in row], np.int32))

    @classmethod
    def themselves(cls, count: int) -> Owners:
        """Makes owners for queries that are subscribers."""
        numbers = np.arange(count + 1)
        return cls(numbers, numbers[:-1].astype(np.int32))

    def list(self, query: int) -> list[int]:
        """Returns the subscribers of one query."""
        subscribers: list[int] = self.subscribers[self.at[query] : self.at[query + 1]].tolist()
        return subscribers

    def all_of(self, queries: Indices) -> Indices:
        """Returns the subscribers of some queries."""
        return self.subscribers[_runs(self.at[queries], self.at[queries + 1] - self.at[queries])]

    def followed_by(self, others: Owners) -> Owners:
        """Returns these queries, and then the others."""
        at = np.append(self.at, others.at[1:] + self.at[-1])
        return Owners(at, np.append(self.subscribers, others.subscribers))

    def expand(self, query: Indices) -> tuple[Indices, Longs, Longs]:
        """Turns rows of queries into rows of subscribers.

        Args:
            query: The query of each row, ascending.

        Returns:
            For each new row its subscriber, ascending, the row it was, and its number among the
            subscriber's.

        >>> owners = Owners.of([[0], [1, 2]])
        >>> [column.tolist() for column in owners.expand(np.array([0, 1, 1], np.int32))]
        [[0, 1, 1, 2, 2], [0, 1, 2, 1, 2], [0, 0, 1, 0, 1]]
        """
        first = np.flatnonzero(np.diff(query, prepend=-1))
        queries, length = query[first], np.diff(first, append=len(query))
        times = self.at[queries + 1] - self.at[queries]
        who = self.subscribers[_runs(self.at[queries], times)]
        begin, many = np.repeat(first, times), np.repeat(length, times)
        if (who[1:] < who[:-1]).any():
            order = np.argsort(who, kind="stable")
            who, begin, many = who[order], begin[order], many[order]
        index = _runs(begin, many)
        return np.repeat(who, many), index, index - np.repeat(begin, many)


def _runs(start: Longs, length: Longs) -> Longs:
    """Returns numbers that count up from each start, for a length, one run after the other."""
    ends = np.cumsum(length)
    total = int(ends[-1]) if len(ends) else 0
    runs: Longs = np.arange(total) + np.repeat(start - (ends - length), length)
    return runs
