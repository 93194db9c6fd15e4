"""Notifications: long poll and server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from extract.broker.broker import Broker
from extract.broker.http.requests import (
    JSON,
    broker_of,
    client_of,
    number_parameter,
    own_subscriber,
)
from extract.broker.problems import Problem

_PING_SECONDS = 15.0
_PAGE = 1_000  # events that are sent at once, where so many wait


async def get_notifications(request: Request) -> Response:
    """Notifications behind ``after``, the oldest first; waits for the first of them."""
    row = own_subscriber(request)
    broker = broker_of(request)
    epoch = broker.token_epoch
    most_wait = broker.settings.limits.wait_seconds
    after = int(number_parameter(request, "after", 0, 2**62))
    most = int(number_parameter(request, "limit", 100, 1_000))
    if "text/event-stream" in request.headers.get("accept", ""):
        last = request.headers.get("last-event-id", "")
        if last.isdigit() and len(last) < 19:
            after = max(after, int(last))
        broker.connections.check(client_of(request).name)  # 429 and 410 before the stream begins
        await broker.notifications(row.key, after, 1)
        stream = _events(request, broker, row.key, after, epoch)
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(stream, headers=headers, media_type="text/event-stream")
    wait = number_parameter(request, "wait", 0, 1e9, whole=False)
    with broker.connections.one_of(client_of(request).name if wait else ""):
        page, last_seq = await broker.notifications(row.key, after, most, min(wait, most_wait))
    body = b",".join([b'{"seq":%d,%s' % (seq, entry[1:]) for seq, entry in page])
    return Response(
        b'{"notifications":[%s],"last_seq":%d}' % (body, last_seq),
        media_type=JSON,
        headers={"cache-control": "no-store"},
    )


async def _events(
    request: Request, broker: Broker, key: int, after: int, epoch: int
) -> AsyncIterator[bytes]:
    """The events of a stream, with a comment now and then, so that both sides see a broken one.

    It ends when the tokens change: who reads has to show one again.
    """
    with broker.connections.one_of(client_of(request).name):
        yield b"retry: 2000\n\n"
        while not broker.stopping and broker.token_epoch == epoch:
            try:
                page, _ = await broker.notifications(key, after, _PAGE, _PING_SECONDS)
            except Problem as problem:  # behind what is kept, or deleted
                yield b"event: error\ndata: %s\n\n" % problem_line(problem)
                return
            if page:
                yield b"".join(
                    [b'id: %d\ndata: {"seq":%d,%s\n\n' % (seq, seq, one[1:]) for seq, one in page]
                )
                after = page[-1][0]
                await asyncio.sleep(0)
            elif not broker.is_active(key) or await request.is_disconnected():
                return
            else:
                yield b": ping\n\n"


def problem_line(problem: Problem) -> bytes:
    """A problem as one line."""
    from extract.broker.bodies import encode

    return encode(problem.body())
