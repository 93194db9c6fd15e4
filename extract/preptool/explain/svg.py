"""SVG for the pictures: texts, boxes, marks, and the page around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from extract.preptool.explain.labels import GREY, Colors, as_xml, shortened, text_width

MARGIN: Final = 24.0
ROW: Final = 24.0
QUIET: Final = 'fill="#555555"'
# On a screen at full size, for it can be scrolled; on paper all on one page.
_ON_PAPER = "<style>@media print{.query-tree{width:100%;height:auto;max-height:100vh}}</style>"


@dataclass(frozen=True, slots=True)
class PictureBlock:
    """A part of the page, drawn from its own upper left corner."""

    parts: list[str]
    width: float
    height: float


def page(blocks: Sequence[PictureBlock], title: str, description: str) -> str:
    """An SVG document with blocks below each other, and words for those who cannot see it."""
    width = max(block.width for block in blocks) + 2 * MARGIN
    height = sum(block.height + MARGIN for block in blocks) + MARGIN
    out = [
        '<svg xmlns="http://www.w3.org/2000/svg" class="query-tree" role="img"'
        f' width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
        ' aria-labelledby="query-tree-title query-tree-desc"'
        ' font-family="Helvetica, Arial, sans-serif" font-size="12" fill="#1A1A1A">',
        f'<title id="query-tree-title">{as_xml(title)}</title>',
        f'<desc id="query-tree-desc">{as_xml(description)}</desc>',
        _ON_PAPER,
        '<rect width="100%" height="100%" fill="#FFFFFF"/>',
    ]
    top = MARGIN
    for block in blocks:
        out += [f'<g transform="translate({MARGIN:.0f} {top:.0f})">', *block.parts, "</g>"]
        top += block.height + MARGIN
    return "\n".join([*out, "</svg>\n"])


def text_at(x: float, y: float, text: str, attributes: str = "") -> str:
    """A text."""
    return f'<text x="{x:.1f}" y="{y:.1f}"{attributes and " "}{attributes}>{as_xml(text)}</text>'


def box(x: float, y: float, width: float, height: float, attributes: str) -> str:
    """A rectangle that is centred at a height."""
    place = f'x="{x:.1f}" y="{y - height / 2:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f"<rect {place} {attributes}/>"


def chip(x: float, y: float, chunk: str, colors: Colors) -> str:
    """A filled box with the id of a chunk."""
    color, ink = colors
    width = chip_width(chunk)
    frame = f'rx="3" fill="{color}" stroke="#1A1A1A" stroke-width="0.5"'
    style = f'font-size="11" font-weight="bold" text-anchor="middle" fill="{ink}"'
    text = text_at(x + width / 2, y + 4, shortened(chunk, 16), style)
    return box(x, y, width, 16, frame) + text


def chip_width(chunk: str) -> float:
    """How wide such a box is."""
    return max(22.0, text_width(shortened(chunk, 16), 11, bold=True) + 8)


def mark(x: float, y: float, colors: Colors) -> str:
    """A dot, hollow for what is in no chunk: not everybody can tell grey from green."""
    fill = "#FFFFFF" if colors == GREY else colors[0]
    style = f'r="3.5" fill="{fill}" stroke="{colors[0]}" stroke-width="1.5"'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" {style}/>'
