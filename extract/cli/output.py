"""Where the result of a command goes: standard output, or a file that is whole or not there."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO


@contextlib.contextmanager
def open_output(path: str) -> Iterator[TextIO]:
    """Opens the target of ``-o``: UTF-8 text with ``\\n`` line ends, on every machine.

    A file appears under its name only when the block ends without an error, so that an interrupted
    run leaves neither half a result nor a damaged old one.

    Args:
        path: A file, or ``"-"`` for standard output.
    """
    if path == "-":
        if hasattr(sys.stdout, "reconfigure"):  # a test's replacement may have none
            sys.stdout.reconfigure(encoding="utf-8", newline="\n")
        yield sys.stdout
        return
    target = Path(os.path.realpath(path))  # write through a symbolic link instead of replacing it
    if target.exists() and not target.is_file():  # a pipe or a device has no "whole or not"
        with target.open("w", encoding="utf-8", newline="\n") as stream:
            yield stream
        return
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        with partial.open("w", encoding="utf-8", newline="\n") as stream:
            yield stream
        if target.exists():
            shutil.copymode(target, partial)
        partial.replace(target)
    except FileNotFoundError as error:
        if error.filename == str(partial):  # the user asked for another name than this one
            raise FileNotFoundError(error.errno, error.strerror, path) from None
        raise
    finally:
        partial.unlink(missing_ok=True)
