"""Schemes of format 1, which have no templates, are still read, and answer the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from extract import SchemeError
from extract.preptool.revise import Reviser
from extract.scheme import Scheme
from extract.subscriptions import Subscription
from tests.support.saved_scheme import load
from tests.support.schemes import GOLDEN

NAMES = ("ejb-jar", "figure4", "university")


@pytest.mark.parametrize("name", NAMES)
def test_an_old_scheme_has_the_same_queries_in_the_same_chunks(name: str) -> None:
    old, new = (
        Scheme.load(GOLDEN / "format_1" / f"{name}.json"),
        Scheme.load(GOLDEN / f"{name}.json"),
    )
    assert {**old.counts(), "templates": 0} == {**new.counts(), "templates": 0}

    def queries(scheme: Scheme) -> dict[str, object]:
        return {
            one.id: (one.xpath, one.absolute, one.weight, query.xpaths, query.type)
            for query in scheme.queries
            for one in query.subscribers
        }

    assert queries(old) == queries(new)
    assert set(old.unsatisfiable) == set(new.unsatisfiable)
    assert old.rejected == new.rejected
    for one, other in zip(old.every_chunk, new.every_chunk, strict=True):
        assert (one.id, one.prefix, one.wants) == (other.id, other.prefix, other.wants)
        assert sorted(old.queries_in(one)) == sorted(new.queries_in(other))


@pytest.mark.parametrize("name", NAMES)
def test_an_old_scheme_becomes_a_new_one(name: str, tmp_path: Path) -> None:
    old = Scheme.load(GOLDEN / "format_1" / f"{name}.json")
    old.save(tmp_path / "scheme.json")
    assert json.loads((tmp_path / "scheme.json").read_bytes())["format"] == 2
    assert Scheme.load(tmp_path / "scheme.json") == old


def test_queries_that_are_added_to_an_old_scheme_share_templates() -> None:
    reviser = Reviser(Scheme.load(GOLDEN / "format_1" / "university.json"))
    before = reviser.scheme().counts()
    for number in range(5):
        reviser.add(Subscription(f"new{number}", f"/db/student[name = '{number}']"))
    after = reviser.scheme().counts()
    assert after["canonical"] == before["canonical"] + 5
    assert after["templates"] == before["templates"] + 1


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda raw: raw["queries"][0].pop("branches"), "queries[0].branches: is missing"),
        (
            lambda raw: raw["queries"].append({"id": "x", "xpath": "//a", "same_as": "zzz"}),
            "same_as: there is no query 'zzz' above",
        ),
        (
            lambda raw: raw["unsatisfiable"].append({"id": "x", "xpath": "//a"}),
            "unsatisfiable[0].reason: is missing",
        ),
        (
            lambda raw: raw["unsatisfiable"].append({"id": "s1", "xpath": "//a", "reason": "so"}),
            "two queries have the id 's1'",
        ),
        (lambda raw: raw["chunks"][0].update(queries=["zzz"]), "are other queries than those"),
    ],
)
def test_a_damaged_old_scheme(
    damage: Callable[[Any], object], message: str, tmp_path: Path
) -> None:
    raw = json.loads((GOLDEN / "format_1" / "university.json").read_bytes())
    damage(raw)
    with pytest.raises(SchemeError) as caught:
        load(tmp_path, raw)
    assert message in caught.value.reason
