"""The distinct strings among the constants of many queries, numbered, and searches for all of them.

`lexicon_of` makes a lexicon in C where that is compiled, else one in Python, with the same answers.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from extract.filtertool.matchers.columnar.columns import Bools, Ints
from extract.filtertool.matchers.columnar.native import native_available, native_module
from extract.filtertool.matchers.columnar.strings import Coded
from extract.subscriptions.columns import TextColumn

QueryNumbers = NDArray[np.int32]


def lexicon_of(column: TextColumn) -> Lexicon:
    """Makes the lexicon of a column of strings."""
    return NativeLexicon(column) if native_available() else Lexicon(column)


class Lexicon:
    """Numbers the distinct strings of a column, in the order in which they occur first.

    Args:
        column: The strings.

    Attributes:
        codes: For each string its number.
        size: How many distinct strings there are.
    """

    def __init__(self, column: TextColumn) -> None:
        self._numbers: dict[bytes, int] = {}
        numbers = self._numbers
        codes = [numbers.setdefault(part, len(numbers)) for part in _slices(column)]
        self.codes: QueryNumbers = np.array(codes, np.int32)
        self.size = len(numbers)

    @cached_property
    def groups(self) -> tuple[Ints, QueryNumbers]:
        """The places of each number: number ``n`` is at ``items[at[n] : at[n + 1]]``."""
        items = np.argsort(self.codes, kind="stable").astype(np.int32)
        return np.searchsorted(self.codes[items], np.arange(self.size + 1)), items

    def numbers_of(self, texts: Coded) -> Ints:
        """Returns for each distinct text its number here; -1 if it has none."""
        return np.array([self._numbers.get(word, -1) for word in texts.words], np.int64)

    def found_in(self, texts: Coded, begin: bool) -> tuple[Ints, Ints]:
        """Finds the strings that occur in texts; each pair once, by text.

        Args:
            texts: The texts.
            begin: Whether a string must be at the start of a text.

        Returns:
            The numbers of the distinct texts, and the numbers of the strings in them.
        """
        lengths = sorted(set(map(len, self._numbers)))
        pairs: list[tuple[int, int]] = []
        for number, word in enumerate(texts.words):
            last = 0 if begin else len(word)
            parts = {word[at : at + n] for at in range(last + 1) for n in lengths}
            pairs += [(number, self._numbers[part]) for part in sorted(parts & set(self._numbers))]
        columns = np.array(pairs, np.int64).reshape(-1, 2)
        return columns[:, 0], columns[:, 1]


class NativeLexicon(Lexicon):
    """`Lexicon` in C: no string becomes an object."""

    def __init__(self, column: TextColumn) -> None:
        self._column = column
        self.codes = np.empty(len(column), np.int32)
        module = native_module("lexicon")
        starts, stops = _contiguous(column)
        self._native = module.Lexicon(column.buffer, starts, stops, self.codes)
        self.size: int = self._native.count

    @cached_property
    def groups(self) -> tuple[Ints, QueryNumbers]:
        """The places of each number: number ``n`` is at ``items[at[n] : at[n + 1]]``."""
        at, items = np.empty(self.size + 1, np.int64), np.empty(len(self.codes), np.int32)
        native_module("lexicon").group(self.codes, at, items)
        return at, items

    def numbers_of(self, texts: Coded) -> Ints:
        """Returns for each distinct text its number here; -1 if it has none."""
        column = texts.column
        numbers = np.empty(len(column), np.int64)
        self._native.find_all(column.buffer, column.starts, column.stops, numbers)
        return numbers

    def found_in(self, texts: Coded, begin: bool) -> tuple[Ints, Ints]:
        """Finds the strings that occur in texts, as `Lexicon.found_in` does."""
        column = texts.column
        room = 4 * len(column) + 64
        while True:
            pairs = np.empty((2, room), np.int64)
            count = self._search.find_all(column.buffer, column.starts, column.stops, begin, pairs)
            if count <= room:
                return pairs[0, :count], pairs[1, :count]
            room = count

    @cached_property
    def _search(self) -> Any:
        first = np.empty(self.size, np.int64)
        self._native.copy_first(first)
        starts, stops = _contiguous(self._column.take(first))
        return native_module("lexicon").PrefixSearch(self._column.buffer, starts, stops)


def contained(
    texts: TextColumn, which: Ints, parts: TextColumn, which_part: Ints, begin: bool
) -> Bools:
    """Returns a mask of the pairs in which the text contains the part.

    Args:
        texts, parts: The texts and the parts.
        which, which_part: For each pair the number of its text, and of its part.
        begin: Whether the part must be at the start.
    """
    if native_available():
        out = np.empty(len(which), np.bool_)
        native_module("lexicon").contained(
            texts.buffer, *_contiguous(texts), which,
            parts.buffer, *_contiguous(parts), which_part,
            begin, out.view(np.uint8),
        )  # fmt: skip
        return out
    pairs, back = np.unique(which * len(parts) + which_part, return_inverse=True)
    whole = _slices(texts.take(pairs // len(parts)))
    sought = _slices(parts.take(pairs % len(parts)))
    holds = [
        text.startswith(part) if begin else part in text
        for text, part in zip(whole, sought, strict=True)
    ]
    return np.array(holds, np.bool_)[back]


def _slices(column: TextColumn) -> list[bytes]:
    slices = map(slice, column.starts.tolist(), column.stops.tolist())
    return list(map(column.buffer.__getitem__, slices))


def _contiguous(column: TextColumn) -> tuple[Ints, Ints]:
    return np.ascontiguousarray(column.starts), np.ascontiguousarray(column.stops)
