"""Where the bytes of a document come from: memory, files, and streams that come once.

All can be read again from the beginning. `extract.chunktool.input.packed` unpacks them.
"""

from __future__ import annotations

import io
import os
import stat
import tempfile
import weakref
from typing import Any, Final, Protocol

FOR_BYTES: Final = "the document must be opened for bytes, as in open(path, 'rb')"

_SPOOLED: Final = 1 << 23  # bytes of a stream that are kept in memory before a file takes them


class Bytes(Protocol):
    """Bytes that are read in order, as often as one likes."""

    def read_into(self, target: memoryview) -> int:
        """Reads some of the bytes that come next; none only at the end."""

    def rewind(self) -> None:
        """Starts again from the first byte."""

    def close(self) -> None:
        """Frees what belongs to us."""


def can_go_back(stream: Any) -> bool:
    """Whether a stream can be read again."""
    try:
        if not stream.seekable():
            return False
        # Terminals and some devices say that they are, and are not.
        mode = os.fstat(stream.fileno()).st_mode
    except (AttributeError, OSError, io.UnsupportedOperation):
        return bool(getattr(stream, "seekable", bool)())
    return stat.S_ISREG(mode) or stat.S_ISBLK(mode)


class InMemory:
    """Bytes in memory."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._at = 0

    def read_into(self, target: memoryview) -> int:
        """Reads some of the bytes that come next; none only at the end."""
        part = self._data[self._at : self._at + len(target)]
        target[: len(part)] = part
        self._at += len(part)
        return len(part)

    def rewind(self) -> None:
        """Starts again from the first byte."""
        self._at = 0

    def close(self) -> None:
        """Frees nothing: the bytes are the caller's."""


class Rewound:
    """A stream that can go back.

    Args:
        start: Where in the stream the document begins.
        owned: Whether it is ours to close.
        path: The path of the file that it is, if it begins where the file does.
    """

    def __init__(self, stream: Any, start: int, owned: bool, path: str | None = None) -> None:
        self.path = path
        self._stream = stream
        self._start = start
        self._close = weakref.finalize(self, stream.close) if owned else None

    def read_into(self, target: memoryview) -> int:
        """Reads some of the bytes that come next; none only at the end."""
        return _read_into(self._stream, target)

    def rewind(self) -> None:
        """Starts again from the first byte."""
        self._stream.seek(self._start)

    def close(self) -> None:
        """Frees what belongs to us."""
        if self._close is not None:
            self._close()


class Copied:
    """A stream that comes once, with a copy of what has come."""

    def __init__(self, stream: Any, owned: bool) -> None:
        self._stream = stream
        self._copy = tempfile.SpooledTemporaryFile(_SPOOLED)  # noqa: SIM115
        self._close = [weakref.finalize(self, self._copy.close)]
        if owned:
            self._close.append(weakref.finalize(self, stream.close))
        self._copied = 0
        self._ended = False
        self._at = 0

    def read_into(self, target: memoryview) -> int:
        """Reads some of the bytes that come next; none only at the end."""
        if self._at < self._copied:
            self._copy.seek(self._at)
            count = _read_into(self._copy, target)
        elif self._ended:  # a terminal would ask its user again
            return 0
        else:
            count = _read_into(self._stream, target)
            self._copy.seek(self._copied)
            self._copy.write(target[:count])
            self._copied += count
            self._ended = not count
        self._at += count
        return count

    def rewind(self) -> None:
        """Starts again from the first byte."""
        self._at = 0

    def close(self) -> None:
        """Frees what belongs to us."""
        for close in self._close:
            close()


def _read_into(stream: Any, target: memoryview) -> int:
    """Reads what there is, also from streams that can only `read`."""
    if hasattr(stream, "readinto"):
        count = stream.readinto(target)
        if count is None:
            raise BlockingIOError("the stream does not wait for its bytes")
        return int(count)
    data = stream.read(len(target))
    if data is None:
        raise BlockingIOError("the stream does not wait for its bytes")
    if isinstance(data, str):
        raise TypeError(FOR_BYTES)
    target[: len(data)] = data
    return len(data)
