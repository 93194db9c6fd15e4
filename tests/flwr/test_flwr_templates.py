"""FLWR queries that differ in constants are parsed once, and mean what they mean alone."""

from __future__ import annotations

from random import Random

import pytest

from extract.errors import QuerySyntaxError
from extract.flwr.query import parse_flwr
from extract.flwr.templates import FlwrReader
from extract.xpath.parser import parse
from tests.support.generate.flwr import random_flwr

ODD = [
    "for $a in //a where $a/b = {} return <r>{{ $a/c }}</r>",
    "for $a in doc('x')//h1[. = {}] return <r>{{ $a/p[@k = {}] }}don't {{ $a/b['x' = {}] }}</r>",
    "for $a in //a let $t := $a/b[c = {}] where $t/d > 3 return <r>{{ $t }}</r>",
    "for $a in //a where $a/return = {} order by $a/p[@n = {}] return <r n='{{ $a/b[c = {}] }}'/>",
    "<o k='return <'>{{ for $a in //a[{}] where $a/b={} return<r>{{$a/b[. = {}]/c}}5</r>}}</o>",
    "for $a in //a where $a/b[. = $a/@c] = {} return <r>{{ $a/p[@k = {}] }}</r>",
    "for $a in //a where contains($a, {}) return <r>{{ {} }}</r>",
]
CONSTANTS = ["1", "22", "'x'", '"y z"', "''", "'it is'", '"it\'s"', "1e3", "2.50", "'return <'"]


@pytest.mark.parametrize("pattern", ODD)
def test_a_known_template_means_what_the_text_means(pattern: str) -> None:
    draw, reader = Random(pattern), FlwrReader()
    for _ in range(60):
        text = pattern.format(*[draw.choice(CONSTANTS) for _ in range(pattern.count("{}"))])
        try:
            alone = parse_flwr(text, {})
        except QuerySyntaxError:
            with pytest.raises(QuerySyntaxError):
                reader.read(text, {})
            continue
        read = reader.read(text, {})
        assert (read.head.query.rest is None) == (alone.rest is None)
        if alone.rest is None:
            assert read.xpath == str(alone.binding)
        shapes = [FlwrReader().read(text, {}).result.query.bound, alone.bound]
        assert list(map(str, shapes[0])) == list(map(str, shapes[1]))
        if not read.result_constants:
            assert list(map(str, read.result.query.bound)) == list(map(str, alone.bound))


def test_random_queries_mean_the_same_after_others() -> None:
    draw, reader = Random(7), FlwrReader()
    for _ in range(400):
        text = random_flwr(draw, prefixed=True)
        read, alone = reader.read(text, {"p": "urn:p"}), parse_flwr(text, {"p": "urn:p"})
        if alone.rest is None:
            assert read.xpath == str(alone.binding)
        if not read.result_constants:
            assert list(map(str, read.result.query.bound)) == list(map(str, alone.bound))


def test_constants_share_a_template_and_kinds_do_not() -> None:
    reader = FlwrReader()
    texts = ["for $a in //a where $a/b = {} return <r>{{ $a/c[d = {}] }}</r>".format(*pair)
             for pair in (("1", "'x'"), ("2", "'y'"), ("'2'", "'y'"))]  # fmt: skip
    first, second, third = [reader.read(text, {}) for text in texts]
    assert first.head is second.head
    assert second.head is not third.head
    assert first.result is second.result is third.result
    assert (second.head_constants, second.result_constants) == (("2",), ("y",))
    assert second.result.sources == (0,)


def test_positions_and_values_that_are_written_belong_to_the_result() -> None:
    reader = FlwrReader()
    texts = [f"for $a in //a return <r>{{ $a/b[{n}] }}{{ {n} }}</r>" for n in (1, 2)]
    one, two = [reader.read(text, {}) for text in texts]
    assert one.head is two.head
    assert one.result is not two.result
    assert two.result_constants == ()


def test_namespaces_belong_to_the_template() -> None:
    reader, text = FlwrReader(), "for $a in //p:a return <r>{ $a/p:b }</r>"
    one, two = reader.read(text, {"p": "urn:1"}), reader.read(text, {"p": "urn:2"})
    assert one.result is not two.result
    assert two.result.query.namespaces == {"p": "urn:2"}


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ('"x &amp; y"', "'x & y'"),
        ("'&lt;&#65;&#x42;'", "'<AB'"),
        ("'it&apos;s'", '"it\'s"'),
        ('"it\'s &quot;it&quot;"', "concat('it', \"'\", 's \"it\"')"),
    ],
)
def test_references_in_literals_are_resolved(literal: str, value: str) -> None:
    reader = FlwrReader()
    for _ in range(2):
        assert (
            reader.read(f"for $a in //a[b = {literal}] return <r/>", {}).xpath
            == f"//a[b = {value}]"
        )


@pytest.mark.parametrize("bad", ["'AT&T'", "'&nbsp;'", "'&#1;'", "'a &'"])
def test_what_is_no_reference_is_an_error_at_its_place(bad: str) -> None:
    text = f"for $a in //a where $a/b = {bad} return <r/>"
    reader = FlwrReader()
    reader.read("for $a in //a where $a/b = 'x' return <r/>", {})
    with pytest.raises(QuerySyntaxError) as error:
        reader.read(text, {})
    assert error.value.offset == text.index("&")


def test_predicates_of_xpath_are_not_those_of_flwr() -> None:
    """Both remember what they have read."""
    xpath = "//a[b = 'x &amp; y']"
    assert str(parse(xpath)) == xpath
    assert FlwrReader().read(f"for $a in {xpath} return <r/>", {}).xpath == "//a[b = 'x & y']"
    assert str(parse(xpath)) == xpath
