"""Queries that are evaluated on whole documents, as written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from extract.filtertool.results.owners import Owners
from extract.xpath.later import FIRST


class WholeQuery(NamedTuple):
    """A query for whole documents.

    Attributes:
        xpath: The query as written.
        version: The version of XPath.
        bound: Prefixes and namespace URIs, where they differ from the scheme's.
    """

    xpath: str
    version: str = FIRST
    bound: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class WholeQueries:
    """Distinct queries for whole documents, with their subscribers."""

    queries: tuple[WholeQuery, ...]
    owners: Owners

    @classmethod
    def of(cls, *owners: Mapping[WholeQuery, Sequence[int]]) -> WholeQueries:
        """Joins mappings from a query to its subscribers."""
        subscribers = {query: who for mapping in owners for query, who in mapping.items()}
        return cls(tuple(subscribers), Owners.of(subscribers.values()))

    def owners_of(self, failed: Mapping[int, str]) -> dict[int, str]:
        """Converts reasons by query to reasons by subscriber."""
        return {who: why for query, why in failed.items() for who in self.owners.list(query)}
