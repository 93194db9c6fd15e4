"""A scheme comes out of a database as it went in."""

from __future__ import annotations

import math
from dataclasses import fields
from random import Random

import pytest

from extract import Scheme, Subscriptions
from extract.errors import SubscriptionsError
from extract.preptool.prepare import prepare
from extract.scheme.model import empty_scheme
from extract.subscriptions import Subscription
from extract.xpath.numbers import to_number
from tests.support.databases import ODD_LITERALS, ODD_NUMBERS, change, query
from tests.support.scheme_facts import facts
from tests.support.schemes import UNIVERSITY, random_scheme

ODD = [
    *[Subscription(f"s{n}", f"//student[name = {one}]") for n, one in enumerate(ODD_LITERALS)],
    *[Subscription(f"n{n}", f"//student[name > {one}]") for n, one in enumerate(ODD_NUMBERS)],
    Subscription("written", "  //student [ name='x' ]"),
    Subscription("plain", "/db/student"),
    Subscription("dead", "/db/zzz[a = 'it']"),
    Subscription("bad", "//student["),
    Subscription("heavy", "//name", weight=2.5),
    Subscription("owned", "//name", metadata={"owner": "it's", "tags": [1, None, "é"], "n": 1.0}),
    Subscription("later", "for $x in //student return $x", version="3.1", metadata={"a": ""}),
    Subscription('id with\ttab, "quotes" and\nlines \'\\.', "//email"),
    Subscription("two", "//student[name = 'a' or name = \"b'\"][url]"),
]


def assert_equal(one: Scheme, other: Scheme) -> None:
    for field in fields(Scheme):
        assert getattr(one, field.name) == getattr(other, field.name), field.name


def test_everything_that_a_scheme_can_have(database: str) -> None:
    scheme = prepare(UNIVERSITY, Subscriptions.of(ODD), 3)
    assert scheme.rejected
    assert scheme.later
    assert scheme.unsatisfiable
    scheme.save(database)
    assert_equal(Scheme.load(database), scheme)


@pytest.mark.parametrize("seed", range(8))
def test_random_schemes(database: str, seed: int) -> None:
    scheme = random_scheme(Random(seed))
    scheme.save(database)
    assert_equal(Scheme.load(database), scheme)


def test_a_scheme_without_queries(database: str) -> None:
    scheme = empty_scheme(UNIVERSITY)
    scheme.save(database)
    found = Scheme.load(database)
    assert not found.members
    assert found.schema.digest == UNIVERSITY.digest


def test_the_second_scheme_takes_the_place_of_the_first(database: str) -> None:
    prepare(UNIVERSITY, Subscriptions.of(ODD), 3).save(database)
    second = prepare(UNIVERSITY, Subscriptions.of({"a": "//name"}), 1)
    second.save(database)
    assert_equal(Scheme.load(database), second)
    assert query(database, "SELECT revision FROM scheme") == [(2,)]
    assert query(database, "SELECT COUNT(*) FROM removal") == [(0,)]


def test_numbers_are_those_of_libxml2(database: str) -> None:
    prepare(UNIVERSITY, Subscriptions.of(ODD), 1).save(database)
    rows = query(database, "SELECT text, number FROM constant_value WHERE number IS NOT NULL")
    assert {text for text, _ in rows} == set(ODD_NUMBERS)
    assert all(number == to_number(text.encode()) for text, number in rows)
    assert dict(rows)["6.5684"] == 6.5684000000000005
    assert math.isinf(dict(rows)["9" * 400])
    strings = query(database, "SELECT COUNT(*) FROM constant_value WHERE number IS NULL")
    # one each; "written" and "dead" have one, "two" has two
    assert strings == [(len(ODD_LITERALS) + 4,)]


def test_a_database_refuses_text_that_it_would_change(database: str) -> None:
    prepare(UNIVERSITY, Subscriptions.of({"a": "//name"}), 1).save(database)
    for name, why in (("half \ud800", "half a character"), ("nul \0", "well-formed Unicode")):
        with pytest.raises(SubscriptionsError, match=why):
            change(database, {name: "//email"})
    assert [one.id for one in Scheme.load(database).subscribers] == ["a"]


# -- revisions


@pytest.mark.parametrize("seed", range(6))
def test_random_changes_give_the_scheme_that_was_written(database: str, seed: int) -> None:
    rng = Random(seed)
    scheme = random_scheme(rng)
    scheme.save(database)
    others = random_scheme(Random(seed + 100)).subscribers
    for step in range(4):
        present = [one.id for one in scheme.subscribers]
        gone = tuple(rng.sample(present, min(len(present), 5)))
        new = {f"new{step}-{n}": one.xpath for n, one in enumerate(rng.choices(others, k=5))}
        scheme = change(database, new, gone)
        loaded = Scheme.load(database)
        assert facts(loaded) == facts(scheme)
        assert [one.id for one in loaded.subscribers] == [one.id for one in scheme.subscribers]


def test_a_change_touches_the_rows_that_it_changes(database: str) -> None:
    few = {f"q{n}": f"//student[name = 'n{n}']" for n in range(50)}
    few["other"] = "//email"
    prepare(UNIVERSITY, Subscriptions.of(few), 2).save(database)
    # DuckDB moves rows by itself when it closes a file; only PostgreSQL says where a row is.
    place = "seq" if database.startswith("duckdb") else "CAST(ctid AS TEXT)"
    text = f"SELECT id, {place}, seq, revision FROM member"
    before = {row[0]: row for row in query(database, text)}
    change(
        database,
        {"new": "//student[name = 'z']", "shape": "//url[. = 'u']"},
        remove=("q7",),
        replace={"q8": "//student[name = 'eight']"},
    )
    after = {row[0]: row for row in query(database, text)}
    kept = before.keys() - {"q7", "q8"}
    assert {name: before[name] for name in kept} == {name: after[name] for name in kept}
    assert after.keys() == kept | {"new", "shape", "q8"}
    assert {after[name][3] for name in ("new", "shape", "q8")} == {2}
    assert sorted(query(database, "SELECT id, revision FROM removal")) == [("q7", 2), ("q8", 2)]
    log = query(database, "SELECT number, action, added, removed FROM revision ORDER BY number")
    assert log == [(1, "prep", 51, 0), (2, "test", 3, 2)]


def test_numbers_of_templates_are_kept_and_not_shared(database: str) -> None:
    prepare(UNIVERSITY, Subscriptions.of({"a": "//name", "b": "//email"}), 1).save(database)
    before = dict(query(database, "SELECT xpath, number FROM template"))
    change(database, {"c": "//url"}, remove=("a",))
    after = dict(query(database, "SELECT xpath, number FROM template"))
    assert after["//email"] == before["//email"]
    assert after["//url"] not in before.values()
    assert "//name" not in after


# -- views


def test_views_say_what_people_ask(database: str) -> None:
    queries = [
        Subscription("a", "//student[name = 'x']", metadata={"owner": "sales"}),
        Subscription("b", "//student[name = 'x']"),
        Subscription("c", "//student[name = 'y']"),
        Subscription("d", "/db/zzz"),
    ]
    prepare(UNIVERSITY, Subscriptions.of(queries), 1).save(database)
    rows = query(database, "SELECT id, status FROM subscription ORDER BY id")
    assert rows == [(n, "satisfiable") for n in "abc"] + [("d", "unsatisfiable")]
    shared = query(
        database, "SELECT constants, subscribers FROM canonical_query WHERE subscribers > 1"
    )
    assert shared == [(["x"], 2)]
    sizes = dict(query(database, "SELECT xpath, subscribers FROM template_size"))
    assert sizes["//student[name = $string1]"] == 3
    owner = "SELECT id FROM subscription WHERE metadata ->> 'owner' = 'sales'"
    assert query(database, owner) == [("a",)]
