"""Characters as they are written in XML."""

from __future__ import annotations

from typing import Final

_TEXT: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_VALUE: Final = str.maketrans(
    {"&": "&amp;", "<": "&lt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
)


def escaped_text(text: str) -> str:
    """Characters as the content of an element.

    >>> escaped_text("a < b")
    'a &lt; b'
    """
    return text.translate(_TEXT)


def escaped_value(text: str) -> str:
    """Characters as the value of an attribute, in double quotes."""
    return text.translate(_VALUE)
