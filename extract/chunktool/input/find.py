"""Which documents names lead to: files, directories, globs, and URIs that pyarrow can list.

A URI such as ``s3://bucket/docs`` or ``hdfs://host/docs`` is listed once, by the command, and
opened by the workers (`extract.chunktool.input.remote`). What ``file:`` names is on every machine,
under the same path. pyarrow is imported only where there is a URI.
"""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from extract.errors import DocumentError

SUFFIXES = (".xml", ".xml.gz")
STDIN: Final = "-"

_URI: Final = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]+://|file:/)")
_OPTIONS: Final = re.compile(r"\?\w+=")  # of a URI; another question mark is that of a glob
_HADOOP: Final = re.compile(r"^s3[an]:")  # what Hadoop calls S3
_GZIP_RATIO: Final = 8  # how many times smaller a gzipped document is, about


class InputFile(NamedTuple):
    """A document to be filtered.

    Attributes:
        name: What results call it: a path or a URI; ``"-"`` for standard input.
        size: About how many bytes it has, unpacked.
        path: Where it is, if not where its name says.
    """

    name: str
    size: int
    path: str = ""

    @property
    def place(self) -> str:
        """The path or URI at which it is opened."""
        return self.path or self.name

    @property
    def is_remote(self) -> bool:
        """Whether pyarrow has to open it."""
        return not self.path and is_uri(self.name)


@dataclass(frozen=True, slots=True)
class FoundDocuments:
    """The documents that arguments of a command name.

    Attributes:
        paths: Their paths as given or found, each once; ``"-"`` for standard input.
        skipped: What looks like a document and is left out, with the reason.
    """

    paths: tuple[str, ...]
    skipped: tuple[str, ...]


def find_documents(names: Iterable[str]) -> FoundDocuments:
    """Finds documents on this machine.

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
        matches = [name] if name == STDIN else list(_expand(name, skipped))
        if not matches:
            said = f"there is no {' or '.join(f'*{suffix}' for suffix in SUFFIXES)} in it"
            hint = skipped[-1] if skipped else "name the files, or use a glob such as 'dir/*.nitf'"
            raise DocumentError(said, hint, name)
        for path in matches:
            paths.setdefault(STDIN if path == STDIN else os.path.abspath(path), path)
    return FoundDocuments(tuple(paths.values()), tuple(skipped))


def find_inputs(names: Iterable[str]) -> list[InputFile]:
    """Finds all documents that names lead to, for both engines.

    Args:
        names: Files, directories and globs, as for `find_documents`; or URIs of files, of
            directories, or with ``*`` and ``?`` in their last part; all with pyarrow's options, as
            in ``s3://bucket/docs?region=eu-west-1``.

    Returns:
        The documents, each once: those of paths first, then those of URIs.

    Raises:
        DocumentError: A name leads to no document.
    """
    given = list(names)
    paths = find_documents([name for name in given if not is_uri(name)]).paths
    inputs = [input_file(path) for path in paths]
    for name in given:
        if is_uri(name):
            inputs += _files_of_uri(name)
    return list({one.name: one for one in inputs}.values())


def input_file(path: str) -> InputFile:
    """Returns a path with its size; one that cannot be read has size 1.

    The place is absolute: workers of a cluster run in directories of their own, where a relative
    name leads nowhere. A file that is missing is reported when it is opened.
    """
    try:
        size = os.stat(path).st_size
    except (OSError, ValueError):
        size = 1
    place = "" if os.path.isabs(path) else os.path.abspath(path)
    return InputFile(path, _unpacked_size(path, size), place)


def is_uri(name: str) -> bool:
    """Says whether a name is a URI and not a path.

    >>> [is_uri(name) for name in ("s3://b/a.xml", "file:/a.xml", "C:/a.xml", "docs/a.xml")]
    [True, True, False, False]
    """
    return _URI.match(name) is not None


def file_system(uri: str) -> tuple[Any, str]:
    """Returns pyarrow's file system for a URI, and the path that the URI has there.

    Raises:
        OSError, ValueError: pyarrow knows no such file system.
    """
    from pyarrow import fs

    try:
        system, path = fs.FileSystem.from_uri(_HADOOP.sub("s3:", uri))
    except NotImplementedError as error:
        raise ValueError(str(error)) from error
    return system, path


def _unpacked_size(name: str, size: int) -> int:
    place = _split_options(name)[0] if is_uri(name) else name
    return max(1, size * _GZIP_RATIO if place.lower().endswith(".gz") else size)


def _files_of_uri(name: str) -> Iterator[InputFile]:
    from pyarrow import fs

    place, options = _split_options(name)
    folder, _, last = place.rpartition("/")
    pattern = last if "*" in last or "?" in last else ""
    top = folder if pattern else place
    try:
        system, path = file_system(top + options)
        info = system.get_file_info(path)
        if info.type == fs.FileType.NotFound:
            raise DocumentError("there is no such file or directory", "check the URI", top)
        if info.type == fs.FileType.File:
            files = [(top + options, info.size)]
        else:
            inside = system.get_file_info(fs.FileSelector(path, recursive=not pattern))
            base = top.rstrip("/")
            files = [
                (f"{base}/{quote(one.path[len(path.rstrip('/')) + 1 :])}{options}", one.size or 0)
                for one in sorted(inside, key=lambda one: one.path)
                if one.type == fs.FileType.File and _is_wanted(one.base_name, pattern)
            ]
    except (OSError, ValueError) as error:
        raise DocumentError(f"it cannot be listed: {error}", "check the URI", top) from error
    if not files:
        hint = "name the files, or use a glob such as 's3://bucket/docs/*.nitf'"
        raise DocumentError("there is no document", hint, name)
    for uri, size in files:
        yield InputFile(uri, _unpacked_size(uri, size))


def _split_options(uri: str) -> tuple[str, str]:
    """Splits a URI from the options that it has for pyarrow.

    >>> _split_options("s3://bucket/docs/?.xml?region=eu-west-1")
    ('s3://bucket/docs/?.xml', '?region=eu-west-1')
    >>> _split_options("s3://bucket/a?.xml")
    ('s3://bucket/a?.xml', '')
    """
    options = _OPTIONS.search(uri)
    return (uri, "") if options is None else (uri[: options.start()], uri[options.start() :])


def _is_wanted(name: str, pattern: str) -> bool:
    if pattern:
        return fnmatchcase(name, pattern)
    return name.lower().endswith(SUFFIXES) and not name.startswith(".")


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
