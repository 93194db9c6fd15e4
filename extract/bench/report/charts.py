"""Charts as SVG: labels stand at what they name, so that nobody has to look up a legend."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from extract.bench.experiments.results import Bar, BarChart, Chart, LineChart, SpanChart, seconds
from extract.bench.report import scale, svg
from extract.bench.report.style import ROOT_ATTRIBUTES, as_attributes

_ROW = 34  # a label, and what it labels under it
_TOP = 8
_VALUES = 62  # room behind the longest bar
_HOW = ("bar: first to last answers; mark: one after the other;", "line at 100%: the original")


def draw(chart: Chart) -> svg.Drawing:
    """A chart, to stand in a page that has the style sheet."""
    match chart:
        case BarChart(log=True):
            return _dots(chart)
        case BarChart():
            return _bars(chart)
        case SpanChart():
            return _spans(chart)
        case LineChart():
            return _lines(chart)


def picture(chart: BarChart, caption: str) -> str:
    """A chart as a file of its own, with its title and a caption, for every program that draws SVG:
    no style sheet, no variables, and room for wide fonts."""
    drawn = draw(chart)
    room = svg.WIDTH - 16
    titles = svg.wrapped(chart.title, "title", room)
    above = 12 + 18 * len(titles)
    lines = svg.wrapped(caption, "small", room)
    total = above + drawn.height + 12 + 14 * len(lines)
    bottom = above + drawn.height + 14
    heading = [svg.text(8, 22 + 18 * n, words, "title") for n, words in enumerate(titles)]
    below = [svg.text(8, bottom + 14 * n, words, "small") for n, words in enumerate(lines)]
    paper = svg.box(0, 0, svg.WIDTH, total, "paper")
    moved = f'<g transform="translate(0 {above})">'
    shapes = as_attributes("\n".join([paper, *heading, moved, *drawn.shapes, "</g>", *below]))
    size = (
        f'width="{2 * svg.WIDTH}" height="{svg.number(2 * total)}" '
        f'viewBox="0 0 {svg.WIDTH} {svg.number(total)}"'
    )
    words = drawn._replace(description=f"{drawn.description}. {caption}").words()
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" {ROOT_ATTRIBUTES}>'
    return f"{head}{words}\n{shapes}\n</svg>\n"


def _across(
    axis: scale.Scale, top: float, bottom: float, words: Callable[[float], str]
) -> Iterator[str]:
    """Lines from top to bottom, with what they mean below; the first one not over the edge."""
    for tick in axis.ticks():
        x = axis.at(tick)
        anchor = "middle" if x > 24 else "start"
        yield svg.line(x, top, x, bottom, "grid")
        yield svg.text(x if x > 24 else 4, bottom + 14, words(tick), "small", anchor)


def _round_seconds(value: float) -> str:
    return seconds(value).replace(".0", "")


def _said(chart: BarChart) -> str:
    return "; ".join(f"{bar.label}: {seconds(bar.value)}" for bar in chart.bars)


def _label(bar: Bar, y: float) -> list[str]:
    kind = "label ours-label" if bar.ours else "label"
    shapes = [svg.text(8, y + 12, bar.label, kind)]
    if bar.remark:
        shapes.append(svg.text(svg.WIDTH - 8, y + 12, bar.remark, "small", "end"))
    return shapes


def _bars(chart: BarChart) -> svg.Drawing:
    """Bars from zero; parts of different colours where there are several."""
    axis = scale.linear(max(bar.value for bar in chart.bars), 8, svg.WIDTH - _VALUES)
    # A part has one colour in all bars of a chart.
    names = dict.fromkeys(name for bar in chart.bars for name, _ in bar.parts)
    colours = {name: number % 8 for number, name in enumerate(names)}
    shapes = []
    for number, bar in enumerate(chart.bars):
        y = _TOP + number * _ROW
        shapes += _label(bar, y)
        at = 0.0
        for name, value in bar.parts:
            n, x, end = colours[name], axis.at(at), axis.at(at + value)
            kind = f"part{n}" if len(bar.parts) > 1 else "ours" if bar.ours else "theirs"
            shapes.append(svg.box(x, y + 16, end - x, 12, kind, f"{name} {seconds(value)}"))
            short = name.rpartition("/")[2]
            if len(bar.parts) > 1 and svg.text_room(short, "in") + 4 < end - x:
                shapes.append(svg.text((x + end) / 2, y + 25.5, short, f"in in{n}", "middle"))
            at += value
        shapes.append(svg.text(axis.at(at) + 5, y + 26, seconds(bar.value), "value"))
    height = _TOP + _ROW * len(chart.bars) + 4
    return svg.Drawing(shapes, height, chart.title, _said(chart))


def _dots(chart: BarChart) -> svg.Drawing:
    """Dots on a logarithmic axis: a bar would have no honest beginning there."""
    values = [max(bar.value, 1e-9) for bar in chart.bars]
    axis = scale.logarithmic(values, 14, svg.WIDTH - _VALUES)
    bottom = _TOP + _ROW * len(chart.bars)
    shapes = [*_across(axis, _TOP, bottom, _round_seconds)]
    for number, bar in enumerate(chart.bars):
        y = _TOP + number * _ROW
        shapes += _label(bar, y)
        x = axis.at(values[number])
        kind = "ours" if bar.ours else "theirs"
        said = seconds(bar.value)
        shapes.append(svg.line(14, y + 22, x, y + 22, f"stem stem-{kind}"))
        shapes.append(svg.dot(x, y + 22, kind, said))
        shapes.append(svg.text(x + 9, y + 26, said, "value"))
    return svg.Drawing(shapes, bottom + 22, chart.title, _said(chart))


def _spans(chart: SpanChart) -> svg.Drawing:
    """From the earliest to the latest delivery, in percent of the original."""
    most = max([100.0, *[one.everything for one in chart.spans]])
    axis = scale.linear(most, 8, svg.WIDTH - 24)
    bottom = _TOP + _ROW * len(chart.spans)
    shapes = [*_across(axis, _TOP, bottom, lambda tick: f"{tick:.0f}%")]
    x = axis.at(100)
    shapes.append(svg.line(x, _TOP, x, bottom, "whole"))
    for number, one in enumerate(chart.spans):
        y = _TOP + number * _ROW
        first, last, every = (axis.at(v) for v in (one.earliest, one.latest, one.everything))
        said = f"first {one.earliest:.1f}%, last {one.latest:.1f}%"
        shapes.append(svg.text(8, y + 12, one.label, "label"))
        shapes.append(
            svg.text(
                svg.WIDTH - 28, y + 12, f"{said}, in turn {one.everything:.1f}%", "small", "end"
            )
        )
        shapes.append(svg.box(first, y + 16, last - first, 12, "ours", said))
        shapes.append(svg.line(every, y + 15, every, y + 30, "mark"))
    shapes.append(svg.text(8, bottom + 30, _HOW[0], "small"))
    shapes.append(svg.text(8, bottom + 44, _HOW[1], "small"))
    words = "; ".join(f"{s.label}: {s.earliest:.1f}% to {s.latest:.1f}%" for s in chart.spans)
    return svg.Drawing(shapes, bottom + 52, chart.title, words)


def _lines(chart: LineChart) -> svg.Drawing:
    """Lines on logarithmic axes."""
    xs = [x for one in chart.lines for x, _ in one.points]
    ys = [max(y, 1e-9) for one in chart.lines for _, y in one.points]
    top, bottom, left, right = 14, 236, 52, svg.WIDTH - 58
    across = scale.logarithmic(xs, left, right)
    up = scale.logarithmic(ys, bottom, top)
    shapes = [*_across(across, top, bottom, scale.plain)]
    for tick in up.ticks():
        y = up.at(tick)
        shapes.append(svg.line(left, y, right, y, "grid"))
        shapes.append(svg.text(left - 6, y + 4, _round_seconds(tick), "small", "end"))
    shapes.append(svg.text((left + right) / 2, bottom + 32, chart.x, "small", "middle"))
    for one in chart.lines:
        kind = "ours" if one.ours else "theirs"
        points = [(across.at(x), up.at(max(y, 1e-9))) for x, y in one.points]
        shapes.append(svg.polyline(points, f"line line-{kind}"))
        for (x, y), (px, py) in zip(one.points, points, strict=True):
            said = f"{one.name}, {scale.plain(x)} {chart.x}: {seconds(y)}"
            shapes.append(svg.dot(px, py, kind, said, 3.5))
        x, y = points[-1]
        shapes.append(svg.text(x + 8, y + 4, one.name, f"label {kind}-label"))
    words = "; ".join(
        f"{one.name}: {seconds(one.points[0][1])} to {seconds(one.points[-1][1])}"
        for one in chart.lines
    )
    return svg.Drawing(shapes, bottom + 40, chart.title, words)
