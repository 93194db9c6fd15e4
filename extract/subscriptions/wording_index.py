"""Looks up the wording of an expression by its text.

A *wording* is the text of some queries of one template, which differ in nothing but the values of
their parameters. The key of a text is the text without the values of its literals. Expressions with
one key are a *family*: all have the same literals as parameters, and the same as shape. The wording
is known from the family, the values of literals that are shape, and the order of literals where
that matters (`extract.transtool.constant_order`). All this is learnt from the first member; each
other member costs one pass over its text and one or two look-ups.

`wording_index` makes an index in C where that was compiled, else one in Python, with the same
answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from extract.limits import Limits
from extract.subscriptions.columns import TextColumn
from extract.subscriptions.native import native_tokens
from extract.subscriptions.records import Records, record
from extract.xpath.ast import quote
from extract.xpath.tokens import NUMBER, Literal, Tokens, length_limit_passed, tokenise

NO_WORDING: Final = -(1 << 31)

Classes = tuple[tuple[int, ...], ...]
"""Literals whose order matters: those of one class are compared with each other."""

Scopes = NDArray[np.int32]
"""The scopes of many expressions: one for each, or one for all."""

Match = tuple[int, tuple[str, ...]]
"""The number of a wording, and the constants of one of its members."""

_NO_ORDERS: Final = np.empty(0, np.int32)
_FOLLOWERS: Final = " ],"  # what follows a number where two texts are compared


class WordingIndex(Protocol):
    """What both indexes do. A scope is a number for the namespaces that an expression sees."""

    def learn(
        self, text: str, scope: int, roles: tuple[bool, ...], classes: Classes, wording: int
    ) -> None:
        """Takes in an expression that parses.

        Args:
            text: The expression.
            scope: Its scope.
            roles: For each of its literals, whether it is a parameter.
            classes: Its literals whose order matters.
            wording: The number of its wording.
        """

    def find(self, text: str, scope: int) -> Match | None:
        """The wording of an expression and its constants; None if that is not known."""

    def find_all(
        self, texts: TextColumn, ids: TextColumn, scopes: Scopes, learn: Callable[[int], bool]
    ) -> Records:
        """Looks many expressions up.

        Args:
            texts: The expressions.
            ids: Their ids.
            scopes: The scope of each; just one if it is that of all.
            learn: Called with the position of an expression whose wording is not known, to learn
                it; returns whether it has one.
        """


def wording_index(limits: Limits) -> WordingIndex:
    """An empty index; an expression of more than so many characters has no wording in it."""
    native = native_tokens()
    return PythonIndex(limits) if native is None else _NativeIndex(native, limits)


class _NativeIndex:
    """The index in C."""

    def __init__(self, native: Any, limits: Limits) -> None:
        self._index = native.WordingIndex(limits.xpath_chars, limits.constant_chars)

    def learn(
        self, text: str, scope: int, roles: tuple[bool, ...], classes: Classes, wording: int
    ) -> None:
        orders = _NO_ORDERS
        if classes:
            pairs = [(number, one) for number, several in enumerate(classes) for one in several]
            orders = np.array(pairs, np.int32).reshape(-1)
        self._index.learn(text, scope, bytes(roles), orders, wording)

    def find(self, text: str, scope: int) -> Match | None:
        match: Match | None = self._index.find(text, scope)
        return match

    def find_all(
        self, texts: TextColumn, ids: TextColumn, scopes: Scopes, learn: Callable[[int], bool]
    ) -> Records:
        wordings = np.empty(len(texts), np.int32)
        ends = np.empty(len(texts), np.int64)
        heap = self._index.find_all(
            texts.buffer, texts.starts, texts.stops,
            ids.buffer, ids.starts, ids.stops,
            scopes, learn, wordings, ends,
        )  # fmt: skip
        return Records(wordings, ends, heap)


class PythonIndex:
    """The index in Python."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._families: dict[tuple[int, str], tuple[tuple[bool, ...], Classes]] = {}
        self._wordings: dict[tuple[int, str, tuple[str, ...], tuple[int, ...]], int] = {}

    def learn(
        self, text: str, scope: int, roles: tuple[bool, ...], classes: Classes, wording: int
    ) -> None:
        """Takes in an expression that parses."""
        tokens = tokenise(text)
        if tokens is None or len(tokens.literals) != len(roles):
            raise ValueError("an expression with other tokens")
        family = _family(text, tokens, scope)
        self._families.setdefault(family, (roles, classes))
        shape = [one.value for one, role in zip(tokens.literals, roles, strict=True) if not role]
        ranks = literal_order(tokens.literals, classes)
        self._wordings[*family, tuple(shape), ranks] = wording

    def find(self, text: str, scope: int) -> Match | None:
        """The wording of an expression and its constants; None if that is not known."""
        tokens = None if length_limit_passed(text, self._limits) else tokenise(text)
        if tokens is None:
            return None
        family = _family(text, tokens, scope)
        known = self._families.get(family)
        if known is None:
            return None
        roles, classes = known
        constants: list[str] = []
        shape: list[str] = []
        for literal, role in zip(tokens.literals, roles, strict=True):
            (constants if role else shape).append(literal.value)
        ranks = literal_order(tokens.literals, classes)
        wording = self._wordings.get((*family, tuple(shape), ranks))
        return None if wording is None else (wording, tuple(constants))

    def find_all(
        self, texts: TextColumn, ids: TextColumn, scopes: Scopes, learn: Callable[[int], bool]
    ) -> Records:
        """Looks many expressions up."""
        wordings = np.full(len(texts), NO_WORDING, np.int32)
        ends = np.empty(len(texts), np.int64)
        heap = bytearray()
        each = scopes.tolist() if len(scopes) == len(texts) else scopes.tolist() * len(texts)
        for position, (text, name, scope) in enumerate(zip(texts, ids, each, strict=True)):
            match = self.find(text, scope)
            if match is None and learn(position):
                match = self.find(text, scope)
                assert match is not None
            if match is not None:
                wordings[position], constants = match
                heap += record(name, constants)
            ends[position] = len(heap)
        return Records(wordings, ends, bytes(heap))


def literal_order(literals: Sequence[Literal], classes: Classes) -> tuple[int, ...]:
    """For each literal of a class how many others of the class come before it.

    They are compared as they stand in a canonical text: strings with their quotes, and numbers with
    each of the characters that may follow them. Where this is the same for two expressions, all
    parts of their texts have the same order.

    >>> one, two, ten = (Literal(NUMBER, text, 0) for text in ("1", "2", "10"))
    >>> literal_order([one, two], ((0, 1),)), literal_order([two, ten], ((0, 1),))
    ((0, 0, 0, 1, 1, 1), (1, 1, 1, 0, 0, 0))
    """
    ranks: list[int] = []
    for numbers in classes:
        some = [literals[number] for number in numbers]
        if some[0].kind == NUMBER:
            texts = [[one.value + follower for follower in _FOLLOWERS] for one in some]
        else:
            texts = [[quote(one.value)] for one in some]
        for own in texts:
            ranks += [sum([other[n] < text for other in texts]) for n, text in enumerate(own)]
    return tuple(ranks)


def _family(text: str, tokens: Tokens, scope: int) -> tuple[int, str]:
    """The key of a family; to an expression without prefixes all scopes are the same."""
    parts: list[str] = []
    start = 0
    for literal in tokens.literals:
        parts += (text[start : literal.start], chr(literal.kind))
        start = literal.start + len(literal.value)
    prefixed = b":" in tokens.key or b"\x13" in tokens.key
    return (scope if prefixed else 0), "".join((*parts, text[start:]))
