"""Results of one FLWR query on the pieces of a document, put together."""

from __future__ import annotations

import math
from typing import Final

from extract.filtertool.matchers.push.output_programs import (
    BINDING,
    KEY,
    KEY_COUNT,
    KEY_FIRST,
    KEY_NUMBER,
    RESULT,
    OutputProgram,
)
from extract.subscriptions.columns import TextColumn
from extract.subscriptions.records import numbers_of

_REFERENCES: Final = ((b"&lt;", b"<"), (b"&gt;", b">"), (b"&#13;", b"\r"), (b"&amp;", b"&"))


class OutputParts:
    """The results of pieces, as `OutputProgram.for_pieces` writes them.

    Args:
        program: The program of the query on the whole document.
        most: How many bytes the result may have.
    """

    def __init__(self, program: OutputProgram, most: int) -> None:
        self._program = program
        self._keys = program.keys
        self._parts: list[bytes] = []
        self._key_parts: list[list[bytes]] = []
        self._left = most - sum(map(len, program.frame))

    def add(self, part: bytes, too_long: bool) -> None:
        """Adds the result of the next piece."""
        if too_long or self._left < 0:
            self._drop()
        elif not self._keys:
            self._take(part)
        else:
            for binding in part.split(BINDING)[1:]:
                keys, _, result = binding.partition(RESULT)
                self._key_parts.append(keys.split(KEY)[1:])
                self._take(result)

    def joined(self) -> str | None:
        """The result of the document; None if it is too long."""
        if self._left < 0:
            return None
        before, behind = self._program.frame
        parts = self._parts if not self._keys else [self._parts[n] for n in self._order()]
        return b"".join((before, *parts, behind)).decode()

    def _take(self, part: bytes) -> None:
        self._left -= len(part)
        self._parts.append(part)
        if self._left < 0:
            self._drop()

    def _drop(self) -> None:
        """Gives up: the result is too long, and is not kept."""
        self._left = -1
        self._parts, self._key_parts = [], []

    # -- order

    def _order(self) -> list[int]:
        """The bindings in the order of their keys; ties keep the order of the document."""
        order = list(range(len(self._parts)))
        columns: list[tuple[list[tuple[int, float]] | list[tuple[int, bytes]], bool]] = []
        at = 0
        for kind, descending in self._keys:
            columns.append((self._column(kind, at), descending))
            at += 2 if kind == KEY_FIRST else 1
        for column, descending in reversed(columns):
            order.sort(key=column.__getitem__, reverse=descending)
        return order

    def _column(self, kind: int, at: int) -> list[tuple[int, float]] | list[tuple[int, bytes]]:
        """The values of a key, which compare as the engine compares them."""
        parts = self._key_parts
        if kind == KEY_COUNT:
            return [(1, float(one[at])) for one in parts]
        if kind == KEY_NUMBER:
            texts = TextColumn.of([_unescaped(one[at]).decode() for one in parts])
            numbers = numbers_of(texts).tolist()
            return [(0, 0.0) if math.isnan(number) else (1, number) for number in numbers]
        if kind == KEY_FIRST:
            return [(int(one[at] != b"0"), _unescaped(one[at + 1])) for one in parts]
        return [(1, _unescaped(one[at])) for one in parts]


def _unescaped(value: bytes) -> bytes:
    """The value of a key; its bytes compare as its characters."""
    if b"&" in value:
        for reference, character in _REFERENCES:
            value = value.replace(reference, character)
    return value
