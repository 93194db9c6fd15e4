"""The latest of everything, over all subscriptions that somebody may see."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import msgspec

from extract.broker.feed_filters import stored_body
from extract.broker.page.bodies import RecentNotification, SubscriptionDeadLetter
from extract.broker.store import subscriptions as subscription_rows
from extract.broker.store.database import Connection
from extract.broker.store.notifications import notification_row
from extract.broker.store.rows import RejectionRow
from extract.broker.times import iso_time

_PART: Final = 200  # rows that are read at a time
_READ: Final = 2_000  # rows that are looked at, whoever's they are
_MATCHES: Final = 3  # of one notification that are shown
_entries = msgspec.json.Decoder(list[dict[str, Any]])


def latest_notifications(
    connection: Connection, mine: Mapping[int, str], most: int
) -> list[RecentNotification]:
    """The latest notifications of some subscriptions, the oldest first.

    Only the latest rows of the store are looked at: who has few among very many sees them where
    they are asked for by subscription.

    Args:
        connection: To read with.
        mine: The subscriptions: numbers and ids.
        most: How many.
    """
    found: list[RecentNotification] = []
    for start in range(0, _READ, _PART):
        rows = connection.query(
            "SELECT key, last, count, position, data FROM notification "
            "ORDER BY position DESC, key DESC, last DESC LIMIT ? OFFSET ?",
            (_PART, start),
        )
        for row in rows:
            if row[0] not in mine:
                continue
            one = notification_row(row)
            entries = _entries.decode(one.data)
            numbers = range(one.last, one.last - one.amount, -1)
            for seq, entry in zip(numbers, reversed(entries), strict=True):
                if len(found) < most:
                    found.append(_notification(mine[one.key], seq, entry))
        if len(found) >= most or len(rows) < _PART:
            break
    found.reverse()
    return found


def _notification(identifier: str, seq: int, entry: Mapping[str, Any]) -> RecentNotification:
    matches, output = entry.get("matches"), entry.get("output")
    return RecentNotification(
        identifier,
        seq,
        str(entry.get("feed", "")),
        str(entry.get("document", "")),
        str(entry.get("time", "")),
        msgspec.UNSET if matches is None else matches[:_MATCHES],
        msgspec.UNSET if entry.get("count") is None else entry["count"],
        msgspec.UNSET if output is None else output,
    )


def latest_rejections(
    connection: Connection, feeds: Collection[int], most: int
) -> list[RejectionRow]:
    """The latest rejections of some feeds, the newest first."""
    if not feeds:
        return []
    marks = ", ".join("?" * len(feeds))
    rows = connection.query(
        "SELECT feed, document, query, stage, reason, line, place, time FROM rejection "
        f"WHERE feed IN ({marks}) ORDER BY number DESC LIMIT ?",
        (*feeds, most),
    )
    return [RejectionRow(*row) for row in rows]


def latest_dead_letters(
    connection: Connection, mine: Mapping[int, str], most: int
) -> list[SubscriptionDeadLetter]:
    """The latest dead letters of some subscriptions, the newest first."""
    rows = connection.query(
        "SELECT key, seq, reason, attempts, time FROM dead_letter ORDER BY time DESC LIMIT ?",
        (_READ,),
    )
    chosen = [row for row in rows if row[0] in mine][:most]
    webhooks = _webhooks(connection, [row[0] for row in chosen])
    return [
        SubscriptionDeadLetter(
            mine[key], seq, webhooks.get(key, ""), reason, attempts, iso_time(time)
        )
        for key, seq, reason, attempts, time in chosen
    ]


def _webhooks(connection: Connection, keys: Sequence[int]) -> dict[int, str]:
    bodies = subscription_rows.present_bodies(connection, sorted(set(keys)))
    read = {key: stored_body(body) for key, body in bodies.items()}
    return {key: str(body.webhook or "") for key, body in read.items() if body is not None}
