"""Webhooks: signed, in order, retried, dead letters that can be looked at and sent again."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import ipaddress
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from extract.broker.delivery.addresses import ForbiddenAddress, check_url, is_public, resolve
from extract.broker.delivery.caller import CallFailed, WebhookCaller
from extract.broker.problems import Problem
from extract.broker.settings import BrokerSettings, WebhookSettings
from extract.broker.store.store import BrokerStore
from extract.broker.store.tables import StoreError
from tests.support.broker_server import AskedBroker, served
from tests.support.webhook_server import Received, webhook_receiver

QUICK = WebhookSettings(
    attempts=3, first_delay=0.01, longest_delay=0.02, failure_delay=0.01, allow_private=True
)


@pytest.fixture
def receiver() -> Iterator[Received]:
    with webhook_receiver() as received:
        yield received


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[AskedBroker]:
    with served(tmp_path, BrokerSettings(webhooks=QUICK)) as broker:
        broker.put_feed("f")
        yield broker


def _letters(asked: AskedBroker) -> list[Any]:
    letters: list[Any] = asked.ask("GET", "/subscriptions/s/dead-letters").json["dead_letters"]
    return letters


def test_notifications_come_signed_and_in_order(asked: AskedBroker, receiver: Received) -> None:
    url = f"http://127.0.0.1:{receiver.port}/hook?x=1"
    secret = asked.put("s", xpath="/a", select="doc", webhook=url).json["webhook_secret"]
    for number in range(5):
        asked.post("<a/>", f"d{number}")
    bodies = receiver.wait_for(5)
    assert [one["document"] for one in bodies] == [f"d{number}" for number in range(5)]
    assert [one["seq"] for one in bodies] == [1, 2, 3, 4, 5]
    path, headers, body = receiver.requests[0]
    assert path == "/hook?x=1"
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{digest}"
    view = asked.ask("GET", "/feeds/f/subscriptions/s").json
    assert secret not in str(view)


def test_one_that_fails_for_good_is_a_dead_letter_and_followers_go_on(
    asked: AskedBroker, receiver: Received
) -> None:
    receiver.answer = lambda body: 500 if body["document"] == "bad" else 200
    asked.put("s", xpath="/a", select="doc", webhook=f"http://127.0.0.1:{receiver.port}/")
    for name in ("d1", "bad", "d2"):
        asked.post("<a/>", name)
    names = [one["document"] for one in receiver.wait_for(5)]
    assert names == ["d1", "bad", "bad", "bad", "d2"]
    (letter,) = _letters(asked)
    assert (letter["seq"], letter["attempts"]) == (2, 3)
    assert "500" in letter["reason"]
    assert asked.ask("POST", "/subscriptions/s/dead-letters/2/resend").status == 502
    assert len(_letters(asked)) == 1
    receiver.answer = lambda body: 200
    assert asked.ask("POST", "/subscriptions/s/dead-letters/2/resend").status == 200
    assert receiver.bodies[-1]["document"] == "bad"
    assert _letters(asked) == []
    assert asked.ask("DELETE", "/subscriptions/s/dead-letters/2").status == 404


def test_deliveries_go_on_when_the_store_was_gone_for_a_moment(
    asked: AskedBroker, receiver: Received, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked.put("s", xpath="/a", select="doc", webhook=f"http://127.0.0.1:{receiver.port}/")
    failures = [StoreError("it is being started again")] * 2
    read = BrokerStore.read

    def flaky(store: BrokerStore, call: Any) -> Any:
        if failures:
            raise failures.pop()
        return read(store, call)

    monkeypatch.setattr(BrokerStore, "read", flaky)
    asked.post("<a/>", "d")
    assert [one["document"] for one in receiver.wait_for(1)] == ["d"]
    assert failures == []


def test_requests_are_refused_while_the_store_is_gone(
    asked: AskedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked.put("s", xpath="/a")

    def gone(store: BrokerStore, call: Any) -> Any:
        raise StoreError("it is being started again")

    monkeypatch.setattr(BrokerStore, "read", gone)
    for method, path, body in (
        ("GET", "/subscriptions/s/notifications", None),
        ("PUT", "/feeds/f", {"dtd": "<!ELEMENT a EMPTY>"}),
        ("GET", "/feeds/f/subscriptions", None),
    ):
        answer = asked.ask(method, path, body)
        assert (answer.status, answer.headers["retry-after"]) == (503, "5")


def test_a_redirect_is_not_followed(asked: AskedBroker, receiver: Received) -> None:
    receiver.answer = lambda body: 302
    asked.put("s", xpath="/a", select="doc", webhook=f"http://127.0.0.1:{receiver.port}/")
    asked.post("<a/>", "d1")
    receiver.wait_for(3)
    assert {path for path, _, _ in receiver.requests} == {"/"}


def test_one_that_wants_no_more_is_not_asked_again(asked: AskedBroker, receiver: Received) -> None:
    receiver.answer = lambda body: 410 if body["document"] == "d1" else 200
    asked.put("s", xpath="/a", select="doc", webhook=f"http://127.0.0.1:{receiver.port}/")
    asked.post("<a/>", "d1")
    asked.post("<a/>", "d2")
    assert [one["document"] for one in receiver.wait_for(2)] == ["d1", "d2"]


def test_deliveries_go_on_after_a_restart(tmp_path: Path, receiver: Received) -> None:
    receiver.answer = lambda body: 503
    slow = WebhookSettings(attempts=50, first_delay=60, allow_private=True)
    with served(tmp_path, BrokerSettings(webhooks=slow)) as asked:
        asked.put_feed("f")
        asked.put("s", xpath="/a", select="doc", webhook=f"http://127.0.0.1:{receiver.port}/")
        asked.post("<a/>", "d1")
        asked.post("<a/>", "d2")
        receiver.wait_for(1)
    receiver.answer = lambda body: 200
    with served(tmp_path, BrokerSettings(webhooks=slow)):
        names = [one["document"] for one in receiver.wait_for(3)]
    assert names == ["d1", "d1", "d2"]


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "192.168.0.1",
        "172.16.9.9",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1",
        "fc00::1",
        "fec0::1",
        "ff02::1",
        "::ffff:10.0.0.1",
        "64:ff9b::a00:1",
        "2002:a00:1::",
        "2001::1",
    ],
)
def test_private_addresses(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))
    shown = f"[{address}]" if ":" in address else address
    with pytest.raises(Problem):
        check_url(f"http://{shown}/", allow_private=False)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/",
        "file:///etc/passwd",
        "http://",
        "http://localhost/",
        "http://x.localhost/",
        "http://user:secret@example.org/",
        "http://example.org/#part",
        "http://example.org/a b",
        "http://exa\u0301mple.org/",
        "http://example.org:0/",
        "http://example.org:99999/",
        "http://[::1/",
        "//example.org/",
    ],
)
def test_urls_that_are_no_webhooks(url: str) -> None:
    with pytest.raises(Problem):
        check_url(url, allow_private=False)


def test_a_name_of_a_private_address_is_refused_when_it_is_resolved() -> None:
    with pytest.raises(ForbiddenAddress):
        asyncio.run(resolve("localhost", 80, allow_private=False))


def test_the_address_that_was_checked_is_connected_to(
    receiver: Received, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that is public when it is checked and private when it is used finds nothing."""
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{receiver.port}/proxy")
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{receiver.port}/proxy")

    async def call(allow_private: bool) -> None:
        settings = WebhookSettings(timeout=5, allow_private=allow_private)
        caller = WebhookCaller(settings)
        try:
            await caller.call(f"http://localhost:{receiver.port}/", {"host": "x"}, b"{}")
        finally:
            await caller.close()

    with pytest.raises(CallFailed, match="no public address") as failed:
        asyncio.run(call(False))
    assert failed.value.for_good
    assert receiver.requests == []
