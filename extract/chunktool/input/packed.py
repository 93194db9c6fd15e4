"""Compressed documents: gzip, bzip2, xz and Zstandard, unpacked while they are read.

`packing_of` tells from the first bytes how a document is compressed, and `unpacked` reads what it
unpacks to. Several compressed streams one after the other are one document, as for ``gunzip``. The
limits ``gzip_ratio`` and ``gzip_free_bytes`` hold for every compression. Archives of several files
are in `extract.chunktool.input.archives`.
"""

from __future__ import annotations

import bz2
import io
import lzma
import zlib
from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol

from extract.chunktool.input.streams import Bytes
from extract.errors import DocumentError
from extract.limits import Limits

MAGIC_BYTES: Final = 6  # as many as the longest magic number has

_BUFFER: Final = 1 << 18
_XZ_MEMORY: Final = 1 << 28  # bytes; ``xz -9`` asks for a quarter of it
_TRUNCATED: Final = "the file is truncated: copy or download it again"
_DAMAGED: Final = (zlib.error, lzma.LZMAError, OSError, EOFError)


class Decompressor(Protocol):
    """Unpacks one compressed stream; `bz2.BZ2Decompressor` is one."""

    @property
    def eof(self) -> bool:
        """Whether the stream has ended."""

    @property
    def needs_input(self) -> bool:
        """Whether it has nothing to give without more packed bytes."""

    @property
    def unused_data(self) -> bytes:
        """Bytes after the end of the stream."""

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        """Takes packed bytes, and returns at most so many unpacked ones."""


class Packing(NamedTuple):
    """A way to compress a document.

    Attributes:
        name: What messages call it.
        magic: How the compressed bytes begin.
        suffix: How files with them are named.
        tool: The command that unpacks such a file.
        start: Begins to unpack a stream; None where `unpacked` has another way.
    """

    name: str
    magic: bytes
    suffix: str
    tool: str
    start: Callable[[], Decompressor] | None


class _Inflate:
    """zlib for gzip, with the interface of the other decompressors."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(wbits=31)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._zlib.eof

    @property
    def unused_data(self) -> bytes:
        return self._zlib.unused_data

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        given = self._zlib.decompress(self._zlib.unconsumed_tail + data, max_length)
        # A full buffer may leave something inside zlib, also when no packed bytes are left.
        self.needs_input = not self._zlib.unconsumed_tail and len(given) < max_length
        return given


PACKINGS: Final = (
    Packing("gzip", b"\x1f\x8b\x08", ".gz", "gunzip", _Inflate),
    Packing("bzip2", b"BZh", ".bz2", "bunzip2", bz2.BZ2Decompressor),
    Packing(
        "xz",
        b"\xfd7zXZ\0",
        ".xz",
        "unxz",
        lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, _XZ_MEMORY),
    ),
    Packing("zstd", b"\x28\xb5\x2f\xfd", ".zst", "unzstd", None),
)


def packing_of(start: bytes) -> Packing | None:
    """Tells how a document is compressed.

    Args:
        start: Its first bytes; `MAGIC_BYTES` are enough.

    Returns:
        The compression; None if there is none that is known.

    >>> packing_of(b"BZh91AY").name, packing_of(b"<a/>")
    ('bzip2', None)
    """
    return next((one for one in PACKINGS if start.startswith(one.magic)), None)


def unpacked(packing: Packing, packed: Bytes, limits: Limits) -> Bytes:
    """Returns the bytes that compressed bytes unpack to, up to limits."""
    return _Unpacked(packing, packed, limits) if packing.start else _Zstd(packing, packed, limits)


class UnpackedSize:
    """The size of a document that is being unpacked, which stops archive bombs."""

    def __init__(self, limits: Limits, tool: str) -> None:
        self._limits = limits
        self._tool = tool
        self.read = self.bytes = 0

    def add(self, count: int) -> None:
        """Counts unpacked bytes.

        Raises:
            DocumentError: There are too many.
        """
        before, self.bytes = self.bytes, self.bytes + count
        limits = self._limits
        if self.bytes > max(limits.gzip_free_bytes, self.read * limits.gzip_ratio):
            hint = f"if you trust it, raise the limit, or unpack it with {self._tool} first"
            raise DocumentError(limits.passed("gzip_ratio"), hint, "", 0, 0, before)


class _Unpacked:
    """The bytes that compressed bytes unpack to: all streams of them."""

    def __init__(self, packing: Packing, packed: Bytes, limits: Limits) -> None:
        self._packing = packing
        self._packed = packed
        self._limits = limits
        self._buffer = memoryview(bytearray(_BUFFER))
        self._begin()

    def _begin(self) -> None:
        self._stream: Decompressor | None = None
        self._streams = 0
        self._rest = b""  # packed bytes that were read and not yet unpacked
        self._size = UnpackedSize(self._limits, self._packing.tool)

    def rewind(self) -> None:
        """Starts again from the first byte."""
        self._packed.rewind()
        self._begin()

    def close(self) -> None:
        """Frees what belongs to us."""
        self._packed.close()

    def read_into(self, target: memoryview) -> int:
        """Reads some of the bytes that come next; none only at the end."""
        while stream := self._stream or self._next_stream():
            if stream.needs_input and not self._rest and not self._fill():
                raise self._error("the {} data ends too early", _TRUNCATED)
            try:
                data = stream.decompress(self._rest, len(target))
            except _DAMAGED as error:
                raise self._error(f"the {{}} data is damaged ({error})") from None
            self._rest = b""
            if stream.eof:
                self._stream, self._rest = None, stream.unused_data
            if data:
                target[: len(data)] = data
                self._size.add(len(data))
                return len(data)
        return 0

    def _fill(self) -> bool:
        """Reads packed bytes; False at their end."""
        count = self._packed.read_into(self._buffer)
        self._size.read += count
        self._rest = bytes(self._buffer[:count])
        return count > 0

    def _next_stream(self) -> Decompressor | None:
        """Begins another stream, if there is one; zeros that fill up a file are none."""
        while True:
            if not self._rest and not self._fill():
                return None
            if not self._streams:
                break
            self._rest = self._rest.lstrip(b"\0")
            if self._rest:
                break
        magic, start = self._packing.magic, self._packing.start
        if not magic.startswith(self._rest[: len(magic)]) or start is None:
            raise self._error("the {} data is followed by something else")
        self._streams += 1
        self._stream = start()
        return self._stream

    def _error(self, reason: str, hint: str = "") -> DocumentError:
        said = reason.format(self._packing.name)
        return DocumentError(said, hint, "", 0, 0, self._size.bytes)


class _Zstd:
    """The bytes that Zstandard's unpack to; Arrow unpacks them."""

    def __init__(self, packing: Packing, packed: Bytes, limits: Limits) -> None:
        self._packing = packing
        self._packed = packed
        self._limits = limits
        self._begin()

    def _begin(self) -> None:
        self._stream: Any = None
        self._size = UnpackedSize(self._limits, self._packing.tool)

    def rewind(self) -> None:
        """Starts again from the first byte."""
        self._packed.rewind()
        self._begin()

    def close(self) -> None:
        """Frees what belongs to us."""
        self._stream = None
        self._packed.close()

    def read_into(self, target: memoryview) -> int:
        """Reads some of the bytes that come next; none only at the end."""
        import pyarrow as pa  # takes a third of a second, and few documents need it

        if self._stream is None:
            self._file = _Counted(self._packed, self._size)
            self._stream = pa.CompressedInputStream(pa.PythonFile(self._file, mode="r"), "zstd")
        try:
            data = self._stream.read(min(len(target), _BUFFER))
        except OSError as error:
            if self._file.error is not None:
                raise self._file.error from None
            reason, hint = f"the zstd data is damaged ({error})", ""
            if "Truncated" in str(error):
                reason, hint = "the zstd data ends too early", _TRUNCATED
            raise DocumentError(reason, hint, "", 0, 0, self._size.bytes) from None
        target[: len(data)] = data
        self._size.add(len(data))
        return len(data)


class _Counted(io.RawIOBase):
    """Packed bytes as a file that Arrow can read."""

    def __init__(self, packed: Bytes, size: UnpackedSize) -> None:
        self._packed = packed
        self._size = size
        self.error: OSError | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            count = self._packed.read_into(memoryview(buffer).cast("B"))
        except OSError as error:
            self.error = error
            raise
        self._size.read += count
        return count
