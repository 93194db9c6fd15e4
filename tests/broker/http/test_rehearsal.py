"""The short way of single documents is tried before it serves; else uvicorn's own protocol does."""

from __future__ import annotations

import contextlib
import logging
import socket
from pathlib import Path
from typing import Any

import pytest
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from extract.broker.http.connections import StandardProtocol
from extract.broker.http.rehearsal import choose_protocol, rehearse
from extract.broker.http.single_documents import DocumentCycle, DocumentProtocol
from extract.broker.settings import BrokerLimits, BrokerSettings
from tests.support.broker_server import served


def test_the_short_way_works_with_the_uvicorn_that_is_here() -> None:
    rehearse(DocumentProtocol)


def _chosen() -> Any:
    nothing: Any = None
    chosen: Any = choose_protocol(nothing, nothing)
    return chosen.func


def _other_cycles(self: DocumentCycle, *args: Any) -> None:
    raise AttributeError("should_keep_alive")


@pytest.mark.parametrize(
    ("owner", "name", "other"),
    [
        (HttpToolsProtocol, "on_message_begin", lambda self: None),
        (HttpToolsProtocol, "on_message_complete", lambda self: None),
        (HttpToolsProtocol, "on_body", lambda self, body: None),
        (HttpToolsProtocol, "__init__", lambda self, config, server_state: None),
        (DocumentProtocol, "on_headers_complete", lambda self: None),
        (DocumentCycle, "__init__", _other_cycles),
    ],
)
def test_another_uvicorn_serves_with_its_own_protocol(
    owner: Any,
    name: str,
    other: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert _chosen() is DocumentProtocol
    monkeypatch.setattr(owner, name, other)
    if owner is HttpToolsProtocol and name == "on_message_complete":
        monkeypatch.setattr(DocumentProtocol, name, other)
    with caplog.at_level(logging.WARNING, "extract.broker"):
        assert _chosen() is StandardProtocol
    assert "the usual way" in caplog.text


def test_uvicorns_own_protocol_answers_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DocumentCycle, "__init__", _other_cycles)
    settings = BrokerSettings(limits=BrokerLimits(sockets=2))
    with served(tmp_path, settings, synchronous=False) as asked:
        asked.put_feed("f")
        asked.put("s", xpath="/a", select="doc")
        receipt = asked.post("<a/>", "d")
        assert (receipt.status, receipt.json["number"]) == (202, 1)
        assert asked.post("<a>", "e").json["line"] == 1
        assert [one["document"] for one in asked.all_notifications("s", 1)] == ["d"]
        with (
            socket.create_connection(("127.0.0.1", asked.port)),
            socket.create_connection(("127.0.0.1", asked.port)),
            socket.create_connection(("127.0.0.1", asked.port)) as third,
        ):
            third.settimeout(20)
            with contextlib.suppress(ConnectionResetError):
                assert third.recv(1) == b""  # closed at once: an address may have two
