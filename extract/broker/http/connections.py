"""Connections: how many an address may have, whatever protocol of uvicorn serves them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

if TYPE_CHECKING:
    from extract.broker.broker import Broker

    _Protocol = asyncio.Protocol
else:
    _Protocol = object


class CountedConnection(_Protocol):
    """A connection that is closed at once if its address has too many.

    It stands in front of a protocol of uvicorn, and uses nothing of it but what every protocol of
    asyncio has.

    Args:
        broker: The broker.
        given: What uvicorn gives its protocols.
    """

    def __init__(self, broker: Broker, **given: Any) -> None:
        super().__init__(**given)
        self.broker = broker
        self._address: str | None = None  # while it is counted

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Takes a connection."""
        super().connection_made(transport)
        peer = transport.get_extra_info("peername")
        address = str(peer[0]) if isinstance(peer, tuple) else ""
        if self.broker.sockets.enter(address):
            self._address = address
        else:
            transport.abort()  # type: ignore[attr-defined]

    def connection_lost(self, exc: Exception | None) -> None:
        """Counts it no longer."""
        super().connection_lost(exc)
        if self._address is not None:
            self.broker.sockets.leave(self._address)
            self._address = None


class StandardProtocol(CountedConnection, AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """uvicorn's own protocol, with counted connections: every document goes the usual way."""
