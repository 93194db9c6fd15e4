"""Bytes that pile up until a scan has ended: in memory while they are few, then in files.

Nothing that a scan found may be handed on before its end (TRAPS 9), and documents are larger than
memory. So each output has a pile; those of one scan share a budget of memory, and when it is spent
all of them move to temporary files, which vanish with the piles.
"""

from __future__ import annotations

import io
import tempfile
import weakref
from collections.abc import Iterator
from typing import IO, Final, Protocol

from extract.chunktool.input.source import WINDOW, Source

BUDGET: Final = 1 << 26  # bytes in memory, for all piles of a scan


class Content(Protocol):
    """Bytes that can be read in parts, as often as one likes."""

    @property
    def size(self) -> int:
        """How many there are."""

    def parts(self, start: int = 0, end: int | None = None) -> Iterator[bytes | memoryview]:
        """The bytes from ``start`` to ``end`` in order; a part is only good until the next."""


class Piles:
    """The piles of one scan.

    Args:
        count: How many.
        budget: How many bytes they may have in memory together.

    >>> piles = Piles(2)
    >>> piles.add(0, b"<a>"); piles.add(1, b"x"); piles.add(0, b"</a>")
    >>> read_all(piles[0]), piles[1].size
    (b'<a></a>', 1)
    """

    def __init__(self, count: int, budget: int = BUDGET) -> None:
        self._piles = [_Pile() for _ in range(count)]
        self._budget = budget
        self._in_memory = 0

    def add(self, number: int, data: bytes) -> None:
        """Puts bytes on a pile."""
        self._piles[number].add(data)
        self._in_memory += len(data)
        if self._in_memory > self._budget:
            for pile in self._piles:
                pile.to_file()
            self._in_memory = 0

    def clear(self) -> None:
        """Takes everything off all piles."""
        self._piles = [_Pile() for _ in self._piles]
        self._in_memory = 0

    def __getitem__(self, number: int) -> Content:
        return self._piles[number]


class _Pile:
    """Bytes in memory, after those in a file if there is one."""

    def __init__(self) -> None:
        self.size = 0
        self._parts: list[bytes] = []
        self._file: IO[bytes] | None = None

    def add(self, data: bytes) -> None:
        if data:
            self._parts.append(data)
            self.size += len(data)

    def to_file(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the pile)
            weakref.finalize(self, self._file.close)
        self._file.seek(0, io.SEEK_END)
        self._file.writelines(self._parts)
        self._parts.clear()

    def parts(self, start: int = 0, end: int | None = None) -> Iterator[bytes | memoryview]:
        end = self.size if end is None else min(end, self.size)
        if self._file is None:
            at = 0
            for part in self._parts:
                if at < end and at + len(part) > start:
                    whole = start <= at and at + len(part) <= end
                    yield part if whole else memoryview(part)[max(0, start - at) : end - at]
                at += len(part)
            return
        if self._parts:
            self.to_file()
        while start < end:
            self._file.seek(start)  # somebody else may be reading the same pile
            part = self._file.read(min(WINDOW, end - start))
            if not part:
                raise OSError(f"a temporary file has lost {end - start} bytes")
            start += len(part)
            yield part


class Original:
    """A document as it is, for what is evaluated whole.

    Args:
        source: The document; it must stay open.
        size: How many bytes it has; read if unknown.
    """

    def __init__(self, source: Source, size: int = -1) -> None:
        self._source = source
        if source.memory is not None:
            size = len(source.memory)
        self.size = sum(map(len, source.windows())) if size < 0 else size

    def parts(self, start: int = 0, end: int | None = None) -> Iterator[bytes | memoryview]:
        """The bytes of the document, read again."""
        end = self.size if end is None else min(end, self.size)
        at = 0
        for window in self._source.windows():
            if at < end and at + len(window) > start:
                yield window[max(0, start - at) : end - at]
            at += len(window)
            if at >= end:
                break


def read_all(content: Content) -> bytes:
    """All bytes of a content at once."""
    if isinstance(content, Original) and content._source.memory is not None:
        whole = content._source.memory.obj
        if isinstance(whole, bytes):
            return whole  # no copy
    return b"".join(content.parts())


class ContentReader(io.RawIOBase):
    """A content as a file object, for programs that read files."""

    def __init__(self, content: Content) -> None:
        self._parts = content.parts()
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, target: object) -> int:
        """Reads what comes next."""
        view = memoryview(target).cast("B")  # type: ignore[arg-type]
        while not self._rest:
            part = next(self._parts, None)
            if part is None:
                return 0
            self._rest = memoryview(part)
        count = min(len(view), len(self._rest))
        view[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count
