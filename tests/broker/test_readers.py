"""Readers that wait: woken too early, woken late, woken by the end of their subscription."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from extract.broker.broker import Broker
from extract.broker.store.rows import ArrivedDocument
from tests.support.broker_server import served

PATH = "/subscriptions/s/notifications?after=0&wait=30"


def test_a_reader_who_is_woken_for_old_news_goes_on_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit can be read before its readers are woken; the wake finds them in their next poll."""
    looks: list[int] = []
    read = Broker.read

    async def look(self: Broker, call: Callable[..., Any], *args: Any) -> Any:
        result = await read(self, call, *args)
        if call.__name__ == "read_notifications":
            looks.append(len(result[0]))
            if len(looks) == 1:
                self.readers.wake([args[0]])  # late, for what the reader has read already
            elif len(looks) == 2:
                document = ArrivedDocument("news", None, b"<a><b/></a>")
                await self.submit("f", [document], "local")
        return result

    with served(tmp_path) as asked:
        asked.put_feed("f")
        asked.put("s", xpath="//b")
        monkeypatch.setattr(Broker, "read", look)
        answer = asked.ask("GET", PATH).json
    assert [one["document"] for one in answer["notifications"]] == ["news"]
    assert looks == [0, 0, 1]


def test_nothing_comes_unseen_between_a_look_and_the_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is committed after the reader has looked, and before it waits, wakes it."""
    read = Broker.read
    looks: list[int] = []

    async def look(self: Broker, call: Callable[..., Any], *args: Any) -> Any:
        result = await read(self, call, *args)
        if call.__name__ == "read_notifications":
            looks.append(len(result[0]))
            if len(looks) == 1:
                document = ArrivedDocument("news", None, b"<a><b/></a>")
                await self.submit("f", [document], "local")
                while not (await read(self, call, *args))[0]:  # until it is told
                    await asyncio.sleep(0)
        return result

    with served(tmp_path) as asked:
        asked.put_feed("f")
        asked.put("s", xpath="//b")
        monkeypatch.setattr(Broker, "read", look)
        answer = asked.ask("GET", PATH).json
    assert [one["document"] for one in answer["notifications"]] == ["news"]
    assert looks == [0, 1]


def test_the_end_of_a_subscription_ends_the_wait(tmp_path: Path) -> None:
    with served(tmp_path) as asked, ThreadPoolExecutor(1) as thread:
        asked.put_feed("f")
        asked.put("s", xpath="//b")
        answer = thread.submit(asked.ask, "GET", PATH)
        while not len(asked.broker.readers):
            assert not answer.done()
        assert asked.ask("DELETE", "/feeds/f/subscriptions/s").status == 204
        assert answer.result(20).json["notifications"] == []
