"""One subscription, document or failure never stops the others: refused, rejected, tried again."""

from __future__ import annotations

import errno
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from extract.broker.feed_filters import failing
from extract.broker.joined_feeds import JoinedFeeds
from extract.broker.server import check_store
from extract.broker.settings import BrokerSettings
from extract.broker.store.sealed import unsealed
from extract.broker.store.sqlite_database import FILE
from extract.joins import Joins
from extract.live_filter import Filter
from tests.support.broker_server import AskedBroker, served

JOIN = "{0}//k->x[a->y] JOIN{{y=z, 9}} {1}//k->u[a->z] PUBLISH {2}"
FAILED = "extract failed (ZeroDivisionError); the log of the broker says where"


def rejections(asked: AskedBroker, feed: str = "f") -> list[Any]:
    rows: list[Any] = asked.ask("GET", f"/feeds/{feed}/rejections").json["rejections"]
    return rows


def check_works(asked: AskedBroker, count: int, name: str = "ok") -> None:
    """Documents are matched for a subscription that nothing is wrong with."""
    assert asked.post("<k>1</k>", "works").status == 202
    assert len(asked.all_notifications(name, count)) == count
    assert asked.ask("GET", "/health").status == 200


def edited(store: Path, call: Callable[[bytes], bytes], *ids: str) -> None:
    """Changes subscriptions behind a broker's back, as another version may have written them."""
    with sqlite3.connect(store / FILE) as connection:
        for name in ids:
            ((key,),) = connection.execute("SELECT key FROM subscriber WHERE id = ?", (name,))
            ((body,),) = connection.execute("SELECT body FROM subscription WHERE key = ?", (key,))
            changed = call(unsealed(bytes(body), "", key))  # which had no checksums
            connection.execute("UPDATE subscription SET body = ? WHERE key = ?", (changed, key))
    connection.close()


@pytest.mark.parametrize(
    "body",
    [
        {"xpath": "//k[. = table('w', 'n')]"},
        {"xpath": "//k[. = table('w', 'n')]", "select": "doc"},
        {"flwr": "for $k in //k where $k = table('w', 'n') return <a/>"},
        {"flwr": "for $k in //k return <a>{ $k = table('w', 'n') }</a>"},
        {"flwr": "for $k in //k order by $k = table('w', 'n') return <a/>"},
        {"xscl": "f//k->x[. = table('w', 'n')][a->y] JOIN{y=z, 9} f//k->u[a->z]"},
        {"xpath": "//k[. = table('w', 'n')]", "version": "3.1"},
    ],
)
def test_what_cannot_be_answered_is_refused(tmp_path: Path, body: dict[str, str]) -> None:
    with served(tmp_path) as asked:
        asked.put_feed()
        asked.put("ok", xpath="//k", select="doc")
        answer = asked.put("bad", **body)
        assert answer.status == 422
        assert "table" in answer.json["reason"]
        lines = (
            json.dumps({"id": "fine", "xpath": "//k"}) + "\n" + json.dumps({"id": "bad", **body})
        )
        assert asked.ask("POST", "/feeds/f/subscriptions", lines).status == 422
        check_works(asked, 1)
    with served(tmp_path) as asked:
        check_works(asked, 2)


@pytest.mark.parametrize("length", [2, 3, 4])
def test_joins_that_would_publish_to_each_other_are_refused(tmp_path: Path, length: int) -> None:
    with served(tmp_path) as asked:
        asked.put_feed()
        asked.put("ok", xpath="//k", select="doc")
        read = "f"
        for n in range(length):
            assert asked.put(f"j{n}", xscl=JOIN.format(read, "f", f"p{n}")).status == 201
            read = f"p{n}"
        back = JOIN.format(f"p{length - 1}", "f", "p0")
        answer = asked.put("j0", xscl=back)
        assert answer.status == 422
        assert "comes back to it" in answer.json["reason"]
        assert asked.put("own", xscl=JOIN.format("f", "q", "q")).status in (404, 422)
        check_works(asked, 1)
        # Both at once, and the way is another one: no moment has the cycle.
        turned = [
            {"id": "j0", "xscl": back},
            {"id": f"j{length - 1}", "xscl": JOIN.format("f", "f", f"p{length - 1}")},
        ]
        lines = "\n".join(map(json.dumps, turned))
        answer = asked.ask("POST", "/feeds/f/subscriptions", lines)
        assert (answer.status, answer.json["changed"]) == (200, 2)
        assert asked.ask("DELETE", "/feeds/f/subscriptions/j0").status == 204
        check_works(asked, 2)
        assert rejections(asked) == []
    with served(tmp_path) as asked:
        check_works(asked, 3)
        assert rejections(asked) == []


def test_a_stored_subscription_that_cannot_be_compiled_is_rejected_alone(tmp_path: Path) -> None:
    bad = ("nodes", "doc", "flwr", "join", "torn")
    with served(tmp_path) as asked:
        asked.put_feed()
        for name in ("nodes", "ok nodes"):
            asked.put(name.replace(" ", "_"), xpath="//k")
        for name in ("doc", "ok"):
            asked.put(name, xpath="//k", select="doc")
        asked.put("flwr", flwr="for $k in //k return <a/>")
        asked.put("torn", xpath="//k")
        asked.put("join", xscl=JOIN.format("f", "f", "p"))
        asked.put("ok_join", xscl="f//k->x JOIN{x=y, 9} f//k->y")
        asked.post("<k>1</k>", "before")
        asked.all_notifications("ok", 1)
    edited(tmp_path, lambda body: body.replace(b"//k", b"//k[nothing()]"), *bad[:4])
    edited(tmp_path, lambda body: body[:-1], "torn")
    with sqlite3.connect(tmp_path / FILE) as connection:
        connection.execute("DELETE FROM join_state")
    connection.close()
    report = check_store(str(tmp_path), BrokerSettings(), None)
    assert {one["id"] for one in report["rejected"]} == set(bad)
    assert {one["owner"] for one in report["rejected"]} == {"local"}
    with served(tmp_path) as asked:
        check_works(asked, 2)
        health = asked.ask("GET", "/health").json
        assert health["troubles"] == ["5 subscriptions cannot be answered: see rejections"]
        assert len(asked.all_notifications("ok_nodes", 2)) == 2
        assert len(asked.all_notifications("ok_join", 2)) == 2
        rows = {row["query"]: row["reason"] for row in rejections(asked)}
        assert set(rows) == set(bad)
        for name in bad[:4]:
            assert f"the subscription {name!r} of 'local' is not answered" in rows[name]
            assert "there is no function nothing()" in rows[name]
        assert asked.ask("DELETE", "/feeds/f/subscriptions/doc").status == 204
        for name in ("nodes", "torn"):
            assert asked.put(name, xpath="//k", select="doc").status == 200
        asked.put("join", xscl=JOIN.format("f", "f", "p"))
        asked.put("flwr", flwr="for $k in //k return <a/>")
        check_works(asked, 3)
        assert asked.notifications("torn")[-1]["document"] == "works"
        assert asked.all_notifications("nodes", 2)[-1]["document"] == "works"
        assert "troubles" not in asked.ask("GET", "/health").json
    with served(tmp_path) as asked:
        assert "troubles" not in asked.ask("GET", "/health").json


def test_a_stored_cycle_of_joins_is_rejected_alone(tmp_path: Path) -> None:
    with served(tmp_path) as asked:
        asked.put_feed()
        asked.put("ok", xpath="//k", select="doc")
        asked.put("j0", xscl=JOIN.format("f", "f", "p0"))
        asked.put("j1", xscl=JOIN.format("p0", "f", "p1"))
        check_works(asked, 1)
    edited(tmp_path, lambda body: body.replace(b"f//k", b"p1//k"), "j0")
    with sqlite3.connect(tmp_path / FILE) as connection:
        connection.execute("DELETE FROM join_state")
    connection.close()
    with served(tmp_path) as asked:
        check_works(asked, 2)
        (row,) = rejections(asked)
        assert row["query"] == "j1"
        assert "reads what it publishes" in row["reason"]


def test_a_state_of_joins_that_cannot_be_used_is_made_again(tmp_path: Path) -> None:
    with served(tmp_path) as asked:
        asked.put_feed()
        asked.put("ok", xpath="//k", select="doc")
        asked.put("pairs", xscl="f//k->x JOIN{x=y, 1000} f//k->y")
        check_works(asked, 1)
    with sqlite3.connect(tmp_path / FILE) as connection:
        connection.execute("UPDATE join_state SET data = X'00'")
    connection.close()
    with served(tmp_path) as asked:
        check_works(asked, 2)
        assert len(asked.all_notifications("pairs", 2)) == 2


class Failing:
    """`Filter.table`, which fails where both a query and a document say so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, query: str = "poison") -> None:
        self.calls = 0
        self._table = Filter.table
        self._query = query
        monkeypatch.setattr(Filter, "table", lambda one, documents: self(one, list(documents)))

    def __call__(self, ready: Filter, documents: list[tuple[str, Any]]) -> Any:
        self.calls += 1
        rows = self._table(ready, documents)
        told = {row["document"] for row in rows.to_pylist()}
        asked = any(self._query in one for one in ready.scheme.templates.xpaths)
        for name, content in documents:
            if asked and b"poison" in content and (told or name):
                raise ZeroDivisionError
        return rows


@pytest.mark.parametrize("select", ["doc", "count", "nodes"])
def test_a_pair_that_fails_is_rejected_and_all_others_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, select: str
) -> None:
    with served(tmp_path) as asked:
        asked.put_feed()
        asked.put_feed("other")
        for n in range(20):
            asked.put(f"s{n}", xpath=f"//k[. != '{n}']", select=select)
        asked.put("bad", xpath="//poison | //k", select=select)
        asked.put("ok", feed="other", xpath="//k", select="doc")
        failing_ = Failing(monkeypatch)
        documents = [
            (f"d{n}", "<k>x<poison/></k>" if n % 5 == 3 else "<k>x</k>") for n in range(20)
        ]
        asked.post_lines(documents)
        asked.post("<k/>", "there", feed="other")
        assert asked.all_notifications("ok", 1)[0]["document"] == "there"
        for n in (0, 7, 19):
            told = [one["document"] for one in asked.all_notifications(f"s{n}", 20)]
            assert told == [name for name, _ in documents]
        fine = [name for name, text in documents if "poison" not in text]
        assert [one["document"] for one in asked.all_notifications("bad", 16)] == fine
        rows = rejections(asked)
        assert {(row["document"], row["query"]) for row in rows} == {
            (name, "bad") for name, text in documents if "poison" in text
        }
        assert {row["reason"] for row in rows} == {FAILED}
        before = failing_.calls
        asked.post_lines(documents)  # found once, it is apart: nobody is tried by halves again
        assert len(asked.all_notifications("s0", 40)) == 40
        assert len(asked.all_notifications("bad", 32)) == 32
        assert failing_.calls - before < 200
        assert asked.ask("GET", "/health").status == 200
    with served(tmp_path) as asked:
        assert len(asked.all_notifications("s0", 40)) == 40


def test_a_document_that_fails_with_every_query_is_rejected_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(tmp_path) as asked:
        asked.put_feed()
        for n in range(40):
            asked.put(f"s{n}", xpath=f"//k[. != '{n}']", select="doc")
        Failing(monkeypatch, "k")
        asked.post_lines([("a", "<k>x</k>"), ("bad", "<k>poison</k>"), ("b", "<k>x</k>")])
        for n in (0, 39):
            assert [one["document"] for one in asked.all_notifications(f"s{n}", 2)] == ["a", "b"]
        (row,) = rejections(asked)
        assert (row["document"], row["query"], row["stage"]) == ("bad", "", "match")
        assert asked.ask("GET", "/health").status == 200


def test_a_change_that_fails_is_made_from_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(tmp_path) as asked:
        asked.put_feed()
        asked.put("ok", xpath="//k", select="doc")
        check_works(asked, 1)

        def fail(*_: Any) -> None:
            raise ZeroDivisionError

        monkeypatch.setattr(Filter, "add", fail)
        asked.put("new", xpath="//k[. = 1]", select="doc")
        check_works(asked, 2)
        assert asked.all_notifications("new", 1)[0]["document"] == "works"
        monkeypatch.setattr(Filter, "remove", fail)
        asked.ask("DELETE", "/feeds/f/subscriptions/new")
        check_works(asked, 3)
        assert rejections(asked) == []


def test_a_query_that_nobody_could_foresee_to_fail_is_refused_or_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(tmp_path) as asked:
        asked.put_feed()
        for name, xpath in (("ok", "//k"), ("bad", "//poison"), ("also", "//k/..")):
            asked.put(name, xpath=xpath, select="doc")
        check_works(asked, 1)
    make = Filter.__init__

    def fail(one: Filter, scheme: Any, *rest: Any, **options: Any) -> None:
        if any("poison" in xpath for xpath in scheme.templates.xpaths):
            raise ZeroDivisionError
        make(one, scheme, *rest, **options)

    monkeypatch.setattr(Filter, "__init__", fail)
    with served(tmp_path) as asked:
        check_works(asked, 2)
        (row,) = rejections(asked)
        assert row["query"] == "bad"
        assert row["reason"].endswith(FAILED)
        answer = asked.put("new", xpath="//k/poison")
        assert (answer.status, answer.json["reason"]) == (422, FAILED)


def test_joins_that_fail_on_a_document_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = Joins.process

    def fail(one: Joins, stream: str, name: str, *rest: Any) -> Any:
        if name == "bad":
            raise ZeroDivisionError
        return process(one, stream, name, *rest)

    monkeypatch.setattr(Joins, "process", fail)
    with served(tmp_path) as asked:
        asked.put_feed()
        asked.put("ok", xpath="//k", select="doc")
        asked.put("pairs", xscl="f//k->x FOLLOWED BY{x=y, 1000} f//k->y")
        for name in ("first", "bad", "last"):
            asked.post("<k>1</k>", name)
        (row,) = asked.all_notifications("pairs", 1)
        assert (row["left"]["document"], row["right"]["document"]) == ("first", "last")
        assert len(asked.all_notifications("ok", 3)) == 3
        (row,) = rejections(asked)
        assert (row["document"], row["stage"], row["reason"]) == ("bad", "join", FAILED)


def test_a_state_of_joins_that_cannot_be_saved_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("extract.broker.matcher.SAVE_SECONDS", 0.0)
    save = JoinedFeeds.save
    full = True

    def attempt(one: JoinedFeeds) -> bytes:
        if full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return save(one)

    monkeypatch.setattr(JoinedFeeds, "save", attempt)
    with served(tmp_path) as asked:
        asked.put_feed()
        asked.put("ok", xpath="//k", select="doc")
        asked.put("pairs", xscl="f//k->x FOLLOWED BY{x=y, 1000} f//k->y")
        check_works(asked, 1)
        check_works(asked, 2)
        assert asked.ask("GET", "/health").json["troubles"] == [
            "the state of joins cannot be saved now"
        ]
        full = False
        check_works(asked, 3)
        check_works(asked, 4)  # what was before it is saved by now
        assert "troubles" not in asked.ask("GET", "/health").json
        assert len(asked.all_notifications("pairs", 6)) == 6


def test_what_fails_is_found_by_halving() -> None:
    calls: list[int] = []

    def call(some: Any) -> None:
        calls.append(len(some))
        if {3, 700} & set(some):
            raise KeyError

    assert set(failing(call, range(1_000))) == {3, 700}
    assert len(calls) < 50
    assert len(failing(lambda some: 1 // 0, range(1_000), most=16)) == 17
