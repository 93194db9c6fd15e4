"""Dead letters and rejections: what did not arrive, and what could not be answered."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from extract.broker.bodies import DeadLetterView, RejectionView
from extract.broker.delivery.caller import CallFailed
from extract.broker.http.requests import (
    broker_of,
    client_of,
    feed_name,
    json_response,
    may_see,
    number_parameter,
    own_subscriber,
    shown_document,
)
from extract.broker.problems import Problem, not_found
from extract.broker.store import notifications as notification_rows
from extract.broker.times import iso_time
from extract.broker.wording import over_http


async def list_dead_letters(request: Request) -> Response:
    """Notifications that a webhook did not take, the oldest first."""
    row = own_subscriber(request)
    after = int(number_parameter(request, "after", 0, 2**62))
    most = int(number_parameter(request, "limit", 100, 1_000))
    letters = await broker_of(request).read(notification_rows.dead_letters, row.key, after, most)
    views = [
        DeadLetterView(one.seq, one.reason, one.attempts, iso_time(one.time)) for one in letters
    ]
    return json_response({"dead_letters": views})


async def resend_dead_letter(request: Request) -> Response:
    """Sends a dead letter again, at once; one that is taken is no longer one."""
    row, seq = own_subscriber(request), _seq(request)
    broker = broker_of(request)
    letters = await broker.read(notification_rows.dead_letters, row.key, seq - 1, 1)
    if not letters or letters[0].seq != seq:
        raise not_found("dead letter")
    webhook = await broker.webhook(row.key)
    if webhook is None:
        raise Problem(409, "the subscription has no webhook now")
    page, _ = await broker.notifications(row.key, seq - 1, 1)
    if not page or page[0][0] != seq:
        raise Problem(410, "the notification is no longer kept")
    try:
        await broker.webhooks.call(webhook, seq, page[0][1])
    except CallFailed as failed:
        raise Problem(502, f"the webhook did not take it: {failed.reason}") from None
    await _remove(request, row.key, seq)
    return json_response({"delivered": seq})


async def delete_dead_letter(request: Request) -> Response:
    """Forgets a dead letter."""
    row, seq = own_subscriber(request), _seq(request)
    if not await _remove(request, row.key, seq):
        raise not_found("dead letter")
    return Response(status_code=204)


async def _remove(request: Request, key: int, seq: int) -> bool:
    removed: bool = await broker_of(request).journal.ask(
        lambda transaction: notification_rows.remove_dead_letter(transaction.connection, key, seq)
    )
    return removed


def _seq(request: Request) -> int:
    text = request.path_params["seq"]
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise not_found("dead letter")
    return int(text)


async def list_rejections(request: Request) -> Response:
    """What could not be answered, the newest first; of queries, only the client's own."""
    feed = feed_name(request, "subscribe")
    broker, client = broker_of(request), client_of(request)
    most = int(number_parameter(request, "limit", 100, 1_000))
    rows = await broker.read(notification_rows.rejections, broker.feed(feed).key, most)
    views = []
    for row in rows:
        owner = broker.registry.by_key.get(int(row.query)) if row.query else None
        if row.query and (owner is None or not may_see(broker, client, owner)):
            continue
        name = "" if owner is None else owner.id
        views.append(
            RejectionView(
                shown_document(client, row),
                name,
                row.stage,
                over_http(row.reason),
                row.line,
                row.column,
                iso_time(row.time),
            )
        )
    return json_response({"rejections": views})
