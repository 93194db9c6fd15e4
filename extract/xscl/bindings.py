"""Finds the bindings ``->x`` in a text before XPath reads it.

To XPath, ``book->x1`` is a comparison of ``book-`` with ``x1``, and the quote of ``x4'`` begins a
string. So bindings are taken out first; spaces stand in their places, so that all offsets stay.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from extract.xpath.names import NCNAME

_NAME: Final = rf"{NCNAME.pattern}(?<!-)'*"  # a minus at its end belongs to the next arrow
VARIABLE: Final = re.compile(_NAME)
# A condition in braces is left alone: a quote in it belongs to a variable. So is the name after AS,
# which the parser of patterns reads.
_TOKENS: Final = re.compile(
    rf"""(->[ \t\r\n]*)({_NAME})?"""
    rf"""|\{{[^}}]*\}}?"""
    rf"""|(?<![\w.\-])AS[ \t\r\n]+{_NAME}"""
    r"""|"[^"]*"|'[^']*'"""
)


class VariableBinding(NamedTuple):
    """A binding in a text.

    Attributes:
        start: Where its arrow, or the word ``AS``, stands.
        name: The variable; empty if there is none after the arrow.
        name_start: Where the variable stands.
    """

    start: int
    name: str
    name_start: int


def take_bindings(text: str, start: int) -> tuple[str, list[VariableBinding]]:
    """Returns a text with spaces in place of its bindings, and these in their order.

    Args:
        text: The text.
        start: Where to begin; what is before stays as it is.

    >>> take_bindings("S//a->x'[b->y = '->z']", 0)[0]
    "S//a    [b    = '->z']"
    >>> [one.name for one in take_bindings("S//a->x'[b->y = '->z']", 0)[1]]
    ["x'", 'y']
    """
    parts, bindings, at = [text[:start]], list[VariableBinding](), start
    for token in _TOKENS.finditer(text, start):
        if token[1] is None:
            continue
        bindings.append(VariableBinding(token.start(), token[2] or "", token.end(1)))
        parts += [text[at : token.start()], " " * (token.end() - token.start())]
        at = token.end()
    return "".join([*parts, text[at:]]), bindings
