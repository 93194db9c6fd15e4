"""A scanner for plain documents, of tags and texts, that works in windows, token by token.

It lets the tests of everything around scanners see windows, left-over bytes and late tags of
ancestors, whatever the real scanners do.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from extract.chunktool.automaton.automaton import Automaton
from extract.chunktool.scan.byte_ranges import gather
from extract.chunktool.scan.protocol import (
    Batch,
    Elements,
    Ends,
    HandOver,
    Leaves,
    Numbers,
    Violation,
)
from extract.errors import DocumentError
from extract.limits import Limits

_TOKEN = re.compile(rb"<(/?)([\w.-]+)((?:\s[^<>]*?)?)(/?)>|<\?.*?\?>|<!\w[^>]*>|[^<]+", re.DOTALL)


class _Open:
    """An element that is open."""

    def __init__(self, name: str, state: int, symbol: int, start: int, tag: bytes) -> None:
        self.name = name
        self.state = state
        self.symbol = symbol
        self.start = start
        self.tag = tag
        self.position = 1
        self.row = -1
        self.written: set[int] = set()
        self.tops: tuple[int, ...] = ()
        self.counts: dict[str, int] = {}


class WindowScanner:
    """Consumes whole tokens only."""

    def __init__(self, automaton: Automaton, limits: Limits, table: bool = False) -> None:
        self.violation: Violation | None = None
        self._automaton = automaton
        self._limits = limits
        self._at = self._rows = 0
        self._rest = b""
        self._stack = [_Open("", automaton.START, -1, 0, b"")]
        self._inside: set[int] = set(automaton.info(automaton.START).subtree)
        self._seen_root = False
        self._clear()

    def _clear(self) -> None:
        self._ranges: list[list[list[int]]] = [[] for _ in self._automaton.outputs]
        self._elements: list[tuple[int, ...]] = []
        self._ends: list[tuple[int, ...]] = []
        self._since = self._at
        self._taken = self._rows

    def feed(self, data: bytes | memoryview) -> int:
        data = bytes(data)
        at = 0
        for token in _TOKEN.finditer(data):
            if token.start() != at:
                break
            if token.end() == len(data) and not data.endswith(b">"):
                break  # a text that may go on
            self._token(token)
            at = token.end()
            self._at += at - token.start()
        self._rest = data[at:]
        return at

    def finish(self) -> None:
        if self._rest.strip() or len(self._stack) > 1 or not self._seen_root:
            raise DocumentError("the document ends too early", "", "", 0, 0, self._at)

    def keep(self, data: bytes, output: int = 0) -> bytes | None:
        self.feed(data)
        self.finish()
        return gather(memoryview(data), self.take().ranges[output]) if self._good else None

    def _token(self, token: re.Match[bytes]) -> None:
        end = self._at + len(token[0])
        if b"HANDOVER" in token[0]:
            raise HandOver("as asked")
        if token[2] is None:
            self._keep(self._inside, self._at, end)
            if not token[0].startswith(b"<"):
                content = set(self._automaton.info(self._stack[-1].state).content)
                self._keep(content if len(self._stack) > 1 else set(), self._at, end)
            elif not self._seen_root:
                self._keep(set(range(len(self._ranges))), self._at, end)
        elif token[1]:
            self._close(token, end)
        else:
            self._open(token, end)

    def _open(self, token: re.Match[bytes], end: int) -> None:
        parent, name = self._stack[-1], token[2].decode()
        if len(self._stack) == 1 and self._seen_root:
            raise DocumentError("there is a second root", "", "", 0, 0, self._at)
        self._seen_root = True
        if len(self._stack) > self._limits.depth:
            raise DocumentError("elements are nested too deeply", "", "", 0, 0, self._at)
        automaton = self._automaton
        symbol = automaton.symbol("", name)
        state = automaton.step(parent.state, symbol) if self._good else -1
        if state < 0 and self._good:
            path = "".join(f"/{each.name}" for each in self._stack[1:])
            self.violation = Violation(self._at, path, name)
        parent.counts[name] = parent.counts.get(name, 0) + 1
        element = _Open(name, state, symbol, self._at, token[0])
        element.position = parent.counts[name]
        self._stack.append(element)
        if self._good:
            info = automaton.info(state)
            element.tops = info.subtree
            for output in {*info.subtree, *info.tag}:
                self._write_ancestors(output)
            self._inside |= set(info.subtree)
            self._keep(self._inside - set(info.subtree), self._at, end)
            if self._inside:
                self._row(element)
        if token[4]:
            self._end(self._stack.pop(), end, end)

    @property
    def _good(self) -> bool:
        return self.violation is None

    def _write_ancestors(self, output: int) -> None:
        for element in self._stack[1:]:
            if output not in element.written:
                element.written.add(output)
                self._keep({output}, element.start, element.start + len(element.tag))
                self._row(element)

    def _row(self, element: _Open) -> None:
        if element.row < 0:
            element.row, self._rows = self._rows, self._rows + 1
            parent = self._stack[self._stack.index(element) - 1]
            content = element.start + len(element.tag)
            self._elements.append(
                (
                    element.state,
                    parent.row,
                    element.start,
                    content,
                    element.position,
                    element.symbol,
                    -1,
                    -1,
                )
            )

    def _close(self, token: re.Match[bytes], end: int) -> None:
        element = self._stack.pop()
        if element.name != token[2].decode():
            raise DocumentError(f"{element.name} is not closed", "", "", 0, 0, self._at)
        self._keep(self._inside - set(element.tops), self._at, end)
        self._keep(element.written, self._at, end)
        self._end(element, self._at, end)

    def _end(self, element: _Open, close: int, end: int) -> None:
        self._inside -= set(element.tops)
        if element.row >= self._taken:
            row = element.row - self._taken
            self._elements[row] = (*self._elements[row][:-2], close, end)
        elif element.row >= 0:
            self._ends.append((element.row, close, end))

    def _keep(self, outputs: set[int], start: int, end: int) -> None:
        for output in outputs:
            ranges = self._ranges[output]
            if ranges and ranges[-1][1] == start:
                ranges[-1][1] = end
            else:
                ranges.append([start, end])

    def take(self) -> Batch:
        tags = {e.start: e.tag for e in self._stack[1:] if e.start >= self._since}
        ranges: list[Numbers] = [np.array(r, np.int64).reshape(-1, 2) for r in self._ranges]
        batch = Batch(
            ranges,
            tags,
            Elements(*_columns(self._elements, "i4 i4 i8 i8 i4 i4 i8 i8")),
            Ends(*_columns(self._ends, "i4 i8 i8")),
            Leaves(*_columns([], "i4 i1 i8 i8 i4")),
        )
        self._clear()
        return batch


def _columns(rows: list[tuple[int, ...]], kinds: str) -> list[Any]:
    types = kinds.split()
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(types)
    return [np.array(column, kind) for column, kind in zip(columns, types, strict=True)]
