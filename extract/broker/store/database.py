"""What the two databases have in common: statements with ``?``, transactions, readers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final, Protocol

from extract.broker.store.rows import Row

CHECKED_BYTES: Final = 1 << 27  # of a store that each start reads through; --check reads any


class Connection(Protocol):
    """A connection to the database, used by one thread at a time."""

    def execute(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Runs a statement and returns how many rows it changed."""
        ...

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Runs a statement for each row."""
        ...

    def query(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """The rows of a query."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """A transaction, committed and synced at its end, undone by an exception."""
        ...

    def snapshot(self) -> AbstractContextManager[None]:
        """A transaction that only reads, and sees one state."""
        ...

    def is_lost(self) -> bool:
        """Whether the server has ended it; the next use opens it again, if that is possible."""
        ...

    def close(self) -> None:
        """Closes it."""
        ...


class Database(Protocol):
    """A database: one connection that writes, as many as wanted that read.

    Attributes:
        name: As messages call it, without secrets.
        types: The types of columns, by the names that `extract.broker.store.tables` uses.
    """

    name: str
    types: dict[str, str]

    def lock(self) -> None:
        """Makes this process the one that writes.

        Raises:
            StoreError: Another one does.
        """
        ...

    def connect(self, writes: bool = False) -> Connection:
        """A new connection; the one that writes needs the lock."""
        ...

    def claim(self, connection: Connection) -> None:
        """Marks the store as used by this process, so that it sees if another one was there."""
        ...

    def check(self, thoroughly: bool = False) -> None:
        """Makes sure that the database is sound, as far as this side can tell.

        Args:
            thoroughly: Read all of it.

        Raises:
            DamagedStore: It is not.
        """
        ...

    def size(self) -> int:
        """Bytes on disk."""
        ...

    def backup(self, target: Path) -> None:
        """Copies one consistent state into a directory that `open_store` can open."""
        ...

    def close(self) -> None:
        """Gives the lock back."""
        ...
