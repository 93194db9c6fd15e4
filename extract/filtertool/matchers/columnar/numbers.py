"""Converts numbers and strings as libxml2 does, digit for digit (TRAPS 2)."""

from __future__ import annotations

import math
import re
from typing import Final

import numpy as np
from numpy.typing import NDArray

from extract.xpath.numbers import to_number

_INT: Final = 2**31 - 1
_DIGITS: Final = 15  # DBL_DIG


def to_text(number: float) -> bytes:
    """Returns ``string()`` of a number.

    >>> to_text(1 / 3), to_text(-0.0), to_text(1e20), to_text(1e-7)
    (b'0.333333333333333', b'0', b'1e+20', b'1e-07')
    """
    if math.isnan(number):
        return b"NaN"
    if math.isinf(number):
        return b"Infinity" if number > 0 else b"-Infinity"
    if number == 0:
        return b"0"
    if -_INT - 1 < number < _INT and number == int(number):
        return b"%d" % int(number)
    size = abs(number)
    if size > 1e9 or size < 1e-5:
        mantissa, _, exponent = f"{number:.{_DIGITS - 1}e}".partition("e")
        return f"{_without_zeros(mantissa)}e{exponent}".encode()
    place = int(math.log10(size))
    return _without_zeros(f"{number:.{_DIGITS - place - (place > 0)}f}").encode()


def _without_zeros(text: str) -> str:
    return text.rstrip("0").removesuffix(".")


def to_numbers(texts: NDArray[np.object_]) -> NDArray[np.float64]:
    """Returns `to_number` of each string."""
    return np.array([to_number(text) for text in texts.tolist()], np.float64)


def rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """``round()``: halves go up, and results near zero keep their sign."""
    with np.errstate(invalid="ignore"):  # infinity minus infinity
        down = np.floor(values)
        up = np.where(values - down >= 0.5, down + 1.0, down)
        return np.where((values >= -0.5) & (values < 0.5), values * 0.0, up)


def substring(text: bytes, start: float, length: float | None) -> bytes:
    """``substring()``: counts characters from 1, with rounded arguments."""
    first, last = 1, _INT
    if not start < _INT:  # NaN too
        first = _INT
    elif start >= 1.0:
        first = math.floor(start) + (start - math.floor(start) >= 0.5)
    if length is not None:
        end = _rounded(start) + _rounded(length)
        if not end >= 1.0:
            last = 1
        elif end < _INT:
            last = int(end)
    return text.decode()[first - 1 : last - 1].encode() if first < last else b""


def _rounded(value: float) -> float:
    if math.isnan(value) or math.isinf(value):
        return value
    down = float(math.floor(value))
    return down + 1.0 if value - down >= 0.5 else down


def translate(text: bytes, source: bytes, target: bytes) -> bytes:
    """``translate()``: characters of ``source`` become those of ``target``, or vanish."""
    to = target.decode()
    table: dict[int, str | None] = {}
    for place, char in enumerate(source.decode()):
        table.setdefault(ord(char), to[place] if place < len(to) else None)
    return text.decode().translate(table).encode()


def normalize_space(text: bytes) -> bytes:
    """``normalize-space()``: white space is that of XML."""
    return b" ".join(_SPACES.split(text.strip(b" \t\r\n")))


_SPACES = re.compile(rb"[ \t\r\n]+")
