"""Memory is bounded, whatever clients send, ask for, or do not read."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from extract.broker.byte_room import ByteRoom
from extract.broker.delivery.caller import CallFailed
from extract.broker.delivery.webhooks import Webhook, Webhooks
from extract.broker.metrics import Metrics
from extract.broker.problems import Problem
from extract.broker.settings import BrokerLimits, BrokerSettings, WebhookSettings
from extract.xpath.ast import forget_shared, make_path, make_step
from tests.support.broker_crash import broker_process
from tests.support.broker_server import LINES, AskedBroker, served

_MIB = 1 << 20
_ITEM = '<i n="1"><a>some text</a><b>more text</b></i>'


@contextlib.contextmanager
def _limited(folder: Path, **limits: Any) -> Iterator[AskedBroker]:
    with served(folder, BrokerSettings(limits=BrokerLimits(**limits))) as asked:
        asked.put_feed("f", schema="none")
        yield asked


def _send(asked: AskedBroker, text: str) -> socket.socket:
    """A connection with bytes sent."""
    opened = socket.socket()
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    opened.settimeout(30)
    opened.connect(("127.0.0.1", asked.port))
    opened.sendall(text.encode())
    return opened


def _post(path: str, kind: str, length: int, body: str) -> str:
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n"
    return f"{head}Content-Length: {length}\r\n\r\n{body}"


def test_many_subscriptions_that_select_all_of_a_large_document(tmp_path: Path) -> None:
    """Rows of 31 million nodes would not fit: 400 subscriptions times 78,001 elements."""
    with broker_process(str(tmp_path / "store")) as (asked, process):
        asked.put_feed("f", schema="none")
        lines = [json.dumps({"id": f"s{n}", "xpath": "//*"}) for n in range(400)]
        lines.append(json.dumps({"id": "made", "flwr": "for $i in //i return <x>{$i}</x>"}))
        assert asked.ask("POST", "/feeds/f/subscriptions", "\n".join(lines), LINES).status == 200
        count = 26_000
        asked.post(f"<r>{_ITEM * count}</r>", "large")
        asked.post("<r/>", "small")
        for name in ("s0", "s399"):
            large, small = asked.all_notifications(name, 2)
            assert (large["document"], large["count"]) == ("large", 3 * count + 1)
            assert (large["truncated"], len(large["matches"])) == (True, 1_000)
            assert (small["document"], small["count"]) == ("small", 1)
        (made,) = asked.all_notifications("made", 1)
        assert made["output"] == f"<x>{_ITEM}</x>" * count
        peak = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
        assert peak is not None
        assert int(peak[1]) < 700 * 1024


def test_matches_of_many_documents_are_not_all_in_memory(tmp_path: Path) -> None:
    """What is matched in one call has a bound that does not depend on what came before."""
    sizes: list[int] = []
    with _limited(tmp_path, matching_pairs=100) as asked:
        lines = [json.dumps({"id": f"s{n}", "xpath": "/a", "select": "doc"}) for n in range(40)]
        assert asked.ask("POST", "/feeds/f/subscriptions", "\n".join(lines), LINES).status == 200
        matcher = asked.broker.matcher
        match = matcher._match_slice

        def noted(*given: Any) -> Any:
            sizes.append(len(given[0].documents))
            return match(*given)

        matcher._match_slice = noted
        asked.post_lines([(f"d{n}", "<a/>") for n in range(30)])
        assert len(asked.all_notifications("s39", 30)) == 30
    assert sizes
    assert max(sizes) == 2


def test_bodies_that_come_at_the_same_time_have_a_bound(tmp_path: Path) -> None:
    lines = "\n".join(json.dumps({"document": f"<a>{'x' * 1_000}</a>"}) for _ in range(200))
    with _limited(tmp_path, arriving_bytes=_MIB) as asked:
        length = 900_000
        body = f"<a>{'y' * (length - 7)}</a>"
        slow = _send(asked, _post("/feeds/f/documents", "application/xml", length, body[:-50_000]))
        while asked.broker.arriving.used < 800_000:
            pass
        refused = asked.ask("POST", "/feeds/f/documents", lines, LINES)
        assert (refused.status, refused.headers["retry-after"]) == (429, "1")
        small = asked.post("<a>" + "z" * 60_000 + "</a>")
        assert small.status == 202, "there is room for small ones"
        slow.sendall(body[-50_000:].encode())
        assert slow.recv(12) == b"HTTP/1.1 202"
        slow.close()
        assert asked.ask("POST", "/feeds/f/documents", lines, LINES).json["accepted"] == 200
        assert asked.broker.arriving.used == 0


def test_small_documents_that_do_not_come_to_their_end_are_counted(tmp_path: Path) -> None:
    with _limited(tmp_path, arriving_bytes=100_000) as asked:
        head = _post("/feeds/f/documents", "application/xml", 60_000, "<a>")
        held = _send(asked, head)
        while asked.broker.arriving.used < 60_000:
            pass
        assert asked.post("<a>" + "z" * 60_000 + "</a>").status == 429
        held.close()
        while asked.broker.arriving.used:
            pass
        assert asked.post("<a>" + "z" * 60_000 + "</a>").status == 202


def test_headers_that_do_not_end(tmp_path: Path) -> None:
    with _limited(tmp_path, header_bytes=10_000) as asked:
        opened = _send(asked, "GET /health HTTP/1.1\r\nHost: localhost\r\n")
        with contextlib.suppress(OSError):  # it is closed: otherwise this would not end
            while True:
                opened.sendall(b"X-Some: " + b"x" * 1_000 + b"\r\n")
        opened.close()
        fits = {"X-Some": "x" * 9_000}
        assert asked.ask("GET", "/health", headers=fits).status == 200


def _fill(asked: AskedBroker) -> None:
    asked.put("s", xpath="/a/b")
    for number in range(12):
        asked.post(f"<a><b>{'x' * 400_000}</b></a>", f"d{number}")
    assert len(asked.all_notifications("s", 12)) == 12


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
def test_answers_that_nobody_takes_have_a_bound(tmp_path: Path, accept: str) -> None:
    """Each of them would be a page of 9 MB, in memory until the client takes it."""
    limits = {"page_bytes": 8 * _MIB, "leaving_bytes": 40 * _MIB, "leaving_seconds": 3_600}
    with _limited(tmp_path, **limits) as asked:
        _fill(asked)
        leaving = asked.broker.leaving
        path = "/subscriptions/s/notifications?limit=1000"
        request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: {accept}\r\n\r\n"
        slow = []
        for _ in range(20):
            one = _send(asked, request)
            assert one.recv(9) == b"HTTP/1.1 "
            slow.append(one)
            assert leaving.used <= 41 * _MIB  # with what stands between the notifications
        refused = asked.ask("GET", path)
        assert (refused.status, refused.headers["retry-after"]) == (429, "5")
        for one in slow:
            one.close()
        while asked.ask("GET", path).status != 200:
            pass
        while leaving.used:
            pass


def test_a_page_goes_on_where_the_last_one_was_full(tmp_path: Path) -> None:
    with _limited(tmp_path, page_bytes=2 * _MIB) as asked:
        _fill(asked)
        first = asked.notifications("s")
        assert 0 < len(first) < 12
        numbers = [one["seq"] for one in asked.all_notifications("s", 12)]
        assert numbers == list(range(1, 13))
        documents = asked.ask("GET", "/feeds/f/documents?limit=100").json["documents"]
        assert 0 < len(documents) < 12
        text = f"/a[b = '{'q' * 390_000}']"
        for number in range(9):
            assert asked.put(f"t{number}", xpath=text).status == 201
        page = asked.ask("GET", "/feeds/f/subscriptions?limit=1000").json
        assert len(page["subscriptions"]) < 10
        assert page["next"] == page["subscriptions"][-1]["id"]


def test_who_takes_nothing_of_an_answer_is_given_up(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with _limited(tmp_path, leaving_seconds=0.05) as asked:
        _fill(asked)
        path = "/subscriptions/s/notifications?limit=1000"
        slow = _send(asked, f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert slow.recv(12) == b"HTTP/1.1 200"
        while asked.broker.leaving.used:
            pass  # it waits no longer
        size = 0
        while True:
            piece = slow.recv(1 << 20)
            if not piece:
                break
            size += len(piece)
        assert size < 4 * _MIB, "the rest of the answer was kept"
        slow.close()
    assert "Traceback" not in caplog.text


def test_parts_of_queries_that_are_gone_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("extract.broker.broker.CHECKED_QUERIES", 20)
    forget_shared()
    with _limited(tmp_path) as asked:
        for number in range(150):
            assert asked.put("s", xpath=f"//a{number}[b{number} > {number}]").status < 300
        asked.post("<a149><b149>150</b149></a149>", "last")
        assert asked.all_notifications("s", 1)[0]["document"] == "last"
    assert make_path.cache_info().currsize < 150
    assert make_step.cache_info().currsize < 150


class _Page(list[tuple[int, bytes]]):
    """A page that one can look after."""


class _Failing:
    """Webhooks that take nothing."""

    calls = 0

    async def call(self, url: str, headers: Any, body: bytes) -> None:
        self.calls += 1
        raise CallFailed("it does not answer")

    async def close(self) -> None:
        pass


def test_webhooks_that_fail_hold_nothing_while_they_wait() -> None:
    pages: list[weakref.ref[_Page]] = []
    caller: Any = _Failing()
    at_a_time: list[int] = []

    async def find(key: int) -> Webhook:
        return Webhook(
            key, f"s{key}", "http://example.org/", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", 0
        )

    async def read(key: int, after: int, most: int) -> tuple[list[tuple[int, bytes]], int]:
        page = _Page([(1, b'{"x":1}')])
        pages.append(weakref.ref(page))
        at_a_time.append(sum([one() is not None for one in pages]))
        await asyncio.sleep(0)
        return page, 1

    async def run() -> None:
        settings = WebhookSettings(concurrency=3, first_delay=3_600, longest_delay=3_600)
        journal: Any = None
        webhooks = Webhooks(settings, find, read, journal, Metrics(), caller)
        webhooks.wake(range(40))
        while caller.calls < 40:
            await asyncio.sleep(0)
        for _ in range(10):
            await asyncio.sleep(0)
        assert [one() for one in pages] == [None] * 40
        assert max(at_a_time) <= 3
        await webhooks.stop()

    asyncio.run(run())


def test_room_is_given_in_the_order_in_which_it_was_asked_for() -> None:
    async def run() -> list[str]:
        room = ByteRoom(10)
        room.take(8)
        done: list[str] = []

        async def hold(name: str, size: int) -> None:
            async with room.held(size):
                done.append(name)

        tasks = [asyncio.create_task(hold(*one)) for one in (("a", 9), ("b", 1), ("c", 10))]
        for _ in range(3):
            await asyncio.sleep(0)
        assert done == []
        tasks[1].cancel()
        with pytest.raises(Problem, match="429"):
            room.take(3)
        room.give(8)
        await asyncio.gather(*tasks, return_exceptions=True)
        assert room.used == 0
        return done

    assert asyncio.run(run()) == ["a", "c"]
