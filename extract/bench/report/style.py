"""Colours and sizes, of charts and of the page; light, dark and in print.

The colours are those of Okabe and Ito, which people with any kind of colour vision tell apart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_LIGHT: Final = {
    "paper": "#fff",
    "ink": "#1b1f24",
    "muted": "#57606a",
    "grid": "#d8dee4",
    "card": "#f6f8fa",
    "ours": "#0072b2",
    "theirs": "#8c959f",
    "bad": "#b3261e",
    "good": "#00684b",
}
_DARK: Final = {
    "paper": "#0f1419",
    "ink": "#e6e9ec",
    "muted": "#9aa4ae",
    "grid": "#323a43",
    "card": "#171d24",
    "ours": "#56b4e9",
    "theirs": "#7d8791",
    "bad": "#ff8a80",
    "good": "#4fd1a5",
}


def _variables(colours: Mapping[str, str]) -> str:
    return ";".join(f"--{name}:{colour}" for name, colour in colours.items())


COLOURS: Final = (
    f":root{{{_variables(_LIGHT)}}}"
    f"@media screen and (prefers-color-scheme:dark){{:root{{{_variables(_DARK)}}}}}"
)

_PARTS: Final = (  # fill, and what is readable on it
    ("#6e7781", "#fff"),
    ("#0072b2", "#fff"),
    ("#e69f00", "#111"),
    ("#007a59", "#fff"),
    ("#cc79a7", "#111"),
    ("#56b4e9", "#111"),
    ("#b94f00", "#fff"),
    ("#f0e442", "#111"),
)
_FONT: Final = "system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans',sans-serif"
SIZE: Final = 12.0  # of text that has no other
SIZES: Final = {"small": 10.5, "title": 13.0, "value": 11.5, "in": 9.5}  # by class
BOLD: Final = ("title", "ours-label")

# What each class of shapes looks like; a colour has a name of the tables above, or is literal.
_CLASSES: Final[Mapping[str, Mapping[str, str]]] = {
    "small": {"font-size": f"{SIZES['small']}px", "fill": "muted"},
    "title": {"font-size": f"{SIZES['title']}px", "font-weight": "600"},
    "value": {"font-size": f"{SIZES['value']}px", "font-variant-numeric": "tabular-nums"},
    "in": {"font-size": f"{SIZES['in']}px"},
    "ours-label": {"font-weight": "600", "fill": "ours"},
    "paper": {"fill": "paper"},
    "ours": {"fill": "ours"},
    "theirs": {"fill": "theirs"},
    "grid": {"stroke": "grid", "stroke-width": "1"},
    "whole": {"stroke": "ink", "stroke-width": "1.5"},
    "mark": {"stroke": "ink", "stroke-width": "2.5"},
    "stem": {"stroke-width": "2"},
    "stem-ours": {"stroke": "ours"},
    "stem-theirs": {"stroke": "theirs"},
    "line": {"fill": "none", "stroke-width": "2.5"},
    "line-ours": {"stroke": "ours"},
    "line-theirs": {"stroke": "theirs", "stroke-dasharray": "6 3"},
    **{f"part{n}": {"fill": fill} for n, (fill, _) in enumerate(_PARTS)},
    **{f"in{n}": {"fill": ink} for n, (_, ink) in enumerate(_PARTS)},
}


def _rule(name: str, look: Mapping[str, str]) -> str:
    """One rule of a style sheet; colours are variables, for they depend on the reader's mode."""
    values = [f"{k}:{f'var(--{v})' if v in _LIGHT else v}" for k, v in look.items()]
    return f"svg .{name}{{{';'.join(values)}}}"


SHAPES: Final = f"svg text{{font:{SIZE:g}px {_FONT};fill:var(--ink)}}" + "".join(
    _rule(name, look) for name, look in _CLASSES.items()
)

# A picture that stands alone has attributes in place of a style sheet, of which many programs that
# draw SVG know little.
ROOT_ATTRIBUTES: Final = (
    f'font-family="Helvetica, Arial, sans-serif" font-size="{SIZE:g}" fill="{_LIGHT["ink"]}"'
)


def as_attributes(shapes: str) -> str:
    """Returns shapes with attributes in place of their classes, in the colours of light mode.

    >>> as_attributes('<text x="1" class="label ours-label">a</text>')
    '<text x="1" font-weight="600" fill="#0072b2">a</text>'
    """

    def attributes(found: re.Match[str]) -> str:
        looks = [_CLASSES[name] for name in found[1].split() if name in _CLASSES]
        merged = {k: _LIGHT.get(v, v) for look in looks for k, v in look.items()}
        merged.pop("font-variant-numeric", None)  # is no attribute
        return "".join(f' {k}="{v.removesuffix("px")}"' for k, v in merged.items())

    return re.sub(r' class="([^"]*)"', attributes, shapes)


PAGE: Final = (
    "*{box-sizing:border-box}"
    f"body{{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 {_FONT}}}"
    "main{max-width:1080px;margin:0 auto;padding:1rem 1rem 4rem}"
    "h1{font-size:1.7rem;line-height:1.2;margin:1rem 0 .5rem}"
    "h2{font-size:1.25rem;margin:2.5rem 0 .5rem;padding-top:.8rem;border-top:1px solid var(--grid)}"
    "h3{font-size:1rem;margin:0 0 .3rem}p{max-width:70ch;margin:.5rem 0}"
    ".lead{font-size:1.1rem}.charts{display:grid;gap:1rem;margin:1rem 0;"
    "grid-template-columns:repeat(auto-fit,minmax(min(100%,400px),1fr));align-items:start}"
    "figure{margin:0;padding:.8rem;background:var(--card);border-radius:8px;break-inside:avoid;"
    "max-width:620px}.chart{display:block;width:100%;height:auto}"
    ".wide{overflow-x:auto;margin:.4rem 0 1rem}"
    "table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums}"
    "caption{text-align:left;font-weight:600;padding:.3rem 0}"
    "th,td{padding:.2rem .7rem .2rem 0;text-align:right;white-space:nowrap;"
    "border-bottom:1px solid var(--grid)}th:first-child,td:first-child{text-align:left}"
    "th{color:var(--muted);font-weight:600}dl{display:grid;gap:.1rem 1rem;font-size:.9rem;"
    "grid-template-columns:max-content 1fr}dt{color:var(--muted)}"
    "dd{margin:0;overflow-wrap:anywhere}ul{padding-left:1.2rem}"
    "li{overflow-wrap:anywhere}.equal{color:var(--good)}.wrong{color:var(--bad);font-weight:600}"
    ".remark{font-size:.85rem;color:var(--muted)}code{font-size:.9em;overflow-wrap:anywhere}"
    "@media print{html{font-size:12px}main{max-width:none;padding:0}h2{break-after:avoid}"
    "figure{border:1px solid var(--grid);background:none;max-width:none}"
    ".charts{grid-template-columns:1fr 1fr}.wide{overflow:visible;break-inside:avoid}"
    "table{font-size:7.5pt}th,td{padding-right:.35rem}tr{break-inside:avoid}}"
)
