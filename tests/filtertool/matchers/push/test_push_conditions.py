"""What the engine decides it decides as libxml2 does; what it leaves open it does not exclude."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from extract.filtertool.matchers.lxml.parsed_unit import compiled, plain
from extract.filtertool.matchers.protocol import Question
from extract.filtertool.matchers.push.engine import PushEngine
from extract.filtertool.matchers.push.literals import with_parameters
from extract.filtertool.results.findings import is_true
from extract.markup.lxml_parser import parse_tree
from extract.schema.model import Schema
from extract.xpath.parser import parse
from extract.xpath.types import type_of
from tests.support.push.whole import compare_filter

VALUES = (
    "",
    " ",
    "\n\t ",
    "x",
    " x ",
    "x  y\n z",
    "12.345",
    "12.",
    ".5",
    "a.b.c",
    "ärger ÄÖ",
    "\u00a0x",  # no white space in XPath
    "1",
    "xy",
)
DOCUMENTS = (
    *[
        f"<r><a>{one}</a><a n='{two}'/><b><a>{two}</a><c/></b><d>{one}<e>{two}</e></d></r>".encode()
        for one, two in itertools.product(VALUES, VALUES[::3])
    ],
    b"<a><r/></a>",
    b"<r/>",
    b"<b><b><a>x</a></b></b>",
    b"<b><b><a>x</a></b><c/></b>",
    b"<r><a/><b/></r>",
    b"<r>1e20<a>1</a>-1e20</r>",
)

DECIDED = (
    "/r[normalize-space(a) = 'x']",
    "/r[normalize-space(a) != '']",
    "/r[not(normalize-space(zzz) = '')]",
    "//a[normalize-space()]",
    "//*[not(*) and not(normalize-space())]",
    "/r[normalize-space(a) = normalize-space(b/a)]",
    "//a[contains(' x y 12.345 ', concat(' ', normalize-space(.), ' '))]",
    "//a[contains('', .)]",
    "//a[starts-with('xyz', normalize-space(.))]",
    "/r[starts-with(normalize-space(a/text()), 'x')]",
    "//a[contains(normalize-space(@n), ' ')]",
    "//a[string-length(substring-after(., '.')) <= 2]",
    "//a[string-length(substring-before(., '.')) > 1]",
    "//a[substring-after(., '') = 'x' or substring-before(., '') = '']",
    "//a[string-length() = 8]",
    "//a[string-length(.) = '2']",
    "/r[string-length(zzz) = 0]",
    "/r[concat(a, '-', b/a) = 'x-x']",
    "/r[concat(a, b/a, zzz) != 'x']",
    "/r[string(d) = 'xx']",
    "/r[string(normalize-space(d)) = 'x']",
    "/r[(a | b)/c]",
    "/r[not((a | b/a)[. = 'x'])]",
    "(/r/a | //b)[a]/c",
    "(//a | //e)[. = 'x']",
    "//c/../a",
    "/r/b/c/../a[. = 'x']",
    "//a/..",
    "//b//a/..",
    "//a/@n/..",
    "//a/text()/..",
    "//b/../a",
    "//a[. = 'x']/../@n",
    "count(//a)",
    "/r[count(a) + count(b) > 1]",
    "sum(//a)",
    "/r[sum(a/text()) = 12.345]",
    "/r[sum(a) != (b/a - d)]",
    "/r[-count(a) < -1]",
    "//d[. > 2 * e]",
    "/r[a >= b/a * 0.5]",
    "/r[b/a * 0.5 <= a]",
    "/r[a != count(a) div 0]",
    "/r[floor(a) = a]",
    "/r[round(a) = ceiling(a)]",
    "/r[a mod 5 = 2.345]",
    "/r[not(count(a) mod (count(b) - 1))]",
    "/r[string-length(a) = string-length(b/a)]",
    "/r[string-length(a) + 1 > '2']",
    "/r[normalize-space(a) = 1]",
    "/r[normalize-space(a) < normalize-space(b/a)]",
    "/r[concat(a, b/a) >= a]",
    "//a[. > sum(/r/a) div count(/r/a)]",
    "number(/r/a) + 1",
    "-/r/b/a",
    "count(//a) - count(//c)",
    "//a[2]",
    "//a[preceding-sibling::a = .]",
    "/r[not(a[2])]",
    "/r[a = b/a]",
    "/r[a != b/a]",
    "/r[a < d]",
    "/r[zzz = a or zzz != a]",
    "//zzz[position() = 1]",
    "/r[zzz[1] and a]",
    "/r[position() + count(a) = 3]",
    "//a[last()]",
    "/r[substring(a, 1, 1) = 'x']",
    "/r[substring(a, 2) = substring-after(a, 'x')]",
    "//a[substring(., 1.5, 2.6) = substring(., 0, count(*))]",
    "//a[substring(., 0 div 0) = '' and substring(., -1 div 0, 1 div 0) = '']",
    "//a[substring(., -42, 1 div 0) = string(.)]",
    "/r[translate(a, 'x', '') = '']",
    "//a[translate(., 'äÄ', 'xy') = 'xrger yÖ']",
    "//a[translate(., 'xyx', 'äÖz') != normalize-space(.)]",
    "//a[string-length(translate(., ' .', '')) > 3]",
    "//a[following-sibling::*[1]]",
    "//a[following-sibling::b[1]/a = .]",
    "/r/*[preceding-sibling::a[1] = '' or preceding-sibling::*[1][. = 'x']]",
    "/r[count(d/preceding-sibling::*[1]/*) = 2]",
    "//a[string-length(normalize-space())]/..",
    "//*[position() = last()]/a",
    "//a[. = 'x'][1]",
    "//a[1][. = 'x']",
    "/r/*[position() mod 2 = 0][last()]",
    "/r/*[count(following-sibling::*) = 2]",
    "/r[count(a/following-sibling::*) = 3]",
    "//a[following-sibling::b/a = .]",
    "//e[not(preceding-sibling::*)]",
    "/r[a[following-sibling::a]]/b",
    "/*[1]/*[last() - 1]",
    "not(/r/a[normalize-space(.) = 'x'])",
    "//a[../b]",
    "/descendant::b/a[ancestor::b/c]",
    "//a[../d = 'xx' and . = 'x']",
    "//a[not(../c)]",
    "/r/b/a[ancestor::r/a = 'x']",
    "//c[ancestor::b[a = 'x']]",
    "//@n[ancestor::a]",
    "//a/following-sibling::b",
    "/r/a/following-sibling::b/c",
    "//c/preceding-sibling::a[. = 'x']",
    "//a[ancestor::*/b]",
    "//a[following::e = .]",
    "//a[following::*[. = 'x']]",
    "//*[preceding::a = 'x']",
    "//*[count(preceding::*) = 3]",
    "//*[count(ancestor::*) = 2 and count(following::*) > 1]",
    "//*[count(b/following::* | zzz) or count(ancestor-or-self::r/b/preceding::*) = 2]",
    "//c[ancestor-or-self::*[a]/a = 'x']",
    "//a[parent::b]",
    "//a[not(parent::*)]",
    "//a[ancestor::*[following-sibling::d]/c]",
    "//a/following::e",
    "//c/preceding::a[. = 'x']/@n",
    "/r/b/preceding::a",
    "/b/following::a",
    "//c/ancestor::*",
    "//a/ancestor-or-self::*[b]",
    "/r/b/a/ancestor::r/d/e",
    "//e/parent::d/preceding::c",
    "//b/following::*/preceding::*",
    "//a/following::d[e]/preceding-sibling::b[c]//a",
    "(//a)[2]",
    "(//a)[last()]",
    "(//a)[position() < 3]/@n",
    "(//a | //c)[2]",
    "(//a | //b/* | //zzz)[position() = last() - 1]",
    "(//a)[. = 'x'][2]",
    "((//a)[position() > 1] | //d)[2]",
    "(//*)[3]/*[last()]",
    "(//b/preceding::a)[1]",
    "(/r/*)[2]/following-sibling::*",
    "(//a)[1] | (//e)[1]",
    "/r[(//a)[2] = 'x']/d",
    "//a[. = (//a)[3]]",
    "count((//a)[position() > 1]) > 1",
    "//*[name() = 'a']",
    "//*[name() = 'a' or local-name() = 'c']/..",
    "//*[starts-with(name(), 'z') or contains(name(), 'd')]",
    "//*[string-length(name()) = 1][name(*) = 'e']",
    "//*[name(@*) = 'n']",
    "//@*[name() = 'n']",
    "//text()[name() = '']",
    "//*[name(a) = local-name(*[last()])]",
    "/r[name(//zzz) = '']",
    "//*[name(..) = 'r' or name(..) = '']",
    "//a[following::*[1] = .]",
    "//*[preceding::*[1][. = 'x']]",
    "//*[preceding::a[1] = 'x']/b",
    "//*[ancestor::*[1]/a = . or ancestor-or-self::b[1]/c]",
    "/r[count(//a/following::*[1]) = 2]",
    "string(/r/a)",
    "string(//zzz)",
    "/r[string(b/a)]",
    "not(string(/r/a))",
)
# Evaluated as XPath defines it, node by node; nothing else in the engine takes these.
NODE_BY_NODE = (
    "//a/../a",
    "//a/..//c",
    "count(//a/..)",
    "not(//a/..)",
    "//r[//a/..]",
    "//r[count(//a/..) = 1]",
    "//a[normalize-space(.) = normalize-space(../b/a)]",
    "//a[substring-after(., '') = .]",
    "count((//a | //e)[. = 'x']) > 1",
    "/r[a = normalize-space(b/a)]",
    "//descendant::a[2]",
    "//a/@*[1]",
    "//a/text()[1]",
    "//a/text()[following-sibling::b]",
    "//a[following-sibling::*[2]]",
    "//a[following-sibling::*[. = 'x'][1]]",
    "//a[following-sibling::b/..]",
    "//a[.//following-sibling::b]",
    "//a[following-sibling::text()]",
    "//a/self::node()[1]",
    "//*[self::a][1]",
    "//a[. = (../a | ../b)]",
    "/r[sum(a | b) > 0 or sum(zzz) = 0]",
    "/r[(a = 'x') + 1 = 2]",
    "/r[sum(.//text()) = 0]",
    "//a[../../d][1]",
    "/.//a[not(../c)]",
    "/r[descendant-or-self::node()/a[../a = 'x']]",
    "//a[following::*[2]]",
    "//b/preceding::a[1]",
    "//c/following-sibling::*[1]",
    "//text()/following::a",
    "(//@n)[2]",
    "(//a | //text())[2]",
    "//a[(b | c)[1]]",
    "//a/following::text()",
    "//a//following::b",
    "boolean(//a/..)",
    "//a[//a/..]",
    "//comment()",
    "//a/node()[2]",
    "//processing-instruction()",
    "/comment()",
    "//node()[last()]",
    "count(//node()) > 5",
    "//a[comment() or processing-instruction()]",
    "//comment()/..",
    "//text()[following-sibling::b][1]",
    "//comment()/following::*[1]",
    "//a[string(count(*)) = '1']",
    "//a[concat(count(*), not(b)) = '1false']",
    "//*[name() = 'a'][position() = last()]",
    "//a[boolean(b) = boolean(c)]",
    "//a[count(b) > (c = 'x')]",
    "//a[(b = 1) < (c = 1)]",
    "(//a | //b)[position() mod 2 = 0]/..",
    "//*[count(ancestor::*[a][1]/b | self::a) = 1]",
    "//a[b = string(c) or b != string(c)]",
    "(//a)[last()]/following::*[2]",
    "//a[sum(b | c) = 0]",
    "//*[../@n = @n][2]",
    "//@n/..",
    "//@n[../a]",
    "//text()/../text()[2]",
    "//b[preceding-sibling::*[1][self::a]]",
    "//*[not(node())]",
    "//*[count(node()) = count(*)]",
    "//a/ancestor-or-self::*[last()]",
    "string(//a[2]/following::text()[1])",
    "//*[namespace-uri() = '']",
    "//@n/descendant::a",  # nothing is below an attribute, and no slot
    "//a[@n//b[1]]",
    "//*[local-name() = 'a' and namespace-uri() = 'urn:x']",
)
OPEN = (
    "//r[//a/.. = '']",
    "(//a/..)[1]/*",
    "id('x')",
    "id(/r/a)/..",
    "/r[id(a) and a]",
    "/r[not(id(a))]",
    "//@n/following::a",
    "//@n[following::a]",
    "(//a/..)[1]",
    "//processing-instruction('p')",
    "//preceding::a",
    "//a[lang('en')]",
)


def answers(xpath: str) -> tuple[bool, list[int], list[int]]:
    """Whether the engine decides a query, what it found or left open, and what libxml2 finds.

    Numbers are those of nodes, or 1 for a value that is true. What is left open counts as right.
    """
    engine = PushEngine(Schema.none(), {}, "count", approximate=True, conditions=True)
    question = with_parameters(Question((xpath,), type_of(parse(xpath)), xpath))
    assert engine.takes(0, question)
    engine.add(0, question, np.array([7], np.int32))
    done, rows, candidates = engine.match(DOCUMENTS)
    assert (done == 1).all()
    found = dict(zip(rows.unit.tolist(), rows.value.tolist(), strict=True))
    wanted = []
    query = compiled(xpath, {})
    for number, document in enumerate(DOCUMENTS):
        value = query(parse_tree(document))
        right = len(value) if isinstance(value, list) else int(is_true(plain(value)))
        wanted.append(right)
        if number in candidates.unit:
            assert number not in found
            found[number] = right
    exact = engine.decides(0)
    return exact, [found.get(number, 0) for number in range(len(DOCUMENTS))], wanted


@pytest.mark.parametrize("xpath", [*DECIDED, *NODE_BY_NODE])
def test_it_decides_as_libxml2(xpath: str) -> None:
    exact, found, wanted = answers(xpath)
    assert exact, "the engine leaves it open"
    assert found == wanted


@pytest.mark.parametrize("xpath", OPEN)
def test_it_excludes_only_what_cannot_match(xpath: str) -> None:
    exact, found, wanted = answers(xpath)
    assert not exact
    assert found == wanted


def test_it_excludes_documents_without_an_open_query_s_nodes() -> None:
    engine = PushEngine(Schema.none(), {}, "count", approximate=True, conditions=True)
    for number, xpath in enumerate(
        ("/zzz/@b/following::c", "/r[zzz/namespace::x and a]", "id(//a)/b", "//zzz[lang('en')]")
    ):
        question = Question((xpath,), type_of(parse(xpath)), xpath)
        assert engine.takes(number, question)
        engine.add(number, question, np.array([number], np.int32))
    _, rows, candidates = engine.match([b"<r><a/></r>", b"<r><zzz/><a/></r>"])
    assert not len(rows.unit)
    pairs = zip(candidates.unit.tolist(), candidates.query.tolist(), strict=True)
    assert list(pairs) == [(1, 1), (1, 3)]


def test_a_query_that_may_fail_is_never_excluded() -> None:
    namespaces = {"re": "http://exslt.org/regular-expressions"}
    engine = PushEngine(Schema.none(), namespaces, "count", approximate=True, conditions=True)
    question = Question(("/r[zzz = 1 and re:test(a, b)]",))
    assert engine.takes(0, question)
    engine.add(0, question, np.array([0], np.int32))
    _, _, candidates = engine.match([b"<x/>", b"<r/>"])
    assert candidates.unit.tolist() == [0, 1]


NUMBERS = (
    "count(//a)",
    "count(//a) + count(//zzz) * 2",
    "sum(//a[. = 1]) div 3",
    "-count(/r/a)",
    "number(/r/a)",
    "/r/a + /r/b/a",
    "string-length(/r/d)",
    "round(/r/a)",
    "1 div count(//zzz)",
    "count(//a[. > 0.5]) mod 2",
)


def test_numbers_have_libxml2_s_values() -> None:
    counts = compare_filter(NUMBERS, DOCUMENTS)
    assert counts["answers"] == len(NUMBERS) * len(DOCUMENTS)
    assert counts["taken for nodes"] == len(NUMBERS)


STRINGS = (
    "string(//a)",
    "string(//zzz)",
    "concat(//a, '-', count(//a), '-', not(//zzz), 1 div 3, 1e20, -0.00001)",
    "normalize-space(/r)",
    "substring(/r, 2, count(//a))",
    "name(//*[last()])",
    "string(//comment())",
    "string(count(//a) div 7)",
    "string(//a = 1)",
)


def test_strings_have_libxml2_s_values() -> None:
    counts = compare_filter(STRINGS, DOCUMENTS)
    assert counts["answers"] == len(STRINGS) * len(DOCUMENTS)
    assert counts["taken for nodes"] == len(STRINGS)


def test_ids_are_those_that_libxml2_knows() -> None:
    """Without a declaration in the document only ``xml:id`` is an ID."""
    declared = b"<!DOCTYPE r [<!ATTLIST a n ID #IMPLIED>]><r><a n='x'><b/></a></r>"
    documents = (
        b"<r><a n='x'><b/></a></r>",
        b"<r><a xml:id='x'><b/></a></r>",
        b"<r><a xml:id='x'><b/></a><a xml:id='y'><b/><b/></a><c>x y</c></r>",
        declared,
    )
    queries = ("id('x')/b", "id('y x')", "id(//c)", "//r[id('x')/b]", "count(id('x')/b)", "id('')")
    counts = compare_filter(queries, documents)
    assert counts["answers"] == len(queries) * len(documents)
    assert counts["matches"] > len(queries)
