"""From byte ranges to bytes: what the outputs of a scan keep of each window.

The ranges of an output lie in the window that was just scanned, but for tags of ancestors that turn
out to be wanted only now: the scanner gave those with an earlier batch (`Batch.tags`).
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
_TAGS: Final = 1 << 26  # bytes of open tags, many times what a document in earnest has


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a document that was scanned just now.

    Attributes:
        data: Its bytes, only good until the next window.
        start: Where in the document they begin.
    """

    data: memoryview
    start: int

    @property
    def end(self) -> int:
        """Where in the document they end."""
        return self.start + len(self.data)


def gather(data: memoryview, ranges: Numbers, start: int = 0) -> bytes:
    """The bytes of many ranges, one after the other.

    Args:
        data: What the ranges are of.
        ranges: Start and end of each, in order.
        start: Where in the document the data begins.

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
    """The same without Python code for each range, but with some for each byte in numpy."""
    # Indices of all bytes as running sums: 1 from byte to byte, more at each gap.
    steps = np.ones(total, np.int64)
    steps[0] = ranges[0, 0]
    steps[np.cumsum(ranges[:-1, 1] - ranges[:-1, 0])] = ranges[1:, 0] - ranges[:-1, 1] + 1
    return np.frombuffer(data, np.uint8)[np.cumsum(steps)].tobytes()


_Gather = Callable[[memoryview, Numbers, int], bytes]


@cache
def native_gather() -> _Gather | None:
    """The same in C, where the kernel was compiled."""
    try:
        module = importlib.import_module("extract.chunktool.scan.kernel")
    except ImportError:
        return None
    native: _Gather | None = getattr(module, "gather", None)
    return native


class Cutter:
    """Cuts the windows of one scan, in their order."""

    def __init__(self) -> None:
        self._tags: dict[int, bytes] = {}
        self._tag_bytes = 0

    def cut(self, window: Window, batch: Batch, skip: Sequence[bool] = ()) -> list[bytes]:
        """What each output keeps of a window, and of tags before it.

        Args:
            window: The window.
            batch: What was found in it.
            skip: Outputs whose bytes nobody asks for.

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
        """The bytes of a range that begins before the window."""
        pieces: list[bytes] = []
        while at < min(end, window.start):
            piece = self._tags.get(at)
            if piece is None:
                raise HandOver("bytes that are gone")  # no scanner may; whole is always right
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
