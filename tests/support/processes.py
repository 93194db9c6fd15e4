"""Processes as Linux shows them, for tests of what is left of a run."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path


def children(parent: int | None = None) -> list[int]:
    """The children of a process, by default of this one, that have not ended."""
    return [pid for pid, state, above, _ in _all() if above == (parent or os.getpid())]


def session(leader: int) -> list[int]:
    """The processes of a session that have not ended."""
    return [pid for pid, _, _, its in _all() if its == leader]


def is_running(pid: int) -> bool:
    """Whether a process computes; one that waits does not."""
    return any(one == pid and state == "R" for one, state, *_ in _all())


def _all() -> Iterator[tuple[int, str, int, int]]:
    """Yields the number, state, parent and session of each process that has not ended."""
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state, parent, _, leader = (place / "stat").read_text().rpartition(")")[2].split()[:4]
            if state not in "ZX":
                yield int(place.name), state, int(parent), int(leader)


@contextlib.contextmanager
def failing_instead_of_hanging(seconds: int = 300) -> Iterator[None]:
    """Has a block fail that would wait for ever."""

    def fail(*_: object) -> None:
        raise AssertionError("it waits for ever")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
