"""The parser in C and the one in Python read the same, and note the same names."""

from __future__ import annotations

import random
from dataclasses import astuple, replace
from typing import Final

import pytest

from extract.errors import QuerySyntaxError
from extract.limits import DEFAULTS, Limits
from extract.xpath.ast import Binary, FunctionCall, Number, Step, name_test
from extract.xpath.mentions import Parsed
from extract.xpath.native import native
from extract.xpath.parameters import Placeholder, divided_in_python
from extract.xpath.parser import parse_in_python

_IN_C: Final = native("_parser")
needs_c = pytest.mark.skipif(_IN_C is None, reason="the parser in C was not compiled")

_TEXTS: Final = [
    *("f(", "f(a,", "a[f(]", "--a", "---a", "a|b|(c)", "(a)[1]/b", "$x", "$p:y + 1", "1e3", "1e+"),
    *("1.", "..", "../a", ".//a", "///a", "/ /a", "a[.]", ".[a]", "@*", "@p:*", "p :a", "p: a"),
    *("child::p :a", "a::b", "self::node()", "processing-instruction('x')", "text( )", "1or2"),
    *("a or b or c and d", "a*b", "* * *", "//*[*]", "id('x')/a//b", "a[position()=last()]"),
    *("position()", "'é'", "é", "a[b='é']", 'a["\'"]', "a/b:c/d", "a/b::c", "p:f(x)", "f (x)"),
    *("p :f(x)", "or or or", "and", "div div div", "a mod b", "-(-a)", "a[-1]", "a=-1", "a!=b"),
    *("a<=b>=c", "/", "/*", "//", "", "  ", "a ", "\ta\n", "a[b[c[d]]]", "a['[']", "a[']' = b]"),
    *("a/text()[1]", "count(//a[b = 'x']) > 2.5e1", 'a[contains(b, "c") or not(d)]/@e'),
    *("/ubl:I[not(cac:A/cbc:B)] | /cn:N[not(cac:A/cbc:B)]", "string('\x01')", "'\ufffe'", "a\x00"),
    *(" or ".join(["a"] * 40), "a[" * 30 + "b" + "]" * 30, "/".join(["a"] * 130), "a" * 11_000),
    *("a[p:b]/c[p:b][q:d(1)]", "a[(b)[1] = (c|d)]/e[(b)[1] = (c|d)]", "$a[b]", "1 = 2 = 3 < 4"),
]
_PIECES: Final = [
    *("", "[", "]", "/", "//", " ", "(", ")", "'", '"', "@", "*", ":", "::", "a", " and ", " or "),
    *("|", "1", ".", "..", "$x", "-", "é", "\x01", "f(", "position()", "text()", "child::", "p:"),
    *("=", "!=", "<", ">=", "+", " div ", " mod ", "2.5e1", "\n", "[b = 'x']", "[c]"),
]


def in_python(text: str, limits: Limits) -> Parsed | None:
    try:
        return parse_in_python(text, limits)
    except QuerySyntaxError:
        return None


def check(text: str, limits: Limits = DEFAULTS) -> bool:
    """Compares the two; whether the one in C has read the text."""
    parsed = _IN_C.parse(text, limits)
    if parsed is None:
        return False
    expected = in_python(text, limits)
    assert expected is not None
    assert parsed == expected
    assert repr(parsed) == repr(expected)
    assert str(parsed.expr) == str(expected.expr)
    assert list(parsed.prefixes) == list(expected.prefixes)
    return True


@needs_c
@pytest.mark.parametrize("text", _TEXTS)
def test_both_parsers_agree(text: str) -> None:
    check(text)
    check(f"x[{text}]/y[{text}]")


@needs_c
def test_both_parsers_agree_on_changed_texts() -> None:
    chance = random.Random(17)
    small = replace(DEFAULTS, xpath_depth=6)
    read = 0
    for _ in range(1500):
        text = chance.choice(_TEXTS)[:200]
        for _ in range(chance.randrange(4)):
            at = chance.randrange(len(text) + 1)
            text = text[:at] + chance.choice(_PIECES) + text[at + chance.randrange(3) :]
        read += check(text, chance.choice((DEFAULTS, small)))
    assert read > 300


@needs_c
def test_ordinary_queries_are_read_in_c() -> None:
    for text in ("/a/p:b[c = 'ü' and not(@d)]//e[2]/text()", "count(a | b) > 1", "id('x')/a"):
        assert check(text)


@needs_c
def test_what_is_wrong_or_large_is_left_to_the_parser_in_python() -> None:
    for text in ("a[", "'x", "é", "a" * 11_000, "a b", "\x01", "foo::a"):
        assert _IN_C.parse(text, DEFAULTS) is None
    assert _IN_C.parse("a/b", replace(DEFAULTS, xpath_chars=2)) is None
    assert _IN_C.parse("a[b[c]]", replace(DEFAULTS, xpath_depth=2)) is None


@needs_c
@pytest.mark.parametrize(
    "text",
    [
        "/a[b = $string1 and c > $number12]/d",
        "/a[b = '$string1'][c = \"$number2'\"]",
        "$number1",
        "$string",
        "$strin1 $number $numbers1 $string01",
        "'$string1 $string2",
        "",
    ],
)
def test_texts_are_divided_in_the_same_way(text: str) -> None:
    divided = _IN_C.divide(text, Placeholder)
    assert divided == divided_in_python(text)
    assert all(type(place) is Placeholder for place in divided[1])


def test_nodes_take_their_fields_by_place_and_by_name() -> None:
    one = Number("1")
    assert Binary("=", one, right=one) == Binary(op="=", left=one, right=one)
    assert astuple(FunctionCall("f")) == ("f", (), "")
    assert Step("child", name_test("a")).predicates == ()
    for make in (
        lambda: Binary("=", one),  # type: ignore[call-arg]
        lambda: Binary("=", one, one, one),  # type: ignore[call-arg]
        lambda: Number("1", wrong="x"),  # type: ignore[call-arg]
        lambda: Number("1", text="x"),  # type: ignore[misc]
    ):
        with pytest.raises(TypeError):
            make()
