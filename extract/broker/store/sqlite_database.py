"""The embedded store: SQLite in a directory, with a write-ahead log that is synced at each commit.

Why SQLite and not DuckDB: a broker commits some hundred small transactions a second, reads single
rows by key while it writes, and is killed at any moment. SQLite is made for that: a commit appends
to the log and syncs once, readers do not wait for the writer, another process may take a backup.
DuckDB is made for scans; a commit of one row costs it much more, and only one process may open it.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from extract.broker.store.database import Connection
from extract.broker.store.rows import Row
from extract.broker.store.tables import StoreError

FILE: Final = "broker.sqlite"
_LOCK: Final = "broker.lock"
_TYPES: Final = {
    "key": "INTEGER PRIMARY KEY",
    "serial": "INTEGER PRIMARY KEY",
    "integer": "INTEGER",
    "text": "TEXT",
    "blob": "BLOB",
    "clustered": "WITHOUT ROWID",
}
_CHECKPOINT_PAGES: Final = 8_192  # of the log, before it is brought into the file: 32 MiB


class SqliteConnection:
    """A connection to the file; see `extract.broker.store.database.Connection`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Runs a statement."""
        return self._connection.execute(statement, values).rowcount

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Runs a statement for each row."""
        self._connection.executemany(statement, rows)

    def query(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """The rows of a query."""
        return self._connection.execute(statement, values).fetchall()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A transaction that writes."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """A transaction that reads."""
        self._connection.execute("BEGIN")
        try:
            yield
        finally:
            self._connection.execute("ROLLBACK")

    def is_lost(self) -> bool:
        """No server can end it."""
        return False

    def close(self) -> None:
        """Closes it."""
        self._connection.close()


class SqliteDatabase:
    """A directory with the database and its lock.

    Args:
        folder: The directory; it is made if it is missing, for its owner alone.
        synchronous: Whether commits wait for the disk. Without, an outage of the machine may lose
            the last ones, but kills of the process do not.
    """

    def __init__(self, folder: Path, synchronous: bool = True) -> None:
        self.folder = folder
        self.name = str(folder)
        self.types = _TYPES
        self._synchronous = synchronous
        self._lock: int | None = None
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            reason = f"cannot be made: {error.strerror}"
            raise StoreError(reason, "name a directory for --store", str(folder)) from None

    def lock(self) -> None:
        """Takes the lock of the directory, which ends with the process."""
        try:
            handle = os.open(self.folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreError(f"cannot be written: {error.strerror}", "", self.name) from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            owner = os.pread(handle, 20, 0).decode(errors="replace").strip()
            os.close(handle)
            reason = f"another broker (process {owner or 'unknown'}) uses this store"
            hint = "stop it, or choose another directory"
            raise StoreError(reason, hint, self.name) from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        self._lock = handle

    def connect(self, writes: bool = False) -> SqliteConnection:
        """A new connection; one that only reads fails if it is asked to write."""
        try:
            connection = sqlite3.connect(
                self.folder / FILE,
                timeout=60,
                isolation_level=None,
                check_same_thread=False,
                cached_statements=256,
            )
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA synchronous = {'FULL' if self._synchronous else 'OFF'}")
            connection.execute(f"PRAGMA cache_size = {-65_536 if writes else -4_096}")
            connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
            connection.execute("PRAGMA journal_size_limit = 67108864")
            if not writes:
                connection.execute("PRAGMA query_only = ON")
        except sqlite3.Error as error:
            raise StoreError(f"cannot be opened: {error}", "", self.name) from error
        return SqliteConnection(connection)

    def claim(self, connection: Connection) -> None:
        """The lock of a file ends with this process, and so nobody else was there."""

    def size(self) -> int:
        """Bytes of the file and its log."""
        files = [self.folder / FILE, self.folder / f"{FILE}-wal"]
        return sum(file.stat().st_size for file in files if file.exists())

    def backup(self, target: Path) -> None:
        """Copies one state; the broker may go on."""
        target.mkdir(mode=0o700, parents=True, exist_ok=True)
        file, partial = target / FILE, target / f".{FILE}.partial"
        if file.exists():
            raise StoreError("has a store already", "choose another directory", str(target))
        partial.unlink(missing_ok=True)
        if not (self.folder / FILE).exists():
            raise StoreError("there is no store", "", self.name)
        connection = sqlite3.connect(self.folder / FILE, timeout=60, isolation_level=None)
        try:
            connection.execute("VACUUM INTO ?", (str(partial),))
        except sqlite3.Error as error:
            raise StoreError(f"cannot be copied: {error}", "", self.name) from error
        finally:
            connection.close()
        bring_to_disk(partial, file)

    def close(self) -> None:
        """Gives the lock back."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def bring_to_disk(partial: Path, file: Path) -> None:
    """Syncs a file that is complete, and gives it its name."""
    with partial.open("rb+") as opened:
        os.fsync(opened.fileno())
    partial.rename(file)
    folder = os.open(file.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
