"""By what the push engine finds a query, and why it does not take one."""

from __future__ import annotations

import pytest

from extract.filtertool.matchers.protocol import Question
from extract.filtertool.matchers.push.engine import PushEngine
from extract.filtertool.matchers.push.literals import with_parameters
from extract.filtertool.matchers.push.native import native_available
from extract.filtertool.matchers.push.question_report import explain_question
from extract.schema.model import Schema
from extract.xpath.parser import parse
from extract.xpath.types import type_of

FOUND = {
    "/stock[symbol = 'IBM']": ["/stock/symbol = 'IBM'"],
    "/stock[price > 5][symbol = 'IBM']/name": ["/stock/symbol = 'IBM'"],
    "/stock[price >= -5]": ["/stock/price >= -5"],
    "//a//b[@x = 'q' and c]": ["//a//b/@x = 'q'"],
    "//@x": ["//@x"],
    '//a[text() = "it\'s"]': ['//a/text() = "it\'s"'],
    "//a[contains(b, 'x')]": ["contains(//a/b, 'x')"],
    "//a[contains(b, '')]": ["//a"],
    "//a[b = 'x' or starts-with(c, 'y')]": ["//a/b = 'x' or starts-with(//a/c, 'y')"],
    "//a[not(b)]": ["//a"],
    "//a | /b[c]": ["//a", "/b/c"],
    "/a/descendant-or-self::b/@c": ["/a/descendant-or-self::b/@c"],
    "boolean(//a[b = 1])": ["//a/b = 1"],
    "//a/..": ["//a"],
    "count(//a) > 3": ["every document"],
    "string(//a)": ["//a"],
    "//a/@*[2]": ["//a/@*"],
    "//a[text()[last()] = 3]": ["//a"],
    "//a | //descendant::b[position() < 3]": ["//a or //b"],
    "//a[c][b/following::node()]": ["//a/c"],
    "//a/ancestor::node()": ["//a"],
    "//comment()": ["every document"],
    "(//@a)[1]": ["//@a"],
    "string(//a | //b)": ["//a or //b"],
    "//a[@b = string(c)]/d": ["//a/@b"],
    "//descendant::a[2]/b[1]/c": ["//a/b/c"],
    "//b/a[2]/following::c[1]": ["//b/a"],
    "//descendant::a[2][b = 'x']": ["//a/b = 'x'"],
    "//descendant::a[last()]/preceding::node()/b[@c]": ["//a"],
    "//node()[2]/self::a": ["//a"],
    "//preceding-sibling::node()/@a": ["//@a"],
    "//node()/ancestor::a[2] | //comment()/following::b[1]": ["//a or //b"],
    "//a[text()/preceding::b[c]]": ["//b"],
    "/": ["every document"],
}
REFUSED = {
    "//@a/following::b": "the step following::b",
    "//a[b/@c/preceding::d]": "the step preceding::d",
    "//processing-instruction('p')": "the node test processing-instruction('p')",
    "//a[b and c = id('z')]": "the function id()",
    "//a[not(lang('en'))]": "the function lang()",
    "id('x')": "the function id()",
    "string(id('x'))": "its value is a string",
}


def question(xpath: str) -> Question:
    return with_parameters(Question((xpath,), type_of(parse(xpath))))


@pytest.mark.parametrize(("xpath", "found"), FOUND.items())
def test_by_what_a_query_is_found(xpath: str, found: list[str]) -> None:
    report = explain_question(question(xpath))
    assert report.refused == ""
    assert [one.found_by for one in report.access] == found
    for one in report.access:
        assert one.found_by not in one.or_by


@pytest.mark.parametrize(("xpath", "why"), REFUSED.items())
def test_why_a_query_is_not_taken(xpath: str, why: str) -> None:
    report = explain_question(question(xpath))
    assert (report.refused, report.access) == (why, ())


def test_what_else_a_query_may_be_found_by() -> None:
    (access,) = explain_question(question("/a[b = 'x'][c > 3][d]")).access
    assert access.or_by == ("/a/c > 3", "/a/d", "/a")


@pytest.mark.skipif(not native_available(), reason="the engine is not compiled")
@pytest.mark.parametrize("xpath", [*FOUND, *REFUSED])
def test_the_engine_takes_what_is_said_to_be_taken(xpath: str) -> None:
    engine = PushEngine(Schema.none(), {}, conditions=True)
    assert engine.takes(0, question(xpath)) is (explain_question(question(xpath)).refused == "")
