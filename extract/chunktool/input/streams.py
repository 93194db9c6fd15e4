"""Where the bytes of a document come from: memory, files, streams that come once, gzip.

All can be read again from the beginning.
"""

from __future__ import annotations

import io
import os
import stat
import tempfile
import weakref
import zlib
from typing import Any, Final, Protocol

from extract.errors import DocumentError
from extract.limits import Limits

GZIP: Final = b"\x1f\x8b\x08"  # how gzipped bytes begin
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
    """

    def __init__(self, stream: Any, start: int, owned: bool) -> None:
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


class Unpacked:
    """What gzipped bytes unpack to: all members, up to limits."""

    def __init__(self, packed: Bytes, limits: Limits) -> None:
        self._packed = packed
        self._limits = limits
        self._buffer = memoryview(bytearray(1 << 18))
        self._begin()

    def _begin(self) -> None:
        self._member = zlib.decompressobj(wbits=31)
        self._rest = b""  # packed bytes that were read and not yet unpacked
        self._within = False  # a member that has begun and not ended
        self._more = False  # zlib may have taken in more than it has given
        self._members = 0
        self._read = self._unpacked = 0

    def rewind(self) -> None:
        """Starts again from the first byte."""
        self._packed.rewind()
        self._begin()

    def close(self) -> None:
        """Frees what belongs to us."""
        self._packed.close()

    def read_into(self, target: memoryview) -> int:
        """Reads some of the bytes that come next; none only at the end."""
        while True:
            if not self._rest and not self._more and not self._fill():
                if self._within:
                    hint = "it was cut off on its way; fetch it again"
                    raise DocumentError(
                        "the gzip data ends too early", hint, "", 0, 0, self._unpacked
                    )
                return 0
            if not self._within and not self._next_member():
                continue
            try:
                data = self._member.decompress(self._rest, len(target))
            except zlib.error as error:
                reason = f"the gzip data is damaged ({error})"
                raise DocumentError(reason, "", "", 0, 0, self._unpacked) from None
            self._rest = self._member.unconsumed_tail
            self._more = len(data) == len(target) and not self._member.eof
            if self._member.eof:
                self._rest = self._member.unused_data
                self._within = False
            if data:
                target[: len(data)] = data
                self._count(len(data))
                return len(data)

    def _fill(self) -> bool:
        """Reads packed bytes; False at their end."""
        count = self._packed.read_into(self._buffer)
        self._read += count
        self._rest = bytes(self._buffer[:count])
        return count > 0

    def _next_member(self) -> bool:
        """Begins another member, if there is one; padding with zeros is no member."""
        if self._members:
            self._rest = self._rest.lstrip(b"\0")
            if not self._rest:
                return False
            if not GZIP.startswith(self._rest[:3]):
                reason = "what follows the gzip data is no gzip data"
                raise DocumentError(reason, "", "", 0, 0, self._unpacked)
        self._member = zlib.decompressobj(wbits=31)
        self._members += 1
        self._within = True
        return True

    def _count(self, count: int) -> None:
        """Stops bombs."""
        self._unpacked += count
        limits = self._limits
        if self._unpacked > max(limits.gzip_free_bytes, self._read * limits.gzip_ratio):
            hint = "if it is no bomb, raise the limit, or unpack it with gunzip first"
            offset = self._unpacked - count
            raise DocumentError(limits.passed("gzip_ratio"), hint, "", 0, 0, offset)
