"""Replacing a file that others may be about to replace as well."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from extract.errors import SchemeError

if sys.platform != "win32":
    import fcntl


@contextlib.contextmanager
def exclusively(path: str) -> Iterator[None]:
    """Keeps other such blocks from a file until this one ends; they wait, here or elsewhere.

    The lock is on what the file is now, for it will be replaced as a whole. So one that has waited
    may hold the lock of the file before, and looks again.
    """
    if sys.platform == "win32":  # there is only the check at the end
        yield
        return
    while True:
        with _opened(path) as descriptor:
            if descriptor is not None:
                _lock(descriptor, path)
                if not _is_still(path, descriptor):
                    continue
            yield
            return


@contextlib.contextmanager
def _opened(path: str) -> Iterator[int | None]:
    """The file's descriptor; None if there is none to lock, which reading it will explain."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)  # and with it the lock


def _lock(descriptor: int, path: str) -> None:
    if sys.platform == "win32":
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        click.echo(f"Waiting for another `extract subs` on {path} to end …", err=True)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError:
        return  # some network file systems have no locks


def _is_still(path: str, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return True


class Unchanged:
    """Remembers which file it was, to notice when it is another.

    Args:
        path: The file, before it is read.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._was = self._is()

    def check(self) -> None:
        """Makes sure that the file is as it was.

        Raises:
            SchemeError: It is not.
        """
        if self._is() != self._was:
            reason = "the scheme was changed by somebody else meanwhile; nothing was written"
            raise SchemeError(reason, "run the command again", self._path)

    def _is(self) -> tuple[int, int, int] | None:
        try:
            status = Path(self._path).stat()
        except OSError:
            return None
        return status.st_ino, status.st_size, status.st_mtime_ns
