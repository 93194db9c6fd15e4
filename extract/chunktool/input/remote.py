"""Reading documents where they lie, on this machine or behind a URI: all bytes, or some of them.

To read a document from the beginning to its end, give `document_of` to `open_source`. To read
ranges of its bytes here and there, use `RangeReader`.
"""

from __future__ import annotations

import contextlib
import io
import os
from typing import Any

from extract.chunktool.input.archives import ZIP, member_name
from extract.chunktool.input.find import InputFile, file_system
from extract.chunktool.input.packed import MAGIC_BYTES, packing_of
from extract.chunktool.input.source import Document, open_source
from extract.limits import Limits


class RemoteFile(io.RawIOBase):
    """The file behind a URI.

    It is opened when it is first read, so that what is wrong with it concerns only this document.
    """

    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._file: Any = None

    def seekable(self) -> bool:
        """Says that the file can be read again."""
        return True

    def readable(self) -> bool:
        """Says that the file can be read."""
        return True

    def tell(self) -> int:
        """Returns how many bytes lie before the next one that is read."""
        return 0 if self._file is None else int(self._file.tell())

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Goes to a byte."""
        return int(self._opened().seek(offset, whence))

    def readinto(self, buffer: Any) -> int:
        """Reads some of the bytes that come next."""
        return int(self._opened().readinto(buffer))

    def close(self) -> None:
        """Closes the file."""
        if self._file is not None:
            self._file.close()
        super().close()

    def _opened(self) -> Any:
        if self._file is None:
            try:
                system, path = file_system(self._uri)
                self._file = system.open_input_file(path)
            except ValueError as error:
                raise OSError(str(error)) from error
        return self._file


class RangeReader:
    """Reads ranges of a document's bytes, in any order. Use it in a ``with`` statement."""

    def __init__(self, document: InputFile) -> None:
        self._document = document
        self._file: Any = None

    def __enter__(self) -> RangeReader:
        if self._document.is_remote:
            self._file = RemoteFile(self._document.name)
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def read(self, start: int, end: int) -> bytes:
        """Returns the bytes from one offset to another; fewer if the document ends before.

        Raises:
            OSError: They cannot be read.
        """
        if self._file is None:
            self._file = open(self._document.place, "rb")  # noqa: SIM115 (closed by __exit__)
        self._file.seek(start)
        parts = []
        while start < end:
            part = self._file.read(end - start)
            if not part:
                break
            parts.append(part)
            start += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)


def document_of(document: InputFile) -> Document:
    """Returns what `open_source` reads a document from: its path, or a file that pyarrow opens."""
    return RemoteFile(document.name) if document.is_remote else document.place


def file_version(document: InputFile) -> tuple[int, int]:
    """Returns size and time of the last change, which tell whether a document is still the same.

    (-1, 0) if it is not there, or its file system does not say.
    """
    with contextlib.suppress(OSError, ValueError):
        if document.is_remote:
            system, path = file_system(document.name)
            info = system.get_file_info(path)
            if info.is_file:
                return info.size, info.mtime_ns or 0
        else:
            member = member_name(document.place)
            status = os.stat(document.place if member is None else member.archive)
            return status.st_size, status.st_mtime_ns
    return -1, 0


def is_packed(document: InputFile) -> bool:
    """Says whether a document is compressed, so that ranges of its bytes must be unpacked first.

    Raises:
        OSError: It cannot be read.
    """
    if not document.is_remote and member_name(document.place) is not None:
        return True
    with RangeReader(document) as reader:
        start = reader.read(0, MAGIC_BYTES)
    return start.startswith(ZIP) or packing_of(start) is not None


def unpack_into(document: InputFile, path: str, limits: Limits) -> None:
    """Writes the bytes of a document into a file, unpacked.

    Raises:
        DocumentError: It cannot be read, or unpacked.
        OSError: The file cannot be written.
    """
    with (
        open_source(document_of(document), document.name, limits) as source,
        open(path, "wb") as file,
    ):
        for window in source.windows():
            file.write(window)
