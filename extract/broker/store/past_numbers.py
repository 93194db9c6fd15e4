"""The last numbers of subscriptions that are gone, so that a later one of the same id goes on.

Ids share a bounded number of buckets: a new subscription starts behind the last number of all that
were ever deleted from its bucket. So no number of an id is used twice, and what is kept does not
grow with what was deleted.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final
from zlib import crc32

from extract.broker.store.database import Connection

_BUCKETS: Final = 4_096


def bucket_of(identifier: str) -> int:
    """The bucket of an id: the same in every version of the store.

    >>> bucket_of("s1")
    2288
    """
    return crc32(identifier.encode(errors="surrogatepass")) % _BUCKETS


def past_numbers(connection: Connection) -> dict[int, int]:
    """The last number of each bucket that has one."""
    rows = connection.query("SELECT bucket, last FROM past_number")
    return {int(bucket): int(last) for bucket, last in rows}


def raise_past(connection: Connection, ended: Iterable[Any]) -> None:
    """Notes the last numbers of subscriptions that end: pairs of an id and a number."""
    connection.executemany(
        "INSERT INTO past_number (bucket, last) VALUES (?, ?) ON CONFLICT (bucket) DO UPDATE "
        "SET last = excluded.last WHERE excluded.last > past_number.last",
        [(bucket_of(identifier), last) for identifier, last in ended if last],
    )
