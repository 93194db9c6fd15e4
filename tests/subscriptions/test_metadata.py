"""Metadata of subscriptions: what is kept, in which order, and how it is looked up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extract import Limits, Subscription, Subscriptions, SubscriptionsError
from extract.subscriptions.metadata import (
    LISTED_KEYS,
    NO_METADATA,
    OWN_KEYS,
    Condition,
    MetadataError,
    checked_metadata,
    value_at,
)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
keys = st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=8).filter(
    lambda key: key not in OWN_KEYS | LISTED_KEYS
)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts
values = st.recursive(
    scalars.filter(lambda one: one not in (float("inf"), -float("inf"))),
    lambda some: st.lists(some, max_size=3) | st.dictionaries(texts, some, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(keys, values, max_size=4))
def test_any_json_value_is_kept(
    tmp_path_factory: pytest.TempPathFactory, metadata: dict[str, Any]
) -> None:
    file = tmp_path_factory.mktemp("metadata") / "q.jsonl"
    file.write_text(json.dumps({"xpath": "//a", **metadata}), encoding="utf-8")
    (one,) = Subscriptions.load(file)
    assert one.metadata == metadata
    (same,) = Subscriptions.of([Subscription("1", "//a", metadata=metadata)])
    assert json.dumps(same.metadata) == json.dumps(one.metadata)  # also in the same order


def test_lines_of_text_have_none(tmp_path: Path) -> None:
    file = tmp_path / "q.tsv"
    file.write_text("a\t//a\n", encoding="utf-8")
    assert Subscriptions.load(file)[0].metadata is NO_METADATA
    assert Subscriptions.of(["//a"])[0].metadata is NO_METADATA


def test_metadata_is_a_copy() -> None:
    tags = ["a"]
    (one,) = Subscriptions.of([Subscription("1", "//a", metadata={"tags": tags})])
    tags.append("b")
    assert one.metadata == {"tags": ["a"]}


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ({"a": (1, 2)}, "no JSON value"),
        ({"a": {1: 2}}, "no JSON value"),
        ({"a": {"b": {3}}}, "no JSON value"),
        ({"a": b"x"}, "no JSON value"),
        ({1: "x"}, "is not a string"),
        ({"weight": 2}, "a key that extract itself writes"),
        ({"a": 10**5000}, "cannot be written"),
        ({"a": "\udc80"}, "half a character"),
        ({"a": {"\udc80": 1}}, "half a character"),
    ],
)
def test_what_is_no_metadata_is_refused(metadata: Any, reason: str) -> None:
    with pytest.raises(MetadataError, match=reason):
        checked_metadata(metadata)
    with pytest.raises(SubscriptionsError, match=f"query 'q': .*{reason}"):
        Subscriptions.of([Subscription("q", "//a", metadata=metadata)])


def test_the_limit_is_one_of_bytes() -> None:
    size = len(json.dumps({"a": "é"}, ensure_ascii=False).encode())
    assert checked_metadata({"a": "é"}, Limits(metadata_bytes=size)) == {"a": "é"}
    with pytest.raises(MetadataError, match=f"more than {size - 1} bytes"):
        checked_metadata({"a": "é"}, Limits(metadata_bytes=size - 1))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("a", {"b": 1, "c.d": 2, "c": {"d": 3, "e": None}}),
        ("a.b", 1),
        ("a.c.d", 2),
        ("a.c.e", None),
        ("a.c.f", "missing"),
        ("x.y", 4),
        ("x.y.z", 5),
        ("x", "missing"),
        ("l.0", "missing"),
        ("", "missing"),
        (".", "missing"),
    ],
)
def test_dots_lead_into_values(key: str, value: Any) -> None:
    metadata = {
        "a": {"b": 1, "c.d": 2, "c": {"d": 3, "e": None}},
        "x.y": 4,
        "x.y.": 0,
        "x.y.z": 5,
        "l": [1],
    }
    assert value_at(metadata, key, "missing") == value


@pytest.mark.parametrize(
    ("text", "value", "holds"),
    [
        ("a=x=y", "x=y", True),
        ("a=", "", True),
        ("a=1", 1, True),
        ("a=1", 1.0, True),
        ("a=1", "1", True),
        ("a=1", True, False),
        ("a=9007199254740993", 9007199254740992.0, False),
        ("a=true", True, True),
        ("a=false", False, True),
        ("a=null", None, True),
        ("a=0", False, False),
        ("a=NaN", "NaN", True),
        ("a=x", ["y", "x"], True),
        ("a=x", [["x"]], False),
        ("a=x", {"x": 1}, False),
        ('a="x"', "x", False),
    ],
)
def test_conditions(text: str, value: Any, holds: bool) -> None:
    assert Condition.parse(text).holds({"a": value}) is holds
    assert not Condition.parse(text).holds({"b": value})
