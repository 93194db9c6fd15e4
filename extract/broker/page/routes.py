"""The routes of the page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from extract.broker.page import handlers

PAGE_ROUTES: Final[tuple[tuple[str, str, Callable[[Request], Awaitable[Response]]], ...]] = (
    ("GET", "/", handlers.get_page),
    ("GET", "/static/{path:path}", handlers.get_file),
    ("POST", "/feeds/{feed}/explain", handlers.explain_query),
    ("POST", "/feeds/{feed}/try", handlers.try_document),
    ("GET", "/notifications", handlers.recent_notifications),
    ("GET", "/rejections", handlers.recent_rejections),
    ("GET", "/dead-letters", handlers.recent_dead_letters),
)
