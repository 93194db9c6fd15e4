"""``str`` of a tree is XPath that means the tree: to the parser, and to libxml2."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from lxml import etree

from extract.errors import QuerySyntaxError
from extract.xpath import ast
from extract.xpath.check import parse_checked
from extract.xpath.parser import parse, parse_with_mentions
from extract.xpath.types import type_of
from tests.fixtures.xpath.samples import NAMESPACES, Spelling, Trees, documents, randoms, scrambled
from tests.support.generate import oracle
from tests.support.generate.draw import between
from tests.support.xpath_corpus import CORPUS, compiles

DOCUMENTS = documents()


def check_tree(rng: Random) -> str:
    """One random tree, written in two ways and asked about on every document; its type."""
    expr = Trees(rng).expr(between(rng, 1, 5))
    canonical, spelled = str(expr), Spelling(rng).of(expr)
    assert parse(canonical) == expr
    assert parse(spelled) == expr, spelled
    assert parse_checked(canonical, NAMESPACES) == expr
    expected = type_of(expr).value
    for tree in DOCUMENTS:
        answer = oracle.answer(tree, spelled, NAMESPACES)
        assert answer[0] == expected, f"{canonical}: {answer}"
        assert oracle.answer(tree, canonical, NAMESPACES) == answer, f"{spelled}\n{canonical}"
    return expected


@given(randoms)
def test_a_tree_has_the_same_meaning_in_every_spelling(rng: Random) -> None:
    check_tree(rng)


def check_trees(seed: int, count: int) -> None:
    rng = Random(seed)
    kinds = [check_tree(rng) for _ in range(count)]
    print(f"{count:,} trees compared on {len(DOCUMENTS)} documents each")
    assert set(kinds) == {"nodes", "number", "boolean", "string"}


def test_many_trees_mean_the_same_however_they_are_written() -> None:
    check_trees(seed=1, count=2_000)


@pytest.mark.slow
def test_very_many_trees_mean_the_same_however_they_are_written() -> None:
    check_trees(seed=2, count=100_000)


def check_text(xpath: str) -> bool:
    """Compares a text with its canonical form, if it parses; whether it does."""
    try:
        parsed = parse_with_mentions(xpath)
    except QuerySyntaxError:
        return False
    canonical = str(parsed.expr)
    assert parse(canonical) == parsed.expr
    assert compiles(canonical), f"{xpath!r} becomes {canonical!r}"
    if parsed.unplaced:
        return True  # libxml2 and the oracle raise, but the oracle does not see it in "1modlast()"
    for tree in DOCUMENTS[:2]:
        before = _answer(tree, xpath)
        if before[0] != "error" or not _breaks_out(xpath):
            assert _answer(tree, canonical) == before, canonical
    return True


def _answer(tree: oracle.Tree, xpath: str) -> oracle.Answer:
    try:
        return oracle.answer(tree, xpath, NAMESPACES)
    except TypeError as error:  # from a regular expression function with too few arguments
        return ("error", str(error))


def _breaks_out(xpath: str) -> bool:
    """``f(`` and ``f(a,`` compile at the end of a text, but not where the oracle puts the text."""
    try:
        etree.XPath(f"string({xpath}\n)")
    except etree.XPathSyntaxError:
        return True
    return False


@pytest.mark.parametrize("xpath", CORPUS, ids=lambda xpath: ascii(xpath)[:50])
def test_canonical_text_has_the_same_answer(xpath: str) -> None:
    assert check_text(xpath) == compiles(xpath)


def check_texts(seed: int, count: int) -> None:
    rng = Random(seed)
    accepted = sum(check_text(scrambled(rng, CORPUS)) for _ in range(count))
    print(f"{count:,} texts, {accepted:,} of them compared with their canonical form")
    assert accepted > count // 10


def test_canonical_text_of_changed_expressions_has_the_same_answer() -> None:
    check_texts(seed=3, count=10_000)


@pytest.mark.slow
def test_canonical_text_of_very_many_changed_expressions_has_the_same_answer() -> None:
    check_texts(seed=4, count=300_000)


@pytest.mark.parametrize(
    ("xpath", "canonical"),
    [
        ("child::a/attribute::b", "a/@b"),
        ("/descendant-or-self::node()/a", "//a"),
        ("descendant-or-self::node()/a", "descendant-or-self::node()/a"),
        ("a/descendant-or-self::node()", "a/descendant-or-self::node()"),
        ("//descendant-or-self::node()/a", "//descendant-or-self::node()/a"),
        ("///a", "//a"),
        ("/ /a", "/a"),
        ("self::node()/parent::node()", "./.."),
        ("self::node()[1]", "self::node()[1]"),
        ("(a)", "a"),
        ("(a)/b", "(a)/b"),
        ("((a)[1])[2]", "((a)[1])[2]"),
        ("(a)[1][2]//b", "(a)[1][2]//b"),
        ("id('x')/b", "id('x')/b"),
        ("(/)*2", "(/) * 2"),
        ("a|/", "a | /"),
        ("(a|/)or b", "(a | /) or b"),
        ("2*(/)", "2 * /"),
        ("(a|b)|(c|d)", "a | b | c | d"),
        ("(a|b)/c", "(a | b)/c"),
        ("1-(2-3)-4", "1 - (2 - 3) - 4"),
        ("(1+2)*3", "(1 + 2) * 3"),
        ("1+(2*3)", "1 + 2 * 3"),
        ("a or(b or c)", "a or (b or c)"),
        ("(a=b)=c", "a = b = c"),
        ("a=(b=c)", "a = (b = c)"),
        ("-(a|b)", "-a | b"),
        ("(-a)*2", "-a * 2"),
        ("-(a*2)", "-(a * 2)"),
        ("--1", "-(-1)"),
        ("---1", "-1"),
        ("-(-(-1))", "-(-(-1))"),
        ("1--1", "1 - -1"),
        ("\"it's\"", "\"it's\""),
        ("'say \"x\"'", "'say \"x\"'"),
        ('"x"', "'x'"),
        ("processing-instruction( \"x\" )", "processing-instruction('x')"),
        ("1e", "1e"),
        ("5.", "5."),
        ("f(", "f()"),
        ("concat(a,", "concat(a)"),
        ("p :a", "p:a"),
        ("text ( )", "text()"),
        ("div div div", "div div div"),
        ("* * *", "* * *"),
    ],
)  # fmt: skip
def test_canonical_text(xpath: str, canonical: str) -> None:
    assert str(parse(xpath)) == canonical
    assert str(parse(canonical)) == canonical


@pytest.mark.parametrize("op", ["or", "and"])
@pytest.mark.parametrize("count", [2, 16, 17, 32, 33, 64, 65, 1_000])
def test_a_long_row_of_conditions_keeps_its_order_and_value(op: str, count: int) -> None:
    xpath = f" {op} ".join(f"@n = {i}" for i in range(count))
    expr = parse(xpath)
    operands = str(expr).replace("(", "").replace(")", "")
    assert operands == xpath
    assert ("(" in str(expr)) == (count > ast.MAX_ROW)
    found = f"//*[{expr}]", f"//*[{xpath}]"
    for tree in DOCUMENTS:
        assert oracle.answer(tree, found[0]) == oracle.answer(tree, found[1])
