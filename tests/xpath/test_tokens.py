"""The tokens of an expression: in Python and in C the same, and enough to know its parse."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from extract.errors import QuerySyntaxError
from extract.subscriptions.columns import TextColumn
from extract.subscriptions.native import ENVIRONMENT, native_tokens
from extract.subscriptions.records import numbers_of
from extract.xpath.names import NAME_TABLE, NCNAME
from extract.xpath.numbers import to_number
from extract.xpath.parameters import QueryShape, shape_of
from extract.xpath.parser import parse
from extract.xpath.tokens import Literal, Tokens, tokenise
from tests.fixtures.xpath.samples import TOKENS, randoms, scrambled
from tests.support.generate.draw import pick
from tests.support.xpath_corpus import CORPUS, generated, read_queries, respelled


def in_c(text: str) -> Tokens | None:
    native = native_tokens()
    if native is None:
        pytest.skip("the tokens in C are not compiled")
    found = native.tokenise(text)
    if found is None:
        return None
    key, literals = found
    return Tokens(key, tuple(Literal(*literal) for literal in literals))


def shape(text: str) -> QueryShape | None:
    """The shape of an expression; None if it does not parse."""
    try:
        return shape_of(parse(text))
    except QuerySyntaxError:
        return None


def check(text: str) -> None:
    """The tokens of a text are those of C, and have the literals of its parse."""
    tokens = tokenise(text)
    assert in_c(text) == tokens, text
    parsed = shape(text)
    if parsed is not None:
        assert tokens is not None, text
        assert tuple(literal.value for literal in tokens.literals) == parsed.values, text


@pytest.mark.parametrize("text", ["", *CORPUS], ids=lambda text: ascii(text)[:50])
def test_the_corpus(text: str) -> None:
    check(text)


@given(st.lists(st.sampled_from(TOKENS), max_size=12).map("".join))
def test_tokens_in_any_order(text: str) -> None:
    check(text)


@given(st.text(max_size=12), st.sampled_from(["{}", "a{}", "@{}", "'{}'", "a[{}]", "a/{}", "1{}"]))
def test_any_text(text: str, frame: str) -> None:
    check(frame.replace("{}", text))


def test_changed_expressions() -> None:
    rng = Random(7)
    corpus = CORPUS + generated(rng, 300)
    for _ in range(20_000):
        check(scrambled(rng, corpus))


def test_real_queries(shared_data: Path) -> None:
    for text in read_queries(shared_data, step=50):
        check(text)


def test_every_character_of_a_name() -> None:
    for code in range(1 << 16):
        char = chr(code)
        starts, follows = NCNAME.fullmatch(char), NCNAME.fullmatch(f"a{char}")
        assert NAME_TABLE[code] == (2 if starts else 1 if follows else 0), hex(code)


# -- Two texts with one key parse alike


def check_keys(texts: Iterable[str]) -> int:
    """How many texts share a key with one that is different."""
    groups: dict[bytes, dict[str, None]] = defaultdict(dict)
    for text in texts:
        tokens = tokenise(text)
        if tokens is not None:
            groups[tokens.key][text] = None
    for group in groups.values():
        first, *others = group
        expected = shape(first)
        for other in others:
            found = shape(other)
            assert (found is None) == (expected is None), (first, other)
            if found is not None and expected is not None:
                assert found.roles == expected.roles, (first, other)
                assert without_values(found) == without_values(expected), (first, other)
    return sum(len(group) for group in groups.values() if len(group) > 1)


def without_values(parsed: QueryShape) -> str:
    """The expression with all literals alike."""
    text = str(parsed.expression)
    tokens = tokenise(text)
    assert tokens is not None
    return repr(tokens.key)


def test_texts_with_one_key_have_one_shape() -> None:
    rng = Random(11)
    corpus = CORPUS + generated(rng, 300)
    texts = [respelled(rng, pick(rng, corpus)) for _ in range(30_000)]
    shared = check_keys(corpus + texts)
    print(f"{shared:,} texts share a key")
    assert shared > 10_000


@given(randoms)
def test_a_key_says_how_a_text_parses(rng: Random) -> None:
    text = scrambled(rng, CORPUS)
    check_keys([text, *(respelled(rng, text) for _ in range(20))])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a-1", "a -1"),
        ("//a", "/ /a"),
        ("p:a", "p :a"),
        ("p:a", "p: a"),
        ("a<=b", "a< =b"),
        ("a or b", "a orb or"),
        (". .", ".."),
        ("'1'", "1"),
        ("1 e5", "1e5"),
        ("a:b", "a::b"),
        ("a-", "a -"),
    ],
)
def test_white_space_that_matters_is_in_the_key(one: str, other: str) -> None:
    first, second = tokenise(one), tokenise(other)
    assert first is not None
    assert second is not None
    assert first.key != second.key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1and 1=a", "2 and 3 = a"),
        ("1 div1", "5 div 7.5e3"),
        ("r[2-a=1]", " r [ 4 - a = .5 ] "),
        ("a['x']", 'a["it\'s"]'),
        ("a orb", "a\tor\nb"),
        ("text ( )", "text()"),
        ("child ::a", "child:: a"),
        ("@ a", "@a"),
        ("'x'or'y'", '"" or ""'),
    ],
)
def test_white_space_and_quotes_that_do_not_matter_are_not(one: str, other: str) -> None:
    first, second = tokenise(one), tokenise(other)
    assert first is not None
    assert second is not None
    assert first.key == second.key


@pytest.mark.parametrize("text", ["'x", "#", "a[b = '\x01']", "'\ud800'", "'\uffff'", "a ! b"])
def test_what_cannot_parse_may_have_no_tokens(text: str) -> None:
    assert tokenise(text) is None
    assert in_c(text) is None
    assert shape(text) is None


def test_long_texts_take_one_pass() -> None:
    long = "x" * 1_000_000
    for text in (f"a['{long}']", f"'{long}", long, f"{'1' * 1_000_000} = a", "/" * 1_000_000):
        assert in_c(text) == tokenise(text)
    spaces = " " * 300_000
    assert tokenise(f"{spaces}a{spaces}or{spaces}b{spaces}") == tokenise("a or b")
    assert in_c(f"{spaces}#") is None
    assert tokenise(f"{spaces}#") is None


# -- Numbers


def spelling(rng: Random) -> str:
    """A number as an expression may have it."""
    whole, fraction, exponent = (
        "".join(pick(rng, "0123456789") for _ in range(rng.randrange(most))) for most in (25, 30, 4)
    )
    text = pick(rng, (f"{whole or 0}", f"{whole or 0}.{fraction}", f".{fraction or 0}"))
    return text + pick(rng, ("", "", f"e{exponent}", f"E-{exponent}", f"e+{exponent}"))


def test_a_literal_is_the_number_that_libxml2_reads() -> None:
    rng = Random(3)
    fixed = ["1.14", "6.5684", "0.00006332", "9007199254740993", "9" * 400, "1e", "1e+", "5.", ".5"]
    texts = fixed + [spelling(rng) for _ in range(20_000)]
    numbers = numbers_of(TextColumn.of(texts))
    for text, number in zip(texts, numbers.tolist(), strict=True):
        assert repr(number) == repr(to_number(text.encode())), text
    for text, number in zip(texts[:3_000], numbers.tolist(), strict=False):
        assert repr(etree.XPath(text)(etree.Element("a"))) == repr(number), text


NUMBERS = (
    " 1 ",
    "-1",
    "- 1",
    "+1",
    "",
    ".",
    "-",
    "1e5 x",
    "1 2",
    "\t1.5e-3\r\n",
    "-.5",
    "e5",
    "\xa01",
)


def test_other_texts_are_the_numbers_that_libxml2_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    column = TextColumn.of(NUMBERS)
    compiled = numbers_of(column)
    monkeypatch.setenv(ENVIRONMENT, "off")
    np.testing.assert_array_equal(numbers_of(column), compiled)
