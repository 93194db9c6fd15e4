"""Files and directories that are whole, or not there: also after ``kill -9``, or a power cut.

Everything is written beside its place under a hidden name, brought to the disk, and renamed. Who is
killed in between leaves a hidden ``.….partial`` behind, which no command reads.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

_MANY: Final = 1_000  # files from which on it is faster to let the system write everything
_EXCHANGE: Final = 2  # RENAME_EXCHANGE of Linux
_HERE: Final = -100  # AT_FDCWD


@contextlib.contextmanager
def whole_file(path: str | Path) -> Iterator[BinaryIO]:
    """Opens a file for bytes that appears under its name when the block ends without an error.

    A file that is there keeps its mode, and is written through a symbolic link.

    Raises:
        OSError: It cannot be written.
    """
    target = Path(os.path.realpath(path))
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if target.exists():
            shutil.copymode(target, partial)
        partial.replace(target)
        _sync(target.parent)
    except FileNotFoundError as error:
        if error.filename == str(partial):  # the user asked for another name than this one
            raise FileNotFoundError(error.errno, error.strerror, str(path)) from None
        raise
    finally:
        partial.unlink(missing_ok=True)


@contextlib.contextmanager
def whole_directory(target: Path, durable: bool = True) -> Iterator[Path]:
    """A directory that gets its name when the block ends without an error.

    One that is there is replaced, in one step where the system can, and its mode is kept. A new one
    has the mode that the user's mask leaves.

    Args:
        target: Its name.
        durable: Whether it must also survive a power cut; that takes time.

    Raises:
        OSError: It cannot be written.
    """
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    try:  # from here on: a signal may come between any two steps
        partial.mkdir()
        yield partial
        if durable:
            _sync_tree(partial)
        if target.exists():
            shutil.copymode(target, partial)
            _exchange(partial, target)
        else:
            partial.rename(target)
        if durable:
            _sync(target.parent)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _exchange(one: Path, other: Path) -> None:
    """Exchanges the names of two directories; at no time is there none."""
    if sys.platform == "linux":
        with contextlib.suppress(AttributeError, OSError):
            libc = ctypes.CDLL(None, use_errno=True)
            names = os.fsencode(one), os.fsencode(other)
            if libc.renameat2(_HERE, names[0], _HERE, names[1], _EXCHANGE) == 0:
                return
    aside = one.with_name(f"{one.name}.old")
    other.rename(aside)
    try:
        one.rename(other)
    except OSError:
        aside.rename(other)
        raise
    aside.rename(one)


def _sync_tree(top: Path) -> None:
    """Brings all files of a directory to the disk."""
    files = [os.path.join(folder, name) for folder, _, names in os.walk(top) for name in names]
    if len(files) > _MANY:
        os.sync()
        return
    for file in files:
        _sync(file)
    for folder, _, _ in os.walk(top):
        _sync(folder)


def _sync(path: str | Path) -> None:
    """Brings a file or directory to the disk, where the file system can do that."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
