"""An HTTP server on the loopback that answers as a script says: for clients, and their mishaps."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer; a status of 0 breaks the connection without one.

    Attributes:
        status: Of HTTP.
        body: As JSON, or bytes as they are.
        headers: More headers.
    """

    status: int
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Script:
    """What the server answers, in order, and what it was asked.

    Attributes:
        url: Of the server.
        answers: Those that are still to come; the last one stays.
        requests: Method, path, headers (lower case) and body of each request.
    """

    url: str
    answers: list[Answer]
    requests: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)


@contextmanager
def scripted_server(*answers: Answer) -> Iterator[Script]:
    """Runs such a server."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            headers = {key.lower(): value for key, value in self.headers.items()}
            script.requests.append((self.command, self.path, headers, self.rfile.read(length)))
            one = script.answers.pop(0) if len(script.answers) > 1 else script.answers[0]
            if not one.status:
                self.close_connection = True
                self.connection.close()
                return
            body = one.body if isinstance(one.body, bytes) else json.dumps(one.body).encode()
            self.send_response(one.status)
            for key, value in {"Content-Length": str(len(body)), **one.headers}.items():
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PUT = do_POST = do_DELETE = _answer

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Says nothing."""

        def finish(self) -> None:
            try:
                super().finish()
            except (OSError, ValueError):  # the script broke the connection
                return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    script = Script(f"http://127.0.0.1:{server.server_address[1]}", list(answers))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield script
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
