"""Whether texts of a picture stay where they belong, in a wide font: DejaVu Sans, as measured."""

from __future__ import annotations

from typing import Final, NamedTuple

from lxml import etree

# Widths of the characters from space to tilde, in thousandths of the size of the font.
_REGULAR: Final = (
    318,
    401,
    460,
    838,
    636,
    950,
    780,
    275,
    390,
    390,
    500,
    838,
    318,
    361,
    318,
    337,
    636,
    636,
    636,
    636,
    636,
    636,
    636,
    636,
    636,
    636,
    337,
    337,
    838,
    838,
    838,
    531,
    1000,
    684,
    686,
    698,
    770,
    632,
    575,
    775,
    752,
    295,
    295,
    656,
    557,
    863,
    748,
    787,
    603,
    787,
    695,
    635,
    611,
    732,
    684,
    989,
    685,
    611,
    685,
    390,
    337,
    390,
    838,
    500,
    500,
    613,
    635,
    550,
    635,
    615,
    352,
    635,
    634,
    278,
    278,
    579,
    278,
    974,
    634,
    612,
    635,
    635,
    411,
    521,
    392,
    634,
    592,
    818,
    592,
    592,
    525,
    636,
    337,
    636,
    838,
)
_BOLD: Final = (
    348,
    456,
    521,
    838,
    696,
    1002,
    872,
    306,
    457,
    457,
    523,
    838,
    380,
    415,
    380,
    365,
    696,
    696,
    696,
    696,
    696,
    696,
    696,
    696,
    696,
    696,
    400,
    400,
    838,
    838,
    838,
    580,
    1000,
    774,
    762,
    734,
    830,
    683,
    683,
    821,
    837,
    372,
    372,
    775,
    637,
    995,
    837,
    850,
    733,
    850,
    770,
    720,
    682,
    812,
    774,
    1103,
    771,
    724,
    725,
    457,
    365,
    457,
    838,
    500,
    500,
    675,
    716,
    593,
    716,
    678,
    435,
    716,
    712,
    343,
    343,
    665,
    343,
    1042,
    712,
    687,
    716,
    716,
    493,
    595,
    478,
    712,
    652,
    924,
    645,
    652,
    582,
    712,
    365,
    712,
    838,
)
_OTHERS: Final = {
    "\u2026": (1000, 1000),
    "\u00b5": (636, 736),
    "\u00b7": (318, 380),
    "\u2192": (838, 838),
    "\u00d7": (838, 838),
    "\u00e9": (615, 678),
}
_MONOSPACE: Final = 602
_SVG: Final = "{http://www.w3.org/2000/svg}"


def wide_text(text: str, size: float = 12, *, bold: bool = False, monospace: bool = False) -> float:
    """How wide a text is in DejaVu Sans, or in DejaVu Sans Mono."""
    if monospace:
        return len(text) * _MONOSPACE * size / 1000
    table = _BOLD if bold else _REGULAR
    widths = [_OTHERS[one][bold] if one in _OTHERS else table[ord(one) - 32] for one in text]
    return sum(widths) * size / 1000


class _Area(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def contains(self, x: float, y: float) -> bool:
        return self.left <= x <= self.right and self.top <= y <= self.bottom


def texts_outside(svg: str) -> list[str]:
    """The texts of a picture that leave the smallest box that they are in, or the picture."""
    root = etree.fromstring(svg.encode())
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    boxes = [_Area(0, 0, width, height)]
    for rect in root.iter(f"{_SVG}rect"):
        x, y = _moved(rect, float(rect.get("x", 0)), float(rect.get("y", 0)))
        extent = [rect.get("width", "0"), rect.get("height", "0")]
        if "100%" not in extent:
            boxes.append(_Area(x, y, x + float(extent[0]), y + float(extent[1])))
    outside = []
    for text in root.iter(f"{_SVG}text"):
        x, y = _moved(text, float(text.get("x", 0)), float(text.get("y", 0)))
        wide = _width(text)
        anchor = _inherited(text, "text-anchor") or "start"
        left = x - {"start": 0.0, "middle": wide / 2, "end": wide}[anchor]
        size = float(_inherited(text, "font-size"))
        around = [one for one in boxes if one.contains(x, y) and one.contains(x, y - size / 2)]
        box = min(around, key=lambda one: (one.right - one.left) * (one.bottom - one.top))
        if left < box.left or left + wide > box.right:
            outside.append("".join(text.itertext()))
    return outside


def _width(text: etree._Element) -> float:
    """The parts of a text one behind the other, in the fonts that they have."""
    wide = _piece(text, text.text)
    for part in text:
        if part.tag == f"{_SVG}tspan":
            wide += float(part.get("dx", 0)) + _piece(part, part.text)
        wide += _piece(text, part.tail)
    return wide


def _piece(element: etree._Element, words: str | None) -> float:
    size = float(_inherited(element, "font-size"))
    bold = _inherited(element, "font-weight") in ("bold", "600")
    monospace = _inherited(element, "font-family") == "monospace"
    return wide_text(words or "", size, bold=bold, monospace=monospace)


def _inherited(element: etree._Element, name: str) -> str:
    for one in (element, *element.iterancestors()):
        if name in one.attrib:
            return str(one.attrib[name])
    return ""


def _moved(element: etree._Element, x: float, y: float) -> tuple[float, float]:
    for one in element.iterancestors():
        if "transform" in one.attrib:
            dx, dy = one.attrib["transform"].removeprefix("translate(").rstrip(")").split()
            x, y = x + float(dx), y + float(dy)
    return x, y
