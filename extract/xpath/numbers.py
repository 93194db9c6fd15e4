"""Numbers as libxml2 reads them, digit for digit: in queries and in documents alike."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Final

_MAX_FRACTION: Final = 20  # digits after the leading zeros of a fraction that count
_MAX_EXPONENT: Final = 1_000_000

_NUMBER = re.compile(
    rb"[ \t\r\n]*(-?)(?=[.0-9])([0-9]*)(?:\.(0*)([0-9]*))?(?:[eE]([-+]?)([0-9]*))?[ \t\r\n]*"
)


@lru_cache(maxsize=1 << 16)
def to_number(text: bytes) -> float:
    """What ``number()`` makes of a string.

    >>> to_number(b" 1.14 "), to_number(b"1e3"), to_number(b"+1"), to_number(b"")
    (1.1400000000000001, 1000.0, nan, nan)
    """
    found = _NUMBER.fullmatch(text)
    if found is None:
        return math.nan
    minus, whole, zeros, digits, minus_exponent, exponent_digits = found.groups()
    if not whole and not zeros and not digits:
        return math.nan
    value = 0.0
    for digit in whole:  # in this order, for rounding differs in any other
        value = value * 10 + (digit - 48)
    if zeros is not None:
        fraction, places = 0.0, len(zeros)
        for digit in digits[:_MAX_FRACTION]:
            fraction = fraction * 10 + (digit - 48)
            places += 1
        value += fraction / _power(places)
    exponent = 0
    for digit in exponent_digits or b"":
        if exponent < _MAX_EXPONENT:
            exponent = exponent * 10 + (digit - 48)
    if minus:
        value = -value
    return value * _power(-exponent if minus_exponent == b"-" else exponent)


def _power(exponent: int) -> float:
    try:
        return math.pow(10.0, exponent)
    except OverflowError:
        return math.inf
