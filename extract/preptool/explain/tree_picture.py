"""The query tree as a picture: which paths the queries take, how many do, and in which chunk.

Comes in: a query tree and the chosen prefixes. Goes out: an SVG that stands alone (no script, no
font, no graphviz), or DOT for those who like to lay it out themselves.

Both draw the same excerpt. Of thousands of paths about sixty rows remain: every chosen prefix with
what is above it, the heaviest of the other paths, and for the rest rows such as ``+ 37 more (weight
1,204)``. The same tree and prefixes give the same picture, byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from extract.preptool.explain.labels import (
    GREY,
    as_dot,
    as_number,
    as_path,
    as_percent,
    as_xml,
    shortened,
    text_width,
    tint,
)
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
from extract.preptool.explain.tree_excerpt import ROWS, Excerpt, TreeRow
from extract.preptool.query_tree import NamePath, QueryTree


def tree_svg(
    tree: QueryTree, chunks: Mapping[NamePath, str], *, rows: int = ROWS, title: str = "Query tree"
) -> str:
    """Draws a query tree with its weights and chunks as an SVG document.

    It grows from left to right, the heaviest path on top. The width of a line shows the weight of
    the path that it leads to, its colour the chunk: that of the longest chosen prefix, or grey if
    there is none. Tooltips hold what is too long to write.

    Args:
        tree: The query tree.
        chunks: The id of the chunk that each chosen prefix makes.
        rows: How many rows to draw at most; more only if the chosen prefixes alone take more.
        title: The heading.
    """
    excerpt = Excerpt.of(tree, chunks, rows)
    blocks = [_heading(excerpt, title), *_legend(excerpt), _drawing(excerpt), *_notes(excerpt)]
    return page(blocks, title, "; ".join(excerpt.words()))


def tree_dot(tree: QueryTree, chunks: Mapping[NamePath, str], *, rows: int = ROWS) -> str:
    """Writes the excerpt of the tree that `tree_svg` draws in DOT, the language of graphviz.

    Args:
        tree: The query tree.
        chunks: The id of the chunk that each chosen prefix makes.
        rows: As for `tree_svg`.
    """
    excerpt = Excerpt.of(tree, chunks, rows)
    legend = "".join(f"{as_dot(text)}\\l" for text in excerpt.words())
    out = [
        'digraph "query tree" {',
        f'  graph [rankdir=LR, ordering=out, fontname="Helvetica", labeljust=l, label="{legend}"];',
        '  node [shape=box, style=rounded, fontname="Helvetica"];',
        "  edge [arrowhead=none];",
    ]
    for number, item in enumerate(excerpt.items):
        color, _ = excerpt.colors(item)
        label, more = as_dot(f"{item.label}  {item.weight}".rstrip()), ""
        if item.is_prefix:
            label, more = f"{label}\\n{as_dot(chunks[item.path])}", ", penwidth=3"
        elif item.folded:
            more = ", shape=plaintext"
        tooltip = f'tooltip="{as_dot(excerpt.tooltip(item))}"'
        out.append(f'  n{number} [label="{label}", {tooltip}, color="{color}"{more}];')
        if number:
            line = f'color="{color}", penwidth={excerpt.line_width(item):.1f}'
            out.append(f"  n{item.parent} -> n{number} [{line}];")
    return "\n".join([*out, "}\n"])


_GAP = 52.0  # between columns, for the lines


def _heading(excerpt: Excerpt, title: str) -> PictureBlock:
    summary = excerpt.summary()
    large = text_at(0, 16, title, 'font-size="18" font-weight="bold"')
    return PictureBlock(
        [large, text_at(0, 38, summary, QUIET)],
        max(text_width(title, 18, bold=True), text_width(summary)),
        40,
    )


def _notes(excerpt: Excerpt) -> Iterator[PictureBlock]:
    texts = []
    if not excerpt.tree.document.children:
        texts.append("No query takes a path of plain steps, so there is nothing to cut.")
    if any(sum(c.millionths for c in node.children) > node.millionths for node in excerpt.tree):
        texts.append(
            "A query with several branches counts on each: weights side by side may add up"
        )
        texts.append("to more than the weight to their left, and shares to more than 100%.")
    if texts:
        width = max(map(text_width, texts))
        yield PictureBlock(
            [text_at(0, 16 * y + 4, t, QUIET) for y, t in enumerate(texts)], width, 16
        )


def _legend(excerpt: Excerpt) -> Iterator[PictureBlock]:
    """The chunks as a table: id, prefix, weight, and share as a number and as a bar."""
    if not excerpt.chunks:
        return
    names = {prefix: shortened(as_path(prefix), 72) for prefix in excerpt.chunks}
    others = "in no chunk: potpourri"
    x_path = max([text_width("chunk"), *map(chip_width, excerpt.chunks.values())]) + 12
    x_weight = x_path + max(text_width(name) for name in [others, *names.values()]) + 60
    x_share, x_bar, x_end = x_weight + 56, x_weight + 68, x_weight + 176
    right = 'text-anchor="end"'
    parts = [text_at(0, 10, "chunk", QUIET), text_at(x_path, 10, "prefix", QUIET)]
    parts.append(text_at(x_weight, 10, "weight", f"{right} {QUIET}"))
    parts.append(text_at(x_share, 10, "share", f"{right} {QUIET}"))
    width, y = x_end, 6.0
    for prefix, chunk in excerpt.chunks.items():
        y += 20
        colors, weight = excerpt.palette[chunk], excerpt.weight(prefix)
        share = excerpt.share(weight)
        parts += [
            f"<g><title>{as_xml(f'{chunk}: {as_path(prefix)}')}</title>",
            chip(0, y, chunk, colors),
            text_at(x_path, y + 4, names[prefix]),
            text_at(x_weight, y + 4, as_number(weight), right),
            text_at(x_share, y + 4, as_percent(share), right),
            box(x_bar, y, 100, 10, 'fill="#EEEEEE"'),
            box(x_bar, y, 100 * share, 10, f'fill="{colors[0]}"'),
        ]
        if inside := excerpt.inside(prefix):
            remark = shortened(f"includes {', '.join(inside)}", 48)
            parts.append(text_at(x_end, y + 4, remark, QUIET))
            width = max(width, x_end + text_width(remark))
        parts.append("</g>")
    parts.append(mark(chip_width("") / 2, y + 20, GREY))
    yield PictureBlock([*parts, text_at(x_path, y + 24, others)], width, y + 28)


def _drawing(excerpt: Excerpt) -> PictureBlock:
    """The tree: a column for each depth, a trunk to the right of what has children."""
    items = excerpt.items
    widths = [_label_width(item, excerpt) for item in items]
    columns = [0.0] * (max(item.column for item in items) + 1)
    for item, width in zip(items, widths, strict=True):
        columns[item.column] = max(columns[item.column], width)
    lefts = [0.0]
    for width in columns:
        lefts.append(lefts[-1] + width + _GAP)
    heights, rows = _heights(items)
    trunks: dict[int, tuple[float, str]] = {}
    lines: list[tuple[float, str]] = []
    for item, y in zip(items[1:], heights[1:], strict=True):
        x, y0 = lefts[item.column], heights[item.parent]
        thick, color = excerpt.line_width(item), tint(excerpt.colors(item)[0])
        bend = x - _GAP
        curve = (
            f"M{bend:.1f} {y0:.1f}C{x - 22:.1f} {y0:.1f} {bend + 12:.1f} {y:.1f} {x:.1f} {y:.1f}"
        )
        lines.append((-thick, f'<path d="{curve}" stroke="{color}" stroke-width="{thick:.1f}"/>'))
        color = tint(excerpt.colors(items[item.parent])[0])
        start = lefts[item.column - 1] + widths[item.parent]
        path = f'<path d="M{start:.1f} {y0:.1f}H{bend + 0.5:.1f}" stroke="{color}"'
        trunk = (-thick, f'{path} stroke-width="{thick:.1f}"/>')
        trunks[item.parent] = min(trunk, trunks.get(item.parent, trunk))
    drawn = [line for _, line in sorted([*trunks.values(), *lines])]
    labels = [
        _label(lefts[item.column], y, item, excerpt) for item, y in zip(items, heights, strict=True)
    ]
    parts = ['<g fill="none">', *drawn, "</g>", *labels]
    return PictureBlock(parts, lefts[-1] - _GAP, rows * ROW)


def _heights(items: list[TreeRow]) -> tuple[list[float], int]:
    """How far down each item is, amid the rows that it spans; and the number of rows."""
    ends = sorted(set(range(len(items))) - {item.parent for item in items})
    row = {number: (at + 0.5) * ROW for at, number in enumerate(ends)}
    first, last = dict(row), dict(row)
    for number in range(len(items) - 1, 0, -1):  # every item before what is to its left
        parent = items[number].parent
        first[parent] = first[number]
        last.setdefault(parent, last[number])
    return [(first[number] + last[number]) / 2 for number in range(len(items))], len(ends)


def _label_width(item: TreeRow, excerpt: Excerpt) -> float:
    if item.folded:
        return text_width(item.label) + 8
    texts = (item.label, item.weight)
    text = sum(text_width(one, bold=item.is_prefix) for one in texts) + 20
    return text + chip_width(excerpt.chunks[item.path]) if item.is_prefix else text


def _label(x: float, y: float, item: TreeRow, excerpt: Excerpt) -> str:
    """What stands in one place of the tree: a dot with name and weight; framed if a prefix."""
    colors = excerpt.colors(item)
    title = f"<title>{as_xml(excerpt.tooltip(item))}</title>"
    if item.folded:
        text = text_at(x + 4, y + 4, item.label, f'font-style="italic" {QUIET}')
        return f"<g>{title}{text}</g>"
    text = f'{as_xml(item.label)} <tspan dx="3" {QUIET}>{item.weight}</tspan></text>'
    if not item.is_prefix:
        return (
            f'<g>{title}{mark(x + 2, y, colors)}<text x="{x + 10:.1f}" y="{y + 4:.1f}">{text}</g>'
        )
    chunk = excerpt.chunks[item.path]
    style = f'rx="4" fill="#FFFFFF" stroke="{colors[0]}" stroke-width="2"'
    frame = box(x, y, _label_width(item, excerpt), 20, style) + chip(x + 2, y, chunk, colors)
    place = f'x="{x + chip_width(chunk) + 8:.1f}" y="{y + 4:.1f}"'
    return f'<g>{title}{frame}<text {place} font-weight="bold">{text}</g>'
