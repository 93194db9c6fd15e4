"""Byte ranges of a document, gathered from windows."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from extract.chunktool.scan import byte_ranges as cut_module
from extract.chunktool.scan.byte_ranges import Cutter, Window, gather
from extract.chunktool.scan.protocol import Batch, HandOver, Numbers


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("length", [1, 10, 29, 31, 300])
def test_gathering_short_and_long_ranges(
    length: int, native: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not native:
        monkeypatch.setattr(cut_module, "native_gather", lambda: None)
    data = bytes(Random(length).randbytes(20_000))
    ranges = np.array([[i, i + length] for i in range(3, 19_000, length + 1 + length % 7)])
    wanted = b"".join(data[a:b] for a, b in ranges.tolist())
    assert gather(memoryview(data), ranges) == wanted
    assert gather(memoryview(data), ranges + 99, 99) == wanted
    assert gather(memoryview(bytearray(data)), ranges[:1]) == data[3 : 3 + length]
    assert gather(memoryview(data), ranges[:0]) == b""


def test_tags_of_ancestors_that_come_late() -> None:
    document = b"<a x='1'><b><c>text</c></b></a>"
    cutter = Cutter()
    none: Numbers = np.empty((0, 2), np.int64)

    def take(start: int, end: int, ranges: list[list[int]], tags: dict[int, bytes]) -> bytes:
        window = Window(memoryview(document)[start:end], start)
        batch = Batch([np.array(ranges, np.int64) if ranges else none], tags)
        return cutter.cut(window, batch)[0]

    assert take(0, 12, [], {0: b"<a x='1'>", 9: b"<b>"}) == b""
    assert take(12, 15, [], {12: b"<c>"}) == b""
    assert take(15, 24, [[0, 23]], {}) == b"<a x='1'><b><c>text</c>"
    assert take(24, 31, [[24, 31]], {}) == b"/b></a>"
    with pytest.raises(HandOver, match="gone"):
        take(31, 31, [[3, 5]], {})
