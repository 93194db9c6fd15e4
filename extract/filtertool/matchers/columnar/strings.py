"""String values of nodes; equal values are stored once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from extract.filtertool.matchers.columnar.columns import (
    NOTHING,
    BeyondMemory,
    Columns,
    Ints,
    sorting,
)
from extract.filtertool.matchers.columnar.native import native_available, native_module
from extract.markup.node_kinds import NodeKind
from extract.markup.values import (
    attribute_value,
    comment_value,
    instruction_value,
    text_value,
)
from extract.subscriptions.columns import TextColumn
from extract.subscriptions.records import numbers_of
from extract.xpath.numbers import to_number

MAX_PIECES: Final = 5_000_000  # pieces of text in string values of one question
MAX_BYTES: Final = 1 << 28  # and their bytes

Texts = NDArray[np.object_]


class Coded:
    """String values as indices into a dictionary.

    Args:
        texts: The values.
    """

    def __init__(self, texts: list[bytes]) -> None:
        self._texts = texts

    @cached_property
    def words(self) -> list[bytes]:
        """The value of each number."""
        return list(dict.fromkeys(self._texts))

    @cached_property
    def code(self) -> Ints:
        """The number of each value."""
        numbers = self._numbers
        return np.fromiter(map(numbers.__getitem__, self._texts), np.int64, len(self._texts))

    @cached_property
    def _numbers(self) -> dict[bytes, int]:
        return dict(zip(self.words, range(len(self.words)), strict=True))

    def find(self, word: bytes) -> int:
        """Returns the number of a value; -1 if it does not occur."""
        return self._numbers.get(word, -1)

    def where(self, word: bytes) -> Ints:
        """Returns the places with a value, in order."""
        number = self.find(word)
        return NOTHING if number < 0 else self.places(np.array([number]))

    def places(self, numbers: Ints) -> Ints:
        """Returns the places with these numbers; the places of one number are in order."""
        places, limits = self._sorted
        return np.concatenate([NOTHING, *[places[limits[n] : limits[n + 1]] for n in numbers]])

    def holding(self, part: bytes, begin: bool) -> NDArray[np.bool_]:
        """Returns, by number, whether the value contains a string, or begins with it."""
        holds = np.zeros(len(self._joined[1]), np.bool_)
        if part:
            holds[self.search([sought(part, begin)])[0]] = True
        else:
            holds[:] = True
        return holds

    def search(self, parts: Sequence[bytes]) -> list[Ints]:
        """Returns, for each part made by `sought`, the numbers of the values that contain it."""
        return [np.array(list(self._search(part)), np.int64) for part in parts]

    def _search(self, part: bytes) -> Iterator[int]:
        text, starts = self._joined
        at = text.find(part)
        while at >= 0:
            word = int(np.searchsorted(starts, at, "right")) - 1
            yield word
            at = text.find(part, starts[word + 1]) if word + 1 < len(starts) else -1

    @cached_property
    def _joined(self) -> tuple[bytes, Ints]:
        """All values, each after a zero byte, and the offsets of these bytes."""
        starts = np.cumsum([0, *[len(word) + 1 for word in self.words]])[:-1]
        return b"".join([b"\0" + word for word in self.words]), starts

    @cached_property
    def column(self) -> TextColumn:
        """The value of each number, as a column."""
        return TextColumn.of_bytes(self.words)

    @cached_property
    def _sorted(self) -> tuple[Ints, Ints]:
        places = sorting(self.code)
        return places, np.searchsorted(self.code[places], np.arange(len(self.words) + 1))

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """For each number of the dictionary, the value as a number."""
        return np.array([to_number(word) for word in self.words], np.float64)


class NativeCoded(Coded):
    """`Coded` for slices of buffers, in C: no value becomes an object unless it is needed."""

    def __init__(self, slices: Any) -> None:
        self._dictionary = native_module("values").Dictionary(slices)
        self._size = slices.size

    @cached_property
    def words(self) -> list[bytes]:
        """The value of each number."""
        words: list[bytes] = self._dictionary.list_words()
        return words

    @cached_property
    def code(self) -> Ints:
        """The number of each value."""
        code = np.empty(self._size, np.int64)
        self._dictionary.copy_codes(code)
        return code

    def find(self, word: bytes) -> int:
        """Returns the number of a value; -1 if it does not occur."""
        number: int = self._dictionary.find(word)
        return number

    def places(self, numbers: Ints) -> Ints:
        """Returns the places with these numbers; the places of one number are in order."""
        places = np.empty(self._dictionary.many_of(numbers), np.int64)
        self._dictionary.list_of(numbers, places)
        return places

    def search(self, parts: Sequence[bytes]) -> list[Ints]:
        """Returns, for each part made by `sought`, the numbers of the values that contain it."""
        text, starts = self._joined
        shortest = min(map(len, parts))
        room = 1 << 12
        while True:
            out = np.empty((2, room), np.int64)
            count = native_module("values").search(text, starts, list(parts), shortest, out)
            if count <= room:
                break
            room = count
        part, number = out[:, :count]
        by = sorting(part)
        return np.split(number[by], np.searchsorted(part[by], np.arange(1, len(parts))))

    @cached_property
    def column(self) -> TextColumn:
        """The value of each number, as a column."""
        text, starts = self._joined
        end = len(text) - native_module("values").PADDING
        return TextColumn(text, starts + 1, np.append(starts, end)[1:])

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """For each number of the dictionary, the value as a number."""
        return numbers_of(self.column)

    @cached_property
    def _joined(self) -> tuple[bytes, Ints]:
        starts = np.empty(self._dictionary.count, np.int64)
        return self._dictionary.joined(starts), starts


class Words:
    """Words that string values are compared with.

    Attributes:
        numbers: The number of each word.
    """

    def __init__(self) -> None:
        self.numbers: dict[bytes, int] = {}

    def add(self, word: bytes) -> None:
        """Adds a word; all are added before the first search."""
        self.numbers.setdefault(word, len(self.numbers))

    def in_slices(self, slices: Any) -> tuple[Ints, Ints]:
        """Returns numbers of words and the slices equal to them, in the order of slices."""
        room = slices.size  # a slice is at most one word
        pairs = np.empty((2, room), np.int64)
        count = self._dictionary.find_all(slices, pairs)
        return pairs[0, :count], pairs[1, :count]

    @cached_property
    def _dictionary(self) -> Any:
        values = native_module("values")
        ends = np.cumsum([0, *map(len, self.numbers)])
        start, stop = ends[:-1], ends[1:]
        slices = values.Slices([b"".join(self.numbers)], np.zeros_like(start), start, stop)
        return values.Dictionary(slices)


def sought(part: bytes, begin: bool) -> bytes:
    """Returns the bytes to search for a part, or for values that begin with it; not empty."""
    return b"\0" + part if begin else part  # no value has a zero byte


class Strings:
    """Makes the string values of a batch."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns

    def of(self, nodes: Ints) -> list[bytes]:
        """Returns the string values of nodes, as UTF-8."""
        if not nodes.size:
            return []
        kinds = self._columns.kind_of(nodes)
        low, high = int(kinds.min()), int(kinds.max())
        if low == high:
            return self._of_kind(low, nodes)
        out = np.empty(len(nodes), np.object_)
        for kind in np.unique(kinds).tolist():
            mask = kinds == kind
            out[mask] = as_texts(self._of_kind(kind, nodes[mask]))
        values: list[bytes] = out.tolist()
        return values

    def coded(self, nodes: Ints) -> Coded:
        """Returns the string values of nodes, each distinct one once."""
        if not native_available():
            return Coded(self.of(nodes))
        return NativeCoded(self._native_slices(nodes))

    def equal(self, nodes: Ints, words: Words) -> tuple[Ints, Ints]:
        """Finds the nodes whose string value is one of the words; returns the numbers of the words,
        and the nodes, in this order."""
        if native_available():
            number, place = words.in_slices(self._native_slices(nodes))
        else:
            find = words.numbers.get
            numbers = np.array([find(text, -1) for text in self.of(nodes)], np.int64)
            place = np.flatnonzero(numbers >= 0)
            number = numbers[place]
        by = sorting(number)
        return number[by], place[by]

    def _native_slices(self, nodes: Ints) -> Any:
        """Returns the string values of nodes as slices of documents, or of other buffers where they
        are not in the document literally."""
        which, start, stop, odd = self._slices(nodes)
        buffers = [table.data for table in self._columns.tables]
        made = self.of(nodes[odd])
        if made:
            ends = np.cumsum(list(map(len, made)))
            which[odd], start[odd], stop[odd] = len(buffers), np.append(0, ends[:-1]), ends
            buffers.append(b"".join(made))
        return native_module("values").Slices(buffers, which, start, stop)

    def _slices(self, nodes: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        """Returns the slices of string values, and the nodes whose value is not there literally."""
        columns = self._columns
        low, high = columns.kinds_of(nodes)
        nothing = np.zeros(len(nodes), np.int64)
        if low != high or low not in (NodeKind.ELEMENT, NodeKind.TEXT, NodeKind.ATTRIBUTE):
            return nothing, nothing.copy(), nothing.copy(), np.arange(len(nodes))
        inside = nodes - columns.bounds[low]
        if low == NodeKind.ATTRIBUTE:
            attributes = columns.attributes
            odd = np.flatnonzero(attributes.odd[inside])
            return attributes.unit[inside], attributes.value[inside], attributes.stop[inside], odd
        texts = columns.texts
        if not len(texts.kind):
            return nothing, nothing, nothing, NOTHING
        several = np.empty(len(nodes), np.bool_)
        if low == NodeKind.ELEMENT:
            piece = np.empty(len(nodes), np.int64)
            native_module("values").texts_of_rows(
                columns.order_of(nodes),
                columns.ends[nodes],
                texts.place,
                texts.kind,
                piece,
                several.view(np.uint8),
            )
        else:
            piece = texts.first[inside]
            several[:] = texts.first[inside + 1] - piece > 1
            several |= ~(texts.kind[piece] == NodeKind.TEXT.value)
        none = piece < 0
        which, start, stop = texts.unit[piece], texts.start[piece], texts.end[piece]
        if none.any():
            start[none] = stop[none] = 0
        return which, start, stop, np.flatnonzero(several)

    def _of_kind(self, kind: int, nodes: Ints) -> list[bytes]:
        if kind == NodeKind.ELEMENT:
            return self._of_rows(nodes)
        inside = nodes - self._columns.bounds[kind]
        if kind == NodeKind.TEXT:
            first = self._columns.texts.first
            return self._joined(first[inside], first[inside + 1])
        if kind == NodeKind.ATTRIBUTE:
            return self._of_attributes(inside)
        return self._of_markup(kind, inside)

    def _of_rows(self, rows: Ints) -> list[bytes]:
        place = self._columns.texts.place
        first = np.searchsorted(place, self._columns.order_of(rows))
        return self._joined(first, np.searchsorted(place, self._columns.ends[rows]))

    def _joined(self, first: Ints, stop: Ints) -> list[bytes]:
        """Returns the joined text of each range of pieces."""
        texts = self._columns.texts
        unit, kind = texts.unit, texts.kind
        single = stop - first == 1
        plain = single.copy()
        plain[single] = kind[first[single]] == NodeKind.TEXT.value
        alone = first[plain]
        out = np.full(len(first), b"", np.object_)
        out[plain] = as_texts(self._cut(unit[alone], texts.start[alone], texts.end[alone]))
        several = np.flatnonzero(~plain & (stop > first))
        if several.size:
            out[several] = self._texts_of(first[several], stop[several])
        values: list[bytes] = out.tolist()
        return values

    def _texts_of(self, first: Ints, stop: Ints) -> Texts:
        """`_joined` for ranges of several pieces; equal ranges are joined once.

        Raises:
            BeyondMemory: Nested texts together take too much memory.
        """
        texts = self._columns.texts
        both, which = np.unique(np.stack((first, stop)), axis=1, return_inverse=True)
        size = texts.end[both[1] - 1] - texts.start[both[0]]
        if size.sum() > MAX_BYTES or (both[1] - both[0]).sum() > MAX_PIECES:
            raise BeyondMemory
        ranges = zip(*both.tolist(), strict=True)
        made = [b"".join([self._piece(p) for p in range(low, high)]) for low, high in ranges]
        return as_texts(made)[which.reshape(-1)]

    def _cut(self, unit: Ints, start: Ints, stop: Ints) -> list[bytes]:
        """Returns bytes of documents."""
        tables = self._columns.tables
        slices = map(slice, start.tolist(), stop.tolist())
        if len(tables) == 1:
            return list(map(tables[0].data.__getitem__, slices))
        data = [table.data for table in tables]
        return [data[u][s] for u, s in zip(unit.tolist(), slices, strict=True)]

    def _piece(self, piece: int) -> bytes:
        texts = self._columns.texts
        data = self._columns.tables[texts.unit[piece]].data
        return text_value(data[texts.start[piece] : texts.end[piece]], int(texts.kind[piece]))

    def _of_attributes(self, numbers: Ints) -> list[bytes]:
        attributes = self._columns.attributes
        values = self._cut(
            attributes.unit[numbers], attributes.value[numbers], attributes.stop[numbers]
        )
        for at in np.flatnonzero(attributes.odd[numbers]).tolist():
            values[at] = attribute_value(values[at])
        return values

    def _of_markup(self, kind: int, numbers: Ints) -> list[bytes]:
        leaves = self._columns.leaves[kind]
        out = []
        for at in leaves.first[numbers].tolist():
            data = self._columns.tables[leaves.unit[at]].data
            text = data[leaves.start[at] : leaves.end[at]]
            is_comment = kind == NodeKind.COMMENT
            out.append(comment_value(text) if is_comment else instruction_value(text).value)
        return out


def as_texts(values: list[bytes]) -> Texts:
    """Returns a list of strings as an array."""
    out = np.empty(len(values), np.object_)
    out[:] = values
    return out
