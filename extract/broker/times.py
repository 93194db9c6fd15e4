"""Times: whole microseconds since 1970 inside, ISO 8601 in UTC outside."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def now_us() -> int:
    """The present time."""
    return time.time_ns() // 1_000


def iso_time(microseconds: int) -> str:
    """A time as text.

    >>> iso_time(1_500_000)
    '1970-01-01T00:00:01.500000Z'
    """
    moment = _EPOCH + timedelta(microseconds=microseconds)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def read_time(text: str | float) -> int:
    """A time that a client gives: seconds since 1970, or ISO 8601 (without offset: UTC).

    Raises:
        ValueError: It is neither, or out of range.

    >>> read_time("1970-01-01T00:00:01"), read_time(1.5)
    (1000000, 1500000)
    """
    try:
        seconds = float(text)
    except ValueError:
        moment = datetime.fromisoformat(str(text))
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return (moment - _EPOCH) // _MICROSECOND
    if not -62_135_596_800 <= seconds < 253_402_300_800:  # the years 1 to 9999; NaN is neither
        raise ValueError("the time is out of range")
    return round(seconds * 1_000_000)
