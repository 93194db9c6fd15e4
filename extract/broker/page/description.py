"""What the page asks, in the OpenAPI description."""

from __future__ import annotations

from typing import Any, Final

from extract.broker.bodies import NAME_PATTERN
from extract.broker.page.bodies import (
    AttemptView,
    DeadLetters,
    ExplainBody,
    ExplanationView,
    FeedRejections,
    RecentNotifications,
    TryBody,
)

PAGE_MODELS: Final = (
    AttemptView,
    DeadLetters,
    ExplainBody,
    ExplanationView,
    FeedRejections,
    RecentNotifications,
    TryBody,
)
_PROBLEM: Final = {
    "description": "It is refused, and why.",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ProblemView"}}},
}
_FEED: Final = {
    "name": "feed",
    "in": "path",
    "required": True,
    "description": "The name of a feed.",
    "schema": {"type": "string", "pattern": NAME_PATTERN},
}


def _content(model: type[Any]) -> dict[str, Any]:
    reference = {"$ref": f"#/components/schemas/{model.__name__}"}
    return {"application/json": {"schema": reference}}


def _answers(about: str, model: type[Any], *refusals: int) -> dict[str, Any]:
    answers: dict[str, Any] = {"200": {"description": about, "content": _content(model)}}
    for status in (401, 403, 421, 422, 429, 503, *refusals):
        answers[str(status)] = _PROBLEM
    return answers


def _question(summary: str, body: type[Any], about: str, answer: type[Any]) -> dict[str, Any]:
    refusals = (400, 404, 413, 415)
    return {
        "parameters": [_FEED],
        "post": {
            "summary": summary,
            "requestBody": {"required": True, "content": _content(body)},
            "responses": _answers(about, answer, *refusals),
        },
    }


def _latest(summary: str, about: str, answer: type[Any], most: int) -> dict[str, Any]:
    limit = {
        "name": "limit",
        "in": "query",
        "description": "How many at most.",
        "schema": {"type": "integer", "minimum": 0, "maximum": most},
    }
    return {
        "get": {"summary": summary, "parameters": [limit], "responses": _answers(about, answer)}
    }


def page_paths() -> dict[str, Any]:
    """The paths."""
    return {
        "/feeds/{feed}/explain": _question(
            "Explain a query before it is subscribed",
            ExplainBody,
            "What it looks at, or what is wrong with it (`status` is `rejected`).",
            ExplanationView,
        ),
        "/feeds/{feed}/try": _question(
            "Try a query on a document that is not published",
            TryBody,
            "What it makes of the document.",
            AttemptView,
        ),
        "/notifications": _latest(
            "Look at the latest notifications of all subscriptions",
            "The oldest first. To miss none, read them by subscription.",
            RecentNotifications,
            500,
        ),
        "/rejections": _latest(
            "Look at what was rejected lately", "The newest first.", FeedRejections, 1_000
        ),
        "/dead-letters": _latest(
            "Look at what webhooks did not take lately", "The newest first.", DeadLetters, 1_000
        ),
    }
