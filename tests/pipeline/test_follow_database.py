"""A filter follows a database: what others change there holds after `refresh`."""

from __future__ import annotations

from random import Random

import pytest

import extract
from extract import Filter, Scheme, Subscriptions
from extract.errors import SubscriptionsError
from extract.limits import Limits
from extract.preptool.prepare import prepare
from extract.scheme.database import write as write_module
from extract.subscriptions import Subscription
from tests.support.databases import change, execute
from tests.support.schemes import UNIVERSITY, random_scheme

DOCUMENT = b"<db><student><name>a</name><url>u</url></student><professor><email/></professor></db>"
QUERIES = {"a": "//student[name = 'a']", "b": "//student[name = 'b']", "mail": "//email"}


def answers(ready: Filter) -> list[str]:
    return sorted(ready.table([("doc", DOCUMENT)])["query"].to_pylist())


@pytest.fixture
def filled(database: str) -> str:
    prepare(UNIVERSITY, Subscriptions.of(QUERIES), 2).save(database)
    return database


def test_a_filter_takes_over_what_was_changed(filled: str) -> None:
    ready = extract.Filter(filled)
    assert answers(ready) == ["a", "mail"]
    assert (ready.refresh(), ready.revision) == (False, 1)
    change(filled, {"url": "//url[. = 'u']", "b2": "//student[name = 'b']"}, remove=("a",))
    assert answers(ready) == ["a", "mail"]  # until it is asked to look
    assert (ready.refresh(), ready.revision) == (True, 2)
    assert answers(ready) == ["mail", "url"]
    change(filled, replace={"b": "//student[name = 'a']"})
    change(filled, remove=("mail",))
    change(filled, {"mail": "//professor[not(email)]"})
    assert (ready.refresh(), ready.revision) == (True, 5)
    assert answers(ready) == ["b", "url"]
    assert not ready.refresh()
    assert {one.id for one in ready.scheme.subscribers} == {"b", "b2", "mail", "url"}


def test_what_came_and_went_unseen(filled: str) -> None:
    ready = Filter(filled)
    change(filled, {"short": "//name"})
    change(filled, remove=("short",))
    assert ready.refresh()
    assert answers(ready) == ["a", "mail"]


def test_queries_in_later_versions_of_xpath(filled: str) -> None:
    def later(name: str, xpath: str) -> Subscriptions:
        return Subscriptions.of([Subscription(name, xpath, version="3.1")])

    ready = Filter(filled)
    change(filled, later("x", "for $n in //name return $n"))
    ready.refresh()
    assert answers(ready) == ["a", "mail", "x"]
    change(filled, later("y", "//name[. = 'none']"), remove=("x",))
    ready.refresh()
    assert answers(ready) == ["a", "mail"]
    change(filled, later("x", "//url"), remove=("y",))
    ready.refresh()
    assert answers(ready) == ["a", "mail", "x"]


def test_a_rejected_query_has_no_answers(filled: str) -> None:
    ready = Filter(filled)
    change(filled, {"bad": "//["})
    assert ready.refresh()
    assert answers(ready) == ["a", "mail"]
    change(filled, {"bad": "//name"})
    assert ready.refresh()
    assert answers(ready) == ["a", "bad", "mail"]


def test_a_scheme_that_was_replaced(filled: str) -> None:
    ready = Filter(filled)
    prepare(UNIVERSITY, Subscriptions.of({"only": "//name"}), 1).save(filled)
    assert ready.refresh()
    assert answers(ready) == ["only"]
    change(filled, {"more": "//url"})
    assert ready.refresh()
    assert answers(ready) == ["more", "only"]


def test_a_filter_that_is_too_far_behind(filled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database keeps the latest removals only; then all is read again."""
    monkeypatch.setattr(write_module, "LOGGED", 2)
    ready = Filter(filled)
    change(filled, {"x": "//name"}, remove=("a", "b"))
    change(filled, {"y": "//name"}, remove=("mail",))
    assert ready.refresh()
    assert answers(ready) == ["x", "y"]
    change(filled, remove=("x",))
    assert ready.refresh()
    assert answers(ready) == ["y"]


def test_a_limit_of_the_filter_is_no_obstacle(filled: str) -> None:
    """What the database has was accepted there; a filter takes it at its start, and later."""
    ready = Filter(filled, limits=Limits(metadata_bytes=10))
    new = [Subscription("x", "//name", metadata={"owner": "o" * 50}), Subscription("y", "//url")]
    change(filled, Subscriptions.of(new), remove=("a",))
    assert ready.refresh()
    assert answers(ready) == ["mail", "x", "y"]
    change(filled, remove=("x",))
    assert ready.refresh()
    assert answers(ready) == ["mail", "y"]


@pytest.mark.parametrize("matcher", ["auto", "lxml", "push"])
def test_every_matcher_follows(filled: str, matcher: str) -> None:
    ready = Filter(filled, matcher=matcher)
    change(filled, {"url": "//url"}, remove=("a",))
    ready.refresh()
    assert answers(ready) == ["mail", "url"]


@pytest.mark.parametrize("seed", range(3))
def test_random_changes(database: str, seed: int) -> None:
    """After each, the filter has the queries that a new one would have."""
    rng = Random(seed)
    scheme = random_scheme(rng)
    scheme.save(database)
    ready = Filter(database)
    others = [one.xpath for one in scheme.subscribers]
    for step in range(4):
        present = [one.id for one in scheme.subscribers]
        gone = tuple(rng.sample(present, 4))
        new = {f"n{step}-{n}": rng.choice(others) for n in range(4)}
        scheme = change(database, new, gone)
        ready.refresh()
        mine = {one.id: one.absolute for one in ready.scheme.subscribers}
        assert mine == {one.id: one.absolute for one in Scheme.load(database).subscribers}


def test_changes_by_sql_are_followed(filled: str) -> None:
    ready = Filter(filled)
    statements = ["DELETE FROM member WHERE id = 'a'"]
    if filled.startswith("duckdb"):  # which has no triggers
        statements = [
            "UPDATE scheme SET revision = revision + 1",
            "INSERT INTO removal SELECT s.revision, m.id FROM member m, scheme s WHERE m.id = 'a'",
            *statements,
        ]
    execute(filled, *statements)
    assert ready.refresh()
    assert answers(ready) == ["mail"]
    assert ready.revision == 2
    assert {one.id for one in Scheme.load(filled).subscribers} == {"b", "mail"}


def test_the_queries_are_changed_in_the_database_only(filled: str) -> None:
    ready = Filter(filled)
    with pytest.raises(SubscriptionsError, match="are in a database") as caught:
        ready.add({"x": "//name"})
    assert "refresh" in caught.value.hint
    with pytest.raises(SubscriptionsError, match="are in a database"):
        ready.remove(["a"])
    with pytest.raises(SubscriptionsError, match="are in a database"):
        ready.replace({"a": "//name"})
    with pytest.raises(ValueError, match="URL of a database"):
        Filter(prepare(UNIVERSITY, Subscriptions.of({"a": "//name"}), 1)).refresh()
