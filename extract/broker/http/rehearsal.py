"""Which protocol serves: the short way of single documents, if it works with this uvicorn.

`extract.broker.http.single_documents` builds on parts of uvicorn that another version may change.
So it is tried before a socket is served: three requests over a connection that leads nowhere. If
their answers are not what they should be, uvicorn's own protocol serves; answers are the same then,
and a single document costs more.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.server import ServerState

from extract.broker.bodies import DocumentReceipt
from extract.broker.byte_room import ByteRoom
from extract.broker.http.connections import StandardProtocol
from extract.broker.security.access import Access
from extract.broker.security.rates import Rates, Sockets
from extract.broker.settings import BrokerLimits
from extract.broker.store.rows import ArrivedDocument

if TYPE_CHECKING:
    from extract.broker.broker import Broker

_log: Final = logging.getLogger("extract.broker")
_TURNS: Final = 20  # of the event loop, until the usual way has answered
_POST: Final = (
    b"POST /feeds/f/documents?name=%s HTTP/1.1\r\nHost: rehearsal\r\n"
    b"Content-Type: application/xml\r\nContent-Length: 4\r\n\r\n<a/>"
)
_GET: Final = b"GET /usual HTTP/1.1\r\nHost: rehearsal\r\n\r\n"


def choose_protocol(app: Access, broker: Broker) -> Callable[..., asyncio.Protocol]:
    """The protocol that serves a broker, as uvicorn makes one for each connection."""
    try:
        from extract.broker.http.single_documents import DocumentProtocol

        rehearse(DocumentProtocol)
    except Exception as error:
        _log.warning("single documents go the usual way, which takes longer: %r", error)
        return partial(StandardProtocol, broker=broker)
    return partial(DocumentProtocol, app, broker=broker)


def rehearse(protocol: Any) -> None:
    """Sends a document, another request, and a document again over one connection.

    Args:
        protocol: A class as `DocumentProtocol`.

    Raises:
        Exception: It does not work with this uvicorn; any exception.
    """
    taken: list[bytes] = []

    def take(feed: str, document: ArrivedDocument, owner: str, reply: Any) -> None:
        taken.append(document.content)
        reply.set_result([DocumentReceipt(document.name, 202, len(taken), feed)])

    limits = BrokerLimits()
    broker = SimpleNamespace(
        sockets=Sockets(1),
        arriving=ByteRoom(limits.arriving_bytes),
        registry=SimpleNamespace(feeds={"f": None}),
        settings=SimpleNamespace(limits=limits),
        submit_small=take,
    )
    app: ASGIApp = _usual
    config = uvicorn.Config(app, lifespan="off", log_config=None, access_log=False)
    access = Access(app, {"rehearsal"}, None, Rates(0, 0))
    loop = asyncio.new_event_loop()
    try:
        given = {"config": config, "server_state": ServerState(), "app_state": {}, "_loop": loop}
        connection = protocol(access, broker=broker, **given)
        nowhere = _Nowhere()
        connection.connection_made(nowhere)
        for request in (_POST % b"one", _GET, _POST % b"two"):
            for piece in (request[:30], request[30:]):
                loop.run_until_complete(_give(connection, piece))
        connection.connection_lost(None)
    finally:
        loop.close()
    answers = bytes(nowhere.written).split(b"HTTP/1.1 ")
    statuses = [one[:3] for one in answers[1:]]
    if taken != [b"<a/>", b"<a/>"] or statuses != [b"202", b"200", b"202"]:
        raise RuntimeError(f"uvicorn {uvicorn.__version__} answers otherwise: {statuses}")
    if len(broker.sockets) or broker.arriving.used:
        raise RuntimeError("a connection, or a document of it, is counted after its end")


async def _give(connection: asyncio.Protocol, data: bytes) -> None:
    """Gives bytes to a connection, and lets what they lead to go on."""
    connection.data_received(data)
    for _ in range(_TURNS):
        await asyncio.sleep(0)


async def _usual(scope: Scope, receive: Receive, send: Send) -> None:
    """What answers a request that goes the usual way."""
    headers = [(b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


class _Nowhere(asyncio.Transport):
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 2)})
        self.written = bytearray()
        self._closing = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data

    def is_closing(self) -> bool:
        return self._closing

    def close(self) -> None:
        self._closing = True

    def abort(self) -> None:
        self._closing = True

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass
