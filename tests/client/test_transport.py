"""Requests to a broker: what is sent again, what is raised, and where the token goes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from extract.client.client import Client
from extract.client.token import find_token
from extract.client.transport import Transport
from extract.errors import BrokerError, DocumentError, ExtractError, QuerySyntaxError
from tests.support.scripted_server import Answer, Script, scripted_server


@contextlib.contextmanager
def transport_to(script: Script, retries: int = 3) -> Iterator[tuple[Transport, list[float]]]:
    """A transport that notes how long it would sleep."""
    pauses: list[float] = []
    transport = Transport(script.url, "secret-token", 5.0, retries, pauses.append)
    with contextlib.closing(transport):
        yield transport, pauses


def test_a_busy_broker_is_asked_again_when_it_says() -> None:
    busy = Answer(429, {"reason": "too many"}, {"Retry-After": "7"})
    with scripted_server(busy, Answer(503, {}), Answer(200, {"feeds": []})) as script:
        with transport_to(script) as (transport, pauses):
            assert transport.json("GET", "feeds") == {"feeds": []}
        assert pauses[0] == 7
        assert len(pauses) == 2


def test_a_broken_connection_is_opened_again() -> None:
    with scripted_server(Answer(0), Answer(200, {})) as script, transport_to(script) as (one, _):
        assert one.json("GET", "health") == {}


def test_a_request_that_may_have_been_taken_is_not_sent_again() -> None:
    with scripted_server(Answer(0), Answer(200, {})) as script, transport_to(script) as (one, _):
        with pytest.raises(BrokerError, match="does not answer"):
            one.json("POST", "feeds/a/subscriptions", content=b"{}", repeat=False)
        assert len(script.requests) == 1


def test_documents_are_sent_again_under_the_same_key() -> None:
    taken = Answer(202, {"name": "d", "status": 202, "number": 4})
    with scripted_server(Answer(503, {}, {"Retry-After": "0"}), taken) as script:
        with Client(script.url) as client:
            receipt = client.publish("f", b"<a/>", "d")
        assert (receipt.name, receipt.number, receipt.accepted) == ("d", 4, True)
        keys = [headers["idempotency-key"] for _, _, headers, _ in script.requests]
        assert len(keys) == 2
        assert len(set(keys)) == 1


def test_after_the_last_try_the_refusal_is_raised() -> None:
    with scripted_server(Answer(503, {"reason": "the disk is full"})) as script:
        with transport_to(script, 2) as (one, pauses), pytest.raises(BrokerError) as caught:
            one.json("GET", "feeds")
        assert (caught.value.status, caught.value.reason) == (503, "the disk is full")
        assert (len(script.requests), len(pauses)) == (3, 2)


@pytest.mark.parametrize(
    ("status", "body", "kind", "text"),
    [
        (404, {"reason": "there is no such feed"}, BrokerError, "there is no such feed"),
        (400, {"reason": "the end tag is missing", "line": 3, "column": 7}, DocumentError, "3:7:"),
        (
            422,
            {"reason": "expected a name", "hint": "x", "query": "//[", "offset": 2},
            QuerySyntaxError,
            "\n  //[\n    ^\nHint: x",
        ),
        (401, {"reason": "who are you"}, BrokerError, "EXTRACT_TOKEN"),
        (500, b"<html>", BrokerError, "the broker answered 500"),
        (200, b"<html>", BrokerError, "does not answer as a broker does"),
        (302, {}, BrokerError, "the broker answered 302"),
    ],
)
def test_a_refusal_is_an_error_with_place_and_hint(
    status: int, body: object, kind: type[ExtractError], text: str
) -> None:
    with scripted_server(Answer(status, body, {"Location": "/elsewhere"})) as script:
        with transport_to(script) as (one, _), pytest.raises(kind) as caught:
            one.json("GET", "feeds")
        assert text in str(caught.value)
        assert len(script.requests) == 1  # no redirect was followed


def test_the_token_is_in_a_header_and_nowhere_else() -> None:
    with scripted_server(Answer(200, {"feeds": []})) as script:
        with Client(script.url, "top-secret") as client:
            client.feeds()
            assert "top-secret" not in repr(client)
        _, path, headers, body = script.requests[0]
        assert headers["authorization"] == "Bearer top-secret"
        assert b"top-secret" not in body + path.encode()


def test_no_proxy_of_the_environment_sees_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted_server(Answer(200, {"feeds": []})) as script, scripted_server(Answer(500)) as spy:
        monkeypatch.setenv("http_proxy", spy.url)
        monkeypatch.setenv("ALL_PROXY", spy.url)
        with Client(script.url, "t") as client:
            assert client.feeds() == []
        assert spy.requests == []


@pytest.mark.parametrize(
    "url", ["ftp://host", "host:8080", "http://", "http://me:secret@host", "http://host?token=x"]
)
def test_what_is_no_url_of_a_broker(url: str) -> None:
    with pytest.raises(BrokerError) as caught:
        Client(url)
    assert caught.value.hint
    assert "secret" not in str(caught.value)


def test_where_a_token_comes_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "token"
    file.write_text("from-file\nmore\n")
    assert find_token() == ""
    monkeypatch.setenv("EXTRACT_TOKEN_FILE", str(file))
    assert find_token() == "from-file"
    monkeypatch.setenv("EXTRACT_TOKEN", "from-environment")
    assert find_token() == "from-environment"
    assert find_token("given") == "given"
    assert find_token(file=file) == "from-file"


@pytest.mark.parametrize("content", ["", "\nx", "a b", "é"])
def test_what_is_no_token(content: str, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(BrokerError):
        find_token(file=file)
    with pytest.raises(BrokerError):
        find_token(file=tmp_path / "missing")
