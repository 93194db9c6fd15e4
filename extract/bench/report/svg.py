"""SVG by hand: a few shapes, with classes that a style sheet colours."""

from __future__ import annotations

from html import escape
from typing import Final, NamedTuple

from extract.bench.report.style import BOLD, SIZE, SIZES
from extract.preptool.explain.labels import text_width

WIDTH: Final = 360  # of every chart: on a phone its text is still readable


def number(value: float) -> str:
    """A coordinate: short, for a page has thousands.

    >>> number(12.0), number(3.14159)
    ('12', '3.1')
    """
    return f"{value:.1f}".removesuffix(".0")


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    """Words at a place."""
    classes = f' class="{kind}"' if kind else ""
    at = f'x="{number(x)}" y="{number(y)}"'
    where = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f"<text {at}{classes}{where}>{escape(words)}</text>"


def box(x: float, y: float, width: float, height: float, kind: str, title: str = "") -> str:
    """A filled rectangle; its title appears when one points at it."""
    size = f'width="{number(max(width, 0.5))}" height="{number(height)}"'
    inner = f"<title>{escape(title)}</title>" if title else ""
    return f'<rect x="{number(x)}" y="{number(y)}" {size} class="{kind}">{inner}</rect>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """A straight line."""
    ends = f'x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}"'
    return f'<line {ends} class="{kind}"/>'


def dot(x: float, y: float, kind: str, title: str = "", radius: float = 4.5) -> str:
    """A filled circle."""
    inner = f"<title>{escape(title)}</title>" if title else ""
    at = f'cx="{number(x)}" cy="{number(y)}" r="{number(radius)}"'
    return f'<circle {at} class="{kind}">{inner}</circle>'


def polyline(points: list[tuple[float, float]], kind: str) -> str:
    """A line through points."""
    path = " ".join(f"{number(x)},{number(y)}" for x, y in points)
    return f'<polyline points="{path}" class="{kind}"/>'


class Drawing(NamedTuple):
    """Shapes on a paper as wide as every chart, and what they say in words."""

    shapes: list[str]
    height: float
    title: str
    description: str

    def __str__(self) -> str:
        """The drawing as SVG, for a page that has the style sheet."""
        size = f'viewBox="0 0 {WIDTH} {number(self.height)}"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" class="chart">'
            f"{self.words()}\n{chr(10).join(self.shapes)}\n</svg>"
        )

    def words(self) -> str:
        """Title and description, for those who do not see it."""
        return f"<title>{escape(self.title)}</title><desc>{escape(self.description)}</desc>"


def text_room(words: str, kind: str = "") -> float:
    """How wide words of a class are at most, in any common font."""
    classes = kind.split()
    size = next((SIZES[one] for one in classes if one in SIZES), SIZE)
    return text_width(words, size, bold=any(one in BOLD for one in classes))


def wrapped(words: str, kind: str, width: float) -> list[str]:
    """Words in lines that are not wider than this; a single word may be."""
    lines: list[str] = []
    for word in words.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_room(longer, kind) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines
