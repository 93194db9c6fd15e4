"""Where documents lie: paths of this machine, and URIs that pyarrow can open.

A URI such as ``s3://bucket/docs`` or ``hdfs://host/docs`` is listed once, by the driver, and opened
by the workers. What ``file:`` names is there on every machine, under the same path.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from pyarrow import fs

from extract.chunktool.find import SUFFIXES, find_documents
from extract.chunktool.source import open_source
from extract.chunktool.streams import GZIP
from extract.errors import DocumentError
from extract.limits import Limits

_URI: Final = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]+://|file:/)")
_OPTIONS: Final = re.compile(r"\?\w+=")  # of a URI; another question mark is that of a glob
_HADOOP: Final = re.compile(r"^s3[an]:")  # what Hadoop calls S3
_GZIPPED: Final = 8  # how many times smaller a gzipped document is, about


class Listed(NamedTuple):
    """A document that was found.

    Attributes:
        name: What results call it.
        size: About how many bytes it has, unpacked.
        path: Where it is, if not where its name says.
    """

    name: str
    size: int
    path: str = ""


def is_uri(name: str) -> bool:
    """Whether this is a URI and no path.

    >>> [is_uri(name) for name in ("s3://b/a.xml", "file:/a.xml", "C:/a.xml", "docs/a.xml")]
    [True, True, False, False]
    """
    return _URI.match(name) is not None


def find(names: Iterable[str]) -> list[Listed]:
    """All documents that the names lead to, each once.

    Args:
        names: Files, directories and globs, as for `find_documents`; or URIs of files, of
            directories, or with ``*`` and ``?`` in their last part; all with pyarrow's options, as
            in ``s3://bucket/docs?region=eu-west-1``.

    Raises:
        DocumentError: A name leads to no document.
    """
    named = list(names)
    found = find_documents([name for name in named if not is_uri(name)]).paths
    listed = [listed_path(path) for path in found]
    for name in named:
        if is_uri(name):
            listed += _listed_uri(name)
    return list({one.name: one for one in listed}.values())


def listed_path(path: str) -> Listed:
    """A path with its size; a file that is not there is found out when it is opened.

    Workers on a cluster run in directories of their own: there, a relative name leads nowhere.
    """
    try:
        size = os.stat(path).st_size
    except (OSError, ValueError):
        size = 1
    return Listed(path, _unpacked(path, size), "" if os.path.isabs(path) else os.path.abspath(path))


def _unpacked(name: str, size: int) -> int:
    place = _split(name)[0] if is_uri(name) else name
    return max(1, size * _GZIPPED if place.lower().endswith(".gz") else size)


def _listed_uri(name: str) -> Iterator[Listed]:
    place, options = _split(name)
    folder, _, last = place.rpartition("/")
    pattern = last if "*" in last or "?" in last else ""
    asked = folder if pattern else place
    try:
        system, path = file_system(asked + options)
        info = system.get_file_info(path)
        if info.type == fs.FileType.NotFound:
            raise DocumentError("there is no such file or directory", "check the URI", asked)
        if info.type == fs.FileType.File:
            found = [(asked + options, info.size)]
        else:
            inside = system.get_file_info(fs.FileSelector(path, recursive=not pattern))
            base = asked.rstrip("/")
            found = [
                (f"{base}/{quote(one.path[len(path.rstrip('/')) + 1 :])}{options}", one.size or 0)
                for one in sorted(inside, key=lambda one: one.path)
                if one.type == fs.FileType.File and _wanted(one.base_name, pattern)
            ]
    except (OSError, ValueError) as error:
        raise DocumentError(f"it cannot be listed: {error}", "check the URI", asked) from error
    if not found:
        hint = "name the files, or use a glob such as 's3://bucket/docs/*.nitf'"
        raise DocumentError("there is no document", hint, name)
    for each, size in found:
        yield Listed(each, _unpacked(each, size))


def _split(uri: str) -> tuple[str, str]:
    """A URI, and the options that it has for pyarrow.

    >>> _split("s3://bucket/docs/?.xml?region=eu-west-1"), _split("s3://bucket/a?.xml")
    (('s3://bucket/docs/?.xml', '?region=eu-west-1'), ('s3://bucket/a?.xml', ''))
    """
    found = _OPTIONS.search(uri)
    return (uri, "") if found is None else (uri[: found.start()], uri[found.start() :])


def file_system(uri: str) -> tuple[Any, str]:
    """The file system of a URI, and the path that it has there.

    Raises:
        OSError, ValueError: There is none.
    """
    try:
        system, path = fs.FileSystem.from_uri(_HADOOP.sub("s3:", uri))
    except NotImplementedError as error:
        raise ValueError(str(error)) from error
    return system, path


def _wanted(name: str, pattern: str) -> bool:
    if pattern:
        return fnmatchcase(name, pattern)
    return name.lower().endswith(SUFFIXES) and not name.startswith(".")


class Remote(io.RawIOBase):
    """A document behind a URI. It is opened when it is first read, so that what is wrong with it
    concerns only this document."""

    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._file: Any = None

    def seekable(self) -> bool:
        """It can be read again."""
        return True

    def readable(self) -> bool:
        """It can be read."""
        return True

    def tell(self) -> int:
        """How far it was read."""
        return 0 if self._file is None else int(self._file.tell())

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Goes to a byte."""
        return int(self._opened().seek(offset, whence))

    def readinto(self, buffer: Any) -> int:
        """Reads some of the bytes that come next."""
        return int(self._opened().readinto(buffer))

    def close(self) -> None:
        """Closes the file."""
        if self._file is not None:
            self._file.close()
        super().close()

    def _opened(self) -> Any:
        if self._file is None:
            try:
                system, path = file_system(self._uri)
                self._file = system.open_input_file(path)
            except ValueError as error:
                raise OSError(str(error)) from error
        return self._file


class Bytes:
    """A document of which some bytes are read, here and there."""

    def __init__(self, listed: Listed) -> None:
        self._listed = listed
        self._file: Any = None

    def __enter__(self) -> Bytes:
        if is_uri(self._listed.name) and not self._listed.path:
            self._file = Remote(self._listed.name)
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def read(self, start: int, end: int) -> bytes:
        """The bytes from one place to another; less if there are no more.

        Raises:
            OSError: They cannot be read.
        """
        if self._file is None:
            self._file = open(self._listed.path or self._listed.name, "rb")  # noqa: SIM115 (ours)
        self._file.seek(start)
        parts = []
        while start < end:
            part = self._file.read(end - start)
            if not part:
                break
            parts.append(part)
            start += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)


def facts(listed: Listed) -> tuple[int, int]:
    """Size and time of the last change, which tell whether a document is still the same.

    (-1, 0) if it is not there, or nobody can say.
    """
    with contextlib.suppress(OSError, ValueError):
        if is_uri(listed.name) and not listed.path:
            system, path = file_system(listed.name)
            info = system.get_file_info(path)
            if info.type == fs.FileType.File:
                return info.size, info.mtime_ns or 0
        else:
            found = os.stat(listed.path or listed.name)
            return found.st_size, found.st_mtime_ns
    return -1, 0


def packed(listed: Listed) -> bool:
    """Whether a document is gzipped.

    Raises:
        OSError: It cannot be read.
    """
    with Bytes(listed) as document:
        return document.read(0, len(GZIP)) == GZIP


def unpack_into(listed: Listed, path: str, limits: Limits) -> None:
    """Writes the bytes of a document into a file, unpacked.

    Raises:
        DocumentError: It cannot be read, or unpacked.
        OSError: The file cannot be written.
    """
    remote = is_uri(listed.name) and not listed.path
    document = Remote(listed.name) if remote else listed.path or listed.name
    with open_source(document, listed.name, limits) as source, open(path, "wb") as file:
        for window in source.windows():
            file.write(window)
