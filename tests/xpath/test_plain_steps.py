"""Steps by plain names, read at once, are those that would be read one by one."""

from __future__ import annotations

import pytest

from extract.xpath.parser import parse
from extract.xpath.plain_steps import PLAIN_STEPS


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a/p:b/@c", "a/p:b/@c"),
        ("a/b[1]/c", "a/b"),
        ("a/b//c", "a/b"),
        ("a/text()", "a"),
        ("a/b (1)", "a"),
        ("a/child::b", "a"),
        ("a/p:*", "a"),
        ("a/b :c", "a"),
        ("a/b\u00e9", "a"),
        ("a or b", "a"),
        ("or/div", "or/div"),
        ("f(a)", None),
        ("p:f(a)", None),
        ("*", None),
        ("@*", None),
    ],
)
def test_only_what_no_character_after_it_can_change(text: str, plain: str | None) -> None:
    found = PLAIN_STEPS.match(text)
    assert (found and found[0]) == plain


def test_the_same_as_one_by_one() -> None:
    assert parse("a/p:b/@c[d/e = 1]") == parse("child::a / child::p:b / attribute::c [ d / e = 1 ]")
