"""Feeds: ``/feeds`` and ``/feeds/{feed}``."""

from __future__ import annotations

from msgspec import UNSET
from starlette.requests import Request
from starlette.responses import Response

from extract.broker.bodies import FeedBody, FeedView
from extract.broker.http.requests import (
    broker_of,
    client_of,
    feed_name,
    is_feed_name,
    json_response,
    read_json,
)
from extract.broker.problems import Problem
from extract.broker.registry import FeedEntry
from extract.broker.times import iso_time


def view_of(feed: FeedEntry) -> FeedView:
    """A feed as clients see it."""
    body = feed.body
    kind = feed.kind
    return FeedView(
        feed.name,
        kind,
        max(feed.versions, default=0),
        list(feed.versions),
        feed.subscribers,
        feed.next_number - 1,
        body.on_nonconforming,
        iso_time(feed.created),
        body.root if isinstance(body.root, str) else None,
        body.metadata,
    )


async def list_feeds(request: Request) -> Response:
    """All feeds that the client may see."""
    client = client_of(request)
    feeds = [one for one in broker_of(request).registry.feeds.values() if client.sees(one.name)]
    return json_response({"feeds": [view_of(one) for one in sorted(feeds, key=lambda f: f.name)]})


async def get_feed(request: Request) -> Response:
    """A feed."""
    name = request.path_params["feed"]
    client = client_of(request)
    feed = broker_of(request).feed(name if client.sees(name) else "")
    return json_response(view_of(feed))


async def get_schema(request: Request) -> Response:
    """The schema of a feed, as it was given or inferred."""
    name = request.path_params["feed"]
    broker = broker_of(request)
    feed = broker.feed(name if client_of(request).sees(name) else "")
    return json_response(await broker.read(broker.catalog.schema_text, feed))


async def put_feed(request: Request) -> Response:
    """Makes a feed, or changes it."""
    if not is_feed_name(request.path_params["feed"]):
        hint = "letters, digits and _ . : @ - , up to 128"
        raise Problem(422, "a feed cannot have this name", hint)
    name = feed_name(request, "admin")
    broker = broker_of(request)
    body, _ = await read_json(request, FeedBody, broker.settings.limits.schema_bytes)
    is_new, unsatisfiable = await broker.put_feed(name, body)
    view = view_of(broker.feed(name))
    view.unsatisfiable = unsatisfiable or UNSET
    return json_response(view, 201 if is_new else 200)


async def delete_feed(request: Request) -> Response:
    """Removes a feed with everything in it."""
    await broker_of(request).delete_feed(feed_name(request, "admin"))
    return Response(status_code=204)
