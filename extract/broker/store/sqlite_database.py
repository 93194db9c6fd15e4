"""The embedded store: SQLite in a directory, with a write-ahead log that is synced at each commit.

Why SQLite and not DuckDB: a broker commits some hundred small transactions a second, reads single
rows by key while it writes, and is killed at any moment. SQLite is made for that: a commit appends
to the log and syncs once, readers do not wait for the writer, another process may take a backup.
DuckDB is made for scans; a commit of one row costs it much more, and only one process may open it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from extract.broker.store.acknowledged import FILE as ACKNOWLEDGED
from extract.broker.store.acknowledged import AcknowledgedNumber, LastTransaction
from extract.broker.store.database import CHECKED_BYTES, Connection
from extract.broker.store.rows import Row
from extract.broker.store.tables import DamagedStore, StoreError

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
_COUNT: Final = (  # transactions, in their own table of values
    "INSERT INTO meta (name, value) VALUES ('transactions', '1') ON CONFLICT (name) "
    "DO UPDATE SET value = CAST(CAST(value AS INTEGER) + 1 AS TEXT) RETURNING value"
)
_NAME: Final = (  # of the store; the first transaction gives it one
    "INSERT INTO meta (name, value) VALUES ('store', lower(hex(randomblob(8)))) ON CONFLICT (name) "
    "DO UPDATE SET value = value RETURNING value"
)
_COUNTED: Final = (
    "SELECT CAST(value AS INTEGER), (SELECT value FROM meta WHERE name = 'store') "
    "FROM meta WHERE name = 'transactions'"
)
_DAMAGE: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_UNREADABLE: Final = frozenset({sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN})
_RESTORE: Final = (
    "restore a copy that `extract serve --backup` made: serve its directory, or replace all files "
    f"of this one ({FILE}, {FILE}-wal, {FILE}-shm, {ACKNOWLEDGED}) by those of the copy"
)
_CHECKPOINT_PAGES: Final = 8_192  # of the log, before it is brought into the file: 32 MiB


class SqliteConnection:
    """A connection to the file; see `extract.broker.store.database.Connection`.

    Args:
        connection: The connection.
        acknowledged: Where transactions note their numbers; None for one that only reads.
    """

    def __init__(
        self, connection: sqlite3.Connection, acknowledged: AcknowledgedNumber | None = None
    ) -> None:
        self._connection = connection
        self._inodes: list[int] = []  # of the files, when they were first written to
        self._acknowledged = acknowledged
        self._unnoted = LastTransaction()  # that was committed, and could not be noted

    def execute(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Runs a statement."""
        try:
            return self._connection.execute(statement, values).rowcount
        except sqlite3.DatabaseError as error:
            raise _told(error) from error

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Runs a statement for each row."""
        try:
            self._connection.executemany(statement, rows)
        except sqlite3.DatabaseError as error:
            raise _told(error) from error

    def query(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """The rows of a query."""
        try:
            return self._connection.execute(statement, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise _told(error) from error

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A transaction that writes, with the next number if it changes anything.

        Raises:
            DamagedStore: Nobody would find what is written, because the files have gone.
        """
        self._note()
        if self._inodes and self._inodes != self._inodes_now():
            reason = f"{FILE} or {FILE}-wal was removed or replaced while it was in use"
            raise DamagedStore(reason, f"stop the broker, and {_RESTORE}")
        self.execute("BEGIN IMMEDIATE")
        try:
            before = self._connection.total_changes
            yield
            last = LastTransaction()
            if self._acknowledged is not None and self._connection.total_changes != before:
                ((number,),), ((store,),) = self.query(_COUNT), self.query(_NAME)
                last = LastTransaction(int(number), store)
            self.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        self._unnoted = last
        if last.number and not self._inodes:
            self._inodes = self._inodes_now()
        with contextlib.suppress(OSError):  # it is committed: the next transaction fails instead
            self._note()

    def _inodes_now(self) -> list[int]:
        """Numbers of the database and its log; 0 for what is not there."""
        if self._acknowledged is None:
            return []
        found = []
        for name in (FILE, f"{FILE}-wal"):
            try:
                found.append(os.stat(self._acknowledged.path.with_name(name)).st_ino)
            except FileNotFoundError:
                found.append(0)
        return found

    def _note(self) -> None:
        if self._unnoted.number and self._acknowledged is not None:
            self._acknowledged.note(self._unnoted)
            self._unnoted = LastTransaction()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """A transaction that reads."""
        self.execute("BEGIN")
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
        self._acknowledged = AcknowledgedNumber(folder, synchronous)
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
        """A new connection; one that only reads fails if it is asked to write.

        Before the one that writes touches anything, the store is checked: see `check`.
        """
        if writes:
            self.check()
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
        return SqliteConnection(connection, self._acknowledged if writes else None)

    def check(self, thoroughly: bool = False) -> None:
        """Makes sure that the database is sound, and has every transaction that was acknowledged.

        Nothing is changed, not even the log: what is refused here stays as it is for a rescue.

        Args:
            thoroughly: Read all of it, however large it is.

        Raises:
            DamagedStore: It is not sound, or has lost transactions.
        """
        acknowledged, file = self._acknowledged.read(), self.folder / FILE
        log = self.folder / f"{FILE}-wal"
        has_log = log.exists() and log.stat().st_size > 0  # SQLite makes an empty one
        if not file.exists() or not file.stat().st_size:  # SQLite removes the log of an empty one
            if acknowledged.number or has_log:
                raise DamagedStore(f"{FILE} is missing or empty", _RESTORE, self.name)
            return
        last = self._last_transaction(file, thoroughly)
        if acknowledged.number and last.store not in ("", acknowledged.store):
            reason = f"{FILE} or {log.name} is not of the store that {ACKNOWLEDGED} is of"
            raise DamagedStore(reason, f"put its own files back, or {_RESTORE}", self.name)
        if last.number >= acknowledged.number:
            return
        cause = f"{FILE} is an older copy, or {log.name} lost its end"
        if not has_log:
            cause = f"{log.name} is missing, or {FILE} is an older copy"
        reason = (
            f"transaction {acknowledged.number:,} was acknowledged, and the last one that is there "
            f"is {last.number:,}: {cause}"
        )
        hint = (
            f"put the missing file back, or {_RESTORE}; to go on without the lost transactions, "
            f"remove {self._acknowledged.path}: then numbers are given again that clients have seen"
        )
        raise DamagedStore(reason, hint, self.name)

    def _last_transaction(self, file: Path, thoroughly: bool) -> LastTransaction:
        """The last transaction in a database that is sound.

        It is opened to read only, because the last one that closes it otherwise removes the log;
        unless it ended while it was made, before there was one.
        """
        mode = "rw" if file.with_name(f"{FILE}-journal").exists() else "ro"
        uri = f"file:{quote(str(file.absolute()))}?mode={mode}"
        connection = sqlite3.connect(uri, timeout=60, uri=True)
        try:
            if thoroughly or self.size() <= CHECKED_BYTES:
                faults = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(3)")]
                if faults != ["ok"]:
                    raise DamagedStore(_damaged("; ".join(faults)), _RESTORE, self.name)
            rows = connection.execute(_COUNTED).fetchall()
            return (
                LastTransaction(int(rows[0][0]), str(rows[0][1] or ""))
                if rows
                else LastTransaction()
            )
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode & 0xFF in _DAMAGE:
                raise DamagedStore(_damaged(error), _RESTORE, self.name) from error
            if "no such table" in str(error):
                return LastTransaction()
            raise StoreError(f"cannot be read: {error}", "", self.name) from error
        finally:
            connection.close()

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
        if any((target / name).exists() for name in (FILE, f"{FILE}-wal", ACKNOWLEDGED)):
            raise StoreError("has a store already", "choose another directory", str(target))
        partial.unlink(missing_ok=True)
        if not (self.folder / FILE).exists():
            raise StoreError("there is no store", "", self.name)
        self.check()
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
        self._acknowledged.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _damaged(detail: object) -> str:
    return " ".join(f"{FILE} is damaged: {detail}".split())


def _told(error: sqlite3.DatabaseError) -> Exception:
    """An error of SQLite as whoever uses the store understands it."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _DAMAGE:
        return DamagedStore(_damaged(error), _RESTORE)
    if code in _UNREADABLE:
        return StoreError(f"the store cannot be read now: {error}")
    return error


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
