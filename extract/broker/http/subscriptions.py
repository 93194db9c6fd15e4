"""Subscriptions: ``/feeds/{feed}/subscriptions`` and ``…/{id}``."""

from __future__ import annotations

import base64
import re
import secrets
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast, get_args

from msgspec import UNSET
from starlette.requests import Request
from starlette.responses import Response

from extract.broker.bodies import (
    SetAsideView,
    SubscriptionBody,
    SubscriptionLine,
    SubscriptionView,
    encode,
    gather_metadata,
)
from extract.broker.broker import Broker
from extract.broker.changes import NewSubscription, PutMode
from extract.broker.delivery.addresses import check_url
from extract.broker.feed_filters import query_version, stored_body
from extract.broker.http.documents import check_line_count
from extract.broker.http.requests import (
    ID_HINT,
    broker_of,
    client_of,
    decode_json,
    feed_name,
    is_id,
    json_response,
    may_see,
    number_parameter,
    own_subscriber,
    read_body,
    read_json,
    subscription_id,
)
from extract.broker.http.traffic import account_of
from extract.broker.problems import Problem, not_found
from extract.broker.store import notifications as notification_rows
from extract.broker.store import subscriptions as subscription_rows
from extract.broker.store.database import Connection
from extract.broker.store.rows import SetAsideRow, SubscriberRow
from extract.broker.times import iso_time
from extract.broker.wording import over_http
from extract.flwr.parser import is_flwr
from extract.xpath.later import FIRST

_MOST_BYTES = 1 << 20  # of one subscription
_MOST_METADATA = 1 << 16
_READ_ROWS = 50  # subscriptions that are read together


def checked(body: SubscriptionBody, raw: dict[str, Any], broker: Broker) -> SubscriptionBody:
    """A subscription as the store keeps it: one query, metadata gathered, a possible webhook.

    Raises:
        Problem: It cannot be taken.
    """
    kinds = [one for one in (body.xpath, body.flwr, body.xscl) if isinstance(one, str)]
    if len(kinds) != 1:
        raise Problem(422, "a subscription has one of xpath, flwr and xscl")
    if isinstance(body.flwr, str) and not is_flwr(body.flwr):
        raise Problem(
            422, "flwr is no FLWR query", 'write for $x in //a return <b/>, or use "xpath"'
        )
    if query_version(body) == FIRST and isinstance(body.xpath, str) and is_flwr(body.xpath):
        raise Problem(422, "xpath is a FLWR query", 'use "flwr"')
    if isinstance(body.webhook, str):
        check_url(body.webhook, broker.settings.webhooks.allow_private)
    elif isinstance(body.webhook_secret, str):
        raise Problem(422, "webhook_secret belongs to a webhook")
    metadata = gather_metadata(raw, body.metadata)
    if "version" in metadata:
        hint = 'write "version" beside "xpath", or call the metadata otherwise'
        raise Problem(422, "version is that of the query, and no metadata", hint)
    if len(encode(metadata)) > _MOST_METADATA:
        raise Problem(422, f"metadata of more than {_MOST_METADATA:,} bytes")
    return SubscriptionBody(
        xpath=body.xpath,
        flwr=body.flwr,
        xscl=body.xscl,
        namespaces=body.namespaces,
        version=body.version,
        webhook=body.webhook,
        select=body.select,
        metadata=metadata or UNSET,
    )


def _secret(body: SubscriptionBody) -> str:
    if isinstance(body.webhook_secret, str):
        return body.webhook_secret
    return "whsec_" + base64.b64encode(secrets.token_bytes(24)).decode()


async def put_subscription(request: Request) -> Response:
    """Makes a subscription, or changes its query; it holds for the next document."""
    feed = feed_name(request, "subscribe")
    identifier = subscription_id(request)
    broker = broker_of(request)
    broker.feed(feed)
    body, raw = await read_json(request, SubscriptionBody, _MOST_BYTES)
    kept = checked(body, raw, broker)
    client = client_of(request)
    owner = client.name
    before = broker.registry.subscribers.get(identifier)
    if before is not None and client.is_admin and may_see(broker, client, before):
        owner = before.owner
    for who in {client, broker.owner(owner, client)}:  # an admin shows himself nothing more, either
        (query,) = await broker.check_queries(feed, who, [kept])
    has_webhook = isinstance(body.webhook, str)
    secret = _secret(body) if has_webhook else ""
    new = NewSubscription(identifier, encode(kept), has_webhook, secret, query.streams)
    mode: PutMode = "create" if request.headers.get("if-none-match") == "*" else "put"
    (is_new,) = await broker.put_subscriptions(feed, owner, [new], mode)
    view = _view(broker, broker.subscriber(identifier), feed, kept)
    view.unsatisfiable = query.unsatisfiable or UNSET
    view.webhook_secret = secret or UNSET
    return json_response(view, 201 if is_new else 200)


async def post_subscriptions(request: Request) -> Response:
    """Makes or changes many subscriptions, all or none: NDJSON, with an ``id`` in each line."""
    feed = feed_name(request, "subscribe")
    broker, client = broker_of(request), client_of(request)
    broker.feed(feed)
    mode = _mode(request)
    content = await read_body(request, broker.settings.limits.body_bytes)
    most = broker.settings.limits.bulk_lines
    check_line_count(content, most)
    lines = [line for line in content.splitlines() if line.strip()]
    if len(lines) > most:
        raise Problem(413, f"more than {most:,} lines", "send several requests")
    account_of(request).arrived(len(content))
    some, kept = await broker.in_thread(_read_lines, lines, broker)
    queries = await broker.check_queries(feed, client, kept)
    some = [replace(one, streams=query.streams) for one, query in zip(some, queries, strict=True)]
    answers = await broker.put_subscriptions(feed, client.name, some, mode)
    pairs = zip(some, queries, strict=True)
    unsatisfiable = [one.id for one, query in pairs if query.unsatisfiable]
    return json_response(
        {"created": sum(answers), "changed": len(answers) - sum(answers)}
        | ({"unsatisfiable": unsatisfiable} if unsatisfiable else {})
    )


def _mode(request: Request) -> PutMode:
    mode = request.query_params.get("mode", "put")
    if mode not in get_args(PutMode):
        raise Problem(422, f"there is no mode {mode[:40]!r}", "put, create or replace")
    return cast(PutMode, mode)


def _read_lines(
    lines: Sequence[bytes], broker: Broker
) -> tuple[list[NewSubscription], list[SubscriptionBody]]:
    some, bodies = [], []
    seen = set()
    for number, line in enumerate(lines, 1):
        try:
            body, raw = decode_json(line, SubscriptionLine)
            kept = checked(body, raw, broker)
        except Problem as problem:
            problem.fields["line"] = number
            raise
        if not is_id(body.id):
            raise Problem(422, "no subscription has such an id", ID_HINT, line=number)
        if body.id in seen:
            raise Problem(422, f"two lines have the id {body.id!r}", line=number)
        seen.add(body.id)
        has_webhook = isinstance(body.webhook, str)
        secret = _secret(body) if has_webhook else ""
        some.append(NewSubscription(body.id, encode(kept), has_webhook, secret))
        bodies.append(kept)
    return some, bodies


def _view(
    broker: Broker, row: SubscriberRow, feed: str, body: SubscriptionBody
) -> SubscriptionView:
    aside = broker.registry.set_aside.get(row.key)
    return SubscriptionView(
        row.id,
        feed,
        row.owner,
        body.xpath,
        body.flwr,
        body.xscl,
        body.namespaces,
        body.version,
        body.webhook,
        UNSET,
        body.select if isinstance(body.xpath, str) else UNSET,
        body.metadata,
        set_aside=UNSET if aside is None else _aside_view(broker, row, aside),
    )


def _aside_view(broker: Broker, row: SubscriberRow, aside: SetAsideRow) -> SetAsideView:
    missed = broker.registry.missed(row, aside)
    return SetAsideView(iso_time(aside.time), over_http(aside.reason), missed)


async def get_subscription(request: Request) -> Response:
    """A subscription."""
    row = own_subscriber(request)
    broker = broker_of(request)

    def read(connection: Connection) -> SubscriptionView:
        bodies = subscription_rows.present_bodies(connection, [row.key])
        if row.key not in bodies:
            raise not_found("subscription")
        feed = broker.registry.feed_names[row.feed]
        body = stored_body(bodies[row.key])
        if body is None:
            raise Problem(503, "the subscription is damaged in the store", "put it again")
        view = _view(broker, row, feed, body)
        view.last_seq = notification_rows.last_number(connection, row.key)
        return view

    return json_response(await broker.read(read))


async def delete_subscription(request: Request) -> Response:
    """Ends a subscription; what is not read of its notifications is gone."""
    row = own_subscriber(request)
    await broker_of(request).delete_subscription(row.key)
    return Response(status_code=204)


async def list_subscriptions(request: Request) -> Response:
    """The client's subscriptions to a feed, by id; ``search`` is a part of the id or query."""
    feed = feed_name(request, "subscribe")
    broker, client = broker_of(request), client_of(request)
    key = broker.feed(feed).key
    most = int(number_parameter(request, "limit", 100, 1_000))
    after = request.query_params.get("after", "")
    search = request.query_params.get("search", "")
    most_bytes = broker.settings.limits.page_bytes

    def read(connection: Connection) -> tuple[list[SubscriptionView], bool]:
        rows = [
            one
            for one in list(broker.registry.by_key.values())
            if one.feed == key and one.id > after and may_see(broker, client, one)
        ]
        rows.sort(key=lambda one: one.id)
        views: list[SubscriptionView] = []
        size = 0
        for start in range(0, len(rows), _READ_ROWS):
            some = rows[start : start + _READ_ROWS]
            bodies = subscription_rows.present_bodies(connection, [one.key for one in some])
            for one in some:
                text = bodies.get(one.key)
                if text is None or not _has(search, one.id, text):
                    continue
                body = stored_body(text) or SubscriptionBody()  # of one that is damaged, its id
                views.append(_view(broker, one, feed, body))
                size += len(text)
                if len(views) >= most or size >= most_bytes:
                    return views, True
        return views, False

    async with broker.leaving.held(most_bytes):
        views, is_full = await broker.read(read)
    more = {"next": views[-1].id} if is_full and views else {}
    return json_response({"subscriptions": views, **more})


def _has(search: str, identifier: str, body: bytes) -> bool:
    """Whether an id or a query has a part, in any case."""
    if not search:
        return True
    wanted = search.casefold()
    if wanted in identifier.casefold():
        return True
    one = stored_body(body) or SubscriptionBody()
    texts = [text for text in (one.xpath, one.flwr, one.xscl) if isinstance(text, str)]
    return any(re.search(re.escape(wanted), text.casefold()) for text in texts)
