"""Members of templates: ids and constants as columns, and what they take of memory."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extract.errors import QuerySyntaxError
from extract.subscriptions.columns import TextColumn
from extract.subscriptions.templates import Member, Template, Templates
from extract.xpath.parser import parse


def test_members_are_columns(tokens: str) -> None:
    templates = Templates()
    templates.add("/a[b = 'x' and c > 1.14]", name="first")
    texts = ["/a[b='y'and c>2]", "/a[", "/z", '/a[b = "it\'s €" and c > 1e3]', "/a[b='' and c>.5]"]
    ids = ["q\t1", "q2", "", "q4", "ü\x01"]
    added = templates.add_all(texts, ids)
    assert added.templates.tolist() == [0, -1, 1, 0, 0]
    assert list(added.errors) == [1]
    members = templates.members(0)
    assert members.rows.tolist() == [0, 1, 4, 5]
    assert list(members.ids) == ["first", "q\t1", "q4", "ü\x01"]
    assert [list(column) for column in members.constants] == [
        ["x", "y", "it's €", ""],
        ["1.14", "2", "1e3", ".5"],
    ]
    assert members.numbers[0] is None
    assert members.numbers[1] is not None
    assert members.numbers[1].tolist() == [1.1400000000000001, 2.0, 1000.0, 0.5]
    assert templates.counts().tolist() == [4, 1]
    assert list(templates.members(1).ids) == [""]
    assert templates.row(2) == ("q2", None)
    templates.add("/z", name="after")
    assert list(templates.members(1).ids) == ["", "after"]


def test_a_rejected_query_is_not_added() -> None:
    templates = Templates()
    for xpath in (
        "a[",
        "a[b = '\x01']",
        "a[b = '\ufffe']",
        "a[b = '\ud800']",
        "a[$x = 1]",
        "foo(1)",
    ):
        with pytest.raises(QuerySyntaxError):
            templates.add(xpath)
    assert len(templates) == 0


@pytest.mark.parametrize("bad", ["\x01", "\ufffe", "\ud800", "\x1f"])
def test_constants_are_checked_in_every_member(tokens: str, bad: str) -> None:
    templates = Templates()
    templates.add("a[b = 'good']")
    xpath = f"a[b = 'x{bad}']"
    with pytest.raises(QuerySyntaxError, match="cannot occur in XML") as caught:
        templates.add(xpath)
    with pytest.raises(QuerySyntaxError) as expected:
        parse(xpath)
    assert caught.value.args == expected.value.args
    added = templates.add_all([xpath, "a[b = 'x']"], ["1", "2"])
    assert added.templates.tolist() == [-1, 0]
    assert added.errors[0].args == expected.value.args


def test_large_constants(tokens: str) -> None:
    templates = Templates()
    values = ["x" * size for size in (0, 127, 128, 16_383, 16_384, 300_000)]
    added = templates.add_all([f"a[b = '{value}']" for value in values], list("abcdef"))
    assert not added.errors
    assert list(templates.members(0).constants[0]) == values


def test_very_many_templates(tokens: str) -> None:
    templates = Templates()
    texts = [f"/a{i}[b = {i}]" for i in range(2_000)]
    added = templates.add_all(texts * 2, [str(i) for i in range(4_000)])
    assert added.templates.tolist() == [*range(2_000), *range(2_000)]
    assert templates.counts().tolist() == [2] * 2_000


def test_a_constant_cannot_end_its_literal_early() -> None:
    member, templates = Member(0, ()), Templates()
    for value in ('] | //* | a["', "' or '1'='1"):
        quote = "'" if '"' in value else '"'
        member = templates.add(f"a[b = {quote}{value}{quote}]")
        assert member == Member(0, (value,))
        assert parse(templates[0].query(member.constants)) == parse(f"a[b = {quote}{value}{quote}]")


def test_ids_and_queries_must_be_as_many() -> None:
    with pytest.raises(ValueError, match="2 queries and 1 ids"):
        Templates().add_all(["a", "b"], ["1"])
    with pytest.raises(ValueError, match="1 constants for 0 parameters"):
        Template("a").query(["x"])


def test_columns_hold_any_text() -> None:
    texts: Sequence[str] = ["", "a", "é€𝄞", "\ud800", "\0"]
    column = TextColumn.of(texts)
    assert list(column) == texts
    assert [column.text(i) for i in range(len(column))] == texts


@given(st.lists(st.text(), max_size=5), st.lists(st.text(), max_size=5))
def test_columns_of_any_texts(one: list[str], other: list[str]) -> None:
    assert list(TextColumn.of(one + other)) == one + other
