"""`SqlScheme`: a scheme whose members stay in their database, for the matcher ``sql``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from extract.filtertool.matchers.protocol import Select
from extract.filtertool.matchers.sql.stored_changes import refreshed
from extract.filtertool.matchers.sql.stored_subscriptions import (
    StoredSubscriptions,
    open_subscriptions,
)
from extract.scheme.database.counts import count_queries, read_metadata
from extract.scheme.directory import QueryDirectory
from extract.scheme.model import Scheme
from extract.subscriptions.columns import TextColumn


class _StoredDirectory(QueryDirectory):
    """The queries of such a scheme; the ids are those of all."""

    def __init__(self, scheme: Scheme, ids: TextColumn) -> None:
        super().__init__(scheme)
        self.__dict__["ids"] = ids


@dataclass(frozen=True, eq=False)
class SqlScheme(Scheme):
    """A scheme without members in memory. It knows their ids, and how many there are."""

    stored: StoredSubscriptions | None = None

    @cached_property
    def directory(self) -> QueryDirectory:
        """The queries; of members only the ids."""
        assert self.stored is not None
        later = TextColumn.of([one.subscriber.id for one in self.later])
        return _StoredDirectory(self, TextColumn.concat([self.stored.ids, later]))

    @property
    def registered(self) -> int:
        """The number of queries, rejected ones included."""
        assert self.stored is not None
        return len(self.stored.ids) + len(self.later) + len(self.rejected)

    @cached_property
    def metadata(self) -> Mapping[str, Mapping[str, Any]]:
        """The metadata of all subscriptions that have any, by id."""
        assert self.stored is not None
        return {**read_metadata(self.stored.location), **super().directory.metadata()}

    def counts(self) -> dict[str, int]:
        """How many queries there are of each kind."""
        assert self.stored is not None
        return count_queries(self.stored.location, self, self.stored.numbers)


def open_sql_scheme(url: str, select: Select, members: bool = False) -> SqlScheme:
    """Reads a scheme from its database, but not its members.

    Args:
        url: The database.
        select: What is asked for.
        members: Whether matching members are read later, whatever is asked for.

    Raises:
        SchemeError: It cannot be read.
    """
    stored = open_subscriptions(url, members=members or select != "doc", values=select == "nodes")
    return _scheme(stored)


def refreshed_scheme(scheme: SqlScheme, select: Select) -> SqlScheme | None:
    """The scheme as its database has it now, at the cost of what has changed.

    Args:
        scheme: The scheme, whose tables are changed.
        select: What is asked for.

    Returns:
        None if it must be opened anew.

    Raises:
        SchemeError: It cannot be read.
    """
    assert scheme.stored is not None
    stored = refreshed(scheme.stored, values=select == "nodes")
    return None if stored is None else _scheme(stored)


def _scheme(stored: StoredSubscriptions) -> SqlScheme:
    own = {one.name: getattr(stored.empty, one.name) for one in fields(Scheme)}
    return SqlScheme(**own, stored=stored)
