"""Health, metrics, and what else is about the service itself."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from extract import __version__
from extract.broker.http.requests import broker_of, json_response


async def get_health(request: Request) -> Response:
    """Whether the broker works: 200, or 503 with a reason."""
    broker = broker_of(request)
    reason = broker.failure()
    if reason:
        return json_response({"status": "failing", "reason": reason}, 503)
    troubles = broker.troubles()
    more = {"troubles": troubles} if troubles else {}
    return json_response({"status": "ok", "version": __version__, **more})


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
