"""The names and values that queries and documents of the push engine's tests share."""

from __future__ import annotations

from typing import Final

NAMESPACES: Final = {"p": "urn:u", "q": "urn:v"}

ELEMENTS: Final = ("a", "a", "a", "b", "b", "c", "d")
ATTRIBUTES: Final = ("x", "y")

STRINGS: Final = (
    "1",
    "2",
    "x",
    "",
    "1",
    "2",
    "x",
    "xy",
    "y",
    "10",
    "1.0",
    " 1 ",
    "a b",
    "é",
    "no",
    "<&",
    "xyx",
)
NUMBERS: Final = (
    *("1", "2", "10", "1.5", "0", "0.0", "1e1", "1e", "3", ".5", "1e999", "1.14", "6.5684"),
    *("9" * 400, "9007199254740993", "104.591"),
)
# Texts of documents, numbers to libxml2 or not.
VALUES: Final = (
    *("1", "1", "2", "2", "10", "3", "1.0", " 1 ", "\t2\n", "1e", "1e1", "+5", "-0", "-1", "NaN"),
    *("x", "x", "xy", "y", "xyx", "yx", "a b", "é", "no", "", "", "0", "Infinity", "0x10", "1,0"),
    *("1.14", "6.5684", "12abc", "9" * 400, "1e999", "-1e999", "9007199254740993", ".5", "5."),
    *("\u00a01", "104.591", "<&", "]]", "1.5"),
)
