"""How much room texts of pictures get: enough for a wide font."""

from __future__ import annotations

import pytest

from extract import Schema, Subscriptions, prepare
from extract.preptool.explain.labels import monospace_width, text_width
from extract.preptool.explain.query_picture import query_svg
from extract.preptool.explain.tree_picture import tree_svg
from extract.preptool.query_tree import QueryTree, WeightedQuery
from tests.support.paths import ROOT
from tests.support.wide_font import texts_outside, wide_text

CHARACTERS = [*map(chr, range(32, 127)), "\u2026", "\u00b7", "\u2192", "\u00d7", "\u00e9"]


@pytest.mark.parametrize("bold", [False, True])
def test_no_character_is_wider_than_its_estimate(bold: bool) -> None:
    narrow = [one for one in CHARACTERS if text_width(one, bold=bold) < wide_text(one, bold=bold)]
    assert narrow == []


def test_estimates_do_not_waste_room() -> None:
    text = "A query with several branches counts on each"
    assert text_width(text) < 1.08 * wide_text(text)
    assert text_width(text, bold=True) < 1.15 * wide_text(text, bold=True)


def test_characters_of_other_scripts_get_room() -> None:
    assert text_width("\u0416\u4e2d") >= 12 * (1.077 + 1.0)
    assert monospace_width("\u4e2d" * 10) >= 10 * 12
    assert monospace_width("x" * 10) >= wide_text("x" * 10, monospace=True)


@pytest.mark.parametrize("name", ["k/d", "b[m/c]/k/d", "b[. = 'WWWWWW']", "b/m//c", "d", "b/*"])
def test_a_query_stays_in_its_picture(name: str) -> None:
    schema = Schema.load(ROOT / "schemas" / "figure4.dtd", root="a")
    scheme = prepare(schema, Subscriptions.of({"WMW%": f"/a/{name}", "x": "/a/b/k"}), 2)
    assert texts_outside(query_svg(scheme, "WMW%")) == []


def test_a_tree_stays_in_its_picture() -> None:
    paths = [("WWW", "mmm", "iii"), ("WWW", "order-lines", "%"), ("WWW", "order-lines")]
    tree = QueryTree.of([WeightedQuery((path,)) for path in paths for _ in range(1234)])
    svg = tree_svg(tree, {("WWW", "mmm"): "chunk-WM", ("WWW", "order-lines"): "2"}, title="MMMMM")
    assert texts_outside(svg) == []
