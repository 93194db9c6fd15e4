"""How long a request may take to come, and the shortest way of one small document.

Most requests of a busy broker are a small document each, and then routing, tasks and events of the
framework cost more than everything else. `DocumentProtocol` is uvicorn's protocol; it takes such a
request as soon as it has come, and writes the answer when the journal has it on disk. A request
that is anything else (many documents, packed, with an ``Idempotency-Key`` or a time, to a feed that
is not there) goes the usual way, to `extract.broker.http.documents`.
"""

from __future__ import annotations

import asyncio
import re
from http import HTTPStatus
from typing import Any, Final, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from extract.broker.bodies import encode
from extract.broker.broker import SMALL_DOCUMENT, Broker
from extract.broker.http.connections import CountedConnection
from extract.broker.http.documents import refused
from extract.broker.http.requests import check_feed
from extract.broker.problems import Problem
from extract.broker.security.access import HEADERS, Access, problem_answer
from extract.broker.store.rows import ArrivedDocument

# A name with anything else is read elsewhere.
_TARGET: Final = re.compile(
    rb"/feeds/([A-Za-z0-9._:@-]+)/documents(?:\?name=([A-Za-z0-9._~:@-]{0,500}))?"
)
WATCH_SECONDS: Final = 10.0
_XML: Final = (b"application/xml", b"text/xml")
_SPECIAL: Final = frozenset(
    {b"content-encoding", b"idempotency-key", b"transfer-encoding", b"expect", b"upgrade"}
)


def _lines(headers: list[tuple[bytes, bytes]]) -> bytes:
    return b"".join([b"%s: %s\r\n" % one for one in headers])


_ANSWER: Final = _lines([(b"content-type", b"application/json"), *HEADERS])


class DocumentProtocol(CountedConnection, HttpToolsProtocol):
    """A connection over which documents come.

    Args:
        access: Says which requests may pass.
        broker: The broker.
        given: What uvicorn gives its protocols.
    """

    def __init__(self, access: Access, broker: Broker, **given: Any) -> None:
        super().__init__(broker, **given)
        self.access = access
        self._begun = 0.0  # when the request that has not come whole began to come
        self._watch: asyncio.TimerHandle | None = None
        self._cycles: list[RequestResponseCycle] = []  # that go the long way
        self._in_head = False  # whether the line and headers of a request are coming
        self._length = 0  # of the document, as the last headers say
        self._head_bytes = 0  # of them, without what came together with their beginning

    # -- connections

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Takes a connection, and looks at it now and then."""
        super().connection_made(transport)
        self._begun = self.loop.time()
        self._watch = self.loop.call_later(WATCH_SECONDS, self._look)

    def data_received(self, data: bytes) -> None:
        """Takes bytes; a request whose headers do not end is given up."""
        is_going_on = self._in_head
        super().data_received(data)
        if not (is_going_on and self._in_head):
            self._head_bytes = 0
            return
        self._head_bytes += len(data)
        if self._head_bytes > self.broker.settings.limits.header_bytes:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tells every request that nobody reads its answer."""
        cycle: Any = self.cycle
        if type(cycle) is DocumentCycle:
            cycle.release()
        super().connection_lost(exc)
        self._tell_all()
        if self._watch is not None:
            self._watch.cancel()

    def send_400_response(self, msg: str) -> None:
        """Refuses what is no HTTP, and closes."""
        super().send_400_response(msg)
        self._tell_all()

    def _tell_all(self) -> None:
        """Tells every request of the connection that nobody reads; uvicorn tells the last alone."""
        for cycle in self._cycles:
            cycle.disconnected = True
            cycle.message_event.set()

    def _look(self) -> None:
        """Now and then: a request that does not come to its end is given up."""
        most = self.broker.settings.limits.request_seconds
        if self._begun and self.loop.time() - self._begun > most:
            self.transport.abort()
            return
        self._watch = self.loop.call_later(WATCH_SECONDS, self._look)

    def on_message_begin(self) -> None:
        """A request begins to come."""
        super().on_message_begin()
        self._begun = self.loop.time()
        self._in_head = True

    # -- requests

    def on_headers_complete(self) -> None:
        """Decides which way a request goes."""
        self._in_head = False
        present: RequestResponseCycle | None = self.cycle
        busy = present is not None and not present.response_complete
        target = None if busy or self.flow.write_paused else _TARGET.fullmatch(self.url)
        feed = target[1].decode("ascii") if target else ""
        if target is None or feed not in self.broker.registry.feeds or not self._is_plain():
            super().on_headers_complete()
            if self.cycle is not present:
                some = [one for one in self._cycles if not one.response_complete]
                self._cycles = [*some, self.cycle]
            return
        cycle = DocumentCycle(self, feed, (target[2] or b"").decode("ascii"))
        self.cycle = cast(RequestResponseCycle, cycle)
        scope = cast(dict[str, Any], self.scope)
        scope["path"] = f"/feeds/{feed}/documents"
        try:
            client = self.access.admit(scope)
            check_feed(client, feed, "publish")
            cycle.reserve(self._length)
        except Problem as problem:
            cycle.set_exception(problem)
            return
        cycle.owner = client.name

    def on_message_complete(self) -> None:
        """Takes the document, now that it has come."""
        super().on_message_complete()
        self._begun = 0.0
        cycle: Any = self.cycle
        if type(cycle) is DocumentCycle and not cycle.response_complete:
            cycle.take()

    def _is_plain(self) -> bool:
        """Whether the request has one small document as it is, and nothing special."""
        if self.parser.get_method() != b"POST" or self.parser.get_http_version() != "1.1":
            return False
        is_xml = is_small = False
        for name, value in self.headers:
            if name == b"content-type":
                is_xml = value.partition(b";")[0].strip().lower() in _XML
            elif name == b"content-length":
                is_small = len(value) < 6 and int(value) <= SMALL_DOCUMENT
                self._length = int(value) if is_small else 0
            elif name in _SPECIAL:
                return False
        return is_xml and is_small


class DocumentCycle:
    """One request with a document, and its answer; stands where uvicorn has its own cycle.

    Attributes:
        response_complete: Whether it was answered.
        keep_alive: Whether the connection stays then.
        disconnected: Whether the client has gone.
        body: The document.
        more_body: Whether some of it has not come.
        message_event: Set by uvicorn when something has come; nobody waits for it here.
        owner: The client.
    """

    __slots__ = (
        "_feed",
        "_name",
        "_protocol",
        "_reserved",
        "body",
        "disconnected",
        "keep_alive",
        "message_event",
        "more_body",
        "owner",
        "response_complete",
    )

    def __init__(self, protocol: DocumentProtocol, feed: str, name: str) -> None:
        self._protocol = protocol
        self._feed = feed
        self._name = name
        self._reserved = 0
        self.response_complete = False
        self.keep_alive = protocol.parser.should_keep_alive()
        self.disconnected = False
        self.body = bytearray()
        self.more_body = True
        self.message_event = _NOBODY
        self.owner = ""

    def reserve(self, size: int) -> None:
        """Counts the document among all that come.

        Raises:
            Problem: There is no room.
        """
        self._protocol.broker.arriving.take(size)
        self._reserved = size

    def release(self) -> None:
        """Counts it no longer."""
        self._protocol.broker.arriving.give(self._reserved)
        self._reserved = 0

    def take(self) -> None:
        """Has the document written."""
        broker = self._protocol.broker
        document = ArrivedDocument(self._name, None, bytes(self.body))
        try:
            if len(document.content) > broker.settings.limits.document_bytes:
                most = broker.settings.limits.document_bytes
                raise Problem(413, f"the body has more than {most:,} bytes")
            broker.submit_small(self._feed, document, self.owner, self)
        except Problem as problem:
            self.set_exception(problem)

    # -- who waits for the journal: see `extract.broker.submissions.Reply`

    def get_loop(self) -> asyncio.AbstractEventLoop:
        """The loop in which to answer."""
        return self._protocol.loop

    def done(self) -> bool:
        """Whether nobody waits any more."""
        return self.response_complete or self._protocol.transport.is_closing()

    def set_result(self, receipts: list[Any]) -> None:
        """Answers with the receipt."""
        (receipt,) = receipts
        if receipt.status == 202:
            self._answer(b"HTTP/1.1 202 Accepted\r\n", _ANSWER, encode(receipt))
        else:
            self.set_exception(refused(receipt))

    def set_exception(self, error: Any) -> None:
        """Answers with what is wrong."""
        headers, body = problem_answer(error)
        try:
            phrase = HTTPStatus(error.status).phrase
        except ValueError:
            phrase = ""
        self._answer(f"HTTP/1.1 {error.status} {phrase}\r\n".encode(), _lines(headers), body)

    def _answer(self, status: bytes, headers: bytes, body: bytes) -> None:
        protocol = self._protocol
        close = b"" if self.keep_alive else b"connection: close\r\n"
        length = b"content-length: %d\r\n%s\r\n" % (len(body), close)
        defaults = _lines(protocol.server_state.default_headers)
        protocol.transport.write(b"".join([status, defaults, headers, length, body]))
        self.response_complete = True
        self.release()
        if not self.keep_alive:
            protocol.transport.close()
        protocol.on_response_complete()


class _Nobody:
    """An event that nobody waits for."""

    def set(self) -> None:
        """Nothing is to be done."""


_NOBODY: Final = _Nobody()
