"""Writes a scheme to a database: all of it, or the rows that a change touches."""

from __future__ import annotations

import uuid
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import pyarrow as pa

from extract.errors import SubscriptionsError
from extract.scheme.database.errors import no_scheme
from extract.scheme.database.head import HeadNumbers, HeadRows, Row, head_rows
from extract.scheme.database.location import location_of
from extract.scheme.database.member_rows import member_rows
from extract.scheme.database.migrations import migrate
from extract.scheme.database.read import StoredScheme, read_state, read_stored
from extract.scheme.database.retry import again_when_lost
from extract.scheme.database.store import Store, open_store, tables_in
from extract.scheme.database.tables import HEAD, MEMBER, REMOVAL, TABLES, VERSION, TableSpec
from extract.scheme.model import Scheme
from extract.subscriptions.columns import Offsets

LOGGED: Final = 100_000  # removals that are kept, for filters that follow the changes


def save_scheme(scheme: Scheme, url: str, action: str = "prep") -> None:
    """Writes a scheme to a database, in place of the one that is there.

    A database file or a schema that is not there is made.

    Args:
        scheme: The scheme.
        url: The database.
        action: What the table of revisions calls it.

    Raises:
        SchemeError: The database cannot be written; then nothing has changed.
        SubscriptionsError: It cannot keep an id.
    """
    numbers = HeadNumbers.of(scheme)
    rows = head_rows(scheme, numbers)
    again_when_lost(lambda: _save(scheme, numbers, rows, url, action))


def _save(scheme: Scheme, numbers: HeadNumbers, rows: HeadRows, url: str, action: str) -> None:
    location = location_of(url)
    with open_store(location, write=True) as store:
        revision = 1
        if migrate(store):
            revision = read_state(store).revision + 1
        members = member_rows(scheme, None, numbers, 0, revision, location)
        for table in TABLES:
            if table.name != "revision":
                store.execute(f"DELETE FROM {table.name}")
        store.execute(
            "INSERT INTO scheme (schema_version, identity, revision, logged_from, schema_source, "
            "schema_digest) VALUES (:version, :identity, :revision, :revision, :source, :digest)",
            version=VERSION,
            identity=uuid.uuid4().hex,
            revision=revision,
            source=scheme.schema.source,
            digest=scheme.schema.digest,
        )
        for table in HEAD:
            _insert(store, table, rows[table.name])
        store.insert(MEMBER.name, members)
        _log(store, revision, action, len(members), 0)


class SchemeChange:
    """A scheme in a database that is being changed; nobody else changes it meanwhile.

    Args:
        store: The transaction.

    Attributes:
        stored: The scheme as it is.
        tables: The tables that its queries may join.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.tables = tables_in(store)
        self.stored: StoredScheme = read_stored(store)

    def write(self, scheme: Scheme, kept: Offsets, action: str) -> int:
        """Writes what is different in a revised scheme.

        Args:
            scheme: The revised scheme. Its members are those of the stored one that are kept, in
                their order, and then new ones.
            kept: The rows of the stored scheme's members that are kept.
            action: What the table of revisions calls it.

        Returns:
            The new revision.
        """
        store, stored = self._store, self.stored
        before, revision = stored.scheme, stored.state.revision + 1
        numbers = stored.numbers.after(before, scheme)
        fresh = np.arange(len(kept), len(scheme.members))
        gone = np.setdiff1d(np.arange(len(before.members)), kept, assume_unique=True)
        first = int(stored.seqs.max(initial=-1)) + 1
        rows = member_rows(scheme, fresh, numbers, first, revision, store.location)
        _remove(store, stored, gone, revision)
        _write_head(store, head_rows(before, stored.numbers), head_rows(scheme, numbers))
        if len(fresh):
            store.insert(MEMBER.name, rows)
        store.execute("UPDATE scheme SET revision = :revision", revision=revision)
        _log(store, revision, action, len(fresh), len(gone))
        return revision


@contextmanager
def scheme_change(url: str, patience: float | None = None) -> Iterator[SchemeChange]:
    """Opens a database to change its scheme; what is written holds when the block ends.

    It is not tried again when the connection is lost: see `again_when_lost`.

    Args:
        url: The database.
        patience: How many seconds to wait for other writers; None for the usual time.

    Raises:
        SchemeError: The database cannot be read or written, or has no scheme.
    """
    location = location_of(url)
    with open_store(location, write=True, patience=patience) as store:
        if not migrate(store):
            raise no_scheme(location)
        yield SchemeChange(store)


def upgrade_tables(url: str) -> int:
    """Brings the tables of a database up to date, and returns their version.

    Raises:
        SchemeError: The database cannot be written, has no scheme, or one of a later version.
    """
    location = location_of(url)

    def upgrade() -> None:
        with open_store(location, write=True) as store:
            if not migrate(store):
                raise no_scheme(location)

    again_when_lost(upgrade)
    return VERSION


def _remove(store: Store, stored: StoredScheme, gone: Offsets, revision: int) -> None:
    """Removes members, and notes that they were there."""
    if not len(gone):
        return
    seqs = stored.seqs[gone].tolist()
    store.execute("DELETE FROM member WHERE seq = ANY(:seqs)", seqs=seqs)
    ids = list(stored.scheme.members.ids.take(gone))
    log = {"revision": np.full(len(ids), revision), "id": ids}
    store.insert(REMOVAL.name, pa.table(log, schema=REMOVAL.columns))
    ((count, oldest),) = store.rows("SELECT COUNT(*), MIN(revision) FROM removal")
    if count > LOGGED:  # a filter that is as far behind as that reads all again
        cut = max(oldest, revision - 1)
        store.execute("DELETE FROM removal WHERE revision <= :cut", cut=cut)
        store.execute("UPDATE scheme SET logged_from = :cut", cut=cut)


def _write_head(store: Store, before: HeadRows, after: HeadRows) -> None:
    for table in HEAD:
        old, new = before[table.name], after[table.name]
        gone = [key for key, row in old.items() if new.get(key) != row]
        if gone:
            text = f"DELETE FROM {table.name} WHERE {table.key} = ANY(:keys)"
            store.execute(text, keys=gone)
        _insert(store, table, {key: row for key, row in new.items() if old.get(key) != row})


def _insert(store: Store, table: TableSpec, rows: Mapping[Hashable, Row]) -> None:
    if rows:
        columns: list[Any] = list(zip(*rows.values(), strict=True))
        try:
            arrays = [
                pa.array(column, one.type)
                for column, one in zip(columns, table.columns, strict=True)
            ]
        except UnicodeEncodeError:
            reason = "there is half a character in a query or in its id"
            hint = "a database keeps only well-formed Unicode text"
            raise SubscriptionsError(reason, hint, store.location.shown) from None
        store.insert(table.name, pa.table(arrays, schema=table.columns))


def _log(store: Store, revision: int, action: str, added: int, removed: int) -> None:
    store.execute(
        "INSERT INTO revision (number, made, action, added, removed) "
        "VALUES (:number, CURRENT_TIMESTAMP, :action, :added, :removed)",
        number=revision,
        action=action,
        added=added,
        removed=removed,
    )
