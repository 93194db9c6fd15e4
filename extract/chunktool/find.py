"""Which documents the arguments of a command name: files, directories, globs."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from extract.errors import DocumentError

SUFFIXES = (".xml", ".xml.gz")


@dataclass(frozen=True, slots=True)
class Found:
    """The documents that arguments name.

    Attributes:
        paths: Their paths as given or found, each once; ``"-"`` for standard input.
        skipped: What looked like a document and was left out, and why.
    """

    paths: tuple[str, ...]
    skipped: tuple[str, ...]


def find_documents(names: Iterable[str]) -> Found:
    """Finds documents.

    A file is taken whatever it is called. A directory is searched, with all directories below it,
    for ``*.xml`` and ``*.xml.gz``, in alphabetical order; links that lead to a directory or out of
    the tree are not followed, and pipes and devices are left alone. A name that is no file and has
    ``*``, ``?`` or ``[`` is a glob, where ``**`` stands for any directories.

    Args:
        names: Files, directories, globs, and ``"-"`` for standard input.

    Raises:
        DocumentError: A name leads to no document at all.
    """
    paths: dict[str, str] = {}  # by what makes them the same
    skipped: list[str] = []
    for name in names:
        found = [name] if name == "-" else list(_expand(name, skipped))
        if not found:
            said = f"there is no {' or '.join(f'*{suffix}' for suffix in SUFFIXES)} in it"
            hint = skipped[-1] if skipped else "name the files, or use a glob such as 'dir/*.nitf'"
            raise DocumentError(said, hint, name)
        for path in found:
            paths.setdefault("-" if path == "-" else os.path.abspath(path), path)
    return Found(tuple(paths.values()), tuple(skipped))


def _expand(name: str, skipped: list[str]) -> Iterator[str]:
    if os.path.isdir(name):
        yield from _search(name, skipped)
    elif os.path.lexists(name):
        yield name
    elif glob.has_magic(name):
        matches = sorted(glob.glob(name, recursive=True))
        if not matches:
            raise DocumentError("no file matches", "quote the glob, and check it with ls", name)
        for match in matches:
            if os.path.isdir(match):
                if not name.endswith("**"):  # ** gives what is in it as well
                    yield from _search(match, skipped)
            elif "**" not in name or _is_file(match, skipped):
                yield match
    else:
        hint = "check the name; relative names start at the current directory"
        raise DocumentError("there is no such file or directory", hint, name)


def _search(top: str, skipped: list[str]) -> Iterator[str]:
    """The documents in a directory and below."""
    inside = os.path.join(os.path.realpath(top), "")

    def complain(error: OSError) -> None:
        skipped.append(f"{error.filename} is left out: {error.strerror}")

    for folder, folders, files in os.walk(top, onerror=complain):
        folders.sort()
        for each in folders:
            path = os.path.join(folder, each)
            if os.path.islink(path):
                skipped.append(f"{path} is left out: it is a link to a directory")
        for each in sorted(files):
            if not each.lower().endswith(SUFFIXES) or each.startswith("."):
                continue
            path = os.path.join(folder, each)
            if os.path.islink(path) and not os.path.realpath(path).startswith(inside):
                skipped.append(f"{path} is left out: it is a link out of {top}")
            elif _is_file(path, skipped):
                yield path


def _is_file(path: str, skipped: list[str]) -> bool:
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        skipped.append(f"{path} is left out: {error.strerror}")
        return False
    if not stat.S_ISREG(mode):
        skipped.append(f"{path} is left out: it is a pipe or a device")
    return stat.S_ISREG(mode)
