"""The bytes of tags and texts: attributes, names and values as libxml2 reads them.

Everything here relies on the document being well-formed, in UTF-8, and without declarations of its
own that change what it says; `oddity` says whether it is.
"""

from __future__ import annotations

import re
from typing import Final

from extract.chunktool.scan import CDATA, REFERENCES

_SPACE: Final = rb"[ \t\r\n]"
# "<" is never in a value, so that each one begins a tag.
ATTRIBUTES = re.compile(
    rb"<|([^\s=<>\"'/]+)" + _SPACE + rb"*=" + _SPACE + rb"*(?:\"([^\"<]*)\"|'([^'<]*)')"
)
_NAME = re.compile(rb"[^\s/>]+")
_REFERENCE = re.compile(rb"&(?:#([0-9]+)|#x([0-9a-fA-F]+)|([^;]+));")
_PREDEFINED: Final = {b"lt": b"<", b"gt": b">", b"amp": b"&", b"quot": b'"', b"apos": b"'"}
_LINE_END = re.compile(rb"\r\n?")
_WHITE = re.compile(rb"\r\n|[\t\r\n]")
ODD_VALUE = re.compile(rb"[&\t\r\n]")
_DECLARATION = re.compile(rb"(?:\xef\xbb\xbf)?<\?xml\s[^>]*?\sencoding\s*=\s*[\"']([^\"']*)")
_ENCODINGS: Final = frozenset({b"utf-8", b"utf8", b"us-ascii", b"ascii"})


def oddity(data: bytes, root: int) -> str:
    """Why the bytes of a document do not say by themselves what is in it; empty if they do.

    Args:
        data: The document.
        root: Where its root element begins.
    """
    prolog = data[:root]
    if prolog[:2] in (b"\xfe\xff", b"\xff\xfe") or b"\0" in prolog:
        return "another encoding than UTF-8"
    declared = _DECLARATION.match(prolog)
    if declared and declared[1].lower() not in _ENCODINGS:
        return "another encoding than UTF-8"
    # Perhaps only in a comment; but then it is only slow.
    if b"<!ENTITY" in prolog or b"<!ATTLIST" in prolog or b"%" in prolog:
        return "declarations of its own"
    return ""


def name_at(data: bytes, start: int) -> bytes:
    """The name in the tag that begins here, as written."""
    found = _NAME.match(data, start + 1)
    assert found is not None
    return found[0]


def text_value(data: bytes, kind: int, start: int, end: int) -> bytes:
    """The characters of a piece of text, as UTF-8."""
    if kind == CDATA:
        return _line_ends(data[start + 9 : end - 3])
    piece = data[start:end]
    return _REFERENCE.sub(_character, _line_ends(piece)) if kind == REFERENCES else piece


def attribute_value(raw: bytes) -> bytes:
    """The value of an attribute whose type is CDATA, from the bytes between the quotes."""
    if not ODD_VALUE.search(raw):
        return raw
    return _REFERENCE.sub(_character, _WHITE.sub(b" ", raw))


def _line_ends(text: bytes) -> bytes:
    return _LINE_END.sub(b"\n", text) if b"\r" in text else text


def _character(found: re.Match[bytes]) -> bytes:
    decimal, hexadecimal, name = found.groups()
    if name is not None:
        return _PREDEFINED[name]
    return chr(int(decimal) if decimal is not None else int(hexadecimal, 16)).encode()
