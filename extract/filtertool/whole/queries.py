"""Queries that are evaluated on whole documents, as written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from extract.filtertool.matchers.lxml.parsed_unit import NO_VARIABLES, Variables
from extract.filtertool.results.owners import Owners
from extract.subscriptions.constants import Constants
from extract.xpath.later import FIRST


class WholeQuery(NamedTuple):
    """A query for whole documents, or many that differ in their constants alone.

    Attributes:
        xpath: The query as written, in canonical form; a parameter is a variable.
        version: The version of XPath.
        bound: Prefixes and namespace URIs, where they differ from the scheme's.
        constants: The constants of the queries; None for one query, without parameters.
    """

    xpath: str
    version: str = FIRST
    bound: tuple[tuple[str, str], ...] = ()
    constants: Constants | None = None

    def variables(self) -> Iterator[Variables]:
        """Yields the constants of each query, as variables."""
        if self.constants is None:
            yield NO_VARIABLES
            return
        for number in range(len(self.constants)):
            yield self.constants.variables(number)


@dataclass(frozen=True, slots=True)
class WholeQueries:
    """Distinct queries for whole documents, with their subscribers.

    Attributes:
        queries: The queries. Those with constants count as many as they stand for, so that the
            numbers of queries are those of `owners`.
        owners: The subscribers of each query.
    """

    queries: tuple[WholeQuery, ...]
    owners: Owners

    def owners_of(self, failed: Mapping[int, str]) -> dict[int, str]:
        """Converts reasons by query to reasons by subscriber."""
        return {who: why for query, why in failed.items() for who in self.owners.list(query)}
