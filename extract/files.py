"""Files and directories that are whole, or not there: also after ``kill -9``, or a power cut.

Everything is written beside its place under a hidden name, brought to the disk, and renamed. Who is
killed in between leaves a hidden ``.….partial`` behind, which no command reads.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import BinaryIO, Final

DISK_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_LITTLE: Final = 1 << 20  # bytes of free space that are as good as none
_MANY: Final = 1_000  # files from which on it is faster to let the system write everything
_EXCHANGE: Final = 2  # RENAME_EXCHANGE of Linux
_HERE: Final = -100  # AT_FDCWD
_NOT_WRITTEN: Final = "was not written by extract; move it, or choose another directory"


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
        with _named_by_user(partial, path):
            with partial.open("wb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            if target.exists():
                shutil.copymode(target, partial)
            partial.replace(target)
            _sync(target.parent)
    finally:
        with contextlib.suppress(OSError):  # where it could not be made
            partial.unlink(missing_ok=True)


@contextlib.contextmanager
def whole_directory(
    target: Path,
    written: Callable[[Path], Collection[str]],
    durable: bool = True,
    given: str | Path | None = None,
) -> Iterator[Path]:
    """A directory that gets its name when the block ends without an error.

    One that is there is replaced, in one step where the system can, and its mode is kept. A new one
    has the mode that the user's mask leaves. Callers have checked that nothing else is in the old
    one (`check_written`); what is put there while the block runs stays there.

    Args:
        target: Its name.
        written: What we have written into a directory, as for `check_written`.
        durable: Whether it must also survive a power cut; that takes time.
        given: The name by which the user called it, for errors.

    Raises:
        FileExistsError: Something else was put into the old one; the new one has another name.
        OSError: It cannot be written.
    """
    token = secrets.token_hex(4)
    partial = target.with_name(f".{target.name}.{token}.partial")
    replaces = False
    try:  # from here on: a signal may come between any two steps
        with _named_by_user(partial, target if given is None else given):
            partial.mkdir()
            yield partial
            if durable:
                _sync_tree(partial)
            if target.exists():
                shutil.copymode(target, partial)
                replaces = True
                _exchange(partial, target)
                if (name := _other_entry(partial, written)) is not None:
                    _exchange(partial, target)
                    beside = target.with_name(f"{target.name}.{token}")
                    partial.rename(beside)
                    reason = f"{_NOT_WRITTEN}; what was written now is in {beside}"
                    raise FileExistsError(errno.EEXIST, reason, str(target / name))
            else:
                partial.rename(target)
            if durable:
                _sync(target.parent)
    finally:
        if not replaces or _other_entry(partial, written) is None:
            shutil.rmtree(partial, ignore_errors=True)


def check_written(directory: str | Path, written: Callable[[Path], Collection[str]]) -> None:
    """Checks that nothing is in a directory but what we have written, before it is replaced.

    Args:
        directory: The directory, which need not be there.
        written: Returns the files and directories that we have written into it, as `entries` names
            them: what is a directory where a file was written, or a link, is not ours.

    Raises:
        FileExistsError: Something else is there; it is named.
        PermissionError: What is there cannot be read, or not be removed.
    """
    if (name := _other_entry(Path(directory), written)) is not None:
        raise FileExistsError(errno.EEXIST, _NOT_WRITTEN, os.path.join(directory, name).rstrip("/"))
    for folder, _, _ in os.walk(directory):
        if not os.access(folder, os.W_OK | os.X_OK):  # then nothing in it can be removed
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), folder)


def entries(directory: Path) -> Iterator[str]:
    """Yields all files and directories in a directory by name: ``"a/"`` is a directory, ``"a/b"`` a
    file in it, or a link. One that is not there has none.

    Raises:
        OSError: One of the directories cannot be read.
    """

    def fail(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise error

    for folder, folders, files in os.walk(directory, onerror=fail):
        for name in (*folders, *files):
            path = Path(folder, name)
            ending = "/" if path.is_dir() and not path.is_symlink() else ""
            yield f"{path.relative_to(directory).as_posix()}{ending}"


def _other_entry(directory: Path, written: Callable[[Path], Collection[str]]) -> str | None:
    """Returns the first entry of a directory that we have not written, by name."""
    found = set(entries(directory))
    return min(found.difference(written(directory)), default=None) if found else None


@contextlib.contextmanager
def _named_by_user(hidden: Path, given: str | Path) -> Iterator[None]:
    """Lets errors name the file or directory that the user named, and not the hidden one.

    A full disk is told in the same words, whatever library met it.
    """
    try:
        yield
    except OSError as error:
        name = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else ""
        inside = name == str(hidden) or name.startswith(os.path.join(hidden, ""))
        if error.errno in DISK_FULL:
            place = name if name and not inside else _full_place(hidden, given)
            raise OSError(error.errno, os.strerror(error.errno), place) from error
        if inside:
            raise type(error)(error.errno, error.strerror, str(given)) from error
        raise


def _full_place(hidden: Path, given: str | Path) -> str:
    """Where there is no room: what the user named, unless only temporary files have none."""
    temporary = tempfile.gettempdir()
    with contextlib.suppress(OSError, AttributeError):
        if _free_bytes(temporary) < _LITTLE <= _free_bytes(hidden.parent):
            return temporary
    return str(given)


def _free_bytes(directory: str | Path) -> int:
    status = os.statvfs(directory)
    return status.f_bavail * status.f_frsize


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
