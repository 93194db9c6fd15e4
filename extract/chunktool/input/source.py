"""A document as bytes that come in windows and can be read again from the beginning.

Whatever a document is, bytes, a file, standard input, a stream of somebody else's, compressed or
not, a scan reads it front to back into a buffer of its own. Often it must be read again: another
scanner takes over, the document turns out to be nonconforming and is evaluated whole, or an error
wants the line of a byte. So what can be rewound is rewound, and anything else is copied to a
temporary file while it is read (TRAPS 9).

Files are read, never mapped: one that somebody truncates under us then is a short document, and not
the end of the process (TRAPS 23).
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, BinaryIO, Final, TypeAlias, TypeVar

from extract.chunktool.input.archives import ZIP, Unzipped, member_name
from extract.chunktool.input.packed import MAGIC_BYTES, packing_of, unpacked
from extract.chunktool.input.streams import (
    FOR_BYTES,
    Bytes,
    Copied,
    GivenStream,
    InMemory,
    Rewound,
    standard_input,
)
from extract.errors import DocumentError
from extract.limits import DEFAULTS, RAISE, Limits

__all__ = ["WINDOW", "Document", "Source", "open_source"]

WINDOW: Final = 1 << 22  # bytes read at a time

Document: TypeAlias = (
    "bytes | bytearray | memoryview | str | os.PathLike[str] | BinaryIO | io.IOBase"
)

_T = TypeVar("_T")


class Source:
    """A document that can be read again and again. Make one with `open_source`.

    Args:
        name: What messages call it.
        data: Its bytes, unpacked where they were compressed.
        memory: All its bytes, where they are in memory as they are.
        lasting: Whether it can still be read when the caller is done with what it gave us.
        limits: How large it may be.

    >>> with open_source(b"<a>\\n <b></a>") as source:
    ...     source.name, b"".join(source.windows(5)), source.place(6)
    ('<bytes>', b'<a>\\n <b></a>', (2, 3))
    """

    def __init__(
        self,
        name: str,
        data: Bytes,
        memory: memoryview | None = None,
        lasting: bool = True,
        limits: Limits | None = None,
    ) -> None:
        self._limits = limits or DEFAULTS
        self._read = 0
        self.name = name
        self.memory = memory
        self.lasting = lasting
        self._data = data
        self._kept = False
        self._reading = 0  # how often it was begun
        if memory is not None and len(memory) > self._limits.document_bytes:
            raise self._too_large()

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._kept:
            self.close()

    def keep(self) -> None:
        """Leaves the source open after its ``with`` block, until nobody holds it any more."""
        self._kept = True

    def close(self) -> None:
        """Frees what belongs to the source; a stream of the caller's stays open."""
        self._data.close()

    @property
    def plain_path(self) -> str | None:
        """The path of the file that has just these bytes; None if there is none."""
        return self._data.path if isinstance(self._data, Rewound) else None

    def rewind(self) -> None:
        """Starts again from the first byte.

        Raises:
            DocumentError: It cannot be read.
        """
        self._reading += 1
        self._read = 0
        self._guarded(self._data.rewind)

    def read_into(self, target: memoryview) -> int:
        """Fills a buffer with the bytes that come next.

        Returns:
            How many there were: less than the buffer holds only at the end.

        Raises:
            DocumentError: They cannot be read, or cannot be unpacked.
        """
        filled = 0
        while filled < len(target):
            count = self._guarded(partial(self._data.read_into, target[filled:]))
            if not count:
                break
            filled += count
            self._read += count
            if self._read > self._limits.document_bytes:
                raise self._too_large()
        return filled

    def _too_large(self) -> DocumentError:
        place = (self.name, 0, 0, self._limits.document_bytes)
        return DocumentError(self._limits.passed("document_bytes"), RAISE, *place)

    def _guarded(self, read: Callable[[], _T]) -> _T:
        try:
            return read()
        except DocumentError as error:
            raise error.at(self.name, 0, 0) from None
        except OSError as error:  # an OSError that leaves here would seem to be one of the output
            raise DocumentError(
                f"cannot be read: {error.strerror or error}", file=self.name
            ) from error

    def windows(self, size: int = WINDOW) -> Iterator[memoryview]:
        """The whole document from the beginning; a window is only good until the next one."""
        if self.memory is not None:
            for start in range(0, len(self.memory), size):
                yield self.memory[start : start + size]
            return
        self.rewind()
        mine = self._reading
        buffer = memoryview(bytearray(size))
        while count := self.read_into(buffer):
            yield buffer[:count]
            if self._reading != mine:
                raise RuntimeError(f"{self.name} is being read twice at the same time")

    def load(self, most: int) -> bytes | None:
        """Reads the whole document into memory, where every later reading finds it.

        Args:
            most: How many bytes to read at most. A document that is in memory already has no limit.

        Returns:
            The document; None if it is larger, and then it is not in memory.

        Raises:
            DocumentError: It cannot be read, or cannot be unpacked.
        """
        if self.memory is not None:
            whole = self.memory.obj
            data = whole if isinstance(whole, bytes) else bytes(self.memory)
        else:
            parts: list[bytes] = []
            size = 0
            for window in self.windows():
                size += len(window)
                if size > most:
                    return None
                parts.append(bytes(window))
            data = b"".join(parts)
        self.memory = memoryview(data)
        return data

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of a byte, both from 1. Reads the document up to there.

        Lines end where libxml2 sees them end, at a line feed. Columns count characters.
        """
        line, column, read, width, feed = 1, 0, 0, 1, b"\n"
        for window in self.windows():
            data = bytes(window[: offset - read])
            if not read:
                width, feed = _units(bytes(window[:4]))
            read += len(data)
            if width == 1:
                line += data.count(feed)
                last = data.rfind(feed) + 1
                fresh = len(data[last:].translate(None, _CONTINUATION))
            else:
                ends = [i for i in _occurrences(data, feed) if i % width == 0]
                line += len(ends)
                last = ends[-1] + width if ends else 0
                fresh = len(data[last:]) // width
            column = fresh + (0 if last else column)
            if read >= offset:
                break
        return line, column + 1


_CONTINUATION: Final = bytes(range(0x80, 0xC0))  # bytes of UTF-8 that begin no character


def _units(start: bytes) -> tuple[int, bytes]:
    """How many bytes a character has, and the line feed, in the encoding that a document is in."""
    if start.startswith((b"\xff\xfe", b"<\0")):
        return 2, b"\n\0"
    if start.startswith((b"\xfe\xff", b"\0<")):
        return 2, b"\0\n"
    return 1, b"\n"


def _occurrences(data: bytes, what: bytes) -> Iterator[int]:
    found = data.find(what)
    while found >= 0:
        yield found
        found = data.find(what, found + 1)


def open_source(document: Document, name: str = "", limits: Limits | None = None) -> Source:
    """Makes a document readable, again and again.

    Args:
        document: Bytes; a path; ``"-"`` for standard input; or a file object, opened for bytes,
            that is read from where it stands. Each may be compressed: with gzip, bzip2, xz, zstd,
            or as the only file of a zip archive; ``"a.zip!b.xml"`` is a path, too.
        name: What messages call it; by default the path, or the file object's name.
        limits: How large it may be, and become when it is unpacked.

    Raises:
        DocumentError: It cannot be opened.
        TypeError: It is no document: a file opened for text, say. Or its name is not a string.
    """
    check_document(name, document)
    limits = limits or DEFAULTS
    memory: memoryview | None = None
    lasting = True
    data: Bytes
    if isinstance(document, bytes | bytearray | memoryview):
        name = name or "<bytes>"
        memory = _in_memory(name, document)
        data = InMemory(memory)
    else:
        data, name, lasting = _open(document, name, limits)
    start = _first_bytes(name, data)
    if start.startswith(ZIP):
        try:
            memory, data = None, Unzipped.of_bytes(data, limits)
        except DocumentError as error:
            raise error.at(name, 0, 0) from None
        start = _first_bytes(name, data)
    packing = packing_of(start)
    if packing is not None:
        memory, data = None, unpacked(packing, data, limits)
    return Source(name, data, memory, lasting, limits)


def check_document(name: object, document: object) -> None:
    """Makes sure that a document can be tried: what it holds, and whether that can be read, is the
    document's affair; what is given as one, the caller's.

    Raises:
        TypeError: The name is not a string, or the document is not bytes, a path or a file object
            opened for bytes.
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of a document is a string, not {type(name).__name__}")
    if isinstance(document, str):
        if document.lstrip("\ufeff \t\r\n").startswith("<"):
            reason = "a string is the path of a document; give the document itself as bytes"
            raise TypeError(reason)
    elif isinstance(document, io.TextIOBase):
        raise TypeError(FOR_BYTES)
    elif not (
        isinstance(document, bytes | bytearray | memoryview | os.PathLike)
        or callable(getattr(document, "read", None))
    ):
        kind = type(document).__name__
        raise TypeError(f"a document is bytes, a path or a file object, not {kind}")


def check_documents(documents: Iterable[tuple[object, object]]) -> None:
    """The same for pairs of a name and a document."""
    for pair in documents:
        try:
            name, document = pair
        except (TypeError, ValueError):
            raise TypeError("documents come as pairs of a name and a document") from None
        check_document(name, document)


def path_of(document: str | os.PathLike[Any]) -> str:
    """Returns the path of a document.

    Raises:
        DocumentError: The object does not tell its path.
    """
    try:
        return os.fsdecode(document)
    except MemoryError:
        raise
    except Exception as error:
        reason = f"cannot be opened: {error}"
        raise DocumentError(reason, file=type(document).__name__) from error


def _in_memory(name: str, document: bytes | bytearray | memoryview) -> memoryview:
    """Returns the bytes of a document, such that ``obj`` is the document and nothing else."""
    try:
        if isinstance(document, memoryview) and not _is_all(document):
            document = bytes(document)
        return memoryview(document).cast("B")
    except (ValueError, TypeError, BufferError) as error:  # released, or not in one piece
        raise DocumentError(f"cannot be read: {error}", file=name) from error


def _first_bytes(name: str, data: Bytes) -> bytes:
    """Returns the bytes that tell how a document is compressed, and goes back to the first."""
    begin = memoryview(bytearray(MAGIC_BYTES))
    source = Source(name, data)
    try:
        start = bytes(begin[: source.read_into(begin)])
        source.rewind()
    except DocumentError:
        data.close()
        raise
    return start


def _is_all(view: memoryview) -> bool:
    """Whether a view shows all of the object that it is of."""
    whole: object = view.obj  # None for memory that belongs to no object
    return whole is not None and view.nbytes == memoryview(view.obj).nbytes


def _open(document: Any, name: str, limits: Limits) -> tuple[Bytes, str, bool]:
    """The bytes of a path or stream, what to call it, and whether it is ours to keep."""
    path: str | None = None
    if isinstance(document, str) and document == "-":
        stream, name = standard_input(), name or "<stdin>"
    elif isinstance(document, str | os.PathLike):
        path = path_of(document)
        name = name or path
        try:
            member = member_name(path)
            if member is not None:
                return Unzipped.of_file(member, limits), name, True
            stream = GivenStream(open(path, "rb", buffering=0))  # noqa: SIM115 (the source closes it)
        except OSError as error:
            reason = f"cannot be opened: {error.strerror or error}"
            raise DocumentError(reason, _open_hint(error), name) from error
        except DocumentError as error:
            raise error.at(name, 0, 0) from None
        except ValueError as error:  # a NUL in the name
            raise DocumentError(f"cannot be opened: {error}", file=name) from error
    else:
        stream = document if isinstance(document, GivenStream) else GivenStream(document)
        name = name or stream.name or "<stream>"
    owned, start = path is not None, stream.start()
    if start is None:
        return Copied(stream, owned), name, True
    return Rewound(stream, start, owned, path), name, owned


def _open_hint(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "check the name; relative names start at the current directory"
    if isinstance(error, PermissionError):
        return "check who may read it"
    return ""
