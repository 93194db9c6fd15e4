"""Times: numbers of seconds and ISO 8601, as whole microseconds.

Sums of seconds in binary fractions disagree with their differences: 1.1 - 1.0 is more than 0.1. So
times and windows are whole numbers of microseconds, and all arithmetic is exact.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Final, TypeAlias

Time: TypeAlias = "int | float | Decimal | str | datetime"

SECOND: Final = 1_000_000
_MOST: Final = 1 << 62  # such times still fit 64 bits when a window is added
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FRACTION: Final = re.compile(r"([.,][0-9]{6})[0-9]+")


def microseconds(time: Time) -> int:
    """Returns a time as microseconds since 1970, or since whatever 0 stands for.

    Args:
        time: A number of seconds, or a date and time in ISO 8601, which is in UTC where it has no
            offset; as a string or a value.

    Raises:
        ValueError: It is no time, or too far away.

    >>> microseconds(1.1) - microseconds("1.0"), microseconds("1970-01-01T01:00:00+01:00")
    (100000, 0)
    """
    if isinstance(time, bool):
        raise ValueError("a boolean is no time")
    if isinstance(time, int):
        return _checked(time * SECOND, time)
    if isinstance(time, datetime):
        return _since_epoch(time)
    if isinstance(time, str):
        text = time.strip(" \t\r\n")
        if not _NUMBER.fullmatch(text):
            return _iso(text)
        seconds = Decimal(text)
    elif isinstance(time, (float, Decimal)):
        seconds = Decimal(repr(time)) if isinstance(time, float) else time
    else:
        raise ValueError(f"a time is a number, a string or a datetime, not {type(time).__name__}")
    if not seconds.is_finite():
        raise ValueError(f"{time} is no time")
    try:
        return _checked(int((seconds * SECOND).to_integral_value()), time)
    except InvalidOperation:
        raise ValueError(f"the time {time} is too far away") from None


def duration(text: str) -> int:
    """Returns a number of seconds, written in a query or an option, as microseconds.

    Raises:
        ValueError: It is none, or negative.

    >>> duration("0.5")
    500000
    """
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{text!r} is no number of seconds")
    span = microseconds(text)
    if span < 0:
        raise ValueError("a time span cannot be negative")
    return span


def _iso(text: str) -> int:
    try:
        return _since_epoch(datetime.fromisoformat(_FRACTION.sub(r"\1", text)))
    except ValueError:
        raise ValueError(
            f"{text[:60]!r} is neither a number of seconds nor a time in ISO 8601"
        ) from None


def _since_epoch(time: datetime) -> int:
    whole = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
    return (whole - _EPOCH) // timedelta(microseconds=1)


def _checked(value: int, time: object) -> int:
    if not -_MOST <= value <= _MOST:
        raise ValueError(f"the time {time} is too far away")
    return value
