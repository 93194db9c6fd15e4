"""Texts as columns: many strings in one buffer, without an object for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import overload

import numpy as np
from numpy.typing import NDArray

Offsets = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class TextColumn(Sequence[str]):
    """Strings as parts of a buffer in UTF-8.

    >>> column = TextColumn.of(["one", "", "drei €"])
    >>> len(column), column[2], list(column)
    (3, 'drei €', ['one', '', 'drei €'])

    Attributes:
        buffer: The bytes; half a character, which UTF-8 does not have, is written all the same.
        starts: Where each string starts.
        stops: Where each ends.
    """

    buffer: bytes
    starts: Offsets
    stops: Offsets

    @classmethod
    def of(cls, texts: Iterable[str]) -> TextColumn:
        """A column of these strings."""
        return cls.of_bytes([text.encode("utf-8", "surrogatepass") for text in texts])

    @classmethod
    def of_bytes(cls, parts: Sequence[bytes]) -> TextColumn:
        """A column of these strings, which are encoded already."""
        stops = np.fromiter(accumulate(map(len, parts)), np.int64, len(parts))
        starts = np.zeros(len(parts), np.int64)
        starts[1:] = stops[:-1]
        return cls(b"".join(parts), starts, stops)

    def __len__(self) -> int:
        return len(self.starts)

    def __iter__(self) -> Iterator[str]:
        for start, stop in zip(self.starts.tolist(), self.stops.tolist(), strict=True):
            yield self.buffer[start:stop].decode("utf-8", "surrogatepass")

    def text(self, index: int) -> str:
        """One of the strings."""
        part = self.buffer[self.starts[index] : self.stops[index]]
        return part.decode("utf-8", "surrogatepass")

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> TextColumn: ...
    def __getitem__(self, index: int | slice) -> str | TextColumn:
        if isinstance(index, slice):
            return TextColumn(self.buffer, self.starts[index], self.stops[index])
        return self.text(index)

    def packed(self) -> TextColumn:
        """The same strings, one after the other in a buffer of their own."""
        if len(self) and (
            self.starts[0] != 0
            or self.stops[-1] != len(self.buffer)
            or (self.starts[1:] != self.stops[:-1]).any()
        ):
            return TextColumn.of(self)
        return self if len(self) else TextColumn(b"", self.starts, self.stops)

    @classmethod
    def concat(cls, columns: Sequence[TextColumn]) -> TextColumn:
        """The strings of several columns, one after the other."""
        if len(columns) == 1:
            return columns[0]
        shift = np.cumsum([0, *[len(one.buffer) for one in columns]])
        starts = [one.starts + at for one, at in zip(columns, shift, strict=False)]
        stops = [one.stops + at for one, at in zip(columns, shift, strict=False)]
        buffer = b"".join([one.buffer for one in columns])
        none = np.empty(0, np.int64)
        return cls(buffer, np.concatenate([none, *starts]), np.concatenate([none, *stops]))

    def take(self, places: Offsets) -> TextColumn:
        """Some of the strings; the buffer is the same."""
        return TextColumn(self.buffer, self.starts[places], self.stops[places])
