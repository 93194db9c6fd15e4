"""A command of ours in a process of its own, which the system measures."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

_UNIT = 1024 if sys.platform.startswith("linux") else 1024 * 1024


class Usage(NamedTuple):
    """What a process has used.

    Attributes:
        seconds: Processor time, also of the processes that it has started.
        peak_mb: The most memory that it, or one of those, had at once.
    """

    seconds: float
    peak_mb: float


def measured(*arguments: str) -> Usage:
    """Runs ``extract`` with these arguments.

    Raises:
        CalledProcessError: It did not do all that it was asked to.
    """
    child = subprocess.Popen(
        [sys.executable, "-m", "extract", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, child.args)
    return Usage(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / _UNIT)


def resident_bytes() -> int:
    """Bytes of this process that are in memory."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
