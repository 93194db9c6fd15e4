"""One small document: the short way gives the answers of the long one, in order, until the end."""

from __future__ import annotations

import contextlib
import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from extract.broker.http import single_documents
from extract.broker.http.single_documents import DocumentCycle
from extract.broker.security.tokens import TokenFile
from extract.broker.settings import BrokerLimits, BrokerSettings
from tests.support.broker_server import AskedBroker, served

TOKENS = """
pub   publisher-token-0001   publish    f
sub   subscriber-token-0001  subscribe  f
other other-token-000000001  publish    g
"""


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AskedBroker]:
    with served(tmp_path_factory.mktemp("single")) as broker:
        broker.put_feed("f")
        yield broker


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Notes each request that goes the short way."""
    ways: list[bool] = []
    original = DocumentCycle.__init__

    def noted(self: DocumentCycle, *args: Any) -> None:
        ways.append(True)
        original(self, *args)

    monkeypatch.setattr(DocumentCycle, "__init__", noted)
    return ways


def request(body: bytes, target: str = "/feeds/f/documents?name=d", *headers: str) -> bytes:
    lines = [
        f"POST {target} HTTP/1.1",
        "Host: 127.0.0.1",
        "Content-Type: application/xml",
        f"Content-Length: {len(body)}",
        *headers,
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def answers(port: int, sent: list[bytes], count: int = 1) -> list[tuple[int, dict[str, str], Any]]:
    """Sends pieces one after the other over one connection, and reads so many answers."""
    found = []
    with socket.create_connection(("127.0.0.1", port), timeout=20) as opened:
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in sent:
            opened.sendall(piece)
        stream = opened.makefile("rb")
        for _ in range(count):
            status = int(stream.readline().split()[1])
            headers = {}
            while (line := stream.readline().strip()) != b"":
                name, _, value = line.decode().partition(": ")
                headers[name.lower()] = value
            body = stream.read(int(headers["content-length"]))
            found.append((status, headers, json.loads(body)))
    return found


@pytest.mark.parametrize(
    ("body", "target", "headers"),
    [
        (b"<a/>", "/feeds/f/documents?name=d", ()),
        (b"<a/>", "/feeds/f/documents", ()),
        (b"<a>\n </b>", "/feeds/f/documents?name=d", ()),
        (b"", "/feeds/f/documents?name=d", ()),
        (b"<a/>", "/feeds/f/documents?name=d", ("Host: evil.example",)),
        (b"<a/>", "/feeds/f/documents?name=d", ("Origin: http://evil.example",)),
    ],
)
def test_both_ways_answer_alike(
    asked: AskedBroker, short: list[bool], body: bytes, target: str, headers: tuple[str, ...]
) -> None:
    """An encoding that changes nothing makes a request go the long way."""
    ((first, first_headers, answer),) = answers(asked.port, [request(body, target, *headers)])
    assert len(short) == 1
    plain = request(body, target, *headers, "Content-Encoding: identity")
    ((second, second_headers, other),) = answers(asked.port, [plain])
    assert len(short) == 1
    for one in (answer, other):
        one.pop("number", None)
    assert (first, answer) == (second, other)
    for some in (first_headers, second_headers):
        some.pop("content-length")
        some.pop("date")
    assert first_headers == second_headers


def test_a_bad_document_is_told_with_its_place(asked: AskedBroker, short: list[bool]) -> None:
    ((status, _, answer),) = answers(asked.port, [request(b"<a>\n </b>")])
    assert short
    assert (status, answer["line"], answer["column"]) == (400, 2, 2)
    assert answer["reason"]


def test_requests_that_come_in_pieces(asked: AskedBroker, short: list[bool]) -> None:
    whole = request(b"<a><b>12345</b></a>")
    pieces = [whole[at : at + 7] for at in range(0, len(whole), 7)]
    ((status, _, answer),) = answers(asked.port, pieces)
    assert short
    assert (status, answer["name"]) == (202, "d")


def test_requests_one_behind_the_other_are_answered_in_order(
    asked: AskedBroker, short: list[bool]
) -> None:
    sent = [request(b"<a/>", f"/feeds/f/documents?name=p{n}") for n in range(5)]
    sent.insert(2, b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    found = answers(asked.port, [b"".join(sent)], 6)
    assert short
    names = [answer.get("name", answer.get("status")) for _, _, answer in found]
    assert names == ["p0", "p1", "ok", "p2", "p3", "p4"]
    numbers = [answer["number"] for _, _, answer in found if "number" in answer]
    assert numbers == sorted(numbers)


def test_a_connection_is_closed_where_the_client_wants_it(asked: AskedBroker) -> None:
    ((status, headers, _),) = answers(
        asked.port, [request(b"<a/>", "/feeds/f/documents", "Connection: close")]
    )
    assert (status, headers["connection"]) == (202, "close")


def test_a_client_that_goes_does_no_harm(asked: AskedBroker) -> None:
    for sent in (request(b"<a/>"), request(b"<a/>")[:-2]):
        with socket.create_connection(("127.0.0.1", asked.port), timeout=20) as opened:
            opened.sendall(sent)
    assert asked.post("<a/>").status == 202
    assert asked.ask("GET", "/health").json["status"] == "ok"


def test_what_is_no_http_behind_a_request_leaves_nothing_behind(
    asked: AskedBroker, caplog: pytest.LogCaptureFixture
) -> None:
    """A request that is under way is not answered into a closed connection; a stream ends."""
    asked.put("left", xpath="/a")
    stream = "/subscriptions/left/notifications HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    for sent in (
        request(b"<a/>", "/feeds/f/documents", "Idempotency-Key: k"),
        f"GET {stream}Accept: text/event-stream\r\n\r\n".encode(),
        request(b"<a/>"),
    ):
        with (
            socket.create_connection(("127.0.0.1", asked.port), timeout=20) as opened,
            contextlib.suppress(ConnectionResetError),
        ):
            opened.sendall(sent + b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nno http\r\n\r\n")
            while opened.recv(1_000):
                pass
    while len(asked.broker.readers):
        pass
    assert asked.post("<a/>").status == 202
    assert not [one for one in caplog.records if one.levelname == "ERROR"]


def test_names_with_anything_special_go_the_long_way(asked: AskedBroker, short: list[bool]) -> None:
    sent = request(b"<a/>", "/feeds/f/documents?name=a%20b%26")
    ((status, _, answer),) = answers(asked.port, [sent])
    assert (status, answer["name"], short) == (202, "a b&", [])
    ((status, _, _),) = answers(asked.port, [request(b"<a/>", "/feeds/nope/documents")])
    assert (status, short) == (404, [])
    for name in ("bad%FF", "bad%FE"):  # which would be one, if they were taken
        sent = request(b"<a/>", f"/feeds/f/documents?name={name}")
        ((status, _, answer),) = answers(asked.port, [sent])
        assert (status, answer["reason"]) == (422, "the name is not UTF-8"), answer


def test_roles_and_feeds(tmp_path: Path, short: list[bool]) -> None:
    (tmp_path / "tokens").write_text(TOKENS)
    (tmp_path / "tokens").chmod(0o600)
    with served(tmp_path / "store", tokens=TokenFile.load(tmp_path / "tokens")) as asked:
        short.clear()  # what was tried before it served
        broker = asked.broker
        broker.registry.feeds["f"] = None  # there is one; who may not see it does not get so far
        for token, status in (
            ("", 401),
            ("wrong-token-00000000", 401),
            ("subscriber-token-0001", 403),
            ("other-token-000000001", 404),
        ):
            headers = [f"Authorization: Bearer {token}"] if token else []
            sent = request(b"<a/>", "/feeds/f/documents", *headers)
            ((answered, named, answer),) = answers(asked.port, [sent])
            assert answered == status
            assert ("www-authenticate" in named) == (status == 401)
            assert re.search("[a-z]", answer["reason"])
        del broker.registry.feeds["f"]
    assert len(short) == 4


def test_rates_and_sizes(tmp_path: Path, short: list[bool]) -> None:
    limits = BrokerLimits(requests_per_second=1, document_bytes=100)
    with served(tmp_path, BrokerSettings(limits=limits)) as asked:
        short.clear()  # what was tried before it served
        assert asked.put_feed("f").status == 201
        ((status, _, _),) = answers(asked.port, [request(b"<a>" + b" " * 200 + b"</a>")])
        assert status == 413
        statuses = []
        while 429 not in statuses:
            ((status, headers, _),) = answers(asked.port, [request(b"<a/>")])
            statuses.append(status)
        assert int(headers["retry-after"]) >= 1
    assert len(short) == len(statuses) + 1


def test_an_address_has_only_so_many_connections(tmp_path: Path) -> None:
    with served(tmp_path, BrokerSettings(limits=BrokerLimits(sockets=3))) as asked:

        def until(count: int) -> None:
            while len(asked.broker.sockets) != count:  # until the broker has seen it
                pass

        until(0)
        held = [socket.create_connection(("127.0.0.1", asked.port)) for _ in range(3)]
        until(3)
        with pytest.raises(OSError):  # closed, or reset
            asked.ask("GET", "/health")
        held.pop().close()
        until(2)
        assert asked.ask("GET", "/health").status == 200
        for one in held:
            one.close()


def test_a_request_that_does_not_come_to_its_end_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(single_documents, "WATCH_SECONDS", 0.01)
    with served(tmp_path, BrokerSettings(limits=BrokerLimits(request_seconds=0.2))) as asked:
        asked.put_feed("f")
        for sent in (b"", b"POST /feeds/f", request(b"<a/>")[:-1]):
            with socket.create_connection(("127.0.0.1", asked.port), timeout=20) as opened:
                opened.sendall(sent)
                with contextlib.suppress(ConnectionResetError):
                    assert opened.recv(100) == b""
        waiting = "/subscriptions/s/notifications?wait=0.5"  # one that has come may take longer
        asked.put("s", xpath="/a")
        assert asked.ask("GET", waiting).status == 200
