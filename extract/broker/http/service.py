"""Health, metrics, and what else is about the service itself."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from extract import __version__
from extract.broker.http.requests import broker_of, json_response


async def get_health(request: Request) -> Response:
    """Whether the broker works: 200, with what does not work while all else does; else 503."""
    broker = broker_of(request)
    reason = broker.failure()
    if reason:
        return json_response({"status": "failing", "reason": reason}, 503)
    said: dict[str, Any] = {"status": "ok", "version": __version__}
    if broker.matcher.is_catching_up:
        said["reason"] = "joins read again what came since their state was saved; matching waits"
    if troubles := broker.troubles():
        said["troubles"] = troubles
    return json_response(said)


async def get_metrics(request: Request) -> Response:
    """Figures in the format of Prometheus."""
    broker = broker_of(request)
    return Response(
        broker.metrics.text(broker), media_type="text/plain; version=0.0.4; charset=utf-8"
    )


async def get_description(request: Request) -> Response:
    """The OpenAPI description."""
    from extract.broker.http.description import description

    return json_response(description())
