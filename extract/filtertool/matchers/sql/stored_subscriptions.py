"""Subscriptions that stay in a database, and those few of them that are needed in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from extract.filtertool.matchers.sql.duckdb_tables import DuckDbTables
from extract.filtertool.matchers.sql.joiner import SqlJoiner
from extract.filtertool.matchers.sql.member_tables import MemberTables
from extract.filtertool.matchers.sql.plan import SqlPlan
from extract.filtertool.matchers.sql.postgresql_tables import PostgresTables
from extract.limits import Limits
from extract.scheme.database.duckdb_store import DuckDbStore, temporary_store
from extract.scheme.database.head import HeadNumbers
from extract.scheme.database.location import DatabaseLocation, location_of
from extract.scheme.database.member_rows import member_rows, members_of_rows, read_columns
from extract.scheme.database.migrations import check_scheme
from extract.scheme.database.postgresql_store import (
    PostgresStore,
    described_errors,
    open_session,
)
from extract.scheme.database.read import StoredState, read_empty, read_state
from extract.scheme.database.retry import again_when_lost
from extract.scheme.database.store import Store, open_store
from extract.scheme.database.tables import MEMBER
from extract.scheme.model import Scheme
from extract.scheme.selection import scheme_of_members
from extract.subscriptions.columns import TextColumn
from extract.subscriptions.members import Members

PART: Final = 100_000  # members that are read at a time


@dataclass(frozen=True, eq=False)
class StoredSubscriptions:
    """The subscriptions of a database, as a filter uses them.

    In memory are the templates, the ids, and the members that the database does not decide, some
    at a time if these are many.

    Attributes:
        home: The URL of the database, or the scheme that was put into one.
        location: The database.
        state: Which revision.
        empty: The scheme without members.
        numbers: The numbers of templates and wordings in the database.
        ids: The ids of all members.
        seqs: Their sequence numbers, ascending.
        plan: What the database decides, and how.
        tables: The constants of what it decides.
        rest: Rows of the members that it does not decide.
        left: If these are very many, `rest` is empty, and here are their sequence numbers.
        appended: How many members came since the tables were made.
    """

    home: str | Scheme
    location: DatabaseLocation
    state: StoredState
    empty: Scheme = field(repr=False)
    numbers: HeadNumbers = field(repr=False)
    ids: TextColumn = field(repr=False)
    seqs: NDArray[np.int64] = field(repr=False)
    plan: SqlPlan = field(repr=False)
    tables: MemberTables = field(repr=False)
    rest: Any = field(repr=False)
    left: NDArray[np.int64] = field(repr=False)
    appended: int = 0

    def joiner(self, limits: Limits) -> SqlJoiner:
        """What matches documents with the members that the database decides."""
        forms = self.empty.templates.forms
        satisfiable = self.numbers.templates[forms >= 0].tolist()
        return SqlJoiner(self.plan, self.tables, satisfiable, limits)

    def places(self, seqs: NDArray[np.int64]) -> NDArray[np.int32]:
        """The places of members among all, by their sequence numbers."""
        first = int(self.seqs[0]) if len(self.seqs) else 0
        if len(self.seqs) and int(self.seqs[-1]) - first + 1 == len(self.seqs):  # none is missing
            return (seqs - first).astype(np.int32)
        return np.searchsorted(self.seqs, seqs).astype(np.int32)

    @property
    def has_rest(self) -> bool:
        """Whether there are queries that the database does not decide."""
        return bool(self.rest.num_rows or len(self.left) or self.empty.later)

    def undecided(self) -> Iterator[Any]:
        """Rows of the members that the database does not decide, some at a time; at least once."""
        yield self.rest
        for start in range(0, len(self.left), PART):
            yield self.tables.rows(self.left[start : start + PART])

    def scheme_of(self, rows: Any, later: bool = True) -> Scheme:
        """The scheme with some members only.

        Args:
            rows: The members, as rows of their table.
            later: Whether it has the queries in later versions of XPath, too.
        """
        empty = self.empty
        members = members_of_rows(
            rows, self.numbers, empty.templates, empty.wordings, self.location.shown
        )
        chosen = replace(empty, members=members)
        others = (empty.later, empty.rejected) if later else ((), ())
        return scheme_of_members(chosen, np.arange(len(members)), *others)

    def all_members(self) -> Iterator[Any]:
        """Rows of all members, some at a time; those that are gone since are left out."""
        assert isinstance(self.home, str)
        which = "seq >= :first AND seq <= :last AND revision <= :known"
        for start in range(0, len(self.seqs), PART):
            some = self.seqs[start : start + PART]
            values = {"first": int(some[0]), "last": int(some[-1]), "known": self.state.revision}
            with open_store(self.location) as store:
                yield store.fetch(MEMBER.name, read_columns(), which, "seq", **values)

    def everything(self) -> tuple[Scheme, NDArray[np.int32]]:
        """The scheme with all members in memory, and the place of each among those here.

        Members that came since are left out.
        """
        scheme = Scheme.load(self.home) if isinstance(self.home, str) else self.home
        known = {name: place for place, name in enumerate(self.ids)}
        places = np.array([known.get(name, -1) for name in scheme.members.ids], np.int32)
        rows = np.flatnonzero(places >= 0)
        return scheme_of_members(scheme, rows, scheme.later, scheme.rejected), places[rows]

    @cached_property
    def decided(self) -> int:
        """The number of members that the database decides."""
        return len(self.seqs) - int(self.rest.num_rows) - len(self.left)


def open_subscriptions(url: str, members: bool, values: bool) -> StoredSubscriptions:
    """Reads what a filter needs of a database, in one transaction.

    Args:
        url: The database.
        members: Whether rows of matching members are asked for later.
        values: As for `SqlPlan`.

    Raises:
        DatabaseError: The database cannot be read, or has no scheme.
    """
    return again_when_lost(lambda: _open(url, members, values))


def _open(url: str, members: bool, values: bool) -> StoredSubscriptions:
    location = location_of(url)
    if location.engine == "duckdb":
        with open_store(location) as store:
            check_scheme(store)
            return _read(url, store, members, values)
    session = open_session(location)  # it has the tables, and is closed with them
    try:
        with described_errors(location, session.connection):
            check_scheme(session)
            return _read(url, session, members, values)
    except BaseException:
        session.connection.close()
        raise


def subscriptions_in_memory(scheme: Scheme, members: bool, values: bool) -> StoredSubscriptions:
    """The subscriptions of a scheme that is in no database, in one that is made for it.

    Arguments and errors as for `open_subscriptions`.
    """
    numbers = HeadNumbers.of(scheme)
    empty = replace(scheme, members=Members.none())
    state = StoredState("", 0, 0)
    with temporary_store({}) as store:
        rows = member_rows(scheme, None, numbers, 0, 0, store.location)
        store.create(MEMBER.name, rows)
        return _opened(scheme, store, state, empty, numbers, members, values)


def _read(url: str, store: Store, members: bool, values: bool) -> StoredSubscriptions:
    state = read_state(store)
    empty, numbers = read_empty(store)
    return _opened(url, store, state, empty, numbers, members, values)


def _opened(
    home: str | Scheme,
    store: Store,
    state: StoredState,
    empty: Scheme,
    numbers: HeadNumbers,
    members: bool,
    values: bool,
) -> StoredSubscriptions:
    plan = sql_plan(empty, numbers, values)
    columns = pa.schema([MEMBER.columns.field(name) for name in ("seq", "id")])
    known = store.fetch(MEMBER.name, columns, order="seq")
    undecided = {"templates": sorted(plan.undecided)}
    which = "template = ANY(:templates)"
    left = np.asarray(store.fetch(MEMBER.name, columns, which, "seq", **undecided)["seq"])
    copied = set(plan.decided) if members else set[int]()
    if len(left) > PART:  # too many for the memory: they stay where the tables are
        copied |= plan.undecided
        rest = read_columns().empty_table()
    else:
        rest = store.fetch(MEMBER.name, read_columns(), which, "seq", **undecided)
        left = left[:0]
    tables: MemberTables
    if isinstance(store, DuckDbStore):
        tables = DuckDbTables(store, plan, copied)
    else:
        assert isinstance(store, PostgresStore)
        tables = PostgresTables(store, plan, copied, state)
    return StoredSubscriptions(
        home,
        store.location,
        state,
        empty,
        numbers,
        id_column(known["id"]),
        np.asarray(known["seq"]),
        plan,
        tables,
        rest,
        left,
    )


def sql_plan(empty: Scheme, numbers: HeadNumbers, values: bool) -> SqlPlan:
    """How a database matches the templates of a scheme.

    Args:
        empty: The scheme.
        numbers: The numbers of its templates in the database.
        values: As for `SqlPlan`.
    """
    pairs = zip(numbers.templates.tolist(), empty.templates.xpaths, strict=True)
    return SqlPlan(dict(pairs), empty.namespaces, empty.schema, values)


def id_column(ids: Any) -> TextColumn:
    """Ids, an Arrow array, as a column of texts, one after the other."""
    array = ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids
    array = array.chunk(0) if isinstance(array, pa.ChunkedArray) else array
    array = array.cast(pa.large_string())
    _, offsets, data = array.buffers()
    ends = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    if data is None or not len(array):
        return TextColumn(b"", ends[:0], ends[:0])
    first, last = int(ends[0]), int(ends[-1])
    ends = ends - first
    return TextColumn(data.slice(first, last - first).to_pybytes(), ends[:-1], ends[1:])
