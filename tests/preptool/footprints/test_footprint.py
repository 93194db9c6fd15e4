"""Footprints: what a query may look at, by example and by the reference projector."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from lxml import etree

from extract.preptool.footprints.footprint import Footprint, footprint
from extract.scheme.model import Need
from extract.scheme.splittable import why_not_splittable
from extract.xpath.functions import Type
from extract.xpath.parser import parse
from extract.xpath.types import type_of
from tests.support import sufficiency
from tests.support.equivalence import canonical
from tests.support.generate import oracle
from tests.support.projector import Projection

NODE, CHILDREN, STRING, SUBTREE = Need.NODE, Need.CHILDREN, Need.STRING, Need.SUBTREE


@pytest.mark.parametrize(
    ("xpath", "wants"),
    [
        # A result needs its subtree; what leads to it is kept anyway.
        ("/a/b/c", {"/a/b/c": SUBTREE}),
        ("/a/b/@x", {"/a/b": NODE}),
        ("/a/m//c", {"/a/m/descendant-or-self::*/c": SUBTREE, "/a/m/c": SUBTREE}),
        # An existence filter needs the node, a comparison its string value.
        ("/a/b[c]/d", {"/a/b/d": SUBTREE, "/a/b/c": NODE}),
        ("/a[b/c]/d", {"/a/d": SUBTREE, "/a/b/c": NODE}),
        ("/a/b[c = 'x']/d", {"/a/b/d": SUBTREE, "/a/b/c": STRING}),
        ("/a/b[c = true()]/d", {"/a/b/d": SUBTREE, "/a/b/c": NODE}),
        ("/a/b[@k = 'x']/d", {"/a/b/d": SUBTREE, "/a/b": NODE}),
        ("/a/b[not(c)]/d", {"/a/b/d": SUBTREE, "/a/b/c": NODE}),
        ("/a/b[contains(c, 'x')]/d", {"/a/b/d": SUBTREE, "/a/b/c": STRING}),
        ("/a/b[count(c) > 1]/d", {"/a/b/d": SUBTREE, "/a/b/c": NODE}),
        ("/a/b[sum(c) > 1]/d", {"/a/b/d": SUBTREE, "/a/b/c": STRING}),
        ("/a/b[c[d = 1]/e]/f", {"/a/b/f": SUBTREE, "/a/b/c/e": NODE, "/a/b/c/d": STRING}),
        ("/a[/a/x]/b", {"/a/b": SUBTREE, "/a/x": NODE}),
        # Positions need every sibling that is counted.
        ("/a/b[3]/c", {"/a/b/c": SUBTREE, "/a/b": NODE}),
        ("/a/*[2]/c", {"/a/*/c": SUBTREE, "/a/*": NODE}),
        ("/a/b[c[last()]/d]/e", {"/a/b/e": SUBTREE, "/a/b/c": NODE, "/a/b/c/d": NODE}),
        # Texts need their siblings, or they would run together.
        ("/a/b/text()", {"/a/b": CHILDREN}),
        ("/a/b[text() = 'x']/c", {"/a/b/c": SUBTREE, "/a/b": CHILDREN}),
        ("/a/comment()", {"/a": CHILDREN}),
        ("/comment()", {"/": CHILDREN}),
        # Sideways and upwards.
        ("/a/b/following-sibling::c", {"/a/b": NODE, "/a/c": SUBTREE}),
        ("/a/b[preceding-sibling::c]/d", {"/a/b/d": SUBTREE, "/a/b": NODE, "/a/c": NODE}),
        ("/a/b[../c]/d", {"/a/b/d": SUBTREE, "/a/b": NODE, "/a/c": NODE}),
        ("/a/b[following::c]/d", {"/a/b/d": SUBTREE, "/a/b": NODE, "/descendant::c": NODE}),
        # Values that are not nodes.
        ("count(/a/b)", {"/a/b": NODE}),
        ("string(/a/b)", {"/a/b": STRING}),
        ("/a/b + /a/c", {"/a/b": STRING, "/a/c": STRING}),
        ("(/a/b)[3]/c", {"/a/b": NODE, "/a/b/c": SUBTREE}),
        ("/", {"/": NODE}),
    ],
)
def test_wants(xpath: str, wants: dict[str, Need]) -> None:
    found = footprint(parse(xpath))
    assert not found.whole
    assert found.needs() == wants


@pytest.mark.parametrize(
    ("xpath", "reason"),
    [
        ("id('x')/name", "id()"),
        ("/a/b[id(@ref)]", "id()"),
        ("/a/namespace::*", "namespace axis"),
        ("/a/b/following::text()", "any node"),
        ("string(/)", "string value of the document"),
        ("/a/@x[../b]", "looks around"),
        ("/a/text()/following-sibling::b", "reached from"),
        ("//node()/preceding::a", "preceding"),
    ],
)
def test_what_is_not_understood_needs_the_whole_document_and_says_so(
    xpath: str, reason: str
) -> None:
    assert reason in footprint(parse(xpath)).whole


@pytest.mark.parametrize("seed", range(12))
def test_a_footprint_is_sufficient(seed: int) -> None:
    counts = sufficiency.round_of(Random(seed), 60)
    assert counts["comparisons"] > 50


@pytest.mark.slow
def test_a_footprint_is_sufficient_at_length() -> None:
    total = sum(sufficiency.round_of(Random(s), 60)["comparisons"] for s in range(10_000, 11_500))
    print(f"{total} comparisons without a difference")


def test_an_insufficient_footprint_is_noticed() -> None:
    tree = oracle.parse(b"<a><b><c/><d/></b></a>")
    too_small = footprint(parse("/a/b/d"))
    with pytest.raises(sufficiency.Insufficient):
        sufficiency.check(tree, ["/a/b[c]/d"], too_small, {})


def test_projection_keeps_what_is_wanted_and_little_else() -> None:
    document = b"<a><b k='1'>t<c>u</c>v</b><x><y>z</y></x><!--n--><b><d/></b></a>"
    tree = oracle.parse(document)
    projected = Projection(tree.tree, footprint(parse("/a/b[c = 'u']/@k")), {})
    assert etree.tostring(projected.tree) == b'<a><b k="1"><c>u</c></b><b/></a>'


def test_real_rules_are_sufficient(shared_data: Path) -> None:
    """XPathMark on a part of XMark: all axes on real nesting."""
    import gzip

    whole = gzip.decompress((shared_data / "xmark" / "xmark-f0.1.xml.gz").read_bytes())
    tree = oracle.parse(_first_records(whole, 40))
    compared = 0
    for line in (shared_data / "xmark" / "xpathmark.jsonl").read_text().splitlines():
        xpath = json.loads(line)["xpath"]
        wants = footprint(parse(xpath))
        if not wants.whole:
            sufficiency.check(tree, [xpath], wants, {})
            compared += 1
    assert compared > 25


def _first_records(document: bytes, count: int) -> bytes:
    """The document with only the first records of each list."""
    root = etree.fromstring(document)
    for group in [*root, *root.find("regions")]:
        for record in group[count:]:
            group.remove(record)
    return bytes(etree.tostring(root))


# -- pieces
# -----------------------------------------------------------------------------------------

LIBRARY = b"""<db v="1"><student><name>A</name><email/></student><student k="2"><name>B</name>
</student><professor><name>C</name></professor><student><name>A</name><x><name/></x></student></db>"""


@pytest.mark.parametrize(
    ("xpath", "splittable"),
    [
        ("/db/student", True),
        ("/db/student[name = 'A']/email", True),
        ("/db/student[name[2]]", True),
        ("/db/student/name[1]", True),
        ("/db/student//name[last()]", True),
        ("/db[@v = 1]/student", True),
        ("/db/student[@k][count(.//name) > 0]", True),
        ("/db/student[3]", False),
        ("/db/student[last()]/name", False),
        ("/db/student[following-sibling::student]", False),
        ("/db/student[../professor]", False),
        ("/db/student[name = /db/professor/name]", False),
        ("/db[professor]/student", False),
        ("/db[normalize-space()]/student", False),
        ("/db/student/name/following::name", False),
        ("count(/db/student)", False),
        ("(/db/student)[2]", False),
    ],
)
def test_splittable(xpath: str, splittable: bool) -> None:
    """A splittable branch, evaluated record by record, selects the same nodes."""
    expr = parse(xpath)
    assert (not why_not_splittable(expr, 2)) == splittable
    whole = oracle.parse(LIBRARY)
    if type_of(expr) is Type.NODES:
        pieces = set().union(*(_in_piece(whole, record, xpath) for record in range(3)))
        same = canonical(("nodes", *pieces)) == canonical(oracle.answer(whole, xpath))
        assert same or not splittable


def _in_piece(whole: oracle.Tree, record: int, xpath: str) -> set[oracle.Answer]:
    """What a query selects if only one student is there."""
    piece = Projection(whole.tree, Footprint(whole="all of it"), {})
    students = piece.tree.findall("student")
    for i, student in enumerate(students):
        if i != record:
            student.getparent().remove(student)
    for other in piece.tree.findall("professor"):
        other.getparent().remove(other)
    return set(oracle.answer(sufficiency.ProjectedTree(piece, whole), xpath)[1:])
