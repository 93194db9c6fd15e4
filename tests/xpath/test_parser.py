"""The parser accepts and rejects exactly what libxml2 does; libxml2 itself is asked each time."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from extract.errors import QuerySyntaxError
from extract.limits import Limits
from extract.xpath.ast import FilterPath, LocationPath
from extract.xpath.parser import MAX_NAME, parse
from tests.fixtures.xpath.samples import TOKENS, randoms, scrambled
from tests.support.xpath_corpus import CORPUS, compiles, generated, read_queries

MAX_DEPTH, MAX_LENGTH = Limits().xpath_depth, Limits().xpath_chars

LIMITS = ("nested more than", "longer than", "a name of more than")


def refusal(xpath: str) -> QuerySyntaxError | None:
    """Why we do not take it; None if we do."""
    try:
        parse(xpath)
    except QuerySyntaxError as error:
        return error
    return None


def parses(xpath: str) -> bool | None:
    """Our verdict; None where only our limits speak against it."""
    error = refusal(xpath)
    if error and error.reason.startswith(LIMITS):
        return None
    return error is None


def check_verdict(xpath: str) -> bool:
    """Compares the verdicts; whether they are comparable and favourable."""
    ours = parses(xpath)
    if ours is not None:
        assert ours == compiles(xpath), f"{xpath!r}: libxml2 says {not ours}"
    return bool(ours)


# -- Verdicts


def short(xpath: str) -> str:
    return ascii(xpath)[:50]


@pytest.mark.parametrize("xpath", ["", *CORPUS], ids=short)
def test_the_corpus_is_judged_as_libxml2_judges_it(xpath: str) -> None:
    ours = parses(xpath)
    assert ours is not None
    assert ours == compiles(xpath)


def test_the_corpus_has_both_kinds() -> None:
    accepted = sum(map(compiles, CORPUS))
    assert 300 < accepted < len(CORPUS) - 300


@given(st.lists(st.sampled_from(TOKENS), max_size=12).map("".join))
@example("a[last(]")
def test_tokens_in_any_order_are_judged_alike(xpath: str) -> None:
    check_verdict(xpath)


@given(
    st.text(max_size=12), st.sampled_from(["{}", "a{}", "@{}", "f({})", "a[{}]", "'{}'", "a/{}"])
)
def test_any_text_is_judged_alike(text: str, frame: str) -> None:
    check_verdict(frame.replace("{}", text))


@given(randoms)
def test_slightly_changed_expressions_are_judged_alike(rng: Random) -> None:
    check_verdict(scrambled(rng, CORPUS))


def test_generated_queries_parse() -> None:
    for xpath in generated(Random(0), 1_000):
        assert check_verdict(xpath), xpath


def compare_in_bulk(seed: int, count: int) -> None:
    rng = Random(seed)
    corpus = CORPUS + generated(rng, 500)
    accepted = sum(check_verdict(scrambled(rng, corpus)) for _ in range(count))
    print(f"{count:,} verdicts compared, {accepted:,} favourable")
    assert count // 10 < accepted < count // 2  # or the comparison says little


def test_many_changed_expressions_are_judged_alike() -> None:
    compare_in_bulk(seed=1, count=30_000)


@pytest.mark.slow
def test_a_million_changed_expressions_are_judged_alike() -> None:
    compare_in_bulk(seed=2, count=1_000_000)


# -- Real queries


def check_real(queries: Iterable[str]) -> None:
    accepted, total = 0, 0
    for xpath in queries:
        total += 1
        if check_verdict(xpath):
            accepted += 1
            expr = parse(xpath)
            assert parse(str(expr)) == expr
    print(f"{total:,} real queries compared, {accepted:,} parse")
    assert accepted > total * 0.95


def test_real_queries_are_judged_alike(shared_data: Path) -> None:
    check_real(read_queries(shared_data, step=100))


@pytest.mark.slow
def test_all_real_queries_are_judged_alike(shared_data: Path) -> None:
    check_real(read_queries(shared_data, step=1))


# -- Characters


@pytest.mark.parametrize("frame", ["{}", "a{}", "'{}'", "a[. = '{}']"])
def test_characters_outside_of_xml_are_rejected(frame: str) -> None:
    controls = [chr(c) for c in range(0x20) if chr(c) not in "\t\n\r"]
    for char in [*controls, "\ud800", "\udbff", "\udc00", "\udfff", "\ufffe", "\uffff"]:
        xpath = frame.replace("{}", char)
        assert not compiles(xpath)
        with pytest.raises(QuerySyntaxError) as caught:
            parse(xpath)
        assert caught.value.offset == xpath.index(char)
        assert f"U+{ord(char):04X}" in caught.value.reason


@pytest.mark.parametrize("char", "\t\n\r\x7f\x80\x85\ue000\ufdd0\ufffd\U0001fffe\U0010ffff")
def test_all_other_characters_may_stand_in_a_string(char: str) -> None:
    assert check_verdict(f"'{char}'")


# -- Sizes: an error of that query, or a success; never a crash

DEEP = {
    "brackets": ("a[", "1", "]"),
    "parentheses": ("(", "1", ")"),
    "calls": ("not(", "1", ")"),
    "negations": ("-(", "1", ")"),
    "operators to the right": ("1 + (", "1", ")"),
    "operators to the left": ("(", "1", " = 1)"),
    "chained operators": ("", "1", " + 1"),
    "brackets and operators": ("a[b = ", "1", "]"),
    "conditions": ("a[b or c or ", "d", " or e]"),
    "filtered parentheses": ("(", "a", ")[1]"),
}


@pytest.mark.parametrize("kind", DEEP)
@pytest.mark.parametrize("levels", [20, 40, MAX_DEPTH - 1, MAX_DEPTH, 200, 1_000, 10_000])
def test_nesting_is_limited(kind: str, levels: int) -> None:
    opening, core, closing = DEEP[kind]
    xpath = opening * levels + core + closing * levels
    error = refusal(xpath)
    if error:
        assert levels > 20
        assert error.reason == Limits().passed("xpath_depth")
        assert len(str(error)) < 400
    else:
        assert levels <= MAX_DEPTH
        assert compiles(xpath)
        assert parse(str(parse(xpath))) == parse(xpath)


@pytest.mark.parametrize("closed", [True, False], ids=["closed", "unclosed"])
def test_brackets_of_the_deepest_kind_parse(closed: bool) -> None:
    levels = MAX_DEPTH - 1
    xpath = "a[" * levels + "1" + "]" * (levels if closed else levels - 1)
    assert check_verdict(xpath) is closed


@pytest.mark.parametrize("count", [2, 10_000, 10_001])
def test_minus_signs_are_counted_modulo_two(count: int) -> None:
    assert str(parse("-" * count + "1")) == ("-1" if count % 2 else "-(-1)")


@pytest.mark.parametrize("count", [33, 1_000, 10_000])
@pytest.mark.parametrize(
    ("part", "sign"), [("/a", ""), ("//a", ""), ("a", "|"), ("a=1", " or "), ("a", " and ")]
)
def test_there_may_be_many_of_anything(part: str, sign: str, count: int) -> None:
    xpath = sign.join([part] * count)
    expr = parse(xpath)
    assert compiles(xpath)
    assert hash(expr) == hash(parse(xpath))
    assert compiles(str(expr))
    assert parse(str(expr)) == expr


def test_there_may_be_many_predicates_and_arguments() -> None:
    path = parse("a" + "[b]" * 10_000)
    assert isinstance(path, LocationPath)
    assert len(path.steps[0].predicates) == 10_000
    filtered = parse("(a)" + "[b]" * 10_000)
    assert isinstance(filtered, FilterPath)
    assert len(filtered.predicates) == 10_000
    assert str(parse(f"concat({', '.join(['1'] * 10_000)})")).count("1") == 10_000


@pytest.mark.parametrize("xpath", ["/a" * 100_000, "//a" * 100_000, "|".join(["a"] * 100_000)])
def test_a_hundred_thousand_steps_and_branches_parse(xpath: str) -> None:
    assert check_verdict(xpath)


@pytest.mark.parametrize("part", ["|*", "=1", "//a", "|..", "[.|.]", "|(1)/a", "+-.|."])
def test_what_fits_the_limit_of_length_compiles(part: str) -> None:
    # Only the number of operations is at stake: libxml2 stops at a million.
    assert compiles("a" + part * ((MAX_LENGTH - 1) // len(part)))
    with pytest.raises(QuerySyntaxError, match="longer than 400,000 characters"):
        parse("a" + part * MAX_LENGTH)


@pytest.mark.parametrize("frame", ["{}", "{}()", "{}/a", "@{}", "p:{}", "{}:a", "${}", "a[{}=1]"])
@pytest.mark.parametrize("char", ["a", "é", "汉"])
def test_what_fits_the_limit_of_names_compiles(frame: str, char: str) -> None:
    assert check_verdict(frame.replace("{}", char * MAX_NAME))
    with pytest.raises(QuerySyntaxError, match="a name of more than 10,000 characters"):
        parse(frame.replace("{}", char * (MAX_NAME + 1)))
