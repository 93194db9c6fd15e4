"""Where the result of a command goes: standard output, or a file that is whole or not there."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, TextIO

import click

from extract.chunktool.input.find import SkippedFile
from extract.errors import DocumentError
from extract.files import whole_file
from extract.scheme.database import is_database
from extract.scheme.model import Scheme


def lies_inside(directory: str) -> Callable[[str], bool]:
    """Tests whether a file lies in a directory, or below; symbolic links are followed."""
    inside = os.path.join(os.path.realpath(directory), "")
    folder = lru_cache(maxsize=None)(os.path.realpath)  # a million documents lie in few

    def is_inside(name: str) -> bool:
        if os.path.islink(name):
            return os.path.realpath(name).startswith(inside)
        return os.path.join(folder(os.path.dirname(name)), os.path.basename(name)).startswith(
            inside
        )

    return is_inside


def unread(skipped: Iterable[SkippedFile]) -> list[DocumentError]:
    """Returns the errors for files that a search for documents passed over."""
    return [DocumentError(one.reason, "", one.path) for one in skipped]


def require_directory(output: str) -> None:
    """Refuses ``-`` for a command that writes a directory.

    Raises:
        UsageError: It is standard output.
    """
    if output == "-":
        raise click.UsageError("-o takes a directory here; it cannot be standard output (-)")


def write_scheme(scheme: Scheme, path: str) -> None:
    """Writes a scheme to the target of ``-o``.

    Args:
        scheme: The scheme.
        path: A file, the URL of a database, or ``"-"`` for standard output, where all members are
            part of the text.
    """
    if is_database(path) or (path != "-" and (not os.path.exists(path) or os.path.isfile(path))):
        scheme.save(path)
        return
    with open_output(path) as stream:
        stream.writelines(scheme.lines())


@contextlib.contextmanager
def open_output(path: str) -> Iterator[TextIO]:
    """Opens the target of ``-o`` for text: UTF-8 with ``\\n`` line ends, on every machine.

    Args:
        path: As for `open_binary_output`.
    """
    if path == "-":
        if hasattr(sys.stdout, "reconfigure"):  # a test's replacement may have none
            sys.stdout.reconfigure(encoding="utf-8", newline="\n")
        yield sys.stdout
        return
    with open_binary_output(path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="\n")
        try:
            yield text
        finally:
            text.detach()


@contextlib.contextmanager
def open_binary_output(path: str) -> Iterator[BinaryIO]:
    """Opens the target of ``-o`` for bytes.

    A file appears under its name only when the block ends without an error, so that an interrupted
    run leaves neither half a result nor a damaged old one.

    Args:
        path: A file, or ``"-"`` for standard output.
    """
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(path)
    if target.exists() and not target.is_file():  # a pipe or a device has no "whole or not"
        with target.open("wb") as stream:
            yield stream
        return
    with whole_file(path) as stream:
        yield stream
