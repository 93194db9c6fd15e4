"""What is in memory for requests: bodies that come, and answers that clients have not taken.

Both have a bound for all clients together. A body beyond it is refused with 429 while it comes; an
answer is not read from the store before there is room. A large answer goes out in pieces, each of
which waits until the client has taken the one before; who takes nothing for a while is given up.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from typing import Final

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from extract.broker.byte_room import TOO_MANY, ByteRoom
from extract.broker.problems import Problem
from extract.broker.security.access import send_problem

_log: Final = logging.getLogger("extract.broker.http")
_PIECE: Final = 65_536  # bytes of an answer that are sent at once
_ACCOUNT: Final = "extract.traffic"


class Traffic:
    """An ASGI application whose requests are counted.

    Args:
        app: What answers.
        arriving: Counts bodies.
        leaving: Counts answers.
        seconds: That a client may take nothing of an answer.
    """

    def __init__(self, app: ASGIApp, arriving: ByteRoom, leaving: ByteRoom, seconds: float) -> None:
        self._app = app
        self._arriving = arriving
        self._leaving = leaving
        self._seconds = seconds
        self._held: Counter[str] = Counter()  # of answers, by client

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        client = scope["extract.client"].name
        if self._held[client] > self._leaving.most // 2:
            problem = Problem(429, TOO_MANY, retry_after=5)
            await send_problem(problem, send)
            return
        account = RequestBytes(self._arriving, self._leaving, self._held, client)
        scope[_ACCOUNT] = account

        async def received() -> Message:
            message = await receive()
            if message["type"] == "http.request":
                account.arrived(len(message.get("body", b"")))
            return message

        async def sent(message: Message) -> None:
            body = message.get("body", b"")
            if message["type"] != "http.response.body" or len(body) <= _PIECE:
                await send(message)
                return
            account.leaves(len(body))
            view = memoryview(body)
            for start in range(0, len(body), _PIECE):
                more = start + _PIECE < len(body) or message.get("more_body", False)
                piece = bytes(view[start : start + _PIECE])
                try:
                    async with asyncio.timeout(self._seconds):
                        await send({"type": message["type"], "body": piece, "more_body": more})
                except TimeoutError:
                    account.is_given_up = True
                    raise
            account.has_left(len(body))

        try:
            await self._app(scope, received, sent)
        except Exception:
            if not account.is_given_up:
                raise
            _log.info("%s %s: the client took nothing", scope["method"], scope["path"])
        finally:
            account.close()


class RequestBytes:
    """The bytes that one request has in memory.

    Args:
        arriving: Counts bodies.
        leaving: Counts answers.
        held: Counts answers by client, so that one alone cannot keep all others from reading.
        client: Whose request it is.

    Attributes:
        is_given_up: Whether the client took nothing of the answer for too long.
    """

    def __init__(
        self, arriving: ByteRoom, leaving: ByteRoom, held: Counter[str], client: str
    ) -> None:
        self._arriving = arriving
        self._leaving = leaving
        self._held = held
        self._client = client
        self.is_given_up = False
        self._in = 0
        self._out = 0

    def arrived(self, size: int) -> None:
        """Counts bytes of the body, or what was made of them.

        Raises:
            Problem: There is no room.
        """
        self._arriving.take(size)
        self._in += size

    def leaves(self, size: int) -> None:
        """Counts bytes of the answer."""
        self._leaving.add(size)
        self._held[self._client] += size
        self._out += size

    def has_left(self, size: int) -> None:
        """The client has taken bytes of the answer, or nearly."""
        self._leaving.give(size)
        self._held[self._client] -= size
        self._out -= size
        if not self._held[self._client]:
            del self._held[self._client]

    def close(self) -> None:
        """The request is over."""
        self._arriving.give(self._in)
        self._in = 0
        if self._out:
            self.has_left(self._out)


def account_of(request: Request) -> RequestBytes:
    """What a request has in memory."""
    account: RequestBytes = request.scope[_ACCOUNT]
    return account
