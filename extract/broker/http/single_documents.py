"""The shortest way of one small document: past the framework's routing, with the same answers.

A request that is anything else (many documents, packed, with an ``Idempotency-Key`` or a time) goes
on to the application, whose `extract.broker.http.documents` answers it.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qsl

from starlette.types import ASGIApp, Receive, Scope, Send

from extract.broker.bodies import encode
from extract.broker.broker import Broker
from extract.broker.http.documents import checked_name, refused
from extract.broker.http.requests import too_large
from extract.broker.problems import Problem
from extract.broker.security.access import HEADERS, send_problem
from extract.broker.security.tokens import KnownClient
from extract.broker.store.rows import ArrivedDocument

_XML: Final = (b"application/xml", b"text/xml")
_START: Final = "/feeds/"
_END: Final = "/documents"
_ANSWER: Final = [(b"content-type", b"application/json"), *HEADERS]


class DocumentShortcut:
    """An ASGI application that answers requests with one document, and hands on all others.

    Args:
        app: What answers the others.
        broker: The broker.
    """

    def __init__(self, app: ASGIApp, broker: Broker) -> None:
        self._app = app
        self._broker = broker

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""
        path: str = scope.get("path", "")
        if not (path.endswith(_END) and path.startswith(_START) and scope["method"] == "POST"):
            await self._app(scope, receive, send)
            return
        feed = path[len(_START) : -len(_END)]
        client: KnownClient = scope["extract.client"]
        # A feed that is there has a possible name; all other cases are told elsewhere.
        if (
            feed not in self._broker.registry.feeds
            or not client.may("publish", feed)
            or not _is_plain(scope)
        ):
            await self._app(scope, receive, send)
            return
        try:
            answer = await self._answer(scope, receive, feed, client)
        except Problem as problem:
            await send_problem(problem, send)
            return
        await send({"type": "http.response.start", "status": 202, "headers": answer[0]})
        await send({"type": "http.response.body", "body": answer[1]})

    async def _answer(
        self, scope: Scope, receive: Receive, feed: str, client: KnownClient
    ) -> tuple[list[tuple[bytes, bytes]], bytes]:
        most = self._broker.settings.limits.document_bytes
        content = b""
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Problem(499, "the client has gone")
            content += message.get("body", b"")
            more = message.get("more_body", False)
            if len(content) > most:
                raise too_large(most)
        name = checked_name(_name(scope["query_string"]))
        document = ArrivedDocument(name, None, content)
        (receipt,) = await self._broker.submit(feed, [document], client.name)
        if receipt.status != 202:
            raise refused(receipt)
        body = encode(receipt)
        return [(b"content-length", b"%d" % len(body)), *_ANSWER], body


def _is_plain(scope: Scope) -> bool:
    """Whether a request has one document as it is, and nothing special."""
    query: bytes = scope["query_string"]
    if query and (not query.startswith(b"name=") or b"&" in query):
        return False
    is_xml = False
    for name, value in scope["headers"]:
        if name == b"content-type":
            is_xml = value.partition(b";")[0].strip().lower() in _XML
        elif (
            name in (b"content-encoding", b"idempotency-key")
            or (name == b"content-length" and len(value) > 6)
            or name == b"transfer-encoding"
        ):
            return False
    return is_xml


def _name(query: bytes) -> str:
    text = query[5:].decode("latin-1")
    if "%" in text or "+" in text:
        return dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True)).get("name", "")
    return text
