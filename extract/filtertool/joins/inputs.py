"""The documents of a run in their order: by time, then by path."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from typing import Any, Final, NamedTuple

from lxml import etree

from extract.chunktool.input.archives import member_name
from extract.chunktool.input.find import STDIN, InputFile
from extract.chunktool.input.messages.read import message_blocks
from extract.chunktool.input.source import Document, open_source
from extract.errors import DocumentError
from extract.filtertool.results.outcome import Rejection
from extract.limits import Limits
from extract.markup.lxml_parser import parse_tree
from extract.xpath.check import parse_checked
from extract.xscl.times import microseconds

ARRIVAL: Final = "arrival"
FILE_TIME: Final = "mtime"
_SECOND: Final = Decimal(1_000_000)

FindTime = Callable[[Document, str], int]


class JoinInput(NamedTuple):
    """A document that joins are to take.

    Attributes:
        stream: Its stream.
        name: Its name.
        document: The document.
        time: Its time in seconds; None for the time of its arrival.
    """

    stream: str
    name: str
    document: Document
    time: Decimal | None


class NoTime(Exception):
    """A document without a time; the message says why."""


def in_order(
    files: Iterable[tuple[str, InputFile]], time: str, namespaces: dict[str, str], limits: Limits
) -> Iterator[JoinInput | Rejection]:
    """Yields documents by their times, then by their paths; first those that have no time.

    Args:
        files: Streams and the files of their documents.
        time: ``arrival`` for the order of the files; ``mtime`` for the time of the file; or an
            XPath that leads to the time in a document.
        namespaces: Prefix to namespace URI, for that XPath.
        limits: How large documents may be.

    Raises:
        QuerySyntaxError: The XPath does not parse.
    """
    if time == ARRIVAL:
        yield from timed_documents(files, time, namespaces, limits)
        return
    timed: list[tuple[int, str, int, JoinInput]] = []
    for number, one in enumerate(timed_documents(files, time, namespaces, limits)):
        if isinstance(one, Rejection):
            yield one
        else:
            assert one.time is not None
            timed.append((microseconds(one.time), one.name, number, one))
    timed.sort(key=lambda row: row[:3])
    for row in timed:
        yield row[3]


def timed_documents(
    files: Iterable[tuple[str, InputFile]], time: str, namespaces: dict[str, str], limits: Limits
) -> Iterator[JoinInput | Rejection]:
    """Yields documents with their times, in the order of the files; as for `in_order`."""
    find = None
    if time not in (ARRIVAL, FILE_TIME):
        find = _time_in_document(time, namespaces, limits)
    for stream, name, document, file in _documents(files, limits):
        try:
            if time == ARRIVAL:
                yield JoinInput(stream, name, document, None)
                continue
            moment = _file_time(file) if find is None else find(document, name)
        except NoTime as error:
            yield Rejection(name, None, "time", str(error))
        except DocumentError as error:
            place = error.offset if error.offset >= 0 else None
            yield Rejection(name, None, "read", error.reason, error.line or None, place)
        else:
            yield JoinInput(stream, name, document, moment / _SECOND)


def _documents(
    files: Iterable[tuple[str, InputFile]], limits: Limits
) -> Iterator[tuple[str, str, Document, InputFile]]:
    """The stream, name, bytes or path, and file of each document."""
    for stream, file in files:
        if file.messages is None:
            name = "<stdin>" if file.name == STDIN else file.name
            yield stream, name, file.place, file
        else:
            for block in message_blocks(file, limits):
                for name, document in block.documents():
                    yield stream, name, document, file


def _file_time(file: InputFile) -> int:
    member = member_name(file.place)
    path = file.place if member is None else file.place.partition("!")[0]
    try:
        return os.stat(path).st_mtime_ns // 1_000
    except OSError as error:
        raise NoTime(f"the file has no time: {error.strerror or error}") from error


def _time_in_document(xpath: str, namespaces: dict[str, str], limits: Limits) -> FindTime:
    expr = parse_checked(xpath, namespaces, limits)
    compiled = etree.XPath(f"string({expr})", namespaces=namespaces, smart_strings=False)

    def find(document: Document, name: str) -> int:
        with open_source(document, name, limits) as source:
            data = source.load(limits.whole_bytes)
        if data is None:
            raise DocumentError(limits.passed("whole_bytes"), file=name)
        text = _text(compiled, data)
        if not text:
            raise NoTime(f"there is no time at {xpath}")
        try:
            return microseconds(text)
        except ValueError as error:
            raise NoTime(f"at {xpath}: {error}") from error

    return find


def _text(compiled: Any, data: bytes) -> str:
    try:
        return str(compiled(parse_tree(data)))
    except etree.XMLSyntaxError as error:
        raise DocumentError(error.msg, line=error.lineno or 0) from error
    except etree.XPathError as error:
        raise NoTime(str(error)) from error
