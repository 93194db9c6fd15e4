"""Where the bytes of a document come from: memory, files, and streams that come once.

All can be read again from the beginning. `extract.chunktool.input.packed` unpacks them.
"""

from __future__ import annotations

import io
import os
import stat
import sys
import tempfile
import weakref
from typing import Any, Final, Protocol

FOR_BYTES: Final = "the document must be opened for bytes, as in open(path, 'rb')"

_NOT_YET: Final = "the stream does not wait for its bytes"
_SPOOLED: Final = 1 << 23  # bytes of a stream that are kept in memory before a file takes them


class Bytes(Protocol):
    """Bytes that are read in order, as often as one likes."""

    def read_into(self, target: memoryview) -> int:
        """Reads some of the bytes that come next; none only at the end."""

    def rewind(self) -> None:
        """Starts again from the first byte."""

    def close(self) -> None:
        """Frees what belongs to us."""


class GivenStream:
    """A stream that another program wrote: reading gives bytes, or raises an `OSError`.

    What such a stream raises, or returns that is not bytes, concerns one document, which is
    rejected with that reason; documents beside it must not notice. After a failure every further
    call fails with the same reason, so that nobody takes the bytes that come next for the whole
    document. `KeyboardInterrupt`, `SystemExit` and `MemoryError` are not about the document.

    Args:
        stream: A file object opened for bytes.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._surplus = b""  # bytes that a call of `read` returned in excess of its argument
        self._failure: OSError | None = None

    @property
    def name(self) -> str:
        """The name that the stream has for itself; empty if it has none."""
        try:
            name = self._stream.name
        except Exception:
            return ""
        return name if isinstance(name, str) else ""

    def start(self) -> int | None:
        """Returns where the stream stands, if it can go back there; else None."""
        try:
            if not self._stream.seekable():
                return None
            at: int = self._stream.tell()
            self._stream.seek(at)
        except MemoryError:
            raise
        except Exception:
            return None
        try:
            # Terminals and some devices say that they are seekable, and are not.
            mode = os.fstat(self._stream.fileno()).st_mode
        except MemoryError:
            raise
        except Exception:  # no file of the system
            return at
        return at if stat.S_ISREG(mode) or stat.S_ISBLK(mode) else None

    def read(self, size: int) -> bytes:
        """Returns the next bytes, at most `size`; none only at the end."""
        data = self._surplus or self._asked("read", size)
        if not isinstance(data, bytes):
            data = self._as_bytes(data)
        self._surplus = data[size:]
        return data[:size]

    def read_into(self, target: memoryview) -> int:
        """Reads some of the bytes that come next; none only at the end."""
        if self._surplus or not isinstance(self._stream, io.RawIOBase | io.BufferedIOBase):
            data = self.read(len(target))
            target[: len(data)] = data
            return len(data)
        count = self._asked("readinto", target)
        if count is None:
            raise self._failed(BlockingIOError(_NOT_YET))
        if not isinstance(count, int) or not 0 <= count <= len(target):
            raise self._failed(OSError(f"readinto() of the stream returned {count!r}"))
        return count

    def seek(self, offset: int) -> None:
        """Goes to a place in the stream."""
        self._surplus = b""
        self._asked("seek", offset)

    def close(self) -> None:
        """Closes the stream."""
        self._stream.close()

    def _as_bytes(self, data: Any) -> bytes:
        if data is None:
            raise self._failed(BlockingIOError(_NOT_YET))
        if isinstance(data, str):
            raise self._failed(OSError(FOR_BYTES))
        try:
            return bytes(memoryview(data))
        except (TypeError, ValueError):
            kind = type(data).__name__
            reason = f"read() of the stream returned {kind}, not bytes"
            raise self._failed(OSError(reason)) from None

    def _asked(self, method: str, value: Any) -> Any:
        if self._failure is not None:
            raise self._failure
        try:
            return getattr(self._stream, method)(value)
        except MemoryError:
            raise
        except OSError as error:
            self._failure = error
            raise
        except Exception as error:
            reason = str(error) or f"the stream raised {type(error).__name__}"
            raise self._failed(OSError(reason)) from error

    def _failed(self, error: OSError) -> OSError:
        self._failure = error
        return error


def standard_input() -> GivenStream:
    """Returns standard input, as bytes."""
    return GivenStream(getattr(sys.stdin, "buffer", sys.stdin))


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

    def __init__(
        self, stream: GivenStream, start: int, owned: bool, path: str | None = None
    ) -> None:
        self.path = path
        self._stream = stream
        self._start = start
        self._close = weakref.finalize(self, stream.close) if owned else None

    def read_into(self, target: memoryview) -> int:
        """Reads some of the bytes that come next; none only at the end."""
        return self._stream.read_into(target)

    def rewind(self) -> None:
        """Starts again from the first byte."""
        self._stream.seek(self._start)

    def close(self) -> None:
        """Frees what belongs to us."""
        if self._close is not None:
            self._close()


class Copied:
    """A stream that comes once, with a copy of what has come."""

    def __init__(self, stream: GivenStream, owned: bool) -> None:
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
            data = self._copy.read(len(target))
            target[: len(data)] = data
            count = len(data)
        elif self._ended:  # a terminal would ask its user again
            return 0
        else:
            count = self._stream.read_into(target)
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
