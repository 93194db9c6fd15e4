"""References to characters: ``&lt;``, ``&#65;``, ``&#x41;``."""

from __future__ import annotations

import re
from typing import Final

from extract.xpath.names import NOT_XML

_REFERENCE: Final = re.compile(r"&(?:#([0-9]+)|#x([0-9a-fA-F]+)|(lt|gt|amp|quot|apos));")
_NAMED: Final = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
NO_REFERENCE: Final = "this is no reference to a character"
HINT: Final = "write &amp; for '&'; there are &lt; &gt; &amp; &quot; &apos; and &#…;"


class BadReference(ValueError):
    """Why there is no character that a reference stands for."""


def character_at(text: str, at: int) -> tuple[str, int]:
    """The character that a reference stands for, and where the reference ends.

    Raises:
        BadReference: There is no reference at this place, or none to a character of XML.

    >>> character_at("a&#x41;b", 1)
    ('A', 7)
    """
    reference = _REFERENCE.match(text, at)
    if not reference:
        raise BadReference(NO_REFERENCE)
    decimal, hexadecimal, name = reference.groups()
    character = _NAMED.get(name or "", "")
    if not character:
        code = int(decimal) if decimal else int(hexadecimal, 16)
        character = chr(code) if code < 0x110000 else "\0"
    if NOT_XML.match(character):
        raise BadReference(f"{reference[0]} is no character of XML")
    return character, reference.end()
