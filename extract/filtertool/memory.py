"""Memory that a piece of work may take, on top of what its process has."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from lxml import etree


@contextlib.contextmanager
def memory_limited(most: int) -> Iterator[None]:
    """Lets the block take so many bytes more than this process has; then memory runs out.

    Whatever was allowed before is allowed again after it. Where the system cannot say how much the
    process has, nothing is limited.
    """
    try:
        import resource

        with open("/proc/self/statm", encoding="ascii") as file:
            now = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (ImportError, OSError, ValueError):
        yield
        return
    soft, hard = before = resource.getrlimit(resource.RLIMIT_AS)
    allowed = [now + most, *(one for one in (soft, hard) if one != resource.RLIM_INFINITY)]
    resource.setrlimit(resource.RLIMIT_AS, (min(allowed), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory has run out; libxml2 has its own way to say so."""
    if isinstance(error, etree.LxmlError):
        no_memory = etree.ErrorTypes.ERR_NO_MEMORY
        return any(entry.type == no_memory for entry in error.error_log or ())
    return isinstance(error, MemoryError)
