"""Clocks of a made-up machine, so that what a test sees depends on no real one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from typing import Final

import pytest

from extract.bench.experiments.rivals.xmllint import Xmllint

# Seconds between two readings: every unit that a report knows, and nothing that is measured once.
STEPS: Final = (0.0007, 0.0000042, 0.02, 0.00013, 0.4, 0.0021)


@contextmanager
def made_clock(steps: Sequence[float] = STEPS) -> Iterator[None]:
    """Has every measurement made with a clock that goes on by these steps, again and again.

    Args:
        steps: By how many seconds a reading is later than the one before.
    """
    intervals, now = cycle(steps), 0.0

    def read(*_: object) -> float:
        nonlocal now
        now += next(intervals)
        return now

    with pytest.MonkeyPatch.context() as patch:
        for name in ("process_time", "perf_counter", "thread_time"):
            patch.setattr(f"time.{name}", read)
        patch.setattr(Xmllint, "clock", read)
        yield
