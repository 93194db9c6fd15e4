"""Axes: from values to places, and the round numbers beside them."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    """From a value to a place between two ends; logarithmic or in proportion."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def at(self, value: float) -> float:
        """Where a value is.

        >>> Scale(0, 10, 0, 100).at(2), Scale(1, 100, 0, 100, log=True).at(10)
        (20.0, 50.0)
        """
        if self.log:
            low, high, value = math.log(self.low), math.log(self.high), math.log(value)
        else:
            low, high = self.low, self.high
        return self.start + (value - low) / (high - low) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Round values between the ends: powers of ten, or about four steps."""
        if self.log:
            first, last = math.ceil(_log10(self.low)), math.floor(_log10(self.high))
            step = max(1, math.ceil((last - first + 1) / 6))
            return [10.0**power for power in range(first, last + 1, step)]
        width = _round_step((self.high - self.low) / 4)
        count = math.floor(self.high / width + 1e-9)
        return [n * width for n in range(count + 1)]


def linear(most: float, start: float, end: float) -> Scale:
    """From zero to the largest value."""
    return Scale(0.0, most or 1.0, start, end)


def logarithmic(values: list[float], start: float, end: float) -> Scale:
    """Whole powers of ten around all values."""
    low = 10.0 ** math.floor(_log10(min(values)))
    high = 10.0 ** math.ceil(_log10(max(values)))
    return Scale(low, max(high, low * 10), start, end, log=True)


def _log10(value: float) -> float:
    return round(math.log10(value), 9)  # so that 0.001 is a power of ten


def _round_step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= rough * 0.999)


def plain(value: float) -> str:
    """A number on an axis.

    >>> plain(0.01), plain(10.0), plain(100000.0)
    ('0.01', '10', '100,000')
    """
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"
