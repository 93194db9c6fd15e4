"""Nodes that libxml2 has in entity declarations: rows tell them apart, and nothing fails for them.

What an entity stands for is in libxml2's tree twice: where it is referred to, and below its
declaration, which axes such as ``preceding`` reach.
"""

from __future__ import annotations

import pytest
from lxml import etree

import extract
from extract import Filter, Joins, Subscriptions
from extract.filtertool.matchers.protocol import Select
from extract.markup.lxml_parser import parse_tree

DOCUMENTS = {
    "two texts": b'<!DOCTYPE a [<!ENTITY e "abc"><!ENTITY f "1">]><a>&e;&f;<b/></a>',
    "equal texts": b'<!DOCTYPE a [<!ENTITY e "1"><!ENTITY f "1">]><a>&e;&f;<b/></a>',
    "elements": b"<!DOCTYPE a [<!ENTITY e 'x<c k=\"v\">y</c>z'><!ENTITY f '1'>]>"
    b"<a>&e;&f;&e;<b/></a>",
    "nested": b"<!DOCTYPE a [<!ENTITY e '1<c/>2'><!ENTITY f '<d>&e;</d>3&e;'>]><a>&f;<b/></a>",
    "markup": b"<!DOCTYPE a [<!--c1--><!ENTITY e '1<!--c2--><?p i?><![CDATA[<]]>'>"
    b"<!ENTITY f '<d>&e;</d>'>]><a>&f;&e;<b/></a>",
    "attributes": b"<!DOCTYPE a [<!ENTITY e 'v'><!ENTITY f 'w&e;'><!ATTLIST b k CDATA '&f;'>]>"
    b"<a>&e;<b/>&f;<b k='&e;'/></a>",
}
AXES = ("preceding", "following", "descendant", "preceding-sibling", "ancestor", "child")


def selected(tree: object, query: str) -> list[tuple[str, str]]:
    """Kind and string value of what libxml2 selects."""
    rows = []
    for node in tree.xpath(query):  # type: ignore[attr-defined]
        if isinstance(node, str):
            kind = "attribute" if node.is_attribute else "text"  # type: ignore[attr-defined]
            rows.append((kind, str(node)))
        elif isinstance(node.tag, str):
            rows.append(("element", node.xpath("string()")))
        else:
            rows.append(("comment" if node.tag is etree.Comment else "pi", node.text or ""))
    return rows


@pytest.mark.parametrize("matcher", ["auto", "lxml"])
@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
def test_each_node_has_its_own_row(document: bytes, matcher: str) -> None:
    paths = [f"//b/{axis}::{test}" for axis in AXES for test in ("node()", "text()", "*")]
    paths += ["//b/preceding::*/@*", "//b/preceding::*/text()", "//text()", "//@*"]
    queries = {path: path for path in paths}
    scheme = extract.prepare(Subscriptions.of(queries))
    table = Filter(scheme, "nodes", matcher).table([("d", document)])
    rows: dict[str, list[tuple[str, str]]] = {path: [] for path in paths}
    for row in table.to_pylist():
        rows[row["query"]].append((row["node"], row["text"]))
    tree = parse_tree(document)
    assert rows == {path: selected(tree, path) for path in paths}
    selects: tuple[Select, ...] = ("count", "doc")
    for select in selects:
        counts = Filter(scheme, select=select, matcher=matcher).table([("d", document)])
        assert set(counts.column("query").to_pylist()) == {path for path in paths if rows[path]}
        if select == "count":
            for row in counts.to_pylist():
                assert row["count"] == len(rows[row["query"]])


def test_a_text_of_a_declaration_has_neither_place_nor_path() -> None:
    scheme = extract.prepare(Subscriptions.of({"q": "//b/preceding::text()"}))
    rows = [(m.value, m.path, m.start) for m in extract.match(scheme, DOCUMENTS["two texts"])]
    assert rows == [("abc", None, None), ("1", None, None), ("abc1", "/a[1]/text()[1]", 47)]


@pytest.mark.parametrize("test", ["text()", "node()"])
def test_a_query_that_binds_one_is_rejected_for_this_document(test: str) -> None:
    """No expression can start there: the whole call ended in a TypeError."""
    query = f"for $t in //b/preceding::{test} return <t>{{ $t }}</t>"
    ready = Filter(extract.prepare(Subscriptions.of({"q": query})), select="output")
    documents = [("d", DOCUMENTS["two texts"]), ("plain", b"<a>1<b/></a>")]
    assert ready.table(documents).column("document").to_pylist() == ["plain"]
    (rejected,) = ready.rejected.to_pylist()
    assert (rejected["document"], rejected["query"]) == ("d", "q")
    assert "document type declaration" in rejected["reason"]


def test_a_comment_of_a_declaration_is_not_taken_for_one_beside_the_root() -> None:
    document = b"<!DOCTYPE a [<!ENTITY e '<!--2-->'>]><a>&e;<b/></a><!--3-->"
    query = "for $c in //b/preceding::comment() return <c n='{ count($c/following::b) }'/>"
    ready = Filter(extract.prepare(Subscriptions.of({"q": query})), select="output")
    assert ready.table([("d", document)]).num_rows == 0
    (rejected,) = ready.rejected.to_pylist()
    assert "document type declaration" in rejected["reason"]


@pytest.mark.parametrize("step", ["text()", "c"])
def test_joins_reject_a_query_that_binds_one(step: str) -> None:
    """Nothing names such a node in bindings: `process` ended in a KeyError."""
    joins = Joins({
        "outside": f"S//b/preceding::{step}->t FOLLOWED BY{{t=u, 9}} S//b/preceding::{step}->u",
        "inside": "S//a->t[.//b->b] FOLLOWED BY{t=u, 9} S//a->u",
    })  # fmt: skip
    joins.process("S", "d1", DOCUMENTS["elements"], 1)
    assert [row.query for row in joins.process("S", "d2", DOCUMENTS["elements"], 2)] == ["inside"]
    (rejected,) = joins.rejected
    assert rejected.query == "outside"
    assert "document type declaration" in rejected.reason
