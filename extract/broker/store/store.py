"""Opening a store: the lock, the tables, one connection that writes, a few that read."""

from __future__ import annotations

import logging
import os
import queue
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from extract.broker.store.acknowledged import FILE as ACKNOWLEDGED
from extract.broker.store.database import CHECKED_BYTES, Connection, Database
from extract.broker.store.documents import check_blocks
from extract.broker.store.notifications import check_notifications
from extract.broker.store.sqlite_database import FILE, SqliteDatabase
from extract.broker.store.tables import DamagedStore, StoreError, create_tables, migrate

_T = TypeVar("_T")
_log = logging.getLogger("extract.broker.store")
_URLS = ("postgresql://", "postgres://")


def database_of(location: str, synchronous: bool = True) -> Database:
    """The database that a directory or URL names.

    Raises:
        StoreError: There can be none.
    """
    if location.startswith(_URLS):
        from extract.broker.store.postgres_database import PostgresDatabase  # needs psycopg

        return PostgresDatabase(location, synchronous)
    if "://" in location:
        hint = "name a directory, or postgresql://user@host/database?schema=name"
        raise StoreError("there is no store of this kind", hint, location.split("://")[0])
    return SqliteDatabase(Path(location), synchronous)


def has_store(location: str) -> bool:
    """Whether a directory has a store, or a URL names a database; nothing is made.

    Raises:
        StoreError: There is none, and none can be made.
    """
    if "://" in location:
        return True
    folder = Path(location)
    if any((folder / name).exists() for name in (FILE, ACKNOWLEDGED)):
        return True
    above = folder
    while not above.exists():
        above = above.parent
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise StoreError("cannot be made", "name a directory for --store", location)
    return False


class BrokerStore:
    """A store that is open, by the one process that writes to it.

    Args:
        database: The database; its lock is taken.
        readers: How many connections read at the same time.

    Attributes:
        writer: The connection of the thread that writes.
        damage: Why nothing more can be read or written; None while the store is sound.
    """

    def __init__(self, database: Database, readers: int = 4) -> None:
        self.database = database
        self.damage: DamagedStore | None = None
        database.lock()
        self._readers: queue.SimpleQueue[Connection] = queue.SimpleQueue()
        try:
            self.writer = database.connect(writes=True)
        except BaseException:
            database.close()
            raise
        try:
            if _has_tables(self.writer):
                migrate(self.writer, database.types)
            else:
                create_tables(self.writer, database.types)
            database.claim(self.writer)
            for _ in range(readers):
                self._readers.put(database.connect())
            if database.size() <= CHECKED_BYTES:
                self.check_rows()
        except BaseException:
            self.close()
            raise

    @classmethod
    def open(cls, location: str, synchronous: bool = True) -> BrokerStore:
        """Opens a directory or URL; what is missing is made.

        Raises:
            StoreError: It cannot be opened, or another process uses it.
        """
        return cls(database_of(location, synchronous))

    @contextmanager
    def reader(self) -> Iterator[Connection]:
        """A connection to read with, from one thread; waits while all are in use."""
        connection = self._readers.get()
        try:
            yield connection
        finally:
            self._readers.put(connection)

    def read(self, call: Callable[[Connection], _T]) -> _T:
        """Calls a function with a connection to read with, again if that was lost on the way.

        Raises:
            StoreError: The store cannot be read now.
        """
        with self.reader() as connection:
            try:
                return call(connection)
            except DamagedStore as error:
                self.damage = error
                raise
            except Exception as error:
                if not connection.is_lost():
                    raise
                _log.warning("the store did not answer: %s", error)
            try:
                return call(connection)
            except Exception as error:
                if not connection.is_lost():
                    raise
                raise StoreError("the store cannot be read now") from error

    def check_rows(self) -> None:
        """Reads all documents and notifications.

        Raises:
            DamagedStore: Some are missing, or not as they were written.
        """
        with self.reader() as connection, connection.snapshot():
            check_blocks(connection)
            check_notifications(connection)

    def close(self) -> None:
        """Closes all connections and gives the lock back."""
        while not self._readers.empty():
            self._readers.get().close()
        self.writer.close()
        self.database.close()


def _has_tables(connection: Connection) -> bool:
    try:
        with connection.snapshot():
            connection.query("SELECT value FROM meta WHERE name = 'version'")
    except DamagedStore:
        raise
    except Exception as error:
        if "meta" in str(error):  # no such table, in the words of either database
            return False
        raise StoreError(f"cannot be read: {error}") from error
    return True
