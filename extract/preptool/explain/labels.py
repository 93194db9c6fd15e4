"""How reports and pictures write numbers, paths and names; and the colours of chunks."""

from __future__ import annotations

import re
import unicodedata
from html import escape
from typing import Final, TypeAlias

from extract.preptool.query_tree import NamePath

Colors: TypeAlias = tuple[str, str]  # of a chunk, and of the ink to write on it with

# Okabe and Ito's colours, which the colour-blind can tell apart, but for yellow and black; and two
# dark ones of Paul Tol's. When they are used up they come again: ids are written out as well.
COLORS: tuple[Colors, ...] = (
    ("#0072B2", "#FFFFFF"),
    ("#E69F00", "#000000"),
    ("#009E73", "#000000"),
    ("#D55E00", "#000000"),
    ("#56B4E9", "#000000"),
    ("#882255", "#FFFFFF"),
    ("#CC79A7", "#000000"),
    ("#332288", "#FFFFFF"),
)
GREY: Colors = ("#767676", "#FFFFFF")


def tint(color: str) -> str:
    """A colour half way to white. Not half transparent: lines that overlap would darken."""
    return "#" + "".join(f"{(int(color[at : at + 2], 16) + 255) // 2:02X}" for at in (1, 3, 5))


def in_numbers(text: str) -> list[tuple[int, str]]:
    """A key that puts c2 before c10."""
    return [
        (int(digits or -1), rest) for digits, rest in re.findall(r"([0-9]{0,9})([^0-9]*)", text)
    ]


def as_path(path: NamePath) -> str:
    """Names as a path."""
    return "/" + "/".join(path)


def as_percent(share: float) -> str:
    """A share in percent, with a decimal where it is small."""
    return f"{share:.0%}" if share >= 0.0995 or not share else f"{share:.1%}"


def as_count(number: int, thing: str) -> str:
    """A number of things."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def as_number(value: float) -> str:
    """A weight to read.

    >>> [as_number(value) for value in (1204.0, 0.5, 3.14159, 0.000001, 0.0, 2e12)]
    ['1,204', '0.5', '3.14', '1e-06', '0', '2e+12']
    """
    if value >= 1e9 or 0 < value < 0.01:
        return f"{value:.3g}"
    return f"{value:,.2f}".rstrip("0").rstrip(".")


def shortened(text: str, most: int) -> str:
    """A text without its middle if it is long: the ends of names tell the most."""
    tail = most // 3
    return text if len(text) <= most else f"{text[: most - tail - 1]}…{text[-tail:]}"


# How wide characters are, in thousandths of the size of the font: at least as wide as in DejaVu
# Sans and Verdana, the widest fonts that commonly stand for "sans-serif".
_WIDTHS: Final = {
    character: width
    for width, characters in (
        (290, "'il"),
        (370, " .,fj\u00b7"),
        (410, "!t"),
        (470, '-/:;()[]|\\"rIJ'),
        (550, "csz?"),
        (640, "abdeghknopquvxy0123456789*_`{}$EFLPTY"),
        (700, "ABCKRSVXZ"),
        (790, "DGHNOQU&"),
        (840, "#+<=>^~w\u00d7\u2192"),
        (1000, "mMW@\u2026"),
        (1080, "%"),
    )
    for character in characters
}
_WIDEST: Final = 1100  # what is not in the table
_BOLD: Final = 1.2  # times as wide
_MONOSPACE: Final = 0.62  # of the size of the font; DejaVu Sans Mono has 0.602


def text_width(text: str, size: float = 12, *, bold: bool = False) -> float:
    """How wide a text is at most in a common sans-serif font.

    Args:
        text: The text.
        size: The size of the font.
        bold: Whether it is bold.

    >>> round(text_width("order"), 1), round(text_width("order", bold=True), 1)
    (34.3, 41.2)
    """
    bare = unicodedata.normalize("NFD", text)  # a letter with an accent is as wide as without
    wide = sum(_WIDTHS.get(one, _WIDEST) for one in bare if not unicodedata.combining(one))
    return wide * size / 1000 * (_BOLD if bold else 1)


def monospace_width(text: str, size: float = 12) -> float:
    """How wide a text is at most in a common font of fixed width."""
    wide = sum(1 for one in text if unicodedata.east_asian_width(one) in "WF")
    return (len(text) + wide) * size * _MONOSPACE


_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_xml(text: str) -> str:
    """Text as it may stand in XML."""
    return escape(_NOT_XML.sub("\ufffd", text), quote=False)


def as_dot(text: str) -> str:
    """Text for a quoted string, in which graphviz reads entities and backslashes."""
    text = re.sub(r"\s", " ", _NOT_XML.sub("\ufffd", text)).replace("&", "&amp;")
    return text.replace("\\", "\\\\").replace('"', '\\"')


def printable(line: str) -> str:
    """A line that neither breaks the output nor speaks to the terminal, whoever wrote the query."""
    return "".join(["\ufffd" if unicodedata.category(c) in ("Cc", "Cs") else c for c in line])
