"""Memory of our processes: what a piece of work may take, and what a worker keeps."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterator
from typing import Final

from lxml import etree

_TRIM_THRESHOLD: Final = -1  # as in malloc.h
_MMAP_THRESHOLD: Final = -3
_KEPT: Final = 256 << 20  # bytes that are free and not given back
_LARGEST: Final = 32 << 20  # bytes of a block that may be kept; glibc takes no more


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


def keep_memory() -> None:
    """Lets this process keep memory for its next document, instead of asking for it again.

    Columns of a document are some megabytes each. The C library would get each of them from the
    system and give it back, and every page of it be cleared anew: a tenth to a fifth of the time.
    Only for processes of our own; where there is no glibc nothing happens.
    """
    if sys.platform != "linux":
        return
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    set_option(_MMAP_THRESHOLD, _LARGEST)
    set_option(_TRIM_THRESHOLD, _KEPT)
