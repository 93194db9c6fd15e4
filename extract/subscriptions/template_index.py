"""Looks up the template of an expression by its tokens.

An index knows families and templates. A *family* is a key of `extract.xpath.tokens`: all its
expressions have the same literals as parameters, and the same as shape. A *template* is a family
with the values of the literals that are shape. Both are learnt from the first member, which is
parsed; each other member costs one pass over its text and one or two look-ups.

`template_index` makes an index in C where that was compiled, else one in Python, with the same
answers. ``EXTRACT_TOKENS=off`` in the environment never uses C, ``on`` never does without.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from extract.subscriptions.columns import Offsets, TextColumn
from extract.xpath.numbers import to_number
from extract.xpath.tokens import tokenise

ENVIRONMENT: Final = "EXTRACT_TOKENS"

Match = tuple[int, tuple[str, ...]]
"""The number of a template, and the constants of one of its members."""


class Records(NamedTuple):
    """The templates of many expressions, and a record for each: its id and its constants.

    A record is a row of fields; a field is the length of a text, seven bits a byte, and the text.

    Attributes:
        templates: For each expression the number of its template; -1 if it has none.
        ends: Where its record ends.
        heap: The records, one after the other.
    """

    templates: NDArray[np.int32]
    ends: Offsets
    heap: bytes


class TemplateIndex(Protocol):
    """What both indexes do. A scope is a number for the namespaces that an expression sees."""

    def learn(self, text: str, scope: int, roles: tuple[bool, ...], template: int) -> None:
        """Takes in an expression that parses.

        Args:
            text: The expression.
            scope: Its scope.
            roles: For each of its literals, whether it is a parameter.
            template: The number of its template.
        """

    def find(self, text: str, scope: int) -> Match | None:
        """The template of an expression and its constants; None if that is not known."""

    def find_all(
        self, texts: TextColumn, ids: TextColumn, scope: int, learn: Callable[[int], None]
    ) -> Records:
        """Looks many expressions up.

        Args:
            texts: The expressions.
            ids: Their ids.
            scope: The scope of all.
            learn: Called with the position of an expression whose template is not known. If it is
                not known then either, the expression has none.
        """


def template_index(xpath_chars: int) -> TemplateIndex:
    """An empty index; an expression of more than so many characters has no template in it."""
    native = native_tokens()
    return PythonIndex(xpath_chars) if native is None else _NativeIndex(native, xpath_chars)


def native_tokens() -> Any:
    """The module in C; None if it was not compiled, or may not be used."""
    wanted = os.environ.get(ENVIRONMENT, "")
    if wanted == "off":
        return None
    try:
        return importlib.import_module("extract.xpath._tokens")
    except ImportError:  # there was no compiler
        if wanted == "on":
            raise
        return None


class _NativeIndex:
    """The index in C."""

    def __init__(self, native: Any, xpath_chars: int) -> None:
        self._index = native.TemplateIndex(xpath_chars)

    def learn(self, text: str, scope: int, roles: tuple[bool, ...], template: int) -> None:
        self._index.learn(text, scope, bytes(roles), template)

    def find(self, text: str, scope: int) -> Match | None:
        match: Match | None = self._index.find(text, scope)
        return match

    def find_all(
        self, texts: TextColumn, ids: TextColumn, scope: int, learn: Callable[[int], None]
    ) -> Records:
        templates = np.empty(len(texts), np.int32)
        ends = np.empty(len(texts), np.int64)
        heap = self._index.find_all(
            texts.buffer, texts.starts, texts.stops,
            ids.buffer, ids.starts, ids.stops,
            scope, learn, templates, ends,
        )  # fmt: skip
        return Records(templates, ends, heap)


class PythonIndex:
    """The index in Python."""

    def __init__(self, xpath_chars: int) -> None:
        self._most = xpath_chars
        self._roles: dict[tuple[int, bytes], tuple[bool, ...]] = {}
        self._templates: dict[tuple[int, bytes, tuple[str, ...]], int] = {}

    def learn(self, text: str, scope: int, roles: tuple[bool, ...], template: int) -> None:
        """Takes in an expression that parses."""
        tokens = tokenise(text)
        if tokens is None or len(tokens.literals) != len(roles):
            raise ValueError("an expression with other tokens")
        family = _family(tokens.key, scope)
        self._roles[family] = roles
        shape = [one.value for one, role in zip(tokens.literals, roles, strict=True) if not role]
        self._templates[*family, tuple(shape)] = template

    def find(self, text: str, scope: int) -> Match | None:
        """The template of an expression and its constants; None if that is not known."""
        tokens = tokenise(text) if len(text) <= self._most else None
        if tokens is None:
            return None
        family = _family(tokens.key, scope)
        roles = self._roles.get(family)
        if roles is None:
            return None
        constants: list[str] = []
        shape: list[str] = []
        for literal, role in zip(tokens.literals, roles, strict=True):
            (constants if role else shape).append(literal.value)
        template = self._templates.get((*family, tuple(shape)))
        return None if template is None else (template, tuple(constants))

    def find_all(
        self, texts: TextColumn, ids: TextColumn, scope: int, learn: Callable[[int], None]
    ) -> Records:
        """Looks many expressions up."""
        templates = np.empty(len(texts), np.int32)
        ends = np.empty(len(texts), np.int64)
        heap = bytearray()
        for position, (text, name) in enumerate(zip(texts, ids, strict=True)):
            match = self.find(text, scope)
            if match is None:
                learn(position)
                match = self.find(text, scope)
            templates[position], constants = match or (-1, ())
            heap += record(name, constants)
            ends[position] = len(heap)
        return Records(templates, ends, bytes(heap))


def _family(key: bytes, scope: int) -> tuple[int, bytes]:
    """A family; to an expression without prefixes all scopes are the same."""
    return (scope if b":" in key or b"\x13" in key else 0), key


def record(name: str, constants: tuple[str, ...]) -> bytes:
    """A member's record.

    >>> record("q1", ("x", ""))
    b'\\x02q1\\x01x\\x00'
    """
    fields = bytearray()
    for text in (name, *constants):
        data = text.encode("utf-8", "surrogatepass")
        left = len(data)
        while left >= 128:
            fields.append(left & 127 | 128)
            left >>= 7
        fields.append(left)
        fields += data
    return bytes(fields)


def column_of(heap: bytearray, starts: Offsets, field: int) -> TextColumn:
    """One field of the records that start there."""
    native = native_tokens()
    offsets = np.zeros(len(starts) + 1, np.int64)
    if native is not None:
        texts = native.gather_field(heap, starts, field, offsets)
    else:
        parts = [_fields(heap, start, field + 1)[field] for start in starts.tolist()]
        np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)), out=offsets[1:])
        texts = b"".join(parts)
    return TextColumn(texts, offsets[:-1], offsets[1:])


def fields_of(heap: bytearray, start: int, end: int) -> tuple[str, ...]:
    """The fields of the record from ``start`` to ``end``.

    >>> fields_of(bytearray(record("q1", ("x", ""))), 0, 6)
    ('q1', 'x', '')
    """
    parts = _fields(heap[start:end], 0, None)
    return tuple([part.decode("utf-8", "surrogatepass") for part in parts])


def _fields(heap: bytearray, at: int, count: int | None) -> list[bytes]:
    """So many fields from there on; all that there are for None."""
    fields: list[bytes] = []
    while len(fields) != count and at < len(heap):
        size = shift = 0
        while True:
            byte = heap[at]
            at += 1
            size |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        fields.append(bytes(heap[at : at + size]))
        at += size
    return fields


def numbers_of(column: TextColumn) -> NDArray[np.float64]:
    """The numbers that the texts of a column are to libxml2."""
    native = native_tokens()
    numbers = np.empty(len(column), np.float64)
    if native is not None:
        native.to_numbers(column.buffer, column.starts, column.stops, numbers)
    else:
        numbers[:] = [to_number(text.encode()) for text in column]
    return numbers
