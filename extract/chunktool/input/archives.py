"""Documents in zip archives: ``archive.zip!member``.

A zip archive of one file is that document, compressed. One of several files has a document for each
file whose name ends as that of a document, and its name in results and on the command line is the
archive's, an exclamation mark, and the file's name in the archive.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import weakref
import zipfile
import zlib
from functools import lru_cache
from typing import IO, Any, Final, NamedTuple, cast

from extract.chunktool.input.packed import UnpackedSize
from extract.chunktool.input.streams import Bytes
from extract.errors import DocumentError
from extract.limits import RAISE, Limits

ZIP: Final = b"PK\x03\x04"  # how a zip archive begins

_MEMBER: Final = re.compile(r"(.*?\.zip)!(.+)", re.DOTALL | re.IGNORECASE)
_BUFFER: Final = 1 << 18
_SPOOLED: Final = 1 << 23  # bytes of an archive from a pipe that are held in memory
_UNREADABLE: Final = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)


class MemberName(NamedTuple):
    """The name of a document in a zip archive.

    Attributes:
        archive: The path of the archive.
        member: The name of the file in it.
    """

    archive: str
    member: str

    def __str__(self) -> str:
        return f"{self.archive}!{self.member}"


def member_name(path: str) -> MemberName | None:
    """Takes the name of a document in an archive apart; None for any other path.

    >>> member_name("news.zip!2026/a.xml")
    MemberName(archive='news.zip', member='2026/a.xml')
    >>> member_name("news.zip")
    """
    parts = _MEMBER.fullmatch(path) if "!" in path else None
    if parts is None or os.path.lexists(path):
        return None
    return MemberName(parts[1], parts[2])


def archive_members(path: str, suffixes: tuple[str, ...]) -> list[str]:
    """Returns the documents of a zip archive, by name.

    Args:
        path: The archive.
        suffixes: How names of documents end.

    Returns:
        Their names, as `member_name` takes them; only the path itself for an archive of one file,
        and for one that cannot be read: why, is told when it is opened.

    Raises:
        DocumentError: There are files in it, and none is a document.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            files = _files(archive)
    except (*_UNREADABLE, OSError):
        return [path]
    if len(files) < 2:
        return [path]
    names = [one.filename for one in files if one.filename.lower().endswith(suffixes)]
    if not names:
        reason = f"none of the {len(files):,} files in the zip archive is named *{suffixes[0]}"
        raise DocumentError(reason, f"name one: '{path}!{files[0].filename}'", path)
    return [str(MemberName(path, name)) for name in sorted(names)]


def is_archive(path: str) -> bool:
    """Says whether a file begins as a zip archive does; not if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(len(ZIP)) == ZIP
    except (OSError, ValueError):
        return False


def member_size(name: MemberName) -> int:
    """Returns how many bytes a document in an archive has, unpacked; 1 if that is unknown."""
    try:
        return max(1, _opened(name.archive).getinfo(name.member).file_size)
    except (*_UNREADABLE, OSError, KeyError):
        return 1


class Unzipped:
    """The bytes of one file of a zip archive.

    Args:
        archive: The archive.
        member: The name of the file in it; empty for the only one.
        limits: How large it may be.
        owned: What to close with it.

    Raises:
        DocumentError: There is no such file in it, or the archive is damaged.
    """

    def __init__(
        self,
        archive: zipfile.ZipFile,
        member: str,
        limits: Limits,
        owned: contextlib.ExitStack | None = None,
    ) -> None:
        self._archive = archive
        self._limits = limits
        self._info = _only(archive) if not member else _named(archive, member)
        self._close = weakref.finalize(self, (owned or contextlib.ExitStack()).close)
        self._stream: Any = None
        self._begin()

    @classmethod
    def of_file(cls, name: MemberName, limits: Limits) -> Unzipped:
        """Opens a document in an archive on this machine.

        Raises:
            DocumentError: There is no such file in it, or the archive is damaged.
            OSError: The archive cannot be read.
        """
        try:
            archive = _opened(name.archive)
        except _UNREADABLE as error:
            raise _damaged(error, 0) from None
        return cls(archive, name.member, limits)

    @classmethod
    def of_bytes(cls, packed: Bytes, limits: Limits) -> Unzipped:
        """Opens the only document in an archive; the archive is copied, for it is read twice.

        Raises:
            DocumentError: There are none or several, or the archive is damaged.
        """
        with contextlib.ExitStack() as owned:
            owned.callback(packed.close)
            copy = owned.enter_context(tempfile.SpooledTemporaryFile(_SPOOLED))
            buffer = memoryview(bytearray(_BUFFER))
            while count := packed.read_into(buffer):
                copy.write(buffer[:count])
                if copy.tell() > limits.document_bytes:
                    raise DocumentError(limits.passed("document_bytes"), RAISE)
            try:
                archive = owned.enter_context(zipfile.ZipFile(cast(IO[bytes], copy)))
            except _UNREADABLE as error:
                raise _damaged(error, 0) from None
            _only(archive)  # raises where there is not one document, and then all is closed
            return cls(archive, "", limits, owned.pop_all())

    def _begin(self) -> None:
        self._stream = None
        self._size = UnpackedSize(self._limits, "unzip")
        self._size.read = self._info.compress_size

    def rewind(self) -> None:
        """Starts again from the first byte."""
        self._begin()

    def close(self) -> None:
        """Frees what belongs to us."""
        if self._stream is not None:
            self._stream.close()
        self._close()

    def read_into(self, target: memoryview) -> int:
        """Reads some of the bytes that come next; none only at the end."""
        try:
            if self._stream is None:
                self._stream = self._archive.open(self._info)
            data = self._stream.read(min(len(target), _BUFFER))
        except _UNREADABLE as error:
            raise _damaged(error, self._size.bytes) from None
        target[: len(data)] = data
        self._size.add(len(data))
        return len(data)


def _opened(path: str) -> zipfile.ZipFile:
    """Opens an archive; the directories of the last ones are not read again."""
    status = os.stat(path)
    return _opened_once(path, status.st_mtime_ns, status.st_size, os.getpid())


@lru_cache(maxsize=4)
def _opened_once(path: str, _changed: int, _size: int, _process: int) -> zipfile.ZipFile:
    return zipfile.ZipFile(path)


def _files(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """The files of an archive, without what macOS adds and without hidden ones."""
    return [
        one
        for one in archive.infolist()
        if not one.is_dir()
        and not one.filename.startswith("__MACOSX/")
        and not os.path.basename(one.filename).startswith(".")
    ]


def _only(archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    files = _files(archive)
    if len(files) == 1:
        return files[0]
    count = f"{len(files):,} files" if files else "no file"
    hint = f"unzip it, or name one file of it as in 'a.zip!{files[0].filename}'" if files else ""
    raise DocumentError(f"the zip archive holds {count}", hint)


def _named(archive: zipfile.ZipFile, member: str) -> zipfile.ZipInfo:
    try:
        return archive.getinfo(member)
    except KeyError:
        hint = "`unzip -l` lists the files of an archive"
        raise DocumentError(f"there is no file {member} in the zip archive", hint) from None


def _damaged(error: Exception, offset: int) -> DocumentError:
    said = str(error)
    if isinstance(error, RuntimeError) and "password" in said:
        return DocumentError("the zip archive is encrypted", "unzip it first", "", 0, 0, offset)
    if isinstance(error, NotImplementedError):
        reason = f"the zip archive is compressed in a way that Python cannot read ({said})"
        return DocumentError(reason, "unzip it first", "", 0, 0, offset)
    return DocumentError(f"the zip archive is damaged ({said})", "", "", 0, 0, offset)
