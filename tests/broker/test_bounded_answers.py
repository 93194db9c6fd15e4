"""Answers of queries, a few at a time: the same as all at once, however little room there is."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from lxml import etree

from extract.broker.bounded_answers import BoundedAnswers
from extract.broker.said_rows import Shown
from extract.limits import Limits
from extract.subscriptions import Subscription, Subscriptions

_QUERIES = (
    "//*", "//*", "//b", "//b | //c", "//b/text()", "//@n", "/a/b[2]/preceding-sibling::b",
    "//b[. > 3]", "count(//b) > 2", "string(//b[2])", "count(//zz)", "//zz", "//namespace::*",
    "//p:b", "//*[self::b or self::c]", "//b[last()]", "(//b)[2]",
)  # fmt: skip
_FLWR = (
    "for $b in //b return <x>{$b}</x>",
    "for $b in //b return <x>{$b}</x>",
    "for $c in //c return <y n='1'>{$c/text()}</y>",
    "for $a in /a return <z>{$a//b}{$a//c}</z>",
)
_DOCUMENTS = (
    b"<a><b n='1'>1</b><b>2</b><b>5</b><c>x</c></a>",
    b"<a/>",
    b"<a xmlns:q='urn:p'>" + b"<b>7</b><q:b/><c><b>8</b></c>" * 40 + b"</a>",
    b"<!DOCTYPE a [<!ENTITY e '<b>9</b><b>9</b>'>]><a>&e;<c>&e;</c></a>",
    b"<zz><b>4</b><b>4</b></zz>",
)
_ALL = Shown(10_000, 1 << 30)
_PREFIXES = {"p": "urn:p"}


def _answers(
    select: Literal["nodes", "output"],
    room: int,
    shown: Shown = _ALL,
    **more: Any,
) -> tuple[dict[tuple[int, int], Any], list[Any]]:
    """What each subscriber is told of each document, and what was rejected."""
    texts = _QUERIES if select == "nodes" else _FLWR
    queries = [Subscription(str(n), text, _PREFIXES) for n, text in enumerate(texts)]
    answers = BoundedAnswers(select, Subscriptions.of(queries[:3]), Limits(**more), shown, room)
    answers.add(Subscriptions.of(queries[3:]))
    rejected: list[Any] = []
    told: dict[tuple[int, int], Any] = {}
    last: dict[int, int] = {}
    for place, keys, said in answers.match(
        [(str(n), one) for n, one in enumerate(_DOCUMENTS)], rejected
    ):
        for key in keys:
            assert (place, key) not in told
            assert last.get(key, -1) < place, "a subscriber is told of documents in their order"
            told[place, key], last[key] = said, place
    return told, rejected


@pytest.mark.parametrize("select", ["nodes", "output"])
@pytest.mark.parametrize("room", [1, 10_000, 200_000])
def test_little_room_changes_no_answer(select: Literal["nodes", "output"], room: int) -> None:
    told, rejected = _answers(select, room)
    assert told == _answers(select, 1 << 40)[0]
    assert len(told) > 12
    assert not rejected


@pytest.mark.parametrize("room", [1, 20_000, 1 << 40])
def test_counts_are_exact_where_nodes_are_cut(room: int) -> None:
    told, _ = _answers("nodes", room, Shown(2, 1 << 30))
    whole, _ = _answers("nodes", 1 << 40)
    assert told.keys() == whole.keys()
    for pair, said in told.items():
        place, key = pair
        if "::*" not in _QUERIES[key]:  # lxml has no such nodes
            found = etree.XPath(_QUERIES[key], namespaces=_PREFIXES)(
                etree.fromstring(_DOCUMENTS[place])
            )
            assert said["count"] == (len(found) if isinstance(found, list) else 1)
        assert said["matches"] == whole[pair]["matches"][:2]
        assert said.get("truncated", False) == (said["count"] > 2)
    assert any("truncated" in said for said in told.values())


@pytest.mark.parametrize("room", [1, 1 << 40])
def test_what_is_too_much_is_told_with_its_count_alone(room: int) -> None:
    told, rejected = _answers("nodes", room, query_bytes=300)
    assert told[2, 0] == {"matches": [], "count": 161, "truncated": True}
    assert ("2", "0") in {(row["document"], row["query"]) for row in rejected}
    assert told[0, 0]["count"] == 5
    assert len(told[0, 0]["matches"]) == 5
    told, rejected = _answers("output", room, query_bytes=300)
    assert told[2, 0] == {"output": "", "count": 80, "truncated": True}
    assert ("2", "0") in {(row["document"], row["query"]) for row in rejected}


def test_nodes_that_are_too_much_together_are_shown_as_far_as_a_notification_goes() -> None:
    """All nodes of the document are over the limit; the two that are shown are not."""
    told, rejected = _answers("nodes", 1 << 40, Shown(2, 1 << 30), query_bytes=300)
    assert told[2, 2]["count"] == 80
    assert len(told[2, 2]["matches"]) == 2
    assert not [row for row in rejected if row["query"] == "2"]
