"""Turns byte ranges into bytes: the part of each window that the outputs of a scan keep.

The ranges of an output lie in the window that was scanned last, except for tags of ancestors that
an output turns out to need: the scanner passed those with an earlier batch (`Batch.tags`).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from extract.chunktool.scan.protocol import Batch, HandOver, Numbers

_SHORT: Final = 30  # mean length of ranges below which gathering by index is faster than slicing
_BLOCK: Final = 256  # ranges sliced at a time: few enough for the slices to stay in the cache
_TAGS: Final = 1 << 26  # bytes of open tags, many times what real documents have


@dataclass(frozen=True, slots=True)
class Window:
    """The part of a document that was scanned last.

    Attributes:
        data: Its bytes, valid until the next window.
        start: Its offset in the document.
    """

    data: memoryview
    start: int

    @property
    def end(self) -> int:
        """The offset of its end in the document."""
        return self.start + len(self.data)


def gather(data: memoryview, ranges: Numbers, start: int = 0) -> bytes:
    """Returns the bytes of many ranges, one after the other.

    Args:
        data: A part of the document.
        ranges: Start and end of each range, in order.
        start: The offset of the data in the document.

    >>> gather(memoryview(b"<a><b/>text</a>"), np.array([[5, 8], [16, 20]]), 5)
    b'<a></a>'
    """
    native = native_gather()
    if native is not None:
        return native(data, ranges, start)
    if start:
        ranges = ranges - start
    count = len(ranges)
    if count <= _BLOCK:
        return b"".join([data[begin:end] for begin, end in ranges.tolist()])
    total = int((ranges[:, 1] - ranges[:, 0]).sum())
    if total < count * _SHORT:
        return _gather_by_index(data, ranges, total)
    blocks = [ranges[i : i + _BLOCK].tolist() for i in range(0, count, _BLOCK)]
    return b"".join([b"".join([data[begin:end] for begin, end in block]) for block in blocks])


def _gather_by_index(data: memoryview, ranges: Numbers, total: int) -> bytes:
    """`gather` with numpy operations on bytes in place of Python code for each range."""
    # Indices of all bytes as running sums: 1 from byte to byte, more at each gap.
    steps = np.ones(total, np.int64)
    steps[0] = ranges[0, 0]
    steps[np.cumsum(ranges[:-1, 1] - ranges[:-1, 0])] = ranges[1:, 0] - ranges[:-1, 1] + 1
    return np.frombuffer(data, np.uint8)[np.cumsum(steps)].tobytes()


_Gather = Callable[[memoryview, Numbers, int], bytes]


@cache
def native_gather() -> _Gather | None:
    """Returns `gather` in C; None if the kernel is not compiled."""
    try:
        module = importlib.import_module("extract.chunktool.scan.kernel")
    except ImportError:
        return None
    native: _Gather | None = getattr(module, "gather", None)
    return native


class Cutter:
    """Cuts the bytes of outputs out of the windows of one scan, in their order."""

    def __init__(self) -> None:
        self._tags: dict[int, bytes] = {}
        self._tag_bytes = 0

    def cut(self, window: Window, batch: Batch, skip: Sequence[bool] = ()) -> list[bytes]:
        """Returns the bytes that each output keeps of a window, and of tags before it.

        Args:
            window: The window.
            batch: The scanner's report on it.
            skip: Outputs whose bytes are not needed.

        Raises:
            HandOver: The open tags together are too large.
        """
        pieces = [
            self._cut(window, ranges) if len(ranges) and not (skip and skip[number]) else b""
            for number, ranges in enumerate(batch.ranges)
        ]
        self._remember(batch)
        return pieces

    def _cut(self, window: Window, ranges: Numbers) -> bytes:
        start = window.start
        if ranges[0, 0] >= start:
            return gather(window.data, ranges, start)
        early = int(np.searchsorted(ranges[:, 0], start))
        pieces = [self._before(window, *pair) for pair in ranges[:early].tolist()]
        if early < len(ranges):
            pieces.append(gather(window.data, ranges[early:], start))
        return b"".join(pieces)

    def _before(self, window: Window, at: int, end: int) -> bytes:
        """Returns the bytes of a range that begins before the window."""
        pieces: list[bytes] = []
        while at < min(end, window.start):
            piece = self._tags.get(at)
            if piece is None:
                raise HandOver("bytes that are gone")  # no scanner does this
            pieces.append(piece)
            at += len(piece)
        pieces.append(bytes(window.data[at - window.start : end - window.start]))
        return b"".join(pieces)

    def _remember(self, batch: Batch) -> None:
        if batch.tags:
            self._tags.update(batch.tags)
            self._tag_bytes += sum(map(len, batch.tags.values()))
            if self._tag_bytes > _TAGS:
                raise HandOver("too many bytes of open tags")
