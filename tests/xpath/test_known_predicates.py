"""A predicate that was read before means the same again, and its names stand where they stand."""

from __future__ import annotations

import pytest

from extract.errors import QuerySyntaxError
from extract.limits import Limits
from extract.xpath.check import parse_checked
from extract.xpath.known_predicates import predicate_text
from extract.xpath.mentions import Parsed
from extract.xpath.parser import parse, parse_with_mentions


def noted(parsed: Parsed) -> list[object]:
    return [
        parsed.expr,
        parsed.prefixes,
        parsed.functions,
        parsed.variables,
        parsed.node_sets,
        parsed.unplaced,
    ]


@pytest.mark.parametrize(
    "predicate",
    [
        "[p:a/@q:b = ']']",
        "[count(p:c[d | e]) > $x]",
        "[position() = last() and (a)[1]/b]",
        "[ 'it' = \"[\" ][2]",
        "[a[b[c[1]]]]",
    ],
)
def test_what_is_noted_does_not_depend_on_what_was_read_before(
    predicate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"/x{predicate}/longer{predicate} | y{predicate}"
    parse_with_mentions(f"//other{predicate}")
    known = noted(parse_with_mentions(text))
    monkeypatch.setattr("extract.xpath.parser.known_predicate", lambda _: None)
    assert known == noted(parse_with_mentions(text))


def test_an_error_in_a_known_predicate_is_shown_in_its_own_place() -> None:
    parse_checked("a[p:b]", {"p": "urn:p"})
    with pytest.raises(QuerySyntaxError) as raised:
        parse_checked("some/longer/path[p:b]", {})
    assert raised.value.offset == len("some/longer/path[")
    with pytest.raises(QuerySyntaxError) as raised:
        parse_checked("a[b]/c[unknown(1)] | d[unknown(1)]", {})
    assert raised.value.offset == len("a[b]/c[")


def test_a_known_predicate_is_as_deep_as_before() -> None:
    parse("a[b[c[d]]]")
    parse_checked("x[b[c[d]]]", {}, Limits(xpath_depth=5))
    with pytest.raises(QuerySyntaxError, match="nested more than"):
        parse_checked("x[y[z[b[c[d]]]]]", {}, Limits(xpath_depth=5))


def test_a_long_predicate_is_not_kept() -> None:
    assert predicate_text(f"a[b = '{'x' * 1000}']", 1) == ""
    assert predicate_text("a[b", 1) == ""
