"""Reads the messages of a file, whatever its form."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

from extract.chunktool.input.find import STDIN, InputFile
from extract.chunktool.input.messages.blocks import FailedMessage, MessageBlock, failed_block
from extract.chunktool.input.messages.columns import column_blocks
from extract.chunktool.input.messages.form import Messages
from extract.chunktool.input.messages.json_lines import line_blocks
from extract.chunktool.input.messages.xml_file import document_blocks, record_blocks
from extract.chunktool.input.remote import RemoteFile, document_of
from extract.chunktool.input.source import Document, Source, open_source
from extract.errors import DocumentError
from extract.limits import Limits


def message_blocks(file: InputFile, limits: Limits) -> Iterator[MessageBlock]:
    """Yields the messages of a file in blocks; what is wrong with the file is a message, too.

    Args:
        file: The file, whose ``messages`` say how to read it.
        limits: How large a message may be; the file may be larger.
    """
    assert file.messages is not None
    name = "<stdin>" if file.name == STDIN else file.name
    document = STDIN if file.name == STDIN else document_of(file)
    unlimited = replace(limits, document_bytes=sys.maxsize)
    try:
        with open_source(document, name, unlimited) as source:
            yield from _blocks(source, file.messages, limits)
    except DocumentError as error:
        yield failed_block(name, error)
    finally:
        if isinstance(document, RemoteFile):
            document.close()


class SingleDocuments(Iterable[Document]):
    """The documents of some files one by one, messages among them, as often as one likes.

    Args:
        files: Paths of documents, or files of one document or many. Standard input must be able
            to go back.
        limits: How large a message may be.

    Attributes:
        on_stdin: Whether one of the files is standard input.
    """

    def __init__(self, files: Iterable[str | InputFile], limits: Limits) -> None:
        self._files = [InputFile(one, 0) if isinstance(one, str) else one for one in files]
        self._limits = limits
        self.on_stdin = any(one.name == STDIN for one in self._files)

    def __iter__(self) -> Iterator[Document]:
        for file in self._files:
            if file.messages is None:
                yield file.name
                continue
            with _read_again(file.name == STDIN):
                for block in message_blocks(file, self._limits):
                    for _, document in block.documents():
                        if not isinstance(document, FailedMessage):
                            yield document


@contextlib.contextmanager
def _read_again(on_stdin: bool) -> Iterator[None]:
    """Leaves standard input, which must be able to go back, where it was."""
    stream = getattr(sys.stdin, "buffer", sys.stdin)
    start = stream.tell() if on_stdin else 0
    try:
        yield
    finally:
        if on_stdin:
            stream.seek(start)


def _blocks(source: Source, messages: Messages, limits: Limits) -> Iterator[MessageBlock]:
    form = messages.form
    if form.kind in ("parquet", "arrow"):
        yield from column_blocks(source, messages, limits)
        return
    if form.kind == "ndjson":
        blocks = line_blocks(source, form, limits)
    elif form.tag:
        blocks = record_blocks(source, form.tag, limits)
    else:
        blocks = document_blocks(source, limits)
    # Every share reads the whole file, and has every n-th block of it: that is cheap, and so no
    # message needs a place or a number from somebody else.
    yield from islice(blocks, messages.share, None, messages.shares)
