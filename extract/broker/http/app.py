"""The application: routes, errors, from start to stop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from extract.broker.broker import Broker
from extract.broker.http import (
    dead_letters,
    documents,
    feeds,
    notifications,
    service,
    subscriptions,
)
from extract.broker.http.requests import json_response
from extract.broker.http.traffic import Traffic, account_of
from extract.broker.page.routes import PAGE_ROUTES
from extract.broker.problems import Problem
from extract.broker.security.access import Access, SafeAnswers
from extract.broker.security.tokens import TokenFile
from extract.broker.store.tables import StoreError

_log: Final = logging.getLogger("extract.broker.http")
Handler = Callable[[Request], Awaitable[Response]]

# The busiest first: routes are tried one after the other.
ROUTES: Final[tuple[tuple[str, str, Handler], ...]] = (
    ("POST", "/feeds/{feed}/documents", documents.post_documents),
    ("GET", "/subscriptions/{id}/notifications", notifications.get_notifications),
    ("GET", "/feeds/{feed}/documents", documents.list_documents),
    ("GET", "/feeds", feeds.list_feeds),
    ("PUT", "/feeds/{feed}", feeds.put_feed),
    ("GET", "/feeds/{feed}", feeds.get_feed),
    ("GET", "/feeds/{feed}/schema", feeds.get_schema),
    ("DELETE", "/feeds/{feed}", feeds.delete_feed),
    ("GET", "/feeds/{feed}/subscriptions", subscriptions.list_subscriptions),
    ("POST", "/feeds/{feed}/subscriptions", subscriptions.post_subscriptions),
    ("PUT", "/feeds/{feed}/subscriptions/{id}", subscriptions.put_subscription),
    ("GET", "/feeds/{feed}/subscriptions/{id}", subscriptions.get_subscription),
    ("DELETE", "/feeds/{feed}/subscriptions/{id}", subscriptions.delete_subscription),
    ("GET", "/feeds/{feed}/rejections", dead_letters.list_rejections),
    ("GET", "/subscriptions/{id}/dead-letters", dead_letters.list_dead_letters),
    ("DELETE", "/subscriptions/{id}/dead-letters/{seq}", dead_letters.delete_dead_letter),
    ("POST", "/subscriptions/{id}/dead-letters/{seq}/resend", dead_letters.resend_dead_letter),
    ("GET", "/health", service.get_health),
    ("GET", "/metrics", service.get_metrics),
    ("GET", "/openapi.json", service.get_description),
    *PAGE_ROUTES,
)


def create_app(broker: Broker, tokens: TokenFile | None = None) -> Access:
    """The ASGI application of a broker, which starts and stops with it."""

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        broker.readers.bind(loop)
        broker.use_tokens(tokens)
        try:
            await loop.run_in_executor(None, broker.start)
        except Exception as error:
            broker.start_failure = error
            raise
        await broker.serve()
        try:
            yield
        finally:
            await broker.end_serving()
            await loop.run_in_executor(None, broker.stop)

    app = Starlette(
        routes=_routes(),
        exception_handlers={
            Problem: _problem,
            StoreError: _store_problem,
            HTTPException: _http_problem,
            ClientDisconnect: _gone,
            Exception: _unexpected,
        },
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.state.broker = broker
    seconds = broker.settings.limits.leaving_seconds
    counted = Traffic(SafeAnswers(app), broker.arriving, broker.leaving, seconds)
    return Access(counted, broker.settings.allowed_hosts, tokens, broker.rates)


def _routes() -> list[Route]:
    return [Route(path, handler, methods=[method]) for method, path, handler in ROUTES]


async def _problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    headers = {}
    if error.retry_after:
        headers["retry-after"] = str(max(1, round(error.retry_after)))
    return json_response(error.body(), error.status, headers)


async def _store_problem(request: Request, error: Exception) -> Response:
    """The store is damaged, or not there now: a server may be started again."""
    assert isinstance(error, StoreError)
    _log.warning("%s %s: %s", request.method, request.url.path, error)
    return await _problem(request, Problem(503, error.reason, retry_after=5))


async def _http_problem(request: Request, error: Exception) -> Response:
    """No such path, or no such method: Starlette says it by status alone."""
    assert isinstance(error, HTTPException)
    reasons = {404: "there is nothing at this path", 405: "this path does not take that method"}
    reason = reasons.get(error.status_code, error.detail)
    headers = {name.lower(): value for name, value in (error.headers or {}).items()}
    if error.status_code == 405:
        path = request.url.path
        allowed = [
            route.methods or set()
            for route in request.app.routes
            if isinstance(route, Route) and route.path_regex.match(path)
        ]
        headers["allow"] = ", ".join(sorted(set().union(*allowed)))
    return json_response({"reason": reason}, error.status_code, headers)


async def _gone(request: Request, error: Exception) -> Response:
    return Response(status_code=499)


async def _unexpected(request: Request, error: Exception) -> Response:
    if not account_of(request).is_given_up:
        _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return json_response({"reason": "the broker failed; its log says why"}, 500)
