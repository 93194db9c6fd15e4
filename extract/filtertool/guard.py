"""What one document may take, in time and memory: held by a process that ends if it takes more.

libxml2, numpy and the matchers cannot be interrupted. So a worker lets the system end it when its
time is up, and ends itself when its memory is; whoever gave it the documents then gives them out
one by one, and rejects the one that a process died of once more.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from typing import Final

from extract.errors import DocumentError
from extract.filtertool.findings import Findings
from extract.filtertool.memory import is_out_of_memory, memory_limited
from extract.filtertool.outcome import DocumentOutcome, Rejection
from extract.limits import RAISE, Limits

OUT_OF_MEMORY: Final = 77  # the exit status of a worker that has run out of its memory


@contextlib.contextmanager
def guarded(limits: Limits) -> Iterator[None]:
    """Ends this process, which must be a worker, if what is in the block takes too much."""
    timed = hasattr(signal, "setitimer")
    if timed:  # nobody handles the signal, so that it also ends a process that is busy in C
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


def died_of(name: str, status: int | None, limits: Limits) -> DocumentOutcome:
    """What became of a document that a worker died of.

    Args:
        name: The document.
        status: How the worker ended, as `multiprocessing.Process.exitcode` says.
        limits: What it had to keep to.
    """
    reason = "the process that filtered it was killed, for want of memory perhaps"
    hint = "filter it with fewer processes at a time, or give Spark's Python workers more memory"
    if hasattr(signal, "SIGPROF") and status == -signal.SIGPROF:
        reason, hint = limits.passed("document_seconds"), RAISE
    elif status == OUT_OF_MEMORY:
        reason, hint = limits.passed("document_memory"), RAISE
    error = DocumentError(reason, hint, name)
    rejection = Rejection(name, None, "filter", reason)
    return DocumentOutcome(name, "rejected", Findings.none(), (rejection,), error=error)
