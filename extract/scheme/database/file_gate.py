"""Lets one process at a time open a file of DuckDB, or write to it.

DuckDB locks a file while it has it open. But version 2.0 reads the headers before it has the lock:
if another process commits and closes the file in between, this one goes on with what was there
before, and its next commit takes back what the other one had committed. So whoever opens a file,
commits, or closes it passes a gate: a lock on its directory, which leaves nothing behind. (A lock
on the file itself would not do: to close it ends DuckDB's own lock.)
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from typing import Final

_PAUSE: Final = 0.005  # seconds between two attempts


@contextlib.contextmanager
def passed_gate(file: str, until: float | None = None) -> Iterator[None]:
    """Holds the gate of a file; without one where the system has no such locks.

    Args:
        file: The file.
        until: How long to wait, by `time.monotonic`; None for as long as it takes.

    Raises:
        TimeoutError: Others have held it all the time.
    """
    gate = _opened(os.path.dirname(os.path.realpath(file)))
    try:
        if gate is not None:
            _wait(gate, until)
        yield
    finally:
        if gate is not None:
            os.close(gate)


def _opened(directory: str) -> int | None:
    try:
        return os.open(directory, os.O_RDONLY)
    except OSError:  # one may use a directory that one may not list; and Windows opens none
        return None


def _wait(gate: int, until: float | None) -> None:
    import fcntl  # which Windows does not have

    if until is None:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(gate, fcntl.LOCK_EX)
        return
    while True:
        try:
            fcntl.flock(gate, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise TimeoutError from None
            time.sleep(_PAUSE)
        except OSError:
            return
        else:
            return
