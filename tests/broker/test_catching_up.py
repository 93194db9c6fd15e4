"""Joins read again what came since their state was saved: HTTP is served meanwhile, kills too."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from extract.broker.joined_feeds import JoinedFeeds
from extract.broker.journal import Operation
from extract.broker.retention import trim_store
from extract.broker.settings import BrokerSettings
from extract.broker.store import documents as document_rows
from extract.broker.store import joins as join_rows
from extract.broker.store.store import BrokerStore
from extract.broker.store.tables import StoreError
from tests.support.broker_server import AskedBroker, served

JOIN = "f//o->x[k->i] FOLLOWED BY{i=j, 1000000} f//p->y[k->j]"
REQUESTS, EACH = 12, 10


@pytest.fixture(autouse=True)
def few_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    """A state is saved after so many documents that are read again, and never after a time."""
    monkeypatch.setattr("extract.broker.matcher.REPLAY_DOCUMENTS", 15)
    monkeypatch.setattr("extract.broker.matcher.SAVE_SECONDS", float("inf"))


def crash_image(source: Path, target: Path) -> Path:
    """What a kill leaves of a store in which nothing is being written."""
    return Path(shutil.copytree(source, target))


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """A store whose documents are all matched, and whose joins were never saved."""
    store = tmp_path / "store"
    with served(store, synchronous=False) as asked:
        asked.put_feed("f")
        asked.put("j", xscl=JOIN)
        for request in range(REQUESTS):
            numbers = range(request * EACH, (request + 1) * EACH)
            asked.post_lines([(f"o{n}", f"<o><k>{n}</k></o>") for n in numbers])
        asked.post("<p><k>0</k></p>", "p0")
        asked.all_notifications("j", 1)
        image = crash_image(store, tmp_path / "killed")
    assert place(image) is None
    return image


def place(store: Path) -> int | None:
    """The position of the last saved state of joins."""
    opened = BrokerStore.open(str(store), False)
    try:
        saved = opened.read(join_rows.last_place)
    finally:
        opened.close()
    return None if saved is None else saved[0]


@contextmanager
def held(after: int) -> Iterator[tuple[threading.Event, Callable[[], None]]]:
    """Holds joins up when they have had so many documents.

    Yields:
        What is set when they are held, and what lets them go on.
    """
    process, count = JoinedFeeds.process, iter(range(10**9))
    is_held, goes_on = threading.Event(), threading.Event()

    def hold(joins: JoinedFeeds, *args: Any) -> Any:
        if next(count) >= after:
            is_held.set()
            assert goes_on.wait(60)
        return process(joins, *args)

    with mock.patch.object(JoinedFeeds, "process", hold):
        try:
            yield is_held, goes_on.set
        finally:
            goes_on.set()


def written(asked: AskedBroker) -> None:
    """Returns when the journal has written all that was given to it."""
    assert asked.put_feed("other").status in (200, 201)


def test_http_is_served_while_joins_catch_up(killed: Path) -> None:
    with held(50) as (is_held, go_on), served(killed, synchronous=False) as asked:
        assert is_held.wait(60)
        health = asked.ask("GET", "/health")
        assert (health.status, health.json["status"]) == (200, "ok")
        assert "joins read again" in health.json["reason"]
        assert len(asked.notifications("j")) == 1
        assert asked.post("<p><k>77</k></p>", "p77").status == 202
        assert asked.put("late", xscl=JOIN).status == 201
        asked.post("<p><k>78</k></p>", "p78")
        go_on()
        rows = asked.all_notifications("j", 3)
        assert [row["left"]["document"] for row in rows] == ["o0", "o77", "o78"]
        assert asked.notifications("late", wait=0) == []
        assert "reason" not in asked.ask("GET", "/health").json


def test_kills_while_joins_catch_up_do_not_begin_again(killed: Path, tmp_path: Path) -> None:
    places = [0]
    for life in range(3):
        with held(35) as (is_held, go_on), served(killed, synchronous=False) as asked:
            assert is_held.wait(60)
            written(asked)
            killed = crash_image(killed, tmp_path / f"life{life}")
            go_on()
        places.append(place(killed) or 0)
    assert places == sorted(set(places)), "a life has not come further than the one before"
    with served(killed, synchronous=False) as asked:
        asked.post("<p><k>119</k></p>", "p119")
        rows = asked.all_notifications("j", 2)
        assert [row["left"]["document"] for row in rows] == ["o0", "o119"]
        assert rows[1]["left"]["seq"] == 119


def test_a_stop_while_joins_catch_up_keeps_what_was_read(killed: Path) -> None:
    with held(35) as (is_held, go_on):
        with served(killed, synchronous=False) as asked:
            assert is_held.wait(60)
            asked.post("<p><k>3</k></p>", "p3")
            stopping = threading.Thread(target=asked.broker.matcher.stop)
            stopping.start()
            go_on()
            stopping.join(60)
        before = place(killed)
    assert before is not None
    with served(killed, synchronous=False) as asked:
        assert [row["right"]["document"] for row in asked.all_notifications("j", 2)] == ["p0", "p3"]


def test_what_joins_need_again_is_not_removed_meanwhile(killed: Path) -> None:
    settings = BrokerSettings(retain_seconds=1e-6)
    with held(50) as (is_held, go_on), served(killed, settings, synchronous=False) as asked:
        assert is_held.wait(60)
        with asked.broker.store.reader() as connection:
            before = len(document_rows.blocks_after(connection, 0, 99))
        has_joins = asked.broker.has_joins
        asked.broker.journal.submit(Operation(lambda t: trim_store(t, settings, has_joins)))
        written(asked)
        with asked.broker.store.reader() as connection:
            after = len(document_rows.blocks_after(connection, 0, 99))
        assert 0 < after < before, "what joins were saved with is not needed, the rest is"
        go_on()
        asked.post("<p><k>119</k></p>", "p119")
        assert asked.all_notifications("j", 2)[1]["left"]["document"] == "o119"


def test_a_join_that_ended_is_not_there_after_a_kill(killed: Path, tmp_path: Path) -> None:
    settings = BrokerSettings(retain_seconds=1e-6)
    with served(killed, synchronous=False) as asked:
        asked.post("<p><k>1</k></p>", "p1")
        asked.all_notifications("j", 2)
    assert place(killed) is not None  # the end of the broker saved it
    with served(killed, settings, synchronous=False) as asked:
        asked.put("all", xpath="/p", select="doc")
        assert asked.ask("DELETE", "/feeds/f/subscriptions/j").status == 204
        asked.post("<p><k>2</k></p>", "p2")
        asked.all_notifications("all", 1)
        has_joins = asked.broker.has_joins
        asked.broker.journal.submit(Operation(lambda t: trim_store(t, settings, has_joins)))
        written(asked)
        image = crash_image(killed, tmp_path / "again")
    assert place(killed) is None  # nothing is kept for joins that are not there
    with served(image, settings, synchronous=False) as asked:
        asked.put("all2", xpath="/p", select="doc")
        asked.post("<p><k>3</k></p>", "p3")
        asked.all_notifications("all2", 1)
        assert not len(asked.broker.joins)


def test_a_store_that_does_not_answer_is_asked_again(
    killed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("extract.broker.matcher.AGAIN_SECONDS", 0.0)
    read, answers = BrokerStore.read, iter([False, False])

    def unreachable(store: BrokerStore, call: Any) -> Any:
        if threading.current_thread().name == "matcher" and next(answers, None) is False:
            raise StoreError("the store cannot be read now")
        return read(store, call)

    monkeypatch.setattr(BrokerStore, "read", unreachable)
    with served(killed, synchronous=False) as asked:
        asked.post("<p><k>5</k></p>", "p5")
        assert asked.all_notifications("j", 2)[1]["left"]["document"] == "o5"
