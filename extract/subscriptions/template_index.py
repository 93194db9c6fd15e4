"""Looks up the template of an expression by its tokens.

An index knows families and templates. A *family* is a key of `extract.xpath.tokens`: all its
expressions have the same literals as parameters, and the same as shape. A *template* is a family
with the values of the literals that are shape. Both are learnt from the first member, which is
parsed; each other member costs one pass over its text and one or two look-ups.

`template_index` makes an index in C where that was compiled, else one in Python, with the same
answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from extract.subscriptions.columns import TextColumn
from extract.subscriptions.native import native_tokens
from extract.subscriptions.records import Records, record
from extract.xpath.tokens import tokenise

Match = tuple[int, tuple[str, ...]]
"""The number of a template, and the constants of one of its members."""


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
