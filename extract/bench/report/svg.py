"""SVG by hand: a few shapes, with classes that a style sheet colours."""

from __future__ import annotations

from html import escape
from typing import Final

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


def drawing(shapes: list[str], height: float, title: str, description: str) -> str:
    """A whole picture, with words for those who do not see it."""
    words = f"<title>{escape(title)}</title><desc>{escape(description)}</desc>"
    size = f'viewBox="0 0 {WIDTH} {number(height)}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" class="chart">'
        f"{words}\n{chr(10).join(shapes)}\n</svg>"
    )
