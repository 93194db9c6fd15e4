"""A broker in this process, served on a port of the loopback, and a client to ask it."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from extract.broker.broker import Broker
from extract.broker.http.app import create_app
from extract.broker.security.tokens import TokenFile
from extract.broker.server import BrokerServer, listen
from extract.broker.settings import BrokerSettings
from extract.broker.store.store import BrokerStore

XML = {"Content-Type": "application/xml"}
LINES = {"Content-Type": "application/x-ndjson"}


@dataclass(frozen=True)
class Answer:
    """What a broker answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class AskedBroker:
    """A broker that is served.

    Attributes:
        port: Of the loopback.
        token: Sent with each request; empty for none.
        broker: What is served, in this process; None for one in another.
    """

    port: int
    token: str = ""
    broker: Any = None

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """One request; a body that is no bytes or text goes as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            sent = dict(headers or {})
            if self.token:
                sent["Authorization"] = f"Bearer {self.token}"
            if body is not None and not isinstance(body, (bytes, str)):
                body = json.dumps(body)
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()

    def as_client(self, token: str) -> AskedBroker:
        """The same broker, asked with another token."""
        return replace(self, token=token)

    def put_feed(self, name: str = "f", **body: Any) -> Answer:
        return self.ask("PUT", f"/feeds/{name}", body)

    def put(self, identifier: str, feed: str = "f", **body: Any) -> Answer:
        return self.ask("PUT", f"/feeds/{feed}/subscriptions/{identifier}", body)

    def post(self, document: bytes | str, name: str = "d", feed: str = "f") -> Answer:
        return self.ask("POST", f"/feeds/{feed}/documents?name={name}", document, XML)

    def post_lines(
        self, documents: list[tuple[str, str]], feed: str = "f", **headers: str
    ) -> Answer:
        lines = [json.dumps({"name": name, "document": text}) for name, text in documents]
        sent = {**LINES, **{key.replace("_", "-"): value for key, value in headers.items()}}
        return self.ask("POST", f"/feeds/{feed}/documents", "\n".join(lines), sent)

    def notifications(self, identifier: str, after: int = 0, wait: float = 20) -> list[Any]:
        """The notifications behind a number; waits for the first."""
        path = f"/subscriptions/{identifier}/notifications?after={after}&wait={wait}&limit=1000"
        answer = self.ask("GET", path)
        assert answer.status == 200, answer
        notifications: list[Any] = answer.json["notifications"]
        return notifications

    def all_notifications(self, identifier: str, count: int) -> list[Any]:
        """So many notifications, as soon as they are there."""
        gathered: list[Any] = []
        while len(gathered) < count:
            page = self.notifications(identifier, gathered[-1]["seq"] if gathered else 0)
            assert page, f"{len(gathered)} of {count} came"
            gathered += page
        return gathered


@contextlib.contextmanager
def served(
    store: str | Path,
    settings: BrokerSettings | None = None,
    tokens: TokenFile | None = None,
    synchronous: bool = True,
) -> Iterator[AskedBroker]:
    """Serves a broker in a thread until the block ends."""
    broker = Broker(BrokerStore.open(str(store), synchronous), settings or BrokerSettings())
    opened = listen("127.0.0.1", 0)
    server = BrokerServer(create_app(broker, tokens), broker)
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.run, args=([opened],), daemon=True)
    thread.start()
    asked = AskedBroker(opened.getsockname()[1], broker=broker)
    try:
        assert asked.ask("GET", "/health").status == 200
        yield asked
    finally:
        server.should_exit = True
        thread.join(30)
        opened.close()
        assert not thread.is_alive()
