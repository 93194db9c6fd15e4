"""The string values of elements, from the texts of a node table.

The texts of an element follow one another in the table, with those of its descendants in document
order. So all texts are put one after the other once, and the string value of an element is a part
of that, however many elements are nested in one another.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extract.chunktool.scan.byte_ranges import gather, native_gather
from extract.chunktool.scan.node_table import NodeTable
from extract.chunktool.scan.protocol import Leaves
from extract.markup.node_kinds import NodeKind
from extract.markup.values import Values

Longs = NDArray[np.int64]


class ElementTexts(NamedTuple):
    """The string values of some elements.

    Attributes:
        data: All of them, in UTF-8.
        spans: Where in it the string value of each element is: shape (n, 2).
    """

    data: bytes
    spans: Longs

    @classmethod
    def of(cls, table: NodeTable, values: Values, rows: NDArray[Any]) -> ElementTexts:
        """Returns the string values of elements.

        Args:
            table: The node table; all that the elements have in them is there.
            values: Decodes its bytes.
            rows: The elements.
        """
        elements, leaves = table.elements, table.leaves
        if not len(rows):
            return cls(b"", np.empty((0, 2), np.int64))
        first = np.searchsorted(leaves.start, elements.start[rows])
        last = np.searchsorted(leaves.start, elements.end[rows])
        begin, end = int(first.min()), int(last.max())
        covered = _covered(first - begin, last - begin, end - begin)
        texts = np.flatnonzero(covered & NodeKind.TEXT.parts_among(leaves.kind[begin:end])) + begin
        data, lengths = _characters(table.data, leaves, texts, values)
        ends = np.concatenate(([0], np.cumsum(lengths)))
        return cls(
            data,
            np.stack(
                (ends[np.searchsorted(texts, first)], ends[np.searchsorted(texts, last)]), axis=1
            ),
        )

    def longer_than(self, most: int | None) -> NDArray[np.bool_]:
        """Says which of them have more bytes than they may have."""
        lengths = self.spans[:, 1] - self.spans[:, 0]
        return np.zeros(len(lengths), np.bool_) if most is None else lengths > most

    def strings(self, most: int | None) -> list[str | None]:
        """Returns them one by one; None for those that have too many bytes."""
        places = zip(self.spans.tolist(), self.longer_than(most).tolist(), strict=True)
        return [None if long else self.data[start:end].decode() for (start, end), long in places]


def _covered(first: Longs, last: Longs, count: int) -> NDArray[np.bool_]:
    """Which of some things are in at least one of some ranges.

    >>> _covered(np.array([0, 3]), np.array([1, 5]), 6).tolist()
    [True, False, False, True, True, False]
    """
    change = np.bincount(first, minlength=count + 1) - np.bincount(last, minlength=count + 1)
    covered: NDArray[np.bool_] = np.cumsum(change)[:count] > 0
    return covered


def _characters(
    data: bytes, leaves: Leaves, texts: Longs, values: Values
) -> tuple[bytes, NDArray[np.int64]]:
    """The characters of texts in UTF-8, one text after the other; and how long each is."""
    spans = np.stack((leaves.start[texts], leaves.end[texts]), axis=1)
    decoded = leaves.kind[texts] != NodeKind.TEXT.value
    if not values.is_utf8:
        decoded[:] = True
    if not decoded.any():
        return _gathered(data, spans), spans[:, 1] - spans[:, 0]
    plain = _gathered(data, spans[~decoded])
    kinds = leaves.kind[texts[decoded]].tolist()
    parts = [
        values.text(values.utf8(start, end), kind).encode()
        for (start, end), kind in zip(spans[decoded].tolist(), kinds, strict=True)
    ]
    lengths = spans[:, 1] - spans[:, 0]
    lengths[decoded] = [len(part) for part in parts]
    # Those that are just bytes, then those that were decoded; from there each to its place.
    starts = np.empty(len(texts), np.int64)
    for some, before in ((~decoded, 0), (decoded, len(plain))):
        starts[some] = before + np.cumsum(lengths[some]) - lengths[some]
    everything = plain + b"".join(parts)
    return _gathered(everything, np.stack((starts, starts + lengths), axis=1)), lengths


def _gathered(data: bytes, spans: Longs) -> bytes:
    filled = spans[spans[:, 1] > spans[:, 0]]
    return (native_gather() or gather)(memoryview(data), filled, 0) if len(filled) else b""
