"""Time, taken so that a busy moment of the machine does not count."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
Clock = Callable[[], float]

_TURNS = 2
_LONG = 3.0  # seconds; what is longer is measured once, for a moment does not matter then
_SHORT = 0.2  # seconds; what is shorter is repeated more often


def processor_time() -> float:
    """Seconds of processor time that this process has taken so far."""
    return time.process_time()


def wall_time() -> float:
    """Seconds that have passed since some moment."""
    return time.perf_counter()


def best(
    work: Callable[[], T], clock: Clock = processor_time, short: float = _SHORT
) -> tuple[float, T]:
    """The shortest of several times, and what came out; what takes long is done only once.

    Args:
        work: What to measure.
        clock: By default the processor time of this process, which others do not disturb much.
        short: How many seconds to go on for, where the work takes less.
    """
    shortest, spent, turns = float("inf"), 0.0, 0
    while True:
        started = clock()
        result = work()
        seconds = clock() - started
        shortest, spent, turns = min(shortest, seconds), spent + seconds, turns + 1
        if seconds >= _LONG or (turns >= _TURNS and (spent >= short or turns >= 10)):
            return shortest, result
        del result  # two of them at a time may be too much memory


def once(work: Callable[[], T], clock: Clock = wall_time) -> tuple[float, T]:
    """The time of one run, for what takes long."""
    started = clock()
    result = work()
    return clock() - started, result
