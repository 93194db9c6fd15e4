"""The picture of the query tree: complete, readable at any size, and the same every time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extract.preptool.choose import choose
from extract.preptool.explain.tree_picture import tree_dot, tree_svg
from extract.preptool.query_tree import NamePath, QueryTree, WeightedQuery, by_subscribers

SVG = "{http://www.w3.org/2000/svg}"
GREY = "#767676"


def path(text: str) -> NamePath:
    """``/a/b`` as names."""
    return tuple(text.split("/")[1:])


def tree_of(weights: Mapping[str, float]) -> QueryTree:
    """The tree of one query for each path, with these weights."""
    queries = [WeightedQuery((path(text),), (weight,)) for text, weight in weights.items()]
    return QueryTree.of(queries, by_subscribers)


def chosen(tree: QueryTree, chunks: int) -> dict[NamePath, str]:
    prefixes = choose(tree, chunks).prefixes
    return {prefix: f"c{number}" for number, prefix in enumerate(prefixes, 1)}


DESCRIPTOR, BEANS = "/ejb-jar/assembly-descriptor", "/ejb-jar/enterprise-beans"
EJB = tree_of(
    {
        f"{DESCRIPTOR}/container-transaction": 190,
        f"{DESCRIPTOR}/method-permission": 180,
        f"{DESCRIPTOR}/security-role": 170,
        f"{BEANS}/session": 160,
        f"{BEANS}/message-driven": 155,
        f"{BEANS}/entity": 145,
    }
)
EJB_CHUNKS = {
    path(f"{DESCRIPTOR}/container-transaction"): "c1",
    path(f"{DESCRIPTOR}/method-permission"): "c2",
    path(f"{DESCRIPTOR}/security-role"): "c3",
    path(BEANS): "c4",
    path(f"{BEANS}/session"): "c5",
}


# -- Reading a picture


def texts(element: Element) -> list[str]:
    """The lines of text in an element, as a reader sees them."""
    return ["".join(text.itertext()) for text in element.iter(f"{SVG}text")]


def labels(svg: str) -> dict[str, Element]:
    """What is drawn in the tree, by tooltip up to the first semicolon: mostly the path."""
    found = {}
    for group in ElementTree.fromstring(svg).iter(f"{SVG}g"):
        title = group.findtext(f"{SVG}title", "")
        if "; " in title:
            assert title.split("; ")[0] not in found
            found[title.split("; ")[0]] = group
    return found


def is_strong(label: Element) -> bool:
    return label.find(f"{SVG}text[@font-weight='bold']") is not None


def colour(label: Element) -> str:
    """Of the dot or the frame."""
    shape = label.find(f"{SVG}circle")
    if shape is None:
        shape = label.find(f"{SVG}rect")
    assert shape is not None
    return shape.attrib["stroke"]


QUOTED = r'"(?:[^"\\]|\\.)*"'
VALUE = rf"(?:{QUOTED}|[\w.]+)"
ATTRIBUTES = rf"\[\w+={VALUE}(?:, \w+={VALUE})*\]"
STATEMENT = re.compile(rf"  (\w+)(?: -> (\w+))? ({ATTRIBUTES});")


def statements(dot: str) -> Iterator[tuple[str, str | None, str]]:
    """The statements of a DOT file, each a line: from where, to where if an edge, attributes."""
    lines = dot.splitlines()
    assert (lines[0], lines[-1]) == ('digraph "query tree" {', "}")
    for line in lines[1:-1]:
        match = STATEMENT.fullmatch(line)
        assert match, line
        yield match[1], match[2], match[3]


def rows(dot: str) -> int:
    """How many rows are drawn: as many as there are nodes with nothing to their right."""
    found = list(statements(dot))
    nodes = {start for start, end, _ in found if end is None and start[1:].isdigit()}
    edges = [(start, end) for start, end, _ in found if end is not None]
    assert len(edges) == len(nodes) - 1  # a tree
    assert {end for _, end in edges} < nodes
    return len(nodes - {start for start, _ in edges})


# -- What is in it


def test_names_weights_and_chunks_of_the_ejb_scenario() -> None:
    svg = tree_svg(EJB, EJB_CHUNKS, title="EJB")
    drawn = labels(svg)
    assert drawn.keys() == {"/", *("/" + "/".join(node.path) for node in EJB)}
    assert texts(drawn[f"{BEANS}/entity"]) == ["entity 145"]
    assert texts(drawn[BEANS]) == ["c4", "enterprise-beans 460"]
    assert {p for p, label in drawn.items() if is_strong(label)} == {
        "/" + "/".join(prefix) for prefix in EJB_CHUNKS
    }
    written = texts(ElementTree.fromstring(svg))
    assert written[:2] == ["EJB", "weight 1,000 · 9 paths · 5 chunks"]
    at = written.index(BEANS)
    assert written[at - 1 : at + 4] == ["c4", BEANS, "460", "46%", "includes c5"]


def test_colours_are_those_of_the_longest_prefix() -> None:
    drawn = {name: colour(label) for name, label in labels(tree_svg(EJB, EJB_CHUNKS)).items()}
    assert drawn[f"{BEANS}/entity"] == drawn[f"{BEANS}/message-driven"] == drawn[BEANS]
    assert drawn["/"] == drawn["/ejb-jar"] == drawn[DESCRIPTOR] == GREY
    assert len(set(drawn.values())) == 6  # five chunks and the potpourri


def test_a_heavier_path_has_a_thicker_line() -> None:
    tree = tree_of({"/r/a": 50, "/r/b": 30, "/r/c": 1})
    lines = ElementTree.fromstring(tree_svg(tree, {})).findall(f".//{SVG}path")
    widths = Counter(line.attrib["stroke-width"] for line in lines)
    assert len(widths) == 4  # /r and its three children
    pens = re.findall(r"-> n\d+ \[.*penwidth=([\d.]+)", tree_dot(tree, {}))
    assert [float(pen) for pen in pens] == sorted(map(float, pens), reverse=True)


def test_the_picture_needs_no_other_file_and_has_a_description() -> None:
    svg = tree_svg(EJB, EJB_CHUNKS)
    root = ElementTree.fromstring(svg)
    assert not [e for e in root.iter() if e.tag in {f"{SVG}script", f"{SVG}image", f"{SVG}use"}]
    assert "href" not in svg
    assert "url(" not in svg
    assert root.attrib["aria-labelledby"].split() == [
        e.attrib["id"] for e in root.findall("*[@id]")
    ]
    assert f"c4: {BEANS}, 460 (46%)" in root.findtext(f"{SVG}desc", "")


def luminance(color: str) -> float:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    dark, light = sorted([luminance(one), luminance(other)])
    return (light + 0.05) / (dark + 0.05)


def test_all_text_can_be_read() -> None:
    """Contrast as WCAG asks: 4.5 to 1, also on the colour of every chunk."""
    tree = tree_of({f"/r/n{number}": 1 for number in range(20)})
    root = ElementTree.fromstring(tree_svg(tree, chosen(tree, 20)))
    on_chips, on_white = set(), {root.attrib["fill"]}
    for group in root.iter():
        children = list(group)
        for before, element in zip([None, *children], children, strict=False):
            if element.tag == f"{SVG}text" and element.get("text-anchor") == "middle":
                assert before is not None
                on_chips.add((before.attrib["fill"], element.attrib["fill"]))
            elif element.tag in {f"{SVG}text", f"{SVG}tspan"} and element.get("fill"):
                on_white.add(element.attrib["fill"])
    assert len(on_chips) == 8
    assert all(contrast(paper, ink) >= 4.5 for paper, ink in on_chips)
    assert all(contrast("#FFFFFF", ink) >= 4.5 for ink in on_white)


def test_long_names_are_shortened_and_in_full_in_the_tooltip() -> None:
    name = "AdditionalItemIdentification" * 3
    label = labels(tree_svg(tree_of({f"/r/{name}": 1}), {}))[f"/r/{name}"]
    assert texts(label) == ["AdditionalItemIden…ification 1"]


def test_a_prefix_that_no_query_takes_is_in_the_legend() -> None:
    written = texts(ElementTree.fromstring(tree_svg(EJB, {**EJB_CHUNKS, ("x", "y"): "c6"})))
    at = written.index("/x/y")
    assert written[at - 1 : at + 3] == ["c6", "/x/y", "0", "0%"]


def test_chunks_are_listed_in_the_order_of_their_numbers() -> None:
    tree = tree_of({f"/r/n{number}": 1 for number in range(12)})
    written = texts(ElementTree.fromstring(tree_svg(tree, chosen(tree, 12))))
    listed = [text for text in written if re.fullmatch(r"c\d+", text)][:12]
    assert listed == [f"c{number}" for number in range(1, 13)]


def test_a_note_when_weights_count_queries_twice() -> None:
    twice = QueryTree.of([WeightedQuery((("r", "a"), ("r", "b")))])
    assert "several branches" in tree_svg(twice, {})
    assert "several branches" not in tree_svg(EJB, {})


# -- Any name

NASTY = ["a&amp;b", "<a>", "q\"uo'te", "back\\slash\\", "\\N\\l", "]]>", "new\nline", "\x00\ud800"]


@pytest.mark.parametrize("name", [*NASTY, "ÄÖ", "要素", "𝔸"])
def test_names_ids_and_titles_are_escaped(name: str) -> None:
    tree = QueryTree.of([WeightedQuery((("r", name, "x"),))])
    svg = tree_svg(tree, {("r", name): name}, title=name)
    readable = re.sub("[\x00\ud800]", "\ufffd", name)
    assert ElementTree.fromstring(svg).findtext(f"{SVG}title") == readable
    assert texts(labels(svg)[f"/r/{readable}"]) == [readable, f"{readable} 1"]
    svg.encode()
    assert rows(tree_dot(tree, {("r", name): name})) == 1
    tree_dot(tree, {("r", name): name}).encode()


def test_dot_keeps_backslashes_and_quotes_from_graphviz() -> None:
    dot = tree_dot(QueryTree.of([WeightedQuery((('\\N"&lt;',),))]), {})
    assert r'label="\\N\"&amp;lt;  1"' in dot


# -- Any size


def star(leaves: int) -> QueryTree:
    return tree_of({f"/r/n{number}": number for number in range(1, leaves + 1)})


def test_small_branches_are_folded_into_one_row() -> None:
    drawn = labels(tree_svg(star(1000), {}, rows=60))
    weight = sum(range(1, 942))
    folded = f"+ 941 more (weight {weight:,}) below /r"
    assert drawn.keys() == {"/", "/r", folded, *(f"/r/n{n}" for n in range(942, 1001))}
    assert texts(drawn[folded]) == [f"+ 941 more (weight {weight:,})"]


def test_a_single_branch_is_not_folded() -> None:
    assert "more (weight" not in tree_svg(star(60), {}, rows=60)
    assert "+ 2 more (weight 3)" in tree_svg(star(61), {}, rows=60)


def test_the_lightest_path_is_drawn_if_it_is_chosen() -> None:
    tree = tree_of({**{f"/r/n{n}/m{m}": 100 for n in range(40) for m in range(9)}, "/r/a/b/c": 1})
    drawn = labels(tree_svg(tree, {path("/r/a/b/c"): "c1"}))
    assert is_strong(drawn["/r/a/b/c"])
    assert {"/r", "/r/a", "/r/a/b"} <= drawn.keys()
    assert rows(tree_dot(tree, {path("/r/a/b/c"): "c1"})) == 60


def test_more_chunks_than_rows_are_all_drawn() -> None:
    tree = star(100)
    chunks = chosen(tree, 80)
    drawn = labels(tree_svg(tree, chunks, rows=10))
    assert sum(map(is_strong, drawn.values())) == 80
    assert rows(tree_dot(tree, chunks, rows=10)) == 81


def test_ten_thousand_paths() -> None:
    tree = tree_of(
        {
            f"/r/a{a}/b{b}/c{c}": 1 + a * b * c
            for a in range(20)
            for b in range(20)
            for c in range(25)
        }
    )
    assert sum(1 for _ in tree) > 10_000
    chunks = chosen(tree, 8)
    svg = tree_svg(tree, chunks)
    assert sum(map(is_strong, labels(svg).values())) == 8
    assert rows(tree_dot(tree, chunks)) == 60
    assert len(svg) < 100_000


def test_a_deep_tree_stays_narrow() -> None:
    tree = QueryTree.of([WeightedQuery((("a",) * 1500,))])
    root = ElementTree.fromstring(tree_svg(tree, {}))
    assert int(root.attrib["width"]) < 2000
    assert "+ 1 more (weight 1)" in tree_dot(tree, {})


def test_labels_do_not_overlap() -> None:
    tree = tree_of(
        {f"/r/{a}/{b}/{c}": a * b + c for a in range(9) for b in range(9) for c in range(9)}
    )
    columns: dict[int, list[float]] = {}
    for name, label in labels(tree_svg(tree, chosen(tree, 12))).items():
        depth = len(name.rstrip("/").split("/")) + name.startswith("+")
        baseline = float(label.findall(f"{SVG}text")[-1].attrib["y"])
        columns.setdefault(depth, []).append(baseline)
    assert sum(map(len, columns.values())) > 60
    for heights in columns.values():
        assert all(below - above >= 20 for above, below in pairwise(sorted(heights)))


def test_an_empty_tree() -> None:
    svg = tree_svg(QueryTree.of([]), {})
    assert list(labels(svg)) == ["/"]
    assert "nothing to cut" in svg
    assert rows(tree_dot(QueryTree.of([]), {})) == 1


def test_one_node() -> None:
    tree = tree_of({"/a": 0.5})
    assert texts(labels(tree_svg(tree, {}))["/a"]) == ["a 0.5"]
    assert texts(labels(tree_svg(tree, {("a",): "c1"}))["/a"]) == ["c1", "a 0.5"]


# -- Always

names = st.sampled_from(["a", "b", "c", "d", "<&>"])
spines = st.lists(names, max_size=5).map(tuple)
queries = st.builds(
    WeightedQuery,
    st.lists(spines, min_size=1, max_size=3).map(tuple),
    st.tuples(st.sampled_from([0.25, 1.0, 7.0, 1e6])),
)


@given(st.lists(queries, max_size=30), st.integers(1, 6), st.integers(0, 12))
def test_every_prefix_is_drawn_in_few_rows_and_always_alike(
    some: list[WeightedQuery], chunks: int, most: int
) -> None:
    tree = QueryTree.of(some, by_subscribers)
    prefixes = chosen(tree, chunks)
    svg, dot = tree_svg(tree, prefixes, rows=most), tree_dot(tree, prefixes, rows=most)
    drawn = labels(svg)
    assert {p for p, label in drawn.items() if is_strong(label)} == {
        "/" + "/".join(prefix) for prefix in prefixes
    }
    # Each prefix may need a row for itself, and one beside each of at most 4 paths above it.
    assert rows(dot) <= max(most, 1 + 5 * len(prefixes))
    nodes = [start for start, end, _ in statements(dot) if end is None and start[1:].isdigit()]
    assert len(nodes) == len(drawn)
    again = QueryTree.of(reversed(some), by_subscribers)
    backwards = dict(reversed(prefixes.items()))
    assert tree_svg(again, backwards, rows=most) == svg
    assert tree_dot(again, backwards, rows=most) == dot
