"""A receiver of webhooks on the loopback, which answers as a test tells it to."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Received:
    """What came.

    Attributes:
        port: Of the loopback.
        requests: Paths, headers and bodies, in the order in which they came.
        answer: The status for a request; a test may change it.
    """

    port: int = 0
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    answer: Callable[[dict[str, Any]], int] = lambda body: 204
    changed: threading.Condition = field(default_factory=threading.Condition)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(body) for _, _, body in self.requests]

    def wait_for(self, count: int) -> list[dict[str, Any]]:
        """So many requests, as soon as they are there."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.requests) >= count, 30), self.bodies
            return self.bodies


@contextlib.contextmanager
def webhook_receiver() -> Iterator[Received]:
    """Receives until the block ends."""
    received = Received()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status = received.answer(json.loads(body))
            with received.changed:
                received.requests.append((self.path, headers, body))
                received.changed.notify_all()
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    received.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield received
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
