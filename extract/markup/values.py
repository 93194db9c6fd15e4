"""Decodes the values of nodes from the bytes of a document.

The functions resolve character references and XML's five predefined entities, which is enough for
most documents. Where a document declares entities or attribute types, `Values` lets expat read the
one tag or text, together with the document's declarations.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, Final, NamedTuple
from xml.parsers import expat

from extract.markup.encodings import find_encoding
from extract.markup.node_kinds import NodeKind
from extract.markup.tags import TAG, tag_attributes, tag_name

_PREDEFINED: Final = {b"lt": b"<", b"gt": b">", b"amp": b"&", b"quot": b'"', b"apos": b"'"}
_REFERENCE: Final = re.compile(rb"&(?:#([0-9]+)|#x([0-9a-fA-F]+)|([^;]+));")
_LINE_END: Final = re.compile(rb"\r\n?")
_WHITE: Final = re.compile(rb"\r\n|[\t\r\n]")
_BEFORE_PROLOG: Final = re.compile(rb"(?:\xef\xbb\xbf)?(?:<\?xml\s.*?\?>)?", re.DOTALL)

NORMALISED: Final = re.compile(rb"[&\t\r\n]")
"""Bytes in an attribute's value that make the value differ from the bytes in the quotes."""

OWN_ENTITY: Final = re.compile(rb"&(?!#|%s)" % b"|".join(name + b";" for name in _PREDEFINED))
"""The start of a reference to an entity that only the document can declare."""


class DeclaredEntity(Exception):
    """A reference to an entity that only the document's declarations define."""


class Instruction(NamedTuple):
    """A processing instruction, split into target and value."""

    target: bytes
    value: bytes


def text_value(raw: bytes, kind: int = NodeKind.REFERENCES) -> bytes:
    """Returns the characters of a text node, or of a part of one.

    Args:
        raw: The bytes as written.
        kind: `NodeKind.TEXT`, `NodeKind.CDATA` or `NodeKind.REFERENCES`.

    Raises:
        DeclaredEntity: The text refers to an entity that the document declares.

    >>> text_value(b"x &lt;\\r\\n&#x41;"), text_value(b"<![CDATA[&lt;]]>", NodeKind.CDATA)
    (b'x <\\nA', b'&lt;')
    """
    if kind == NodeKind.TEXT:
        return raw
    if kind == NodeKind.CDATA:
        return _with_line_feeds(raw[9:-3])
    return _REFERENCE.sub(_character, _with_line_feeds(raw))


def comment_value(raw: bytes) -> bytes:
    """Returns the text between ``<!--`` and ``-->``."""
    return _with_line_feeds(raw[4:-3])


def instruction_value(raw: bytes) -> Instruction:
    """Returns the target and the value of ``<?target value?>``.

    >>> instruction_value("<?t \\n\\xa0x ?>".encode()), instruction_value(b"<?t?>").value
    (Instruction(target=b't', value=b'\\xc2\\xa0x '), b'')
    """
    parts = raw[2:-2].split(None, 1)
    return Instruction(parts[0], _with_line_feeds(parts[1]) if len(parts) > 1 else b"")


def attribute_value(raw: bytes) -> bytes:
    """Returns the value of an attribute whose type is CDATA, from the bytes between the quotes.

    Raises:
        DeclaredEntity: The value refers to an entity that the document declares.
    """
    if not NORMALISED.search(raw):
        return raw
    return _REFERENCE.sub(_character, _WHITE.sub(b" ", raw))


def _with_line_feeds(text: bytes) -> bytes:
    return _LINE_END.sub(b"\n", text) if b"\r" in text else text


def _character(reference: re.Match[bytes]) -> bytes:
    decimal, hexadecimal, name = reference.groups()
    if name is None:
        return chr(int(decimal) if decimal is not None else int(hexadecimal, 16)).encode()
    if name not in _PREDEFINED:
        raise DeclaredEntity(name)
    return _PREDEFINED[name]


class Values:
    """Decodes values of the nodes of one document.

    Args:
        data: The document.
        root: Offset of its root element.

    >>> values = Values(b"<a b='&#x41;&amp;'>x&lt;</a>", 0)
    >>> values.text(values.utf8(19, 24)), values.attribute(values.utf8(0, 19), 0)
    ('x<', 'A&')
    """

    def __init__(self, data: bytes, root: int) -> None:
        self._data = data
        self._root = root
        encoding = find_encoding(data[:1024], True)
        self._codec = encoding.codec if encoding is not None and encoding.codec else "utf-8"

    @property
    def is_utf8(self) -> bool:
        """Whether the bytes of the document are UTF-8."""
        return self._codec == "utf-8"

    def string(self, start: int, end: int) -> str:
        """Returns a part of the document as written."""
        return self._data[start:end].decode(self._codec)

    def utf8(self, start: int, end: int) -> bytes:
        """Returns a part of the document as written, in UTF-8."""
        part = self._data[start:end]
        return part if self.is_utf8 else part.decode(self._codec).encode()

    def tag(self, start: int, end: int) -> bytes:
        """Returns the start tag of an element, given the element's span."""
        size = 1024
        while True:
            part = self._data[start : min(end, start + size)]
            text = part if self.is_utf8 else part.decode(self._codec, "ignore").encode()
            tag = TAG.match(text)
            if tag is not None or start + size >= end:
                return tag[0] if tag is not None else text
            size *= 4

    @cached_property
    def _prolog(self) -> bytes:
        """The document's declarations, without its encoding declaration."""
        text = self.utf8(0, self._root)
        before = _BEFORE_PROLOG.match(text)
        return text[before.end() if before else 0 :]

    @cached_property
    def declares_attributes(self) -> bool:
        """Whether the document's own DTD declares attribute types."""
        return self._root > 0 and b"<!ATTLIST" in self._prolog

    def text(self, raw: bytes, kind: int = NodeKind.REFERENCES) -> str:
        """Returns the characters of a text node, or of a part of one; see `text_value`."""
        try:
            return text_value(raw, kind).decode()
        except DeclaredEntity:
            parts: list[str] = []
            self._ask_expat(b"<x>%s</x>" % raw, "CharacterDataHandler", parts.append)
            return "".join(parts)

    def attribute(self, tag: bytes, number: int) -> str:
        """Returns the value of an attribute, by its start tag and its index."""
        if not self.declares_attributes:
            try:
                return attribute_value(tag_attributes(tag)[number].raw).decode()
            except DeclaredEntity:
                pass
        tags: list[list[str]] = []
        element = tag if tag.endswith(b"/>") else b"%s</%s>" % (tag, tag_name(tag))
        self._ask_expat(element, "StartElementHandler", lambda _, values: tags.append(values))
        return tags[0][2 * number + 1]

    def _ask_expat(self, element: bytes, handler: str, take: Any) -> None:
        """Lets expat read one element together with the document's declarations."""
        parser = expat.ParserCreate("utf-8")
        parser.ordered_attributes = True
        parser.specified_attributes = True
        setattr(parser, handler, take)
        parser.Parse(self._prolog + element, True)
