"""`extract.locate`: the node of lxml's tree that a match is about."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from lxml import etree

import extract
from extract.errors import DocumentError
from tests.support.filter_rounds import Round
from tests.support.generate import oracle


def located(document: bytes, query: str, **namespaces: str) -> list[Any]:
    """The nodes of all matches of a query."""
    scheme = extract.prepare(extract.Subscriptions.of({"q": query}, namespaces))
    tree = etree.fromstring(document).getroottree()
    return [extract.locate(tree, match) for match in extract.match(scheme, document)]


def test_elements_under_a_default_namespace() -> None:
    document = b"<a xmlns='urn:x'><b/><b n='2'/></a>"
    (node,) = located(document, "//x:b[2]", x="urn:x")
    assert (node.tag, node.get("n")) == ("{urn:x}b", "2")


def test_a_prefix_that_is_bound_anew() -> None:
    document = (
        b"<p:a xmlns:p='urn:1'><p:b n='1'/><q:b n='2' xmlns:q='urn:1'/><p:b n='3' xmlns:p='urn:2'>"
        b"<p:c/></p:b><p:b n='4' xmlns:p='urn:2'/></p:a>"
    )
    for uri, numbers in {"urn:1": ["1", "2"], "urn:2": ["3", "4"]}.items():
        assert [node.get("n") for node in located(document, "//x:b", x=uri)] == numbers
    (inner,) = located(document, "//x:c", x="urn:2")
    assert inner.getparent().get("n") == "3"


def test_attributes_and_texts_are_strings_that_know_where_they_are() -> None:
    document = b"<a>1<b x='2' y='3'/>4<!--c-->5<![CDATA[6]]>&amp;7</a>"
    x, y = located(document, "//@*")
    assert (x, x.attrname, x.is_attribute, x.getparent().tag) == ("2", "x", True, "b")
    assert (y, y.attrname) == ("3", "y")
    texts = located(document, "/a/text()")
    assert texts == ["1", "4", "56&7"]
    assert [(text.is_text, text.is_tail) for text in texts] == [
        (True, False),
        (False, True),
        (False, True),
    ]
    assert texts[2].getparent().tag is etree.Comment


def test_comments_and_instructions_outside_of_the_root() -> None:
    document = b"<!--1--><?p 2?><!--3--><a><!--4--></a><?q 5?><!--6-->"
    assert [node.text for node in located(document, "//comment()")] == ["1", "3", "4", "6"]
    assert [node.target for node in located(document, "//processing-instruction()")] == ["p", "q"]


def test_elements_that_come_out_of_an_entity() -> None:
    document = b"<!DOCTYPE a [<!ENTITY e '<b>1</b><b>2</b>'>]><a>&e;<b>3</b></a>"
    assert [node.text for node in located(document, "//b")] == ["1", "2", "3"]


def test_the_root_element_may_be_given_in_place_of_the_tree() -> None:
    document = b"<a><b/></a>"
    scheme = extract.prepare(extract.Subscriptions.of({"q": "//b"}))
    (match,) = extract.match(scheme, document)
    root = etree.fromstring(document)
    assert extract.locate(root, match) is root[0]
    assert extract.locate(root[0], match) is root[0]


@pytest.mark.parametrize("query", ["count(//a)", "string(//a)", "//a = 1", "//namespace::*"])
def test_what_is_no_node_of_the_tree(query: str) -> None:
    assert set(located(b"<a/>", query)) == {None}


def test_a_tree_of_another_document() -> None:
    scheme = extract.prepare(extract.Subscriptions.of({"q": "//b"}))
    (match,) = extract.match(scheme, b"<a><b/></a>")
    with pytest.raises(DocumentError, match=r"no node at /a\[1\]/b\[1\]"):
        extract.locate(etree.fromstring(b"<a/>"), match)


def test_elements_that_are_written_alike() -> None:
    """Their paths are the same; what they bind themselves, or their text, says which is meant."""
    document = b"<a><p:b xmlns:p='1'/><p:b xmlns:p='2'/><p:b xmlns:p='3'>t<c/></p:b></a>"
    for uri in "123":
        assert [node.tag for node in located(document, "//x:b", x=uri)] == [f"{{{uri}}}b"]
    same = b"<a><p:b xmlns:p='1'><c/></p:b><p:b xmlns:p='2'><c/></p:b></a>"
    with pytest.raises(DocumentError, match=r"2 nodes at /a\[1\]/p:b\[1\]/c\[1\]"):
        located(same, "//c")


def node_of(tree: oracle.Tree, answer: tuple[Any, ...]) -> Any:
    """What a node of the oracle's answer is, in a form that compares."""
    kind, *what = answer
    if kind in ("namespace", "declared"):
        return None
    nodes = list(tree.rank)
    return (nodes[what[0]], *what[1:], kind == "tail") if kind in _STRINGS else nodes[what[0]]


_STRINGS = ("attribute", "text", "tail")


def comparable(node: Any) -> Any:
    """The same of what `extract.locate` gives."""
    if not isinstance(node, str):
        return node
    string: Any = node
    names = (string.attrname,) if string.is_attribute else ()
    return (string.getparent(), *names, string.is_tail)


@pytest.mark.parametrize("seed", range(40, 56))
def test_every_match_leads_to_the_node_that_lxml_selects(seed: int) -> None:
    round_ = Round(Random(seed), 30)
    located_nodes = 0
    for document in round_.documents:
        tree = oracle.parse(document)
        rows: dict[str, list[Any]] = {}
        try:
            for match in extract.match(round_.scheme, document):
                node = extract.locate(tree.tree, match)
                rows.setdefault(match.query, []).append(comparable(node))
        except extract.MatcherError:
            pass  # of queries that cannot be evaluated, after all others
        for query, nodes in rows.items():
            answer = oracle.answer(tree, round_.texts[query], round_.namespaces)
            if answer[0] == "nodes":
                assert nodes == [node_of(tree, one) for one in answer[1:]]
                located_nodes += len(nodes)
    assert located_nodes
