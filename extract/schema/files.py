"""The files that a schema is made of: found, read and remembered; never fetched from the network.

A reference to another file is resolved, in this order:

1. by ``catalog.xml`` beside the main schema file, if there is one (see `extract.schema.catalog`);
2. as a path relative to the file that refers to it;
3. by a file of the same name beside the referring file or below the main file's folder, with a
   note to the user;

else it is an error that says who refers to what, and where.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

from extract.errors import SchemaError
from extract.schema.catalog import NAME as CATALOG
from extract.schema.catalog import Catalog, parse_catalog

MAX_FILE_BYTES = 64 * 1024 * 1024
_MAX_LISTED = 20_000  # files looked at below the main folder when searching by name


class SchemaFiles:
    """Finds and reads the files of one schema.

    Args:
        given: The main file as the user names it.
        content: Its bytes, where they are not those of the file: a DTD inside of a document.
        alone: Whether only files below the main file's folder belong to the schema: strangers sent
            them, and must not learn of any other file.

    Attributes:
        given: The main file as the user named it.
        main: Its absolute path.
    """

    def __init__(
        self, given: str | Path, content: bytes | None = None, alone: bool = False
    ) -> None:
        self.given = str(given)
        self._alone = alone
        self.main = Path(os.path.abspath(given))
        self._notes: list[str] = []
        self._namesakes: dict[str, Path] = {}
        self._contents: dict[Path, bytes] = {} if content is None else {self.main: content}
        self._by_name: dict[str, list[Path]] | None = None
        self._catalog: Catalog | None = None

    def read(self, path: Path) -> bytes:
        """The bytes of a file, which then counts as part of the schema."""
        if path not in self._contents:
            shown = self.show(path)
            try:
                if path.is_dir():
                    raise SchemaError("is a directory, not a schema file", "", shown)
                if path.exists() and not path.is_file():
                    raise SchemaError("is not a regular file", "", shown)
                if path.stat().st_size > MAX_FILE_BYTES:
                    raise SchemaError(
                        f"is larger than {MAX_FILE_BYTES >> 20} MB, too large for a schema",
                        "is this a document?",
                        shown,
                    )
                content = path.read_bytes()
                if "\0" in decoded(content):  # libxml2 would take it for the end of a module
                    raise SchemaError("has a NUL character, so it is no text file", "", shown)
                self._contents[path] = content
            except FileNotFoundError:
                raise SchemaError("there is no such schema file", "", shown) from None
            except OSError as error:
                reason = error.strerror or str(error)
                raise SchemaError(f"cannot be read: {reason}", "", shown) from error
        return self._contents[path]

    def show(self, path: Path) -> str:
        """A path as the user would write it: relative to how the main file was given."""
        if path == self.main:
            return self.given
        if path.is_relative_to(self.main.parent):
            return str(Path(self.given).parent / path.relative_to(self.main.parent))
        return str(path)

    def note(self, text: str) -> None:
        """Keeps a note for the user, once."""
        if text not in self._notes:
            self._notes.append(text)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about how the schema was read."""
        namesakes = [
            f"{reference}: {self.show(path)}" for reference, path in self._namesakes.items()
        ]
        if len(namesakes) > 3:
            namesakes[3:] = [f"and {len(namesakes) - 3} more"]
        by_name = (f"found by file name only: {'; '.join(namesakes)}",) if namesakes else ()
        return (*by_name, *self._notes)

    def digest(self) -> str:
        """SHA-256 (hex) over the names and contents of all files read so far."""
        files = sorted(
            (path != self.main, path.name, hashlib.sha256(content).hexdigest())
            for path, content in self._contents.items()
        )
        return hashlib.sha256(repr([file[1:] for file in files]).encode()).hexdigest()

    def locate(
        self, reference: str, referrer: Path, line: int = 0, public: str = "", what: str = "file"
    ) -> Path:
        """The local file that a reference means.

        Args:
            reference: The address as written, relative or absolute.
            referrer: The file that it stands in.
            line: The line there, 0 if unknown.
            public: The public identifier, if any.
            what: What refers to it, for messages: ``"xs:import"``, say.

        Raises:
            SchemaError: There is no such local file.
        """
        address = urljoin(referrer.as_uri(), reference)
        catalog = self.catalog
        target = catalog.by_address(reference, address)
        if target is None:
            path = self._local(address)
            if path is not None and path.is_file():
                return path
            target = catalog.by_public(public)
        if target is not None:
            path = self._local(target)
            if path is not None and path.is_file():
                return path
            raise SchemaError(
                f"{what} refers to {reference}, for which {CATALOG} names {target}, "
                "but that is not a local file",
                f"correct {self.show(catalog.file) if catalog.file else CATALOG}",
                self.show(referrer),
                line,
            )
        path = self._namesake(address, referrer, line, what)
        if path is not None:
            self._namesakes[reference] = path
            return path
        name = _file_name(address) or reference
        if self._alone:
            reason = f"{what} refers to {reference}, which is not among the files of the schema"
        elif local_path(address) is None:
            reason = f"{what} refers to {reference}, and nothing is ever read from the network"
        else:
            reason = f"{what} refers to {reference}, which does not exist"
        hint = f"put {name} beside {referrer.name}, or say where it is in a {CATALOG} beside "
        raise SchemaError(reason, hint + self.main.name, self.show(referrer), line)

    def _local(self, address: str) -> Path | None:
        """The path that an address means, if it may be part of the schema."""
        path = local_path(address)
        if path is not None and self._alone and not path.is_relative_to(self.main.parent):
            return None
        return path

    @property
    def catalog(self) -> Catalog:
        """The catalog beside the main file; empty if there is none."""
        if self._catalog is None:
            self._catalog = Catalog()
            file = self.main.parent / CATALOG
            if file.is_file() and file != self.main and file.stat().st_size < MAX_FILE_BYTES:
                entries = parse_catalog(file, file.read_bytes())
                if entries is not None:
                    self.read(file)
                    self._catalog = entries
        return self._catalog

    def _namesake(self, address: str, referrer: Path, line: int, what: str) -> Path | None:
        """A file with the name of the missing one, beside the referrer or below the main folder."""
        name = _file_name(address)
        if not name:
            return None
        beside = referrer.parent / name
        if beside.is_file() and beside != referrer:
            return beside
        if self._by_name is None:
            self._by_name = {}
            for path in _files_below(self.main.parent):
                self._by_name.setdefault(path.name, []).append(path)
        candidates = [path for path in self._by_name.get(name, []) if path != referrer]
        if len({path.read_bytes() for path in candidates}) > 1:
            raise SchemaError(
                f"{what} refers to {address}, and there are several different files {name}: "
                + ", ".join(self.show(path) for path in candidates),
                f"say which one in a {CATALOG} beside {self.main.name}",
                self.show(referrer),
                line,
            )
        return candidates[0] if candidates else None


def decoded(content: bytes) -> str:
    """The text of a file, good enough to look for something in it."""
    utf_16 = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    return content.decode("utf-16" if utf_16 else "utf-8-sig", "replace")


def local_path(address: str) -> Path | None:
    """The path that a ``file:`` URL or a plain path means; None for any other address.

    >>> local_path("file:///a/b%20c.dtd")
    PosixPath('/a/b c.dtd')
    >>> local_path("https://example.org/b.dtd") is None
    True
    """
    parts = urlsplit(address)
    if parts.scheme not in ("", "file") or parts.netloc not in ("", "localhost"):
        return None
    path = unquote(parts.path)
    return Path(os.path.abspath(path)) if path and "\0" not in path else None


def _file_name(address: str) -> str:
    """The last part of an address, empty where there is none."""
    return unquote(urlsplit(address).path).replace("\\", "/").rpartition("/")[2]


def _files_below(folder: Path) -> Iterator[Path]:
    """Files below a folder, shallow ones first in each branch, in a fixed order, up to a limit."""
    seen = 0
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            seen += 1
            if seen > _MAX_LISTED:
                return
            path = Path(parent, name)
            if path.is_file():  # not a dangling link
                yield path
