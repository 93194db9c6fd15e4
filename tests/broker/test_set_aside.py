"""Subscriptions that take too long: others go on, and those that never answer are set aside."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from extract.broker.feed_queries import LAST_DOCUMENTS, MOST_UNANSWERED
from extract.broker.settings import BrokerLimits, BrokerSettings
from extract.filtertool.processes.sandbox import Before, Sandbox, TimeLimit
from tests.support.broker_server import AskedBroker, served

# A regular expression may take for ever, so it always has a process of its own.
_NAMESPACES = {"re": "http://exslt.org/regular-expressions"}
_DEAR: dict[str, Any] = {"xpath": "//a[re:test(., '(x+x+)+y')]", "namespaces": _NAMESPACES}
_FLWR: dict[str, Any] = {
    "flwr": "for $a in //a where re:test($a, '(x+x+)+y') return <r>{$a}</r>",
    "namespaces": _NAMESPACES,
}


class _Children:
    """Stands where processes are asked, and answers here; on a document with ``<a>`` it gives up.

    Attributes:
        given_up: How often a query was asked for nothing.
        may_answer: Set when the queries that are asked may be given up.
    """

    def __init__(self) -> None:
        self.given_up = 0
        self.may_answer = threading.Event()
        self.may_answer.set()

    def call(self, function: Any, args: Any, before: Before) -> Any:
        before.function(*before.args)
        if b"<a>" in before.args[0]:
            self.given_up += 1
            assert self.may_answer.wait(60), "others were not told while a query took long"
            raise TimeLimit("it took too long")
        return function(*args)


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> _Children:
    made, asked = _Children(), Sandbox.call

    def call(sandbox: Sandbox, function: Any, *args: Any, before: Any, **limits: Any) -> Any:
        asked(sandbox, max, 1, 2, **limits)  # raises where calls are put off
        return made.call(function, args, before)

    monkeypatch.setattr(Sandbox, "call", call)
    return made


def _matched(asked: AskedBroker, documents: int) -> None:
    """Waits until so many documents are matched, also by what takes long."""
    assert asked.put("last", xpath="/last").status in (200, 201)
    asked.post("<last/>")
    seen = asked.notifications("last")
    assert seen[-1]["number"] == documents + 1
    asked.ask("DELETE", "/feeds/f/subscriptions/last")


def _rejections(asked: AskedBroker, query: str, stage: str) -> list[Any]:
    some = asked.ask("GET", "/feeds/f/rejections?limit=1000").json["rejections"]
    return [one for one in some if (one["query"], one["stage"]) == (query, stage)]


def _view(asked: AskedBroker, identifier: str) -> Any:
    return asked.ask("GET", f"/feeds/f/subscriptions/{identifier}").json


@pytest.mark.parametrize(
    "body",
    [_DEAR, {**_DEAR, "select": "count"}, {**_DEAR, "select": "doc"}, _FLWR],
    ids=["nodes", "count", "doc", "flwr"],
)
def test_one_that_never_answers_is_set_aside(
    body: Any, children: _Children, tmp_path: Path
) -> None:
    with served(tmp_path / "store", synchronous=False) as asked:
        asked.put_feed()
        asked.put("dear", **body)
        asked.put("all", xpath="/a")
        documents = [(f"d{n}", "<a>x</a>") for n in range(20)]
        asked.post_lines(documents)
        assert len(asked.all_notifications("all", 20)) == 20
        _matched(asked, 20)
        assert children.given_up == MOST_UNANSWERED, "it is asked no more"
        given_up = _rejections(asked, "dear", "cost")
        assert [one["document"] for one in given_up] == ["d2", "d1", "d0"]
        (told,) = _rejections(asked, "dear", "set-aside")
        assert "put again" in told["reason"]
        assert _view(asked, "dear")["set_aside"]["missed"] == 20 - MOST_UNANSWERED + 1
        assert "set_aside" not in _view(asked, "all")
        metrics = asked.ask("GET", "/metrics").body.decode()
        assert "extract_subscriptions_set_aside 1.0" in metrics
    with served(tmp_path / "store", synchronous=False) as asked:  # it stays so
        asked.post("<a>x</a>", "again")
        assert len(asked.all_notifications("all", 21)) == 21
        assert children.given_up == MOST_UNANSWERED
        assert _view(asked, "dear")["set_aside"]["missed"] == 20 - MOST_UNANSWERED + 2
        listed = asked.ask("GET", "/feeds/f/subscriptions").json["subscriptions"]
        assert [one["id"] for one in listed if "set_aside" in one] == ["dear"]
        assert asked.put("dear", **body).status == 200  # the same body takes it in again
        assert "set_aside" not in _view(asked, "dear")
        asked.post("<a>x</a>", "third")
        _matched(asked, 23)  # one is of `_matched` itself
        assert children.given_up == MOST_UNANSWERED + 1
        assert "set_aside" not in _view(asked, "dear")


def test_others_are_told_while_one_takes_long(children: _Children, tmp_path: Path) -> None:
    with served(tmp_path / "store", synchronous=False) as asked:
        asked.put_feed()
        asked.put("dear", **_DEAR)
        for select in ("nodes", "count", "doc"):
            asked.put(select, xpath="/a", select=select)
        asked.put("made", flwr="for $a in /a return <r/>")
        children.may_answer.clear()
        asked.post_lines([(f"d{n}", "<a>x</a>") for n in range(5)])
        for other in ("nodes", "count", "doc", "made"):
            assert len(asked.all_notifications(other, 5)) == 5
        children.may_answer.set()
        _matched(asked, 5)
        assert len(_rejections(asked, "dear", "cost")) == MOST_UNANSWERED


def test_a_join_that_never_answers_is_set_aside(children: _Children, tmp_path: Path) -> None:
    """Its patterns are asked as other queries are; it misses documents of all feeds it reads."""
    dear = "f//a->x1[b[re:test(., '(x+x+)+y')]->x2] JOIN{x2=x4, 60} g//a->x3[b->x4]"
    quick = "f//a->x1[b->x2] JOIN{x2=x4, 60} g//a->x3[b->x4]"
    with served(tmp_path / "store", synchronous=False) as asked:
        for feed in ("f", "g", "other"):
            asked.put_feed(feed)
        asked.put("dear", xscl=dear, namespaces=_NAMESPACES)
        asked.put("quick", xscl=quick)
        documents = [(f"d{n}", f"<a><b>{n}</b></a>") for n in range(10)]
        asked.post_lines(documents)
        asked.post_lines(documents, feed="g")
        asked.post_lines(documents, feed="other")
        assert len(asked.all_notifications("quick", 10)) == 10
        _matched(asked, 10)
        assert children.given_up == MOST_UNANSWERED
        assert len(_rejections(asked, "dear", "cost")) == MOST_UNANSWERED
        assert len(_rejections(asked, "dear", "set-aside")) == 1
        missed = 10 - MOST_UNANSWERED + 10 + 1  # of f, of g, and that of `_matched`
        assert _view(asked, "dear")["set_aside"]["missed"] == missed
        asked.post("<a><b>x</b></a>", feed="other")
        assert _view(asked, "dear")["set_aside"]["missed"] == missed
    for _ in range(2):  # with the saved state of the joins, and with what is read again
        with served(tmp_path / "store", synchronous=False) as asked:
            asked.post("<a><b>x</b></a>", feed="g")
            _matched(asked, asked.ask("GET", "/feeds/f").json["documents"])
            assert children.given_up == MOST_UNANSWERED
            missed += 2
            assert _view(asked, "dear")["set_aside"]["missed"] == missed
    with served(tmp_path / "store", synchronous=False) as asked:
        assert asked.put("dear", xscl=dear, namespaces=_NAMESPACES).status == 200
        asked.post("<a><b>x</b></a>")
        _matched(asked, asked.ask("GET", "/feeds/f").json["documents"])
        assert children.given_up == MOST_UNANSWERED + 1
        assert "set_aside" not in _view(asked, "dear")


def test_one_that_answers_on_most_documents_is_asked_on(
    children: _Children, tmp_path: Path
) -> None:
    """The last documents count, and only those without an answer; all others are told in order."""
    with served(tmp_path / "store", synchronous=False) as asked:
        asked.put_feed()
        asked.put("dear", xpath="//b | //a[re:test(., '(x+x+)+y')]", namespaces=_NAMESPACES)
        texts = [
            "<a>x</a>" if n % (LAST_DOCUMENTS // 2) == 7 else "<b/>"
            for n in range(3 * LAST_DOCUMENTS)
        ]
        asked.post_lines([(f"d{n}", text) for n, text in enumerate(texts)])
        _matched(asked, len(texts))
        told = {one["document"]: one["number"] for one in asked.all_notifications("dear", 1)}
        failed = _rejections(asked, "dear", "cost")
        assert "set_aside" not in _view(asked, "dear")
        assert len(told) + len(failed) == len(texts)
        assert list(told.values()) == sorted(told.values())


def test_without_time_a_query_is_given_up_and_no_process_is_started(tmp_path: Path) -> None:
    settings = BrokerSettings(limits=BrokerLimits(query_seconds=0))
    with served(tmp_path / "store", settings, synchronous=False) as asked:
        asked.put_feed()
        asked.put("dear", **_DEAR)
        asked.post_lines([("d", "<a>x</a>")])
        _matched(asked, 1)
        one = _rejections(asked, "dear", "cost")[-1]
        assert one["document"] == "d"
        assert one["reason"].endswith("(the broker's limit query_seconds)")
