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
and ``/ /``, ``p:a``, ``p :a`` and ``p: a``, ``$a`` and ``$ a``, ``<=`` and ``< =``. Whether a word
is a name or an operator is known from the token before it: ``1and2`` has three tokens, ``a orb``
too. Keys do not fold abbreviations: ``@a`` and ``attribute::a`` have two keys, and one expression.

`extract.subscriptions.templates` looks templates up by these keys.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from extract.limits import Limits
from extract.xpath.names import NCNAME, NOT_XML

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

_REST: Final = (
    rf"""({NCNAME.pattern})"""
    r"""|("[^"]*"|'[^']*')"""
    r"""|((?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]*)?)"""
    r"""|(//|::|\.\.|[!<>]=|[-/\[\](),@|+=<>$:.*])"""
    r"""|(\Z)"""
)
# Before an operand, and after one, where a word is an operator.
_BEFORE: Final = re.compile(rf"[ \t\r\n]*+(?:((?!))|{_REST})")  # the first group never matches
_AFTER: Final = re.compile(rf"[ \t\r\n]*+(?:(or|and|div|mod)|{_REST})")
_WORD_GROUP, _NAME_GROUP, _STRING_GROUP, _NUMBER_GROUP, _SIGN_GROUP = range(1, 6)
_ENDS: Final = frozenset((")", "]", ".", ".."))  # an operator may follow


class Literal(NamedTuple):
    """A literal of an expression.

    Attributes:
        kind: `STRING` or `NUMBER`.
        value: The string without its quotes, or the number as written.
        start: Where the value starts in the text.
    """

    kind: int
    value: str
    start: int


class Tokens(NamedTuple):
    """An expression as tokens.

    Attributes:
        key: The stream of tokens, without the values of literals.
        literals: The literals in their order.
    """

    key: bytes
    literals: tuple[Literal, ...]


def tokenise(text: str) -> Tokens | None:
    """The tokens of an expression; None if it cannot parse.

    That is so if some character starts no token, or cannot occur in XML.

    >>> tokenise("a[2-b=1]").literals
    (Literal(kind=2, value='2', start=2), Literal(kind=2, value='1', start=6))
    """
    if NOT_XML.search(text):
        return None
    key = bytearray()
    literals: list[Literal] = []
    at = 0
    pattern = _BEFORE
    while True:
        found = pattern.match(text, at)
        if found is None:
            return None
        group = found.lastindex
        assert group is not None
        token, start = found[group], at
        at, pattern = found.end(), _AFTER
        if group == _NAME_GROUP:
            key.append(NAME)
            key += token.encode()
        elif group == _SIGN_GROUP:
            if token == "*":  # a name test, or an operator
                key += b"*"
                pattern = _AFTER if found.re is _BEFORE else _BEFORE
            elif token in (":", "$"):  # a name has to follow at once
                spaced = found.start(group) > start and token == ":"
                key += _COLON_AFTER_SPACE if spaced else token.encode()
                if text[at : at + 1] in (" ", "\t", "\r", "\n"):
                    key += b" "
                pattern = _BEFORE
            else:
                key += _SIGNS.get(token) or token.encode()
                pattern = _AFTER if token in _ENDS else _BEFORE
        elif group == _WORD_GROUP:
            key += _WORDS[token]
            pattern = _BEFORE
        elif group == _STRING_GROUP:
            key.append(STRING)
            literals.append(Literal(STRING, token[1:-1], found.start(group) + 1))
        elif group == _NUMBER_GROUP:
            key.append(NUMBER)
            literals.append(Literal(NUMBER, token, found.start(group)))
        else:
            return Tokens(bytes(key), tuple(literals))


def length_limit_passed(text: str, limits: Limits) -> str:
    """The name of the limit on length that an expression passes; empty for none.

    >>> small = Limits(xpath_chars=10, constant_chars=4)
    >>> [length_limit_passed(text, small) for text in ("a[b='12345']", "a[b='12']/c/d")]
    ['constant_chars', 'xpath_chars']
    """
    if len(text) <= min(limits.xpath_chars, limits.constant_chars):
        return ""
    if len(text) > limits.xpath_chars + limits.constant_chars:
        return "constant_chars"  # without a look at what may be very long
    tokens = tokenise(text)
    constants = 0 if tokens is None else sum([len(literal.value) for literal in tokens.literals])
    if constants > limits.constant_chars:
        return "constant_chars"
    return "xpath_chars" if len(text) - constants > limits.xpath_chars else ""
