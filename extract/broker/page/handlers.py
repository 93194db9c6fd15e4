"""What the page asks, behind HTTP: its files, and questions that only somebody who looks has."""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from extract.broker.feed_filters import query_version
from extract.broker.http.requests import (
    broker_of,
    client_of,
    feed_name,
    json_response,
    may_see,
    number_parameter,
    read_json,
    shown_document,
)
from extract.broker.page.attempt import try_query
from extract.broker.page.bodies import (
    DeadLetters,
    ExplainBody,
    FeedRejection,
    FeedRejections,
    RecentNotifications,
    TryBody,
)
from extract.broker.page.explain import explain_join, explain_text
from extract.broker.page.files import INDEX, PageFile, page_files
from extract.broker.page.latest import latest_dead_letters, latest_notifications, latest_rejections
from extract.broker.problems import Problem, not_found
from extract.broker.store.database import Connection
from extract.broker.times import iso_time
from extract.broker.wording import over_http
from extract.errors import ExtractError, QuerySyntaxError
from extract.schema.model import Schema
from extract.subscriptions import Subscription

_MOST_BYTES: Final = 6 << 20  # of a query with a pasted document
_AT_A_TIME: Final = 2  # queries that are tried; others wait
_TURNS: Final = asyncio.Semaphore(_AT_A_TIME)


async def get_page(request: Request) -> Response:
    """The page."""
    return _sent(request, page_files()[INDEX])


async def get_file(request: Request) -> Response:
    """A file of the page: one of those that there are, whatever the path says."""
    file = page_files().get(request.path_params["path"])
    if file is None:
        raise not_found("file")
    return _sent(request, file)


def _sent(request: Request, file: PageFile) -> Response:
    headers = {"etag": file.etag, "cache-control": "no-cache"}
    if file.etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(file.content, headers=headers, media_type=file.type)


# -- a query that somebody is writing


async def explain_query(request: Request) -> Response:
    """What a query looks at under the feed's schema, or what is wrong with it."""
    feed = feed_name(request, "subscribe")
    broker = broker_of(request)
    broker.feed(feed)
    body, _ = await read_json(request, ExplainBody, _MOST_BYTES)
    if isinstance(body.xscl, str):
        told = explain_join(_subscription(body.xscl, body), broker.limits)
        return json_response(told.to_json())
    query = _query(body)
    schema = broker.schema_of(feed) or Schema.none()
    async with _TURNS:
        told = await broker.in_thread(explain_text, schema, query, broker.limits)
    return json_response(told.to_json())


async def try_document(request: Request) -> Response:
    """What a query makes of a pasted document; nothing is kept."""
    feed = feed_name(request, "subscribe")
    broker = broker_of(request)
    broker.feed(feed)
    body, _ = await read_json(request, TryBody, _MOST_BYTES)
    query = _query(body)
    document = body.document.encode("utf-8", "replace")
    schema = broker.schema_of(feed) or Schema.none()
    try:
        async with _TURNS:
            found = await broker.in_thread(try_query, schema, query, document, broker.limits)
    except QuerySyntaxError as error:
        raise Problem(
            422, error.reason, error.hint, about="query", offset=error.offset, query=error.xpath
        ) from None
    except ExtractError as error:
        raise Problem(422, error.reason, error.hint) from None
    return json_response(found.to_json())


def _query(body: ExplainBody | TryBody) -> Subscription:
    """The query of a body, as the library knows it.

    Raises:
        Problem: There is none, or it is a join, which takes more than one document.
    """
    texts = [one for one in (body.xpath, body.flwr) if isinstance(one, str)]
    if isinstance(body.xscl, str):
        raise Problem(422, "a join looks at two documents", "subscribe, and publish some")
    if len(texts) != 1:
        raise Problem(422, "a query is one of xpath and flwr")
    return _subscription(texts[0], body)


def _subscription(text: str, body: ExplainBody | TryBody) -> Subscription:
    namespaces = body.namespaces if isinstance(body.namespaces, dict) else {}
    version = query_version(body)
    return Subscription(body.id or "new", text.strip(), namespaces, version=version)


# -- what happened lately


async def recent_notifications(request: Request) -> Response:
    """The latest notifications of all subscriptions that the client may see, the oldest first."""
    broker, mine = broker_of(request), _own_keys(request)
    most = int(number_parameter(request, "limit", 50, 500))
    some = await broker.read(latest_notifications, mine, most)
    return json_response(RecentNotifications(some))


async def recent_rejections(request: Request) -> Response:
    """The latest rejections of all feeds that the client may see, the newest first."""
    broker, client, mine = broker_of(request), client_of(request), _own_keys(request)
    present = list(broker.registry.feeds.values())
    feeds = {one.key: one.name for one in present if client.may("subscribe", one.name)}
    most = int(number_parameter(request, "limit", 50, 1_000))

    def read(connection: Connection) -> list[FeedRejection]:
        return [
            FeedRejection(
                feeds[one.feed],
                shown_document(client, one),
                mine[int(one.query)] if one.query else "",
                one.stage,
                over_http(one.reason),
                one.line,
                one.column,
                iso_time(one.time),
            )
            for one in latest_rejections(connection, list(feeds), most)
            if not one.query or int(one.query) in mine
        ]

    return json_response(FeedRejections(await broker.read(read)))


async def recent_dead_letters(request: Request) -> Response:
    """The latest notifications that webhooks did not take, the newest first."""
    broker, mine = broker_of(request), _own_keys(request)
    most = int(number_parameter(request, "limit", 50, 1_000))
    some = await broker.read(latest_dead_letters, mine, most)
    return json_response(DeadLetters(some))


def _own_keys(request: Request) -> dict[int, str]:
    """The subscriptions that the client may see: their numbers and ids."""
    broker, client = broker_of(request), client_of(request)
    some = list(broker.registry.by_key.values())
    return {one.key: one.id for one in some if may_see(broker, client, one)}
