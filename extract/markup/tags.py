"""Markup as it is written: tags with their names and attributes, comments and instructions.

Patterns and functions are for bytes of well-formed documents in UTF-8, or in any encoding that has
ASCII's characters as ASCII has them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

COMMENT: Final = rb"<!--.*?-->"  # these two with `re.DOTALL`
INSTRUCTION: Final = rb"<\?.*?\?>"
INSIDE_TAG: Final = rb"""[^<>"']*(?:"[^"]*"[^<>"']*|'[^']*'[^<>"']*)*"""  # a > may be in quotes

TAG: Final = re.compile(rb"<%s>" % INSIDE_TAG)
# Not with possessive quantifiers: Python 3.11.2 takes them wrongly.
MISC: Final = re.compile(rb"(?:\s|%s|%s)*" % (COMMENT, INSTRUCTION), re.DOTALL)
_NAME: Final = re.compile(rb"</?([^\s/>]+)")
_ATTRIBUTE: Final = re.compile(rb"""([^\s=/>"']+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")


class AttributeSpan(NamedTuple):
    """Where an attribute is: its name, and its value without the quotes."""

    name_start: int
    name_end: int
    start: int
    end: int


class WrittenAttribute(NamedTuple):
    """An attribute or namespace declaration: its name and, unchanged, what is in its quotes."""

    name: bytes
    raw: bytes

    @property
    def declares(self) -> bool:
        """Whether it declares a namespace."""
        return declares_namespace(self.name)


def declares_namespace(name: bytes) -> bool:
    """Whether an attribute with this name is a namespace declaration.

    >>> [declares_namespace(name) for name in (b"xmlns", b"xmlns:a", b"xmlnsa")]
    [True, True, False]
    """
    return name == b"xmlns" or name.startswith(b"xmlns:")


def tag_name(data: bytes, start: int = 0) -> bytes:
    """Returns the name in the tag that begins at a byte.

    >>> tag_name(b"<po:order id='1'>"), tag_name(b"<a></b >", 3)
    (b'po:order', b'b')
    """
    return _match_name(data, start)[1]


def _match_name(data: bytes, start: int) -> re.Match[bytes]:
    name = _NAME.match(data, start)
    assert name is not None, data[start : start + 100]
    return name


def attribute_spans(data: bytes, start: int, end: int) -> Iterator[AttributeSpan]:
    """Yields where the attributes of a start tag are, namespace declarations among them.

    Args:
        data: The document, or a part of it.
        start, end: Where the tag begins and ends.
    """
    # From the end of the name: a long name would be tried from each of its characters.
    for one in _ATTRIBUTE.finditer(data, _match_name(data, start).end(), end):
        yield AttributeSpan(*one.span(1), *one.span(2 if one.start(2) >= 0 else 3))


def tag_attributes(tag: bytes) -> list[WrittenAttribute]:
    """Returns all attributes of a start tag, namespace declarations among them.

    >>> tag_attributes(b"<a x='1' xmlns:p = \\"urn:p\\" p:y='>'/>")[1:]
    [WrittenAttribute(name=b'xmlns:p', raw=b'urn:p'), WrittenAttribute(name=b'p:y', raw=b'>')]
    """
    return [
        WrittenAttribute(tag[one.name_start : one.name_end], tag[one.start : one.end])
        for one in attribute_spans(tag, 0, len(tag))
    ]
