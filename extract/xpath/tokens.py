r"""The tokens of an XPath 1.0 expression, as libxml2 divides its text.

`tokenise` turns a text into a key and its literals. The key is a stream of tokens in which a
literal is a mark of its kind, so that texts which differ in white space, quotes and the values of
literals have one key:

>>> tokenise("/a[ b='x' and 1<c ]") == tokenise('/a[b = "y"and 2 < c]')
False
>>> tokenise("/a[ b='x' and 1<c ]").key == tokenise('/a[b = "y"and 2 < c]').key
True

Two texts with one key have the same expression except for the values of literals, or neither has
one. So the key keeps each place where white space matters to libxml2: ``a -1`` and ``a-1``, ``//``
and ``/ /``, ``p:a``, ``p :a`` and ``p: a``, ``<=`` and ``< =``. Whether a word is a name or an
operator is known from the token before it: ``1and2`` has three tokens, ``a orb`` too. Keys do not
fold abbreviations: ``@a`` and ``attribute::a`` have two keys, and one expression.

`extract.xpath._tokens` does the same in C; `extract.xpath.keys` says which of them runs.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from extract.xpath.names import NCNAME

STRING: Final = 1
NUMBER: Final = 2
NAME: Final = 3  # before each name; the mark of the two kinds of literals stands for itself

_WORDS: Final = {"or": b"\x04", "and": b"\x05", "div": b"\x06", "mod": b"\x07"}
# The signs that are bytes of their own in a key: those of two characters, and those that names may
# hold. All others stand for themselves.
_SIGNS: Final = {
    "//": b"\x08",
    "::": b"\x0b",
    "..": b"\x0c",
    ".": b"\x0e",
    "-": b"\x0f",
    "!=": b"\x10",
    "<=": b"\x11",
    ">=": b"\x12",
}
_COLON_AFTER_SPACE: Final = b"\x13"

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_WORD: Final = re.compile("or|and|div|mod")
_TOKEN: Final = re.compile(
    rf"""({NCNAME.pattern})"""
    r"""|("[^"]*"|'[^']*')"""
    r"""|((?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]*)?)"""
    r"""|(//|::|\.\.|[!<>]=|[-/\[\](),@|+=<>$:.*])"""
)
_ENDS: Final = frozenset((")", "]", ".", ".."))  # an operator may follow


class Literal(NamedTuple):
    """A literal of an expression.

    Attributes:
        kind: `STRING` or `NUMBER`.
        value: The string without its quotes, or the number as written.
    """

    kind: int
    value: str


class Tokens(NamedTuple):
    """An expression as tokens.

    Attributes:
        key: The stream of tokens, without the values of literals.
        literals: The literals in their order.
    """

    key: bytes
    literals: tuple[Literal, ...]


def tokenise(text: str) -> Tokens | None:
    """The tokens of an expression; None if some character starts none, so that it cannot parse.

    >>> tokenise("a[2-b=1]").literals
    (Literal(kind=2, value='2'), Literal(kind=2, value='1'))
    """
    key = bytearray()
    literals: list[Literal] = []
    at, size = 0, len(text)
    after_operand = False
    while True:
        start = _end(_SPACE, text, at)
        if start == size:
            return Tokens(bytes(key), tuple(literals))
        word = _WORD.match(text, start) if after_operand else None
        if word:
            key += _WORDS[word[0]]
            at, after_operand = word.end(), False
            continue
        token = _TOKEN.match(text, start)
        if token is None:
            return None
        spaced, at, sign = start > at, token.end(), token[0]
        if token.lastindex == 1:
            key.append(NAME)
            key += sign.encode()
            after_operand = True
        elif token.lastindex == 2:
            key.append(STRING)
            literals.append(Literal(STRING, sign[1:-1]))
            after_operand = True
        elif token.lastindex == 3:
            key.append(NUMBER)
            literals.append(Literal(NUMBER, sign))
            after_operand = True
        elif sign == "*":  # a name test, or an operator
            key += b"*"
            after_operand = not after_operand
        elif sign == ":":
            key += _COLON_AFTER_SPACE if spaced else b":"
            if _end(_SPACE, text, at) > at:
                key += b" "
            after_operand = False
        else:
            key += _SIGNS.get(sign) or sign.encode()
            after_operand = sign in _ENDS


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    assert found is not None
    return found.end()
