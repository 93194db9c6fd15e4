"""Patterns and functions for tags, attributes, comments and processing instructions.

They take bytes of well-formed documents in UTF-8, or in any encoding that agrees with ASCII on the
characters of ASCII.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

COMMENT: Final = rb"<!--.*?-->"  # this and the next pattern need `re.DOTALL`
INSTRUCTION: Final = rb"<\?.*?\?>"
INSIDE_TAG: Final = rb"""[^<>"']*(?:"[^"]*"[^<>"']*|'[^']*'[^<>"']*)*"""  # a > may be in quotes

TAG: Final = re.compile(rb"<%s>" % INSIDE_TAG)
# No possessive quantifiers: Python 3.11.2 matches them wrongly.
MISC: Final = re.compile(rb"(?:\s|%s|%s)*" % (COMMENT, INSTRUCTION), re.DOTALL)
_NAME: Final = re.compile(rb"</?([^\s/>]+)")
# The pattern starts with the white space before the name: otherwise the search would try every
# character of the tag's name, in quadratic time.
_ATTRIBUTE: Final = re.compile(rb"""\s([^\s=/>"']+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")


AttributeSpan = tuple[int, int, int, int]
"""Offsets of an attribute: start and end of its name, start and end of its value in the quotes."""


class WrittenAttribute(NamedTuple):
    """An attribute or namespace declaration as written: its name, and the bytes in its quotes."""

    name: bytes
    raw: bytes

    @property
    def declares(self) -> bool:
        """Whether the attribute declares a namespace."""
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
    name = _NAME.match(data, start)
    assert name is not None, data[start : start + 100]
    return name[1]


def attribute_spans(data: bytes, start: int, end: int) -> Iterator[AttributeSpan]:
    """Yields the offsets of all attributes of a start tag, including namespace declarations.

    Args:
        data: The document, or a part of it.
        start, end: Offsets of the tag.
    """
    return map(_span, _ATTRIBUTE.finditer(data, start, end))


def attribute_span(data: bytes, start: int, end: int, number: int) -> AttributeSpan:
    """Returns the offsets of one attribute of a start tag.

    Args:
        data: The document, or a part of it.
        start, end: Offsets of the tag.
        number: Index of the attribute, from 0, including namespace declarations.

    >>> attribute_span(b"<a b='1' cd='23'>", 0, 17, 1)
    (9, 11, 13, 15)
    """
    attribute = _ATTRIBUTE.search(data, start, end)
    while number and attribute is not None:
        attribute = _ATTRIBUTE.search(data, attribute.end(), end)
        number -= 1
    assert attribute is not None, data[start : start + 100]
    return _span(attribute)


def _span(attribute: re.Match[bytes]) -> AttributeSpan:
    return (*attribute.span(1), *attribute.span(2 if attribute.start(2) >= 0 else 3))


def tag_attributes(tag: bytes) -> list[WrittenAttribute]:
    """Returns all attributes of a start tag, including namespace declarations.

    >>> tag_attributes(b"<a x='1' xmlns:p = \\"urn:p\\" p:y='>'/>")[1:]
    [WrittenAttribute(name=b'xmlns:p', raw=b'urn:p'), WrittenAttribute(name=b'p:y', raw=b'>')]
    """
    return [
        WrittenAttribute(tag[name:name_end], tag[value:value_end])
        for name, name_end, value, value_end in attribute_spans(tag, 0, len(tag))
    ]
