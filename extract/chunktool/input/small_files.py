"""Reads a small file at once, for many of them: windows and rewinding are for larger ones."""

from __future__ import annotations

import os
import stat
from typing import Final

from extract.chunktool.input.archives import ZIP
from extract.chunktool.input.packed import packing_of

_FLAGS: Final = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


def read_small(path: str | os.PathLike[str], most: int) -> bytes | None:
    """Returns the bytes of a file that is a document as it is.

    Args:
        path: The path.
        most: How many bytes it may have.

    Returns:
        The bytes; None if it is larger or compressed, no file, or cannot be read: then
        `extract.chunktool.input.source.open_source` reads it, or says why it cannot.
    """
    if path == "-":
        return None
    try:
        file = os.open(path, _FLAGS | getattr(os, "O_NONBLOCK", 0))  # a pipe is not waited for
    except (OSError, ValueError):
        return None
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode) or status.st_size > most:
            return None
        data = os.read(file, status.st_size + 1)
    except OSError:
        return None
    finally:
        os.close(file)
    if len(data) != status.st_size:  # it is being written
        return None
    if not data.startswith(b"<") and (data.startswith(ZIP) or packing_of(data) is not None):
        return None
    return data
