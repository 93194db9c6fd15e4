"""Memory of worker processes: limits for a block of code, and reuse of freed memory."""

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
_KEPT: Final = 256 << 20  # bytes of free memory that are not returned to the system
_LARGEST: Final = 32 << 20  # bytes of a block that may be reused; the most that glibc allows


@contextlib.contextmanager
def memory_limited(most: int) -> Iterator[None]:
    """Limits the memory that the block may take on top of the process's present memory.

    The former limit is restored afterwards. Where the system does not report the memory of a
    process, nothing is limited.
    """
    try:
        import resource

        with open("/proc/self/statm", encoding="ascii") as file:
            now = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (ImportError, OSError, ValueError):
        yield
        return
    soft, hard = before = resource.getrlimit(resource.RLIMIT_AS)
    allowed = [now + most, *(bound for bound in (soft, hard) if bound != resource.RLIM_INFINITY)]
    resource.setrlimit(resource.RLIMIT_AS, (min(allowed), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error means that memory has run out; libxml2 has its own message for that."""
    if isinstance(error, etree.LxmlError):
        no_memory = etree.ErrorTypes.ERR_NO_MEMORY
        return any(entry.type == no_memory for entry in error.error_log or ())
    return isinstance(error, MemoryError)


def keep_memory() -> None:
    """Makes this process keep freed memory for its next document.

    Columns of a document are some megabytes each. The C library would request each of them from the
    system and return it, and the system would clear every page: a tenth to a fifth of the time. For
    extract's own processes only; without glibc it does nothing.
    """
    if sys.platform != "linux":
        return
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    set_option(_MMAP_THRESHOLD, _LARGEST)
    set_option(_TRIM_THRESHOLD, _KEPT)
