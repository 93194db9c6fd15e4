"""Queries that are evaluated on whole documents, as they were written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from extract.filtertool.results.owners import Owners
from extract.xpath.later import FIRST


class WholeQuery(NamedTuple):
    """A query for whole documents.

    Attributes:
        xpath: The query as it was written.
        version: The version of XPath.
        bound: Prefixes and namespace URIs, where they are not those of the scheme.
    """

    xpath: str
    version: str = FIRST
    bound: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class WholeQueries:
    """Queries for whole documents, each once, with the subscribers that they belong to."""

    queries: tuple[WholeQuery, ...]
    owners: Owners

    @classmethod
    def of(cls, *owners: Mapping[WholeQuery, Sequence[int]]) -> WholeQueries:
        """Makes the set of several mappings from a query to its subscribers."""
        every = {query: who for some in owners for query, who in some.items()}
        return cls(tuple(every), Owners.of(every.values()))

    def owners_of(self, failed: Mapping[int, str]) -> dict[int, str]:
        """Turns reasons by query into reasons by subscriber."""
        return {who: why for query, why in failed.items() for who in self.owners.list(query)}
