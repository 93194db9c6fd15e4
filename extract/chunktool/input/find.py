"""Which documents names lead to: files, directories, globs, and URIs that pyarrow can list.

A URI such as ``s3://bucket/docs`` or ``hdfs://host/docs`` is listed once, by the command, and
opened by the workers (`extract.chunktool.input.remote`). What ``file:`` names is on every machine,
under the same path. pyarrow is imported only where there is a URI.
"""

from __future__ import annotations

import errno
import glob
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from extract.chunktool.input.archives import archive_members, is_archive, member_name, member_size
from extract.chunktool.input.messages.form import AS_NAMED, MessageOptions, Messages
from extract.chunktool.input.packed import PACKINGS
from extract.errors import DocumentError

SUFFIXES: Final = (".xml", *(f".xml{one.suffix}" for one in PACKINGS), ".xml.zip")
STDIN: Final = "-"

_URI: Final = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]+://|file:/)")
_OPTIONS: Final = re.compile(r"\?\w+=")  # of a URI; another question mark is that of a glob
_HADOOP: Final = re.compile(r"^s3[an]:")  # what Hadoop calls S3
_PACKED: Final = (*(one.suffix for one in PACKINGS), ".zip")
_EVERYBODY: Final = 0o444  # may read it
_RATIO: Final = 8  # how many times smaller a compressed document is, about


class InputFile(NamedTuple):
    """A document to be filtered, or a file of many.

    Attributes:
        name: What results call it: a path or a URI; ``"-"`` for standard input.
        size: About how many bytes it has, unpacked.
        path: Where it is, if not where its name says.
        messages: If it holds many documents, how they are told apart.
    """

    name: str
    size: int
    path: str = ""
    messages: Messages | None = None

    @property
    def place(self) -> str:
        """The path or URI at which it is opened."""
        return self.path or self.name

    @property
    def is_remote(self) -> bool:
        """Whether pyarrow has to open it."""
        return not self.path and is_uri(self.name)


class SkippedFile(NamedTuple):
    """A file or directory that a search for documents passed over.

    Attributes:
        path: Its path.
        reason: Why it is not read.

    >>> print(SkippedFile("a.xml", "a pipe or a device"))
    a.xml is not read: a pipe or a device
    """

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path} is not read: {self.reason}"


@dataclass(frozen=True, slots=True)
class FoundDocuments:
    """The documents on this machine that arguments of a command name.

    Attributes:
        paths: Their paths as given or found, each once; ``"-"`` for standard input.
        skipped: Files that are named as documents, and directories, that cannot be read.
        sizes: The bytes of those that were found in directories.
    """

    paths: tuple[str, ...]
    skipped: tuple[SkippedFile, ...]
    sizes: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class FoundInputs:
    """The documents that arguments of a command name, on this machine or behind URIs.

    Attributes:
        documents: The documents, each once: those of paths first, then those of URIs.
        skipped: Files that are named as documents, and directories, that cannot be read.
    """

    documents: tuple[InputFile, ...]
    skipped: tuple[SkippedFile, ...] = ()


def find_documents(names: Iterable[str], suffixes: tuple[str, ...] = SUFFIXES) -> FoundDocuments:
    """Finds documents on this machine.

    A file is taken whatever it is called. A directory is searched, with all directories below it,
    for the `SUFFIXES`, ``*.xml`` and compressed ones, in alphabetical order. Links to directories
    and out of the tree are not followed, and pipes and devices are not opened: all of them are
    ``skipped``, but for links to a directory of the same tree, which is searched anyway. A name
    that is no file and has ``*``, ``?`` or ``[`` is a glob, where ``**`` stands for any
    directories. A zip archive of several files gives a document for each.

    Args:
        names: Files, directories, globs, and ``"-"`` for standard input.
        suffixes: How names of documents in directories end.

    Raises:
        DocumentError: A name leads to no document at all.
    """
    paths: dict[str, str] = {}  # by what makes them the same
    sizes: dict[str, int] = {}
    skipped: list[SkippedFile] = []
    for name in names:
        search = _Search(suffixes, skipped, sizes)
        matches = [name] if name == STDIN else list(search.expand(name))
        if not matches:
            plain = f"*{suffixes[0]}"
            said = f"there is no file named {plain} in this directory"
            said += f" (nor {plain}.gz, .bz2, .xz, .zst)"
            hint = "name the files, or use a glob such as 'dir/*.nitf'"
            raise DocumentError(said, str(skipped[-1]) if skipped else hint, name)
        for path in matches:
            for each in archive_members(path, suffixes) if _is_zip(path) else [path]:
                paths.setdefault(STDIN if each == STDIN else os.path.abspath(each), each)
    return FoundDocuments(tuple(paths.values()), tuple(skipped), sizes)


def find_inputs(names: Iterable[str]) -> list[InputFile]:
    """Finds all documents that names lead to; `search_inputs` also says what it passed over.

    Args:
        names: As for `search_inputs`.

    Raises:
        DocumentError: A name leads to no document.
    """
    return list(search_inputs(names).documents)


def search_inputs(names: Iterable[str], messages: MessageOptions = AS_NAMED) -> FoundInputs:
    """Finds all documents that names lead to, for both engines, and files that it cannot read.

    Args:
        names: Files, directories and globs, as for `find_documents`; or URIs of files, of
            directories, or with ``*`` and ``?`` in their last part; all with pyarrow's options, as
            in ``s3://bucket/docs?region=eu-west-1``.
        messages: What is known of files that hold many documents.

    Raises:
        DocumentError: A name leads to no document.
    """
    given = list(names)
    suffixes = messages.suffixes or SUFFIXES
    local = find_documents([name for name in given if not is_uri(name)], suffixes)
    inputs = [input_file(path, local.sizes.get(path)) for path in local.paths]
    for name in given:
        if is_uri(name):
            inputs += _files_of_uri(name, suffixes)
    inputs = [with_messages(one, messages) for one in inputs]
    return FoundInputs(tuple({one.name: one for one in inputs}.values()), local.skipped)


def input_file(path: str, size: int | None = None) -> InputFile:
    """Returns a path with its size, if that is not known; one that cannot be read has size 1.

    The place is absolute: workers of a cluster run in directories of their own, where a relative
    name leads nowhere. A file that is missing is reported when it is opened.
    """
    member = member_name(path)
    place = "" if os.path.isabs(path) else os.path.abspath(path)
    if member is not None:
        return InputFile(path, member_size(member), place)
    if size is None:
        try:
            size = os.stat(path).st_size
        except (OSError, ValueError):
            size = 1
    return InputFile(path, _unpacked_size(path, size), place)


def with_messages(file: InputFile, options: MessageOptions) -> InputFile:
    """Returns a file with the form of its messages, if it holds many."""
    form = options.form_of(_split_options(file.name)[0] if is_uri(file.name) else file.name)
    return file if form is None else file._replace(messages=Messages(form))


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
    return max(1, size * _RATIO if place.lower().endswith(_PACKED) else size)


def _files_of_uri(name: str, suffixes: tuple[str, ...]) -> Iterator[InputFile]:
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
                if one.type == fs.FileType.File and _is_wanted(one.base_name, pattern, suffixes)
            ]
    except (OSError, ValueError) as error:
        raise DocumentError(f"the URI cannot be listed: {error}", "check the URI", top) from error
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


def _is_wanted(name: str, pattern: str, suffixes: tuple[str, ...]) -> bool:
    if pattern:
        return fnmatchcase(name, pattern)
    return name.lower().endswith(suffixes) and not name.startswith(".")


class _Search(NamedTuple):
    """A search for documents: the ends of their names, and what it notes on the way."""

    suffixes: tuple[str, ...]
    skipped: list[SkippedFile]
    sizes: dict[str, int]

    def expand(self, name: str) -> Iterator[str]:
        """Yields the files that a file, directory or glob stands for."""
        if os.path.isdir(name):
            yield from self.directory(name)
        elif os.path.lexists(name) or _is_in_archive(name):
            yield name
        elif glob.has_magic(name):
            matches = sorted(glob.glob(name, recursive=True))
            if not matches:
                raise DocumentError("no file matches", "quote the glob, and check it with ls", name)
            for match in matches:
                if os.path.isdir(match):
                    if not name.endswith("**"):  # ** gives what is in it as well
                        yield from self.directory(match)
                elif "**" not in name or self.is_file(match):
                    yield match
        else:
            hint = "check the name; relative names start at the current directory"
            raise DocumentError("there is no such file or directory", hint, name)

    def directory(self, top: str) -> Iterator[str]:
        """Yields the documents in a directory and below."""
        inside = os.path.join(os.path.realpath(top), "")
        folders = [top]
        while folders:
            folder = folders.pop()
            try:
                with os.scandir(folder) as entries:
                    listed = sorted(entries, key=lambda entry: entry.name)
            except OSError as error:
                path, said = os.fsdecode(error.filename), error.strerror or str(error)
                self.skipped.append(SkippedFile(path, said))
                continue
            below = [each for each in listed if _is_directory(each)]
            for each in below:
                if each.is_symlink() and not _leads_into(each.path, inside):
                    why = f"a link to a directory outside {top}"
                    self.skipped.append(SkippedFile(each.path, why))
            folders += [each.path for each in reversed(below) if not each.is_symlink()]
            for each in listed:
                named = each.name.lower().endswith(self.suffixes) and each.name[0] != "."
                if named and not _is_directory(each) and self._is_document(each, top, inside):
                    yield each.path

    def _is_document(self, entry: os.DirEntry[str], top: str, inside: str) -> bool:
        """Says whether a file can be read; else it is skipped."""
        if entry.is_symlink() and not _leads_into(entry.path, inside):
            self.skipped.append(SkippedFile(entry.path, f"a link to a file outside {top}"))
            return False
        return self.is_file(entry.path)

    def is_file(self, path: str) -> bool:
        """Says whether a path is a file that can be read; else it is skipped."""
        try:
            status = os.stat(path)
        except OSError as error:
            reason = error.strerror or str(error)
            if os.path.islink(path) and isinstance(error, FileNotFoundError):
                reason = f"a link to {os.readlink(path)}, which does not exist"
            self.skipped.append(SkippedFile(path, reason))
            return False
        if not stat.S_ISREG(status.st_mode):
            self.skipped.append(SkippedFile(path, "a pipe or a device"))
        elif status.st_mode & _EVERYBODY != _EVERYBODY and not os.access(path, os.R_OK):
            self.skipped.append(SkippedFile(path, os.strerror(errno.EACCES)))
            return False
        self.sizes[path] = status.st_size
        return stat.S_ISREG(status.st_mode)


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _leads_into(link: str, inside: str) -> bool:
    """Says whether a link leads to a place in a directory, or to the directory itself."""
    return os.path.join(os.path.realpath(link), "").startswith(inside)


def _is_zip(path: str) -> bool:
    """Says whether a file is a zip archive; only one that is named so is opened."""
    return path.lower().endswith(".zip") and is_archive(path)


def _is_in_archive(name: str) -> bool:
    member = member_name(name)
    return member is not None and os.path.isfile(member.archive)
