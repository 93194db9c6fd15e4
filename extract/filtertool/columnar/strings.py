"""String values of nodes, each distinct one once."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extract.filtertool.columnar.columns import (
    ATTRIBUTE,
    COMMENT,
    ROW,
    TEXT,
    Columns,
    Ints,
    TooMuch,
    sorting,
)
from extract.filtertool.columnar.markup import attribute_value, text_value
from extract.filtertool.columnar.native import native_available, native_module
from extract.filtertool.columnar.numbers import to_number

MAX_PIECES: Final = 5_000_000  # pieces of text that string values may be put together from
MAX_BYTES: Final = 1 << 28  # and their bytes

Texts = NDArray[np.object_]


class Coded:
    """String values as numbers of a dictionary.

    Args:
        texts: The values.

    Attributes:
        code: For each value its number.
        words: For each number the value.
    """

    def __init__(self, texts: list[bytes]) -> None:
        self.words = list(dict.fromkeys(texts))
        self._number()
        numbers = self._numbers
        self.code: Ints = np.fromiter(map(numbers.__getitem__, texts), np.int64, len(texts))

    @classmethod
    def of(cls, words: list[bytes], code: Ints) -> Coded:
        """The same from a dictionary."""
        made = cls.__new__(cls)
        made.words, made.code = words, code
        made._number()
        return made

    def _number(self) -> None:
        self._numbers = dict(zip(self.words, range(len(self.words)), strict=True))

    def find(self, word: bytes) -> int:
        """The number of a value; -1 if there is none."""
        return self._numbers.get(word, -1)

    def where(self, word: bytes) -> Ints:
        """The places that have a value, in order."""
        number = self._numbers.get(word)
        if number is None:
            return np.empty(0, np.int64)
        places, limits = self._sorted
        return places[limits[number] : limits[number + 1]]

    def holding(self, part: bytes, begin: bool) -> NDArray[np.bool_]:
        """Which values have a part in them, or begin with it; per number of the dictionary."""
        found = np.zeros(len(self.words), np.bool_)
        if not part:
            found[:] = True
            return found
        text, starts = self._joined
        wanted = b"\0" + part if begin else part  # no value has a zero byte
        at = text.find(wanted)
        while at >= 0:
            word = bisect_right(starts, at) - 1
            found[word] = True
            if word + 1 == len(starts):
                break
            at = text.find(wanted, starts[word + 1])
        return found

    @cached_property
    def _joined(self) -> tuple[bytes, list[int]]:
        """All values, each after a zero byte, and where these are."""
        starts = np.cumsum([0, *[len(word) + 1 for word in self.words]])[:-1]
        return b"".join([b"\0" + word for word in self.words]), starts.tolist()

    @cached_property
    def _sorted(self) -> tuple[Ints, Ints]:
        places = sorting(self.code)
        return places, np.searchsorted(self.code[places], np.arange(len(self.words) + 1))

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """For each number of the dictionary, the value as a number."""
        return np.array([to_number(word) for word in self.words], np.float64)


class Strings:
    """Makes the string values of a batch."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns

    def of(self, nodes: Ints) -> list[bytes]:
        """The string values of nodes, as UTF-8."""
        if not nodes.size:
            return []
        kinds = self._columns.kind_of(nodes)
        low, high = int(kinds.min()), int(kinds.max())
        if low == high:
            return self._of_kind(low, nodes)
        out = np.empty(len(nodes), np.object_)
        for kind in range(low, high + 1):
            mask = kinds == kind
            out[mask] = as_texts(self._of_kind(kind, nodes[mask]))
        values: list[bytes] = out.tolist()
        return values

    def coded(self, nodes: Ints) -> Coded:
        """The string values of nodes, each distinct one once."""
        plain = (
            self._plain(nodes) if native_available() and len(self._columns.tables) == 1 else None
        )
        if plain is None:
            return Coded(self.of(nodes))
        start, stop = plain
        code = np.empty(len(nodes), np.int64)
        data = self._columns.tables[0].data
        first = np.empty(len(nodes), np.int64)
        count = native_module().encode(data, start, stop, code, first)
        firsts = first[:count]
        return Coded.of(self._cut(firsts, start[firsts], stop[firsts]), code)

    def _plain(self, nodes: Ints) -> tuple[Ints, Ints] | None:
        """Where string values begin and end in the document; None if they are not just there."""
        if not nodes.size:
            return None
        kinds = self._columns.kind_of(np.array([nodes.min(), nodes.max()]))
        if kinds[0] != kinds[1]:
            return None
        kind = int(kinds[0])
        inside = nodes - self._columns.bounds[kind]
        if kind == ATTRIBUTE:
            found = self._columns.attributes
            return None if found.odd[inside].any() else (found.value[inside], found.stop[inside])
        if kind not in (ROW, TEXT):
            return None
        texts = self._columns.leaves[0]
        if kind == ROW:
            first = np.searchsorted(texts.place, self._columns.order[nodes])
            last = np.searchsorted(texts.place, self._columns.ends[nodes])
        else:
            first, last = texts.first[inside], texts.first[inside + 1]
        size = last - first
        if size.max() > 1:
            return None
        if not size.any():
            return np.zeros_like(first), np.zeros_like(first)
        piece = np.minimum(first, len(texts.kind) - 1)
        if (texts.kind[piece] * size).any():
            return None
        return texts.start[piece] * size, texts.end[piece] * size

    def _of_kind(self, kind: int, nodes: Ints) -> list[bytes]:
        if kind == ROW:
            return self._of_rows(nodes)
        inside = nodes - self._columns.bounds[kind]
        if kind == TEXT:
            first = self._columns.leaves[0].first
            return self._joined(first[inside], first[inside + 1])
        if kind == ATTRIBUTE:
            return self._of_attributes(inside)
        return self._of_markup(kind, inside)

    def _of_rows(self, rows: Ints) -> list[bytes]:
        place = self._columns.leaves[0].place
        first = np.searchsorted(place, self._columns.order[rows])
        return self._joined(first, np.searchsorted(place, self._columns.ends[rows]))

    def _joined(self, first: Ints, stop: Ints) -> list[bytes]:
        """For each range of pieces of text, all of it."""
        texts = self._columns.leaves[0]
        unit, kind = texts.unit, texts.kind
        one = stop - first == 1
        plain = one.copy()
        plain[one] = kind[first[one]] == 0
        alone = first[plain]
        out = np.full(len(first), b"", np.object_)
        out[plain] = as_texts(self._cut(unit[alone], texts.start[alone], texts.end[alone]))
        several = np.flatnonzero(~plain & (stop > first))
        if several.size:
            out[several] = self._texts_of(first[several], stop[several])
        values: list[bytes] = out.tolist()
        return values

    def _texts_of(self, first: Ints, stop: Ints) -> Texts:
        """The same for ranges of several pieces; one that comes again is made once.

        Raises:
            TooMuch: A text within a text within a text: together they take too much memory.
        """
        texts = self._columns.leaves[0]
        both, which = np.unique(np.stack((first, stop)), axis=1, return_inverse=True)
        size = texts.end[both[1] - 1] - texts.start[both[0]]
        if size.sum() > MAX_BYTES or (both[1] - both[0]).sum() > MAX_PIECES:
            raise TooMuch
        ranges = zip(*both.tolist(), strict=True)
        made = [b"".join([self._piece(p) for p in range(low, high)]) for low, high in ranges]
        return as_texts(made)[which.reshape(-1)]

    def _cut(self, unit: Ints, start: Ints, stop: Ints) -> list[bytes]:
        """Bytes of documents."""
        tables = self._columns.tables
        slices = map(slice, start.tolist(), stop.tolist())
        if len(tables) == 1:
            return list(map(tables[0].data.__getitem__, slices))
        data = [table.data for table in tables]
        return [data[u][s] for u, s in zip(unit.tolist(), slices, strict=True)]

    def _piece(self, piece: int) -> bytes:
        texts = self._columns.leaves[0]
        data = self._columns.tables[texts.unit[piece]].data
        return text_value(data, texts.kind[piece], int(texts.start[piece]), int(texts.end[piece]))

    def _of_attributes(self, numbers: Ints) -> list[bytes]:
        found = self._columns.attributes
        values = self._cut(found.unit[numbers], found.value[numbers], found.stop[numbers])
        for at in np.flatnonzero(found.odd[numbers]).tolist():
            values[at] = attribute_value(values[at])
        return values

    def _of_markup(self, kind: int, numbers: Ints) -> list[bytes]:
        leaves = self._columns.leaves[kind - TEXT]
        out = []
        for at in leaves.first[numbers].tolist():
            data = self._columns.tables[leaves.unit[at]].data
            text = data[leaves.start[at] : leaves.end[at]]
            out.append(comment_value(text) if kind == COMMENT else instruction(text).value)
        return out


class Instruction(NamedTuple):
    """A processing instruction taken apart."""

    target: bytes
    value: bytes


def comment_value(markup: bytes) -> bytes:
    """What stands between ``<!--`` and ``-->``."""
    return _ends(markup[4:-3])


def instruction(markup: bytes) -> Instruction:
    """Target and content of ``<?target content?>``."""
    parts = markup[2:-2].split(None, 1)
    return Instruction(parts[0], _ends(parts[1]) if len(parts) > 1 else b"")


def _ends(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def as_texts(values: list[bytes]) -> Texts:
    """A list of strings as an array."""
    out = np.empty(len(values), np.object_)
    out[:] = values
    return out
