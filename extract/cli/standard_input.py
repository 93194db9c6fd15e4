"""Standard input that can be read twice: once for the schema, and once for the matches."""

from __future__ import annotations

import contextlib
import io
import shutil
import sys
import tempfile
from collections.abc import Iterator


@contextlib.contextmanager
def repeatable_stdin(wanted: bool) -> Iterator[None]:
    """Lets standard input be read in the block, and once more after the block.

    What cannot go back, such as a pipe, is copied to a temporary file, which is then standard input
    for the rest of the process.

    Args:
        wanted: Whether it is read at all.
    """
    if not wanted:
        yield
        return
    if not sys.stdin.buffer.seekable():
        copy = tempfile.TemporaryFile()  # noqa: SIM115 (it is standard input from now on)
        shutil.copyfileobj(sys.stdin.buffer, copy)
        copy.seek(0)
        sys.stdin = io.TextIOWrapper(copy, encoding="utf-8")
    begin = sys.stdin.buffer.tell()
    yield
    sys.stdin.buffer.seek(begin)
