"""Texts as columns: many strings in one buffer, without an object for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Offsets = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class TextColumn:
    """Strings as parts of a buffer in UTF-8.

    >>> column = TextColumn.of(["one", "", "drei €"])
    >>> len(column), column.text(2), list(column)
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
        parts = [text.encode("utf-8", "surrogatepass") for text in texts]
        stops = np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)))
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
