"""The number of the last transaction that was acknowledged, kept apart from the database.

A database that has lost its latest transactions, with its log or because somebody put an older
copy in its place, is sound and complete in itself: only a number outside of it tells. So each
transaction counts itself in the database, and its number is written here before anybody is
answered, with the name of the store: the database or the log of another one is told, too.

The number is in the system's hands when an answer leaves, whatever becomes of the process; the disk
gets it once a second, so that transactions need no second sync. After an outage of the machine it
may be a second behind, never ahead.
"""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Final, NamedTuple
from zlib import crc32

from extract.broker.store.tables import StoreError

FILE: Final = "broker.acknowledged"
_LINE: Final = re.compile(rb"(([0-9]{20}) ([0-9a-f]{16})) ([0-9a-f]{8})\n")
_SYNC_SECONDS: Final = 1.0


class LastTransaction(NamedTuple):
    """A transaction of a store.

    Attributes:
        number: Its number; 0 if there was none.
        store: The name of the store, which nobody gave; empty if it has none.
    """

    number: int = 0
    store: str = ""


class AcknowledgedNumber:
    """The number in its file.

    Args:
        folder: The directory of the store.
        synchronous: Whether it is brought to the disk.
    """

    def __init__(self, folder: Path, synchronous: bool = True) -> None:
        self.path = folder / FILE
        self._synchronous = synchronous
        self._handle: int | None = None
        self._next_sync = 0.0

    def read(self) -> LastTransaction:
        """The last transaction that was acknowledged.

        Raises:
            StoreError: The file cannot be read, or is damaged.
        """
        try:
            line = self.path.read_bytes()
        except FileNotFoundError:
            return LastTransaction()
        except OSError as error:
            hint = "make it readable, or put the file back from where the store was copied"
            raise StoreError(f"cannot be read: {error.strerror}", hint, str(self.path)) from None
        found = _LINE.fullmatch(line)
        if found is None or int(found[4], 16) != crc32(found[1]):
            reason = "is damaged: it does not tell which transactions were acknowledged"
            hint = f"if nothing else of the store was lost, remove {self.path} and start again"
            raise StoreError(reason, hint, str(self.path))
        return LastTransaction(int(found[2]), found[3].decode())

    def note(self, last: LastTransaction) -> None:
        """Writes the number of the last transaction.

        Raises:
            OSError: It cannot be written.
        """
        content = b"%020d %b" % (last.number, last.store.encode())
        is_new = False
        if self._handle is None:
            is_new = not self.path.exists()
            self._handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.pwrite(self._handle, b"%b %08x\n" % (content, crc32(content)), 0)
        if self._synchronous and time.monotonic() >= self._next_sync:
            os.fsync(self._handle)
            self._next_sync = time.monotonic() + _SYNC_SECONDS
            if is_new:
                _sync_folder(self.path.parent)

    def close(self) -> None:
        """Brings the number to the disk."""
        if self._handle is not None:
            if self._synchronous:
                os.fsync(self._handle)
            os.close(self._handle)
            self._handle = None


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
