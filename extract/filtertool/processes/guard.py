"""Limits of time and memory for one document: a worker that exceeds one of them ends.

libxml2, numpy and the matchers cannot be interrupted. So the system ends a worker when its time is
up, and the worker ends itself when its memory is. The engine then filters the worker's documents
one by one (`extract.filtertool.processes.isolation`), and learns from the exit status which limit
was exceeded.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from typing import Final, NamedTuple

from extract.filtertool.processes.memory import is_out_of_memory, memory_limited
from extract.limits import RAISE, Limits

OUT_OF_MEMORY: Final = 77  # the exit status of a worker that has exceeded its memory limit


@contextlib.contextmanager
def guarded(limits: Limits) -> Iterator[None]:
    """Ends this process, which must be a worker, if the block takes too much time or memory."""
    timed = hasattr(signal, "setitimer")
    if timed:  # the signal has no handler, so that it also ends a process that is busy in C
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, limits.document_seconds)
    try:
        with memory_limited(limits.document_memory):
            yield
    except Exception as error:
        if is_out_of_memory(error):
            os._exit(OUT_OF_MEMORY)
        raise
    finally:
        if timed:
            signal.setitimer(signal.ITIMER_PROF, 0)


class ExitReason(NamedTuple):
    """Why a worker ended.

    Attributes:
        reason: The reason in words.
        hint: What the user can do about it.
    """

    reason: str
    hint: str


def exit_reason(status: int | None, limits: Limits) -> ExitReason:
    """Returns why a worker ended.

    Args:
        status: The exit status, as in `multiprocessing.Process.exitcode`.
        limits: The worker's limits.
    """
    if hasattr(signal, "SIGPROF") and status == -signal.SIGPROF:
        return ExitReason(limits.passed("document_seconds"), RAISE)
    if status == OUT_OF_MEMORY:
        return ExitReason(limits.passed("document_memory"), RAISE)
    return ExitReason(
        "the process that filtered it was killed, for want of memory perhaps",
        "filter it with fewer processes at a time, or give Spark's Python workers more memory",
    )
