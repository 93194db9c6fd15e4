"""XML files of many messages: documents one after the other, or the records of one document.

A record is a document of its own: the XML declaration and the DOCTYPE of the file, as they are
written there, and the bytes of the element, into whose start tag those namespace declarations of
elements around it are added, behind its name, that it does not have itself. Nothing else is
inherited: ``xml:lang`` and ``xml:base`` of elements around it are not seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from extract.chunktool.input.messages.blocks import (
    BLOCK_BYTES,
    MOST_BYTES,
    DocumentBlock,
    MessageBlock,
    Places,
    failed_block,
)
from extract.chunktool.input.messages.splitting import (
    DocumentSplitter,
    RecordSplitter,
    completed,
    pieces,
)
from extract.chunktool.input.source import Document, Source
from extract.errors import DocumentError
from extract.limits import RAISE, Limits

_ATTRIBUTE: Final = re.compile(rb"""\s+([^\s=/>"'<]+)\s*=\s*("[^"<]*"|'[^'<]*')""")
_SCOPE, _DECLARATION = 0, 1  # kinds of events; the third is a DOCTYPE
_WIDE: Final = (b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<", b"\x4c\x6f\xa7\x94")


def document_blocks(source: Source, limits: Limits) -> Iterator[MessageBlock]:
    """Yields the documents of a file that stand one after the other."""
    splitter = DocumentSplitter()
    first = 0
    for data, base, last in _windows(source, splitter):
        rows = splitter.split(data, base, last)
        count = len(rows)
        starts, ends = _column(rows, 0) - base, _column(rows, 1) - base
        failures = {}
        if splitter.unfinished:
            failures[count - 1] = _unfinished(source, int(rows[-1, 0]), int(rows[-1, 1]))
        if count:
            yield DocumentBlock(source.name, first, data, starts, ends, (), failures)
            first += count
        if _is_too_long(splitter, base + len(data), limits):
            yield failed_block(source.name, _too_long(source, splitter.start, limits), first)
            return
    if not first:
        yield failed_block(source.name, DocumentError("there is no document in the file"))


@dataclass(frozen=True, slots=True)
class RecordBlock:
    """Records of a document, each with what it needs to be a document of its own.

    Attributes:
        file, first, data, starts, ends: As for `DocumentBlock`.
        name_ends: Where in the start tags the names end.
        scopes: The number of the scope of each, as `RecordSplitter.split` says it.
        declarations: For each scope the namespace declarations in it, by attribute name.
        prolog: The file's XML declaration and DOCTYPE.
    """

    file: str
    first: int
    data: bytes
    starts: Places
    ends: Places
    name_ends: Places
    scopes: Places
    declarations: Mapping[int, Mapping[bytes, bytes]] = field(default_factory=dict)
    prolog: bytes = b""

    def documents(self) -> list[tuple[str, Document]]:
        """The names and the bytes of the messages."""
        scope = int(self.scopes[0])
        if scope >= 0 and (self.scopes == scope).all():
            added = _joined(self.declarations[scope])
            made = completed(self.data, self.starts, self.ends, self.name_ends, self.prolog, added)
        else:
            widths = (self.name_ends - self.starts).tolist()
            made = pieces(self.data, self.starts, self.ends)
            made = list(map(self._complete, made, widths, self.scopes.tolist()))
        return [(f"{self.file}#{n}", one) for n, one in enumerate(made, self.first)]

    def _complete(self, record: bytes, width: int, scope: int) -> bytes:
        """A record as a document; ``width`` is how far its name goes."""
        around, own = self.declarations[_number(scope)], {}
        if around and scope < 0:
            own = _declared(record, width)
        added = _joined({name: uri for name, uri in around.items() if name not in own})
        return b"%b%b%b%b" % (self.prolog, record[:width], added, record[width:])


def _joined(declarations: Mapping[bytes, bytes]) -> bytes:
    return b"".join([b" %b=%b" % one for one in declarations.items()])


def _number(scope: int) -> int:
    """The number of a scope, of which a splitter also says whether the record declares more."""
    return scope if scope >= 0 else -1 - scope


def record_blocks(source: Source, tag: str, limits: Limits) -> Iterator[MessageBlock]:
    """Yields the outermost elements with a name, as documents of their own."""
    splitter = RecordSplitter(tag.encode())
    scopes: dict[int, dict[bytes, bytes]] = {0: {}}
    first, read, number, prolog = 0, 0, 0, b""
    for data, base, last in _windows(source, splitter):
        rows, events = splitter.split(data, base, last)
        read = base + len(data)
        for kind, start, end, around in events.tolist():
            token = data[start - base : end - base]
            if kind == _SCOPE:
                number += 1
                scopes[number] = {**scopes[around], **_declared(token, _name_width(token))}
            else:
                prolog += token
        if len(rows):
            starts, ends = _column(rows, 0) - base, _column(rows, 1) - base
            used = _column(rows, 3)
            numbers = {_number(scope) for scope in np.unique(used).tolist()}
            declared = {number: scopes[number] for number in numbers}
            names = _column(rows, 2) - base
            yield RecordBlock(source.name, first, data, starts, ends, names, used, declared, prolog)
            first += len(rows)
        scopes = {one: scopes[one] for one in (0, *splitter.open_scopes)}
        if _is_too_long(splitter, read, limits):
            yield failed_block(source.name, _too_long(source, splitter.start, limits), first)
            return
    error = _rest(source, splitter, tag, first, splitter.at < read)
    if error is not None:
        yield failed_block(source.name, error)


def _rest(
    source: Source, splitter: RecordSplitter, tag: str, records: int, cut: bool
) -> DocumentError | None:
    """What is wrong with a file of records at its end; ``cut`` if it ends within a token."""
    if splitter.broken >= 0:
        reason = f"not well-formed outside of the elements {tag}; what follows is not read"
        return _placed(source, reason, "", splitter.broken)
    if splitter.start >= 0:
        reason = f"this element {tag} does not end; what follows it is not read"
        return _placed(source, reason, "", splitter.start)
    if splitter.depth or cut:
        reason = (
            f"the file is not complete: it ends outside of the elements {tag}, but within markup"
        )
        return DocumentError(reason, "the records before are answered", source.name)
    if not records:
        hint = "write the name as it is in the file, with its prefix if it has one"
        return DocumentError(f"there is no element {tag} in the file", hint, source.name)
    return None


def _windows(
    source: Source, splitter: DocumentSplitter | RecordSplitter
) -> Iterator[tuple[bytes, int, bool]]:
    """Reads a file; each window begins with what the splitter has not done with.

    Yields:
        The window, where in the file it begins, and whether the file ends with it.

    Raises:
        DocumentError: The encoding is one in which markup is not written in bytes of ASCII.
    """
    source.rewind()
    data, base, last = b"", 0, False
    while not last:
        # As much again as there is of a long message, lest its beginning be read too often.
        buffer = memoryview(bytearray(max(BLOCK_BYTES, len(data))))
        count = source.read_into(buffer)
        last = count < len(buffer)
        data += bytes(buffer[:count])
        if not base and data.startswith(_WIDE):
            hint = "convert it to UTF-8, or put each document into a file of its own"
            reason = "a file of many documents cannot be in UTF-16, UTF-32 or EBCDIC"
            raise DocumentError(reason, hint, source.name)
        yield data, base, last
        if isinstance(splitter, RecordSplitter) and splitter.broken >= 0:
            return
        kept = splitter.at if splitter.start < 0 else min(splitter.at, splitter.start)
        data, base = data[kept - base :], kept


def _column(rows: Places, number: int) -> Places:
    return np.ascontiguousarray(rows[:, number])


def _is_too_long(splitter: DocumentSplitter | RecordSplitter, read: int, limits: Limits) -> bool:
    begun = splitter.at if splitter.start < 0 else splitter.start
    return read - begun > min(MOST_BYTES, limits.document_bytes)


def _too_long(source: Source, start: int, limits: Limits) -> DocumentError:
    if limits.document_bytes < MOST_BYTES:
        reason, hint = limits.passed("document_bytes"), RAISE
    else:
        reason = f"the document has more than {MOST_BYTES:,} bytes, as one of many in a file"
        hint = "put it into a file of its own"
    return _placed(source, f"{reason}; it and what follows it is not read", hint, start)


def _unfinished(source: Source, start: int, end: int) -> DocumentError:
    reason = (
        f"the document does not end: all {end - start:,} bytes up to the end of the file are "
        "read as part of it"
    )
    hint = (
        "begin each document with an XML declaration: a broken one then ends where the next begins"
    )
    return _placed(source, reason, hint, start)


def _placed(source: Source, reason: str, hint: str, offset: int) -> DocumentError:
    line, _ = source.place(max(0, offset))
    return DocumentError(f"line {line:,} of the file, byte {offset:,}: {reason}", hint, source.name)


def _name_width(tag: bytes) -> int:
    """How far the name in a start tag goes."""
    found = re.match(rb"<[^\s/>]*", tag)
    return found.end() if found else 0


def _declared(tag: bytes, at: int) -> dict[bytes, bytes]:
    """The namespace declarations in a start tag: attribute names, and values in their quotes."""
    declared: dict[bytes, bytes] = {}
    while (found := _ATTRIBUTE.match(tag, at)) is not None:
        if found[1] == b"xmlns" or found[1].startswith(b"xmlns:"):
            declared[found[1]] = found[2]
        at = found.end()
    return declared
