"""The values of nodes, from the bytes of a document.

What most documents have, character references and the five entities that XML declares, is dealt
with here. Where a document declares more, entities or types of attributes, expat does it: with the
document's own declarations, but only for the tag or text in question.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, Final
from xml.parsers import expat

from extract.chunktool.encodings import find_encoding
from extract.filtertool.tags import tag_attributes, tag_name

_KNOWN: Final = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_REFERENCE: Final = re.compile(r"&([^;&]+);")
_LINE_END: Final = re.compile(r"\r\n?")
_BREAK: Final = re.compile(r"\r\n|[\t\r\n]")
_DECLARATION: Final = re.compile(r"\ufeff?(<\?xml\s.*?\?>)?", re.DOTALL)
_TAG: Final = re.compile(r"""<(?:[^<>"']|"[^"]*"|'[^']*')*>""")
_PI: Final = re.compile(r"<\?[^\s?]+\s*")


class _Declared(Exception):
    """A reference to an entity that the document must have declared."""


class Values:
    """Decodes bytes of one document.

    Args:
        data: The document.
        root: Where its root element begins.

    >>> values = Values(b"<a b='&#x41;&amp;'>x&lt;</a>", 0)
    >>> values.text(values.string(19, 24)), values.attribute(values.string(0, 19), 0)
    ('x<', 'A&')
    """

    def __init__(self, data: bytes, root: int) -> None:
        self._data = data
        self._root = root
        encoding = find_encoding(data[:1024], True)
        self._codec = encoding.codec if encoding is not None and encoding.codec else "utf-8"

    def string(self, start: int, end: int) -> str:
        """A part of the document as it is written."""
        return self._data[start:end].decode(self._codec)

    @property
    def is_utf8(self) -> bool:
        """Whether the bytes of the document are UTF-8."""
        return self._codec == "utf-8"

    def tag(self, start: int, end: int) -> str:
        """The start tag of an element, given its span."""
        size = 1024
        while True:
            text = self._data[start : min(end, start + size)].decode(self._codec, "ignore")
            found = _TAG.match(text)
            if found is not None or start + size >= end:
                return found[0] if found is not None else text
            size *= 4

    @cached_property
    def _prolog(self) -> str:
        """The declarations of the document, without what says how it is encoded."""
        text = self.string(0, self._root)
        found = _DECLARATION.match(text)
        return text[found.end() if found else 0 :]

    @cached_property
    def declares_attributes(self) -> bool:
        """Whether the document itself says of what type attributes are."""
        return self._root > 0 and "<!ATTLIST" in self._prolog

    def text(self, raw: str) -> str:
        """The value of a text outside of CDATA sections."""
        if "&" not in raw and "\r" not in raw:
            return raw
        try:
            return _REFERENCE.sub(_referenced, _LINE_END.sub("\n", raw))
        except _Declared:
            parts: list[str] = []
            self._expat(f"<x>{raw}</x>", "CharacterDataHandler", parts.append)
            return "".join(parts)

    def cdata(self, raw: str) -> str:
        """The value of a CDATA section."""
        return _LINE_END.sub("\n", raw[9:-3])

    def comment(self, raw: str) -> str:
        """The value of a comment."""
        return _LINE_END.sub("\n", raw[4:-3])

    def instruction(self, raw: str) -> tuple[str, str]:
        """Target and value of a processing instruction."""
        found = _PI.match(raw)
        end = found.end() if found else 2
        return raw[2:end].strip().rstrip("?"), _LINE_END.sub("\n", raw[end:-2])

    def attribute(self, tag: str, number: int) -> str:
        """The value of an attribute, given its tag."""
        raw = tag_attributes(tag)[number].raw
        if not self.declares_attributes:
            if "&" not in raw and not _BREAK.search(raw):
                return raw
            try:
                return _REFERENCE.sub(_referenced, _BREAK.sub(" ", raw))
            except _Declared:
                pass
        found: list[list[str]] = []
        element = tag if tag.endswith("/>") else f"{tag}</{tag_name(tag)}>"
        self._expat(element, "StartElementHandler", lambda _, attributes: found.append(attributes))
        return found[0][2 * number + 1]

    def _expat(self, element: str, handler: str, take: Any) -> None:
        """Reads one element with the document's own declarations."""
        parser = expat.ParserCreate("utf-8")
        parser.ordered_attributes = True
        parser.specified_attributes = True
        setattr(parser, handler, take)
        parser.Parse((self._prolog + element).encode(), True)


def _referenced(reference: re.Match[str]) -> str:
    name = reference[1]
    if name.startswith("#x"):
        return chr(int(name[2:], 16))
    if name.startswith("#"):
        return chr(int(name[1:]))
    if name not in _KNOWN:
        raise _Declared(name)
    return _KNOWN[name]
