"""One query as a picture: what it looks at in a document, and which chunk has it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from extract.preptool.explain.labels import (
    COLORS,
    GREY,
    Colors,
    monospace_width,
    shortened,
    text_width,
    tint,
)
from extract.preptool.explain.query_report import NEEDS, QueryReport, explain_query
from extract.preptool.explain.svg import (
    QUIET,
    ROW,
    PictureBlock,
    box,
    chip,
    chip_width,
    mark,
    page,
    text_at,
)
from extract.preptool.footprints.need_counts import NeedCounts
from extract.preptool.footprints.partial_footprints import PartialFootprints
from extract.scheme.model import Branch, Scheme

_GAP = 36.0  # between columns, for the lines
_LONGEST = 100  # characters of an XPath that are written out


@dataclass(slots=True)
class _Place:
    """A place in the tree of paths that a query looks at.

    Attributes:
        name: The last step of its path.
        needs: What the query needs there; nothing if it only leads to other places.
        chunk: The chunk whose prefix it is; empty if it is none.
        colors: Of the chunk that it is in.
        below: What follows, by name.
        x, y: Where it is drawn.
    """

    name: str
    needs: list[str] = field(default_factory=list)
    chunk: str = ""
    colors: Colors = GREY
    below: dict[str, _Place] = field(default_factory=dict)
    x: float = 0.0
    y: float = 0.0

    @property
    def width(self) -> float:
        """How wide its label is."""
        width = 16 + text_width(self.name, bold=bool(self.needs or self.chunk))
        if self.needs:
            width += 6 + text_width(self.said)
        return width + (chip_width(self.chunk) + 4 if self.chunk else 0)

    @property
    def said(self) -> str:
        """What is needed, in words."""
        return " and ".join(dict.fromkeys(self.needs))


def query_svg(scheme: Scheme, identifier: str) -> str:
    """Draws what a query looks at as an SVG document: its footprint, by the paths of its nodes.

    A frame shows what is kept of a document for it, a chip the prefix of a chunk, and colour what
    is inside of that chunk. What is grey and framed stands outside: the filter nodes.

    Raises:
        SchemeError: The scheme has no such subscription.
    """
    report = explain_query(scheme, identifier)
    title = f"Query {shortened(report.id, 40)}"
    lines = [shortened(report.xpath, _LONGEST)]
    if report.status != "satisfiable":
        lines.append(f"{report.status}: {report.reason}")
        return page([_heading(title, lines)], title, ": ".join(lines))
    whole, top = _places(scheme, report)
    forms = [one.xpath for one in report.branches if one.xpath != report.xpath]
    lines += [f"= {shortened(one, _LONGEST)}" for one in forms[:8]]
    if len(forms) > 8:
        lines.append(f"= … and {len(forms) - 8:,} more branches")
    lines += [f"needs the whole document: {one}" for one in whole]
    blocks = [_heading(title, lines)]
    if top.below or top.needs:
        blocks.append(_drawing(top))
    words = [f"{one.xpath}: {one.why}" for one in report.branches]
    return page(blocks, title, "; ".join([*lines, *words]))


def _places(scheme: Scheme, report: QueryReport) -> tuple[list[str], _Place]:
    """Why the whole document is needed, and the tree of all that is looked at."""
    top, whole, parts = _Place("/"), [], PartialFootprints()
    prefixes = {chunk.id: chunk.prefix for chunk in scheme.every_chunk}
    colors = {chunk.id: COLORS[at % len(COLORS)] for at, chunk in enumerate(scheme.chunks)}
    for one in report.branches:
        partials = parts.of(Branch(one.xpath, one.steps))
        reasons = [partial.beyond.whole for partial in partials if partial.beyond.whole]
        whole += [reason for reason in reasons[:1] if reason not in whole]
        if reasons:
            continue
        for path, need in NeedCounts.of(Counter(partials)).chunk_needs("").filters:
            _at(top, path).needs.append(NEEDS[need.word])
        if prefixes[one.chunk]:
            start = _at(top, prefixes[one.chunk])
            start.chunk = one.chunk
            _paint(start, colors[one.chunk])
    return whole, top


def _at(top: _Place, path: str) -> _Place:
    """The place of a path, and all that leads there."""
    place = top
    for step in path.split("/")[1:] if path != "/" else []:
        label = "any depth" if step.startswith("descendant-or-self::") else step
        place = place.below.setdefault(label, _Place(label))
    return place


def _paint(place: _Place, colors: Colors) -> None:
    place.colors = colors
    for one in place.below.values():
        _paint(one, colors)


def _heading(title: str, lines: list[str]) -> PictureBlock:
    parts = [text_at(0, 16, title, 'font-size="18" font-weight="bold"')]
    mono = f'font-family="monospace" {QUIET}'
    parts += [text_at(0, 40 + 18 * at, line, mono) for at, line in enumerate(lines)]
    width = max(text_width(title, 18, bold=True), *map(monospace_width, lines))
    return PictureBlock(parts, width, 28 + 18 * len(lines))


def _drawing(top: _Place) -> PictureBlock:
    """The tree, from left to right."""
    columns: list[float] = []
    rows = _measure(top, 0, columns, 0)
    lefts = [0.0]
    for width in columns:
        lefts.append(lefts[-1] + width + _GAP)
    lines: list[str] = []
    labels: list[str] = []
    _draw(top, 0, lefts, lines, labels)
    return PictureBlock(['<g fill="none">', *lines, "</g>", *labels], lefts[-1] - _GAP, rows * ROW)


def _measure(place: _Place, depth: int, columns: list[float], row: int) -> int:
    """Gives each place its height, each column its width; returns the next free row."""
    if len(columns) <= depth:
        columns.append(0.0)
    columns[depth] = max(columns[depth], place.width)
    if not place.below:
        place.y = (row + 0.5) * ROW
        return row + 1
    for one in place.below.values():
        row = _measure(one, depth + 1, columns, row)
    heights = [one.y for one in place.below.values()]
    place.y = (heights[0] + heights[-1]) / 2
    return row


def _draw(
    place: _Place, depth: int, lefts: list[float], lines: list[str], labels: list[str]
) -> None:
    place.x = lefts[depth]
    labels.append(_label(place))
    start = place.x + place.width
    for one in place.below.values():
        _draw(one, depth + 1, lefts, lines, labels)
        x, bend = one.x, one.x - _GAP
        curve = (
            f"M{start:.1f} {place.y:.1f}H{bend:.1f}"
            f"C{x - 16:.1f} {place.y:.1f} {bend + 10:.1f} {one.y:.1f} {x:.1f} {one.y:.1f}"
        )
        lines.append(f'<path d="{curve}" stroke="{tint(one.colors[0])}" stroke-width="2"/>')


def _label(place: _Place) -> str:
    x, parts = place.x, []
    kept = bool(place.needs or place.chunk)
    if kept:
        dashed = ' stroke-dasharray="4 2"' if not place.needs else ""
        style = f'rx="4" fill="#FFFFFF" stroke="{place.colors[0]}" stroke-width="1.5"{dashed}'
        parts.append(box(x, place.y, place.width, 20, style))
        x += 8
    else:
        parts.append(mark(x + 2, place.y, place.colors))
        x += 10
    if place.chunk:
        parts.append(chip(place.x + 2, place.y, place.chunk, place.colors))
        x += chip_width(place.chunk)
    parts.append(text_at(x, place.y + 4, place.name, 'font-weight="bold"' if kept else ""))
    if place.needs:
        x += text_width(place.name, bold=True) + 6
        parts.append(text_at(x, place.y + 4, place.said, QUIET))
    return "".join(parts)
