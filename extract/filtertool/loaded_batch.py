"""A batch of documents, those of them in memory that the push engine can take."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterable, Sequence
from typing import IO, Any, Final

import numpy as np
from numpy.typing import NDArray

from extract.chunktool.input.find import STDIN
from extract.chunktool.input.small_files import read_small
from extract.chunktool.input.source import Document, check_document, open_source, path_of
from extract.chunktool.input.streams import GivenStream, standard_input
from extract.errors import DocumentError
from extract.limits import Limits

UNNAMED: Final = "<bytes>"
NamedDocument = tuple[str, Document]
Places = NDArray[np.int64]


class LoadedBatch:
    """Documents of one batch. Bytes are taken as they are, without a look at each of them.

    Args:
        documents: The documents, with their names.
        most: The largest document, in bytes, that is loaded.
        limits: How large documents may be.

    Attributes:
        names: The name of each document.
        loaded: Documents in memory.
        places: The number of each of these in the batch.
        largest: The bytes of the largest document in memory.
        large: The numbers of documents that have too many bytes.
    """

    def __init__(self, documents: Iterable[NamedDocument], most: int, limits: Limits) -> None:
        from extract.filtertool.matchers.push._push import named_documents, plain_documents

        names, contents = named_documents(documents)
        if "" in names:
            names = list(map(_name, names, contents))
        self.names: Sequence[str] = names
        self._contents: tuple[Document, ...] = contents
        most = min(most, limits.document_bytes)
        self.places: Places
        self.places, self._sizes, self.largest = plain_documents(contents, most)
        self.loaded: tuple[bytes, ...] = contents
        self.large: set[int] = set()
        self._files: list[IO[bytes]] = []
        self._starts: dict[int, int] = {}  # of streams, where documents begin in them
        if len(self.places) < len(contents):
            self._load(most, limits)

    def _load(self, most: int, limits: Limits) -> None:
        """Reads documents that are files or streams, and unpacks compressed ones."""
        contents = list(self._contents)
        loaded = {place: contents[place] for place in self.places.tolist()}
        others = [place for place in range(len(contents)) if place not in loaded]
        for place in others:  # all of them, before anything is read
            check_document(self.names[place], contents[place])
        for place in others:
            stream = _stream_of(contents[place])
            if stream is not None:
                contents[place] = self._kept(stream, place, most, limits)
            document, data = contents[place], None
            if isinstance(document, (bytes, bytearray, memoryview, str, os.PathLike)):
                data = _read(document, self.names[place], most, limits)
            if data is None:
                self.large.add(place)
            else:
                loaded[place] = data
        self._contents = tuple(contents)
        places = sorted(loaded)
        self.places = np.array(places, np.int64)
        self.loaded = tuple([loaded[place] for place in places])
        self._sizes = np.fromiter(map(len, self.loaded), np.int64, len(places))
        self.largest = max(map(len, self.loaded), default=0)

    def _kept(self, stream: GivenStream, place: int, most: int, limits: Limits) -> Any:
        """A stream as something that can be read again; as it is if that fails: whoever reads it
        next then says why."""
        try:
            kept = self._copied(stream, place, most, limits)
        except OSError:
            kept = stream
        if _is_path(self._contents[place]):
            stream.close()  # a pipe, which was opened here
        return kept

    def _copied(self, stream: GivenStream, place: int, most: int, limits: Limits) -> Any:
        start = stream.start()
        head = _some(stream, most + 1)
        if len(head) <= most:
            return head
        if start is not None:
            self._starts[place] = start
            return stream
        file = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the batch)
        self._files.append(file)
        while head and file.tell() <= limits.document_bytes:
            file.write(head)
            head = stream.read(1 << 20)
        self._starts[place] = 0
        return file

    def close(self) -> None:
        """Removes what was kept of streams."""
        for file in self._files:
            file.close()

    def __len__(self) -> int:
        return len(self.names)

    def document(self, place: int) -> NamedDocument:
        """A document, with its name; each call gives it from its beginning."""
        document: Any = self._contents[place]
        if place in self._starts:
            with contextlib.suppress(OSError):  # whoever reads it then says why
                document.seek(self._starts[place])
        return self.names[place], document

    def data(self, place: int) -> bytes:
        """The bytes of a document that is in memory."""
        return self.loaded[int(np.searchsorted(self.places, place))]

    def in_memory(self, place: int) -> bytes | None:
        """The bytes of a document; None if it is not in memory, or could not be read."""
        at = int(np.searchsorted(self.places, place))
        if at == len(self.places) or self.places[at] != place:
            return None
        return self.loaded[at] or None

    def sizes(self, first: int, end: int) -> Places:
        """The bytes of some documents, which are all in memory."""
        low, high = first, end
        if len(self.places) < len(self.names):
            low, high = np.searchsorted(self.places, [first, end]).tolist()
        return self._sizes[low:high]


def _name(name: str, document: Document) -> str:
    """The name of a document: that of its path, if it was given none."""
    if name or not isinstance(document, (str, os.PathLike)):
        return name or UNNAMED
    try:
        return path_of(document)
    except DocumentError:
        return UNNAMED


def _is_path(document: Any) -> bool:
    return isinstance(document, os.PathLike) or (isinstance(document, str) and document != STDIN)


def _stream_of(document: Any) -> GivenStream | None:
    """The stream that a document is, which may not be there any more when it is read again."""
    if isinstance(document, (bytes, bytearray, memoryview)):
        return None
    if isinstance(document, str) and document == STDIN:
        return standard_input()
    if not _is_path(document):
        return document if isinstance(document, GivenStream) else GivenStream(document)
    try:
        path = path_of(document)
        if stat.S_ISFIFO(os.stat(path).st_mode):
            return GivenStream(open(path, "rb"))
    except (OSError, ValueError, DocumentError):
        pass
    return None


def _some(stream: GivenStream, size: int) -> bytes:
    """The next bytes of a stream; fewer than asked for only at its end."""
    parts: list[bytes] = []
    while size > 0 and (part := stream.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _read(document: Document, name: str, most: int, limits: Limits) -> bytes | None:
    """The bytes of a document; None if they are too many. One that cannot be read is empty, which
    the engine does not take: whoever reads it in another way then says why."""
    try:
        if isinstance(document, (str, os.PathLike)):
            data = read_small(path_of(document), most)
            if data is not None:
                return data
        with open_source(document, name, limits) as source:
            data = source.load(most)
    except (DocumentError, TypeError):
        return b""
    return data if data is not None and len(data) <= most else None
