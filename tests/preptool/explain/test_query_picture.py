"""The picture of one query: which parts of the document it reads, and why."""

from __future__ import annotations

import pytest
from lxml import etree

from extract import Schema, SchemeError, Subscriptions, prepare
from extract.preptool.explain.query_picture import query_svg
from extract.scheme import Scheme
from tests.support.paths import ROOT

QUERIES = {
    "filter": "/a/b[m/c]/k/d",
    "deep": "//c",
    "dead": "/a/d",
    "whole": "id('x')",
    "wrong": "//[",
    "value": "count(//d)",
    "odd <&>": "/a/b[. = '<&>']",
}


@pytest.fixture(scope="module")
def scheme() -> Scheme:
    schema = Schema.load(ROOT / "schemas" / "figure4.dtd", root="a")
    return prepare(schema, Subscriptions.of(QUERIES), 2)


def texts(svg: str) -> list[str]:
    found: list[str] = etree.fromstring(svg.encode()).xpath("//*[local-name() = 'text']/text()")
    return found


def test_what_a_filter_looks_at_is_outside_of_the_chunk(scheme: Scheme) -> None:
    svg = query_svg(scheme, "filter")
    seen = texts(svg)
    assert seen[:2] == ["Query filter", "/a/b[m/c]/k/d"]
    assert seen[seen.index("d") + 1] == "all of it"
    assert seen[seen.index("c") + 1] == "the tag"
    tree = etree.fromstring(svg.encode())
    kept = [box.get("stroke") for box in tree.xpath("//*[local-name() = 'rect'][@rx = '4']")]
    assert len(kept) == 2
    assert "#767676" in kept  # c, which is not in the chunk


def test_branches_are_written_out(scheme: Scheme) -> None:
    seen = texts(query_svg(scheme, "deep"))
    assert seen[:4] == ["Query deep", "//c", "= /a/b/l/c", "= /a/b/m//c"]
    assert "any depth" in seen


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("dead", "unsatisfiable: a has no child d (at /a)"),
        ("whole", "needs the whole document: "),
        ("wrong", "rejected: "),
    ],
)
def test_the_picture_says_what_it_cannot_draw(scheme: Scheme, query: str, said: str) -> None:
    assert any(text.startswith(said) for text in texts(query_svg(scheme, query)))


def test_every_query_gives_a_picture_that_is_xml(scheme: Scheme) -> None:
    for name in QUERIES:
        assert texts(query_svg(scheme, name))[0] == f"Query {name}"
    with pytest.raises(SchemeError):
        query_svg(scheme, "none")
