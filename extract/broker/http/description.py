"""The OpenAPI description, from the routes and from the bodies that msgspec checks."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import msgspec

from extract import __version__
from extract.broker.bodies import (
    ID_PATTERN,
    NAME_PATTERN,
    BulkReceipt,
    DeadLetterView,
    DocumentLine,
    DocumentReceipt,
    FeedBody,
    FeedView,
    NotificationPage,
    ProblemView,
    RejectionView,
    SubscriptionBody,
    SubscriptionLine,
    SubscriptionView,
)
from extract.broker.page.description import PAGE_MODELS, page_paths

_MODELS: Final = (
    BulkReceipt,
    DeadLetterView,
    DocumentLine,
    DocumentReceipt,
    FeedBody,
    FeedView,
    NotificationPage,
    ProblemView,
    RejectionView,
    SubscriptionBody,
    SubscriptionLine,
    SubscriptionView,
    *PAGE_MODELS,
)
_JSON: Final = "application/json"
_FEED: Final = {
    "name": "feed",
    "in": "path",
    "required": True,
    "description": "The name of a feed.",
    "schema": {"type": "string", "pattern": NAME_PATTERN},
}
_ID: Final = {
    "name": "id",
    "in": "path",
    "required": True,
    "description": "The id of a subscription.",
    # JSON Schema's patterns know no lone surrogates; they cannot be in a URL anyway.
    "schema": {"type": "string", "pattern": ID_PATTERN.replace(r"\ud800-\udfff", "")},
}
_SEQ: Final = {
    "name": "seq",
    "in": "path",
    "required": True,
    "description": "The number of a notification.",
    "schema": {"type": "integer", "minimum": 1},
}


def _query(name: str, about: str, **schema: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": about, "schema": schema}


def _body(content: dict[str, Any], about: str) -> dict[str, Any]:
    return {"required": True, "description": about, "content": content}


def _reference(model: type[Any]) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{model.__name__}"}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {_JSON: {"schema": schema}}


def _list_of(name: str, model: type[Any], **more: Any) -> dict[str, Any]:
    items = {"type": "array", "items": _reference(model)}
    return {"type": "object", "required": [name], "properties": {name: items, **more}}


def _answers(*answers: tuple[int, str, dict[str, Any] | None]) -> dict[str, Any]:
    """Answers by status, with the errors that every path has."""
    listed: dict[str, Any] = {}
    for status, about, content in answers:
        listed[str(status)] = {"description": about} | ({"content": content} if content else {})
    for status, about in _ERRORS.items():
        problem = {"description": about, "content": _json(_reference(ProblemView))}
        listed.setdefault(str(status), problem)
    return listed


_ERRORS: Final = {
    400: "The body cannot be read; for a document, with line and column.",
    401: "A token is needed.",
    403: "The token, or the origin, does not allow it.",
    404: "There is no such thing, or the client may not see it.",
    409: "It is taken, or in the way of something else.",
    413: "The body is too large.",
    415: "The body has another type than those listed.",
    421: "The broker does not answer for this host.",
    422: "A value is not possible; for a query, with the column.",
    429: "Too much at a time; Retry-After says when to come again.",
    503: "The broker stops, or cannot write now.",
}
_AFTER: Final = _query("after", "The last number that is known.", type="integer", minimum=0)
_LIMIT: Final = _query("limit", "How many at most.", type="integer", minimum=0, maximum=1000)
_DOCUMENTS: Final = {
    "application/xml": {"schema": {"type": "string"}, "example": "<stock><price>7</price></stock>"},
    "application/x-ndjson": {
        "schema": {"type": "string", "description": "A DocumentLine in each line."},
        "example": '{"name": "m1", "document": "<stock/>"}\n',
    },
    "multipart/form-data": {
        "schema": {
            "type": "object",
            "properties": {"document": {"type": "string", "format": "binary"}},
        }
    },
}


def _paths() -> dict[str, Any]:
    feed, subscription = _reference(FeedView), _reference(SubscriptionView)
    return {
        "/feeds": {
            "get": {
                "summary": "List feeds",
                "responses": _answers((200, "The feeds.", _json(_list_of("feeds", FeedView)))),
            }
        },
        "/feeds/{feed}": {
            "parameters": [_FEED],
            "put": {
                "summary": "Make a feed, or change it",
                "requestBody": _body(_json(_reference(FeedBody)), "Its schema and settings."),
                "responses": _answers(
                    (201, "It is new.", _json(feed)), (200, "It is changed.", _json(feed))
                ),
            },
            "get": {
                "summary": "Look at a feed",
                "responses": _answers((200, "The feed.", _json(feed))),
            },
            "delete": {
                "summary": "Remove a feed with everything in it",
                "responses": _answers((204, "It is gone.", None)),
            },
        },
        "/feeds/{feed}/documents": {
            "parameters": [_FEED],
            "post": {
                "summary": "Send one document, or many",
                "description": "When this answers with 2xx, what was accepted is on disk.",
                "parameters": [
                    _query("name", "The document's name.", type="string", maxLength=1000),
                    _query("time", "Its time: seconds since 1970, or ISO 8601.", type="string"),
                    {
                        "name": "Idempotency-Key",
                        "in": "header",
                        "description": "Makes a repeated request harmless.",
                        "schema": {"type": "string", "maxLength": 255, "pattern": "^[!-~]*$"},
                    },
                ],
                "requestBody": _body(_DOCUMENTS, "The document or documents."),
                "responses": _answers(
                    (202, "One document is on disk.", _json(_reference(DocumentReceipt))),
                    (200, "A result for each of many.", _json(_reference(BulkReceipt))),
                ),
            },
            "get": {
                "summary": "Read documents by number",
                "parameters": [
                    _AFTER,
                    _query("limit", "How many.", type="integer", minimum=0, maximum=10_000),
                ],
                "responses": _answers(
                    (
                        200,
                        "Documents with number, name, time and text, or base64 where not UTF-8.",
                        _json({"type": "object"}),
                    ),
                    (410, "Some are no longer kept.", _json(_reference(ProblemView))),
                ),
            },
        },
        "/feeds/{feed}/subscriptions": {
            "parameters": [_FEED],
            "get": {
                "summary": "List subscriptions",
                "parameters": [
                    _query("search", "A part of the id or of the query.", type="string"),
                    _query("after", "The last id that is known.", type="string"),
                    _LIMIT,
                ],
                "responses": _answers(
                    (
                        200,
                        "The client's subscriptions.",
                        _json(_list_of("subscriptions", SubscriptionView, next={"type": "string"})),
                    )
                ),
            },
            "post": {
                "summary": "Make or change many subscriptions, all or none",
                "parameters": [
                    _query(
                        "mode",
                        "create: 409 if an id is there; replace: 404 if one is not.",
                        type="string",
                        enum=["put", "create", "replace"],
                    )
                ],
                "requestBody": _body(
                    {
                        "application/x-ndjson": {
                            "schema": {"type": "string"},
                            "example": '{"id": "a", "xpath": "//price"}\n',
                        }
                    },
                    "A SubscriptionLine in each line.",
                ),
                "responses": _answers((200, "How many.", _json({"type": "object"}))),
            },
        },
        "/feeds/{feed}/subscriptions/{id}": {
            "parameters": [_FEED, _ID],
            "put": {
                "summary": "Make a subscription, or change its query",
                "description": "It holds for the next document.",
                "requestBody": _body(_json(_reference(SubscriptionBody)), "The query."),
                "responses": _answers(
                    (201, "It is new.", _json(subscription)),
                    (200, "It is changed.", _json(subscription)),
                ),
            },
            "get": {
                "summary": "Look at a subscription",
                "responses": _answers((200, "The subscription.", _json(subscription))),
            },
            "delete": {
                "summary": "End a subscription",
                "responses": _answers((204, "It is gone.", None)),
            },
        },
        "/subscriptions/{id}/notifications": {
            "parameters": [_ID],
            "get": {
                "summary": "Read notifications, by long poll or as server-sent events",
                "parameters": [
                    _AFTER,
                    _LIMIT,
                    _query("wait", "Seconds to wait for the first.", type="number", minimum=0),
                ],
                "responses": _answers(
                    (
                        200,
                        "Notifications behind `after`, the oldest first.",
                        {
                            **_json(_reference(NotificationPage)),
                            "text/event-stream": {"schema": {"type": "string"}},
                        },
                    ),
                    (
                        410,
                        "Some of them are no longer kept; `oldest` is the first that is.",
                        _json(_reference(ProblemView)),
                    ),
                ),
            },
        },
        "/feeds/{feed}/schema": {
            "parameters": [_FEED],
            "get": {
                "summary": "Look at the schema of a feed, given or inferred",
                "responses": _answers((200, "The schema.", _json({"type": "object"}))),
            },
        },
        "/feeds/{feed}/rejections": {
            "parameters": [_FEED],
            "get": {
                "summary": "List what could not be answered, the newest first",
                "parameters": [_LIMIT],
                "responses": _answers(
                    (200, "The rejections.", _json(_list_of("rejections", RejectionView)))
                ),
            },
        },
        "/subscriptions/{id}/dead-letters": {
            "parameters": [_ID],
            "get": {
                "summary": "List notifications that a webhook did not take",
                "parameters": [_AFTER, _LIMIT],
                "responses": _answers(
                    (200, "The dead letters.", _json(_list_of("dead_letters", DeadLetterView)))
                ),
            },
        },
        "/subscriptions/{id}/dead-letters/{seq}": {
            "parameters": [_ID, _SEQ],
            "delete": {
                "summary": "Forget a dead letter",
                "responses": _answers((204, "It is gone.", None)),
            },
        },
        "/subscriptions/{id}/dead-letters/{seq}/resend": {
            "parameters": [_ID, _SEQ],
            "post": {
                "summary": "Send a dead letter again, at once",
                "responses": _answers(
                    (200, "The webhook took it.", _json({"type": "object"})),
                    (410, "It is no longer kept.", _json(_reference(ProblemView))),
                    (502, "The webhook did not take it.", _json(_reference(ProblemView))),
                ),
            },
        },
        "/health": {
            "get": {
                "summary": "Whether the broker works",
                "security": [],
                "responses": _answers(
                    (
                        200,
                        "It does; while joins still read what came before a kill, with a `reason`.",
                        _json({"type": "object"}),
                    )
                ),
            }
        },
        "/metrics": {
            "get": {
                "summary": "Figures for Prometheus",
                "responses": _answers(
                    (200, "The figures.", {"text/plain": {"schema": {"type": "string"}}})
                ),
            }
        },
    }


@cache
def description() -> dict[str, Any]:
    """The description, as JSON values."""
    _, models = msgspec.json.schema_components(_MODELS, ref_template="#/components/schemas/{name}")
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "extract broker",
            "version": __version__,
            "description": "Feeds, subscriptions, documents in, notifications out.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{"token": []}, {}],
        "paths": _paths() | page_paths(),
        "components": {
            "schemas": models,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }
