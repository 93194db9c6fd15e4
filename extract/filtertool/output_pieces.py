"""Results of FLWR queries on large documents, piece by piece: in memory for one piece at a time.

A query is answered on pieces if what it binds is found there (`extract.chunktool.split.divide`),
and the engine writes its result from what is below that: then the results of all pieces, one after
the other, are the result of the document.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

import numpy as np

from extract.chunktool.input.source import Document, open_source
from extract.chunktool.split.divide import divide
from extract.chunktool.split.survey import PIECE_BYTES, Read, survey
from extract.errors import DocumentError
from extract.filtertool.matchers.push.engine import PushEngine
from extract.filtertool.matchers.push.output_programs import OutputProgram
from extract.filtertool.options import Options
from extract.filtertool.push_queries import members_by_key, question_of
from extract.limits import Limits
from extract.scheme.model import Scheme


class JoinedOutputs(NamedTuple):
    """The results of a document.

    Attributes:
        size: The bytes of the document.
        texts: By the numbers of subscribers; None if a result is too long.
    """

    size: int
    texts: dict[int, str | None]


class OutputPieces:
    """Answers queries on pieces of documents.

    Args:
        scheme: The queries.
        programs: The programs of those that the engine writes, by the numbers of subscribers.
        options: How to filter.
        piece_bytes: The size of a piece, about.

    Attributes:
        numbers: The subscribers whose queries are answered.
    """

    def __init__(
        self,
        scheme: Scheme,
        programs: Mapping[int, OutputProgram],
        options: Options,
        piece_bytes: int = PIECE_BYTES,
    ) -> None:
        self._scheme = scheme
        self._options = options
        self._piece_bytes = piece_bytes
        self._division = divide(scheme)
        forms = scheme.directory.forms
        self._programs = {
            number: program
            for number, program in programs.items()
            if int(forms[number]) in self._division.forms and program.stays_below
        }
        self.numbers = np.array(sorted(self._programs), np.int64)
        self._engine: PushEngine | None = None

    def _compiled(self) -> PushEngine:
        """The engine, with programs that write nothing around all results."""
        if self._engine is not None:
            return self._engine
        scheme, limits = self._scheme, self._options.limits
        engine = PushEngine(scheme.schema, scheme.namespaces, "output", limits)
        forms = np.full(len(scheme.directory.forms), -1, np.int32)
        forms[self.numbers] = scheme.directory.forms[self.numbers]
        for form, rows in members_by_key(forms):
            question = question_of(scheme, form, rows)
            if engine.takes(form, question):
                engine.add(form, question, rows.astype(np.int32))
        numbers_of: dict[OutputProgram, list[int]] = {}
        for number, program in self._programs.items():
            numbers_of.setdefault(program.without_frame, []).append(number)
        for program, numbers in numbers_of.items():
            engine.add_program(program, numbers)
        self._engine = engine
        return engine

    def results(self, name: str, document: Document, read: Read) -> JoinedOutputs | None:
        """The results of a document; None if it has to be answered in another way.

        It has to if it cannot be cut, breaks the schema, is not well-formed or cannot be read:
        whoever reads it then says which.

        Args:
            name: The document's name.
            document: The document, which can be read more than once.
            read: Reads the bytes between two offsets of it.
        """
        try:
            return self._joined(name, document, read)
        except (DocumentError, OSError):
            return None

    def _joined(self, name: str, document: Document, read: Read) -> JoinedOutputs | None:
        found = survey(
            self._scheme,
            self._division,
            document,
            read,
            name,
            size=self._piece_bytes,
            assume_valid=self._options.assume_valid,
            skip_records=True,
            limits=self._options.limits,
        )
        if not found.pieces or not found.conforming:
            return None
        engine, parts = self._compiled(), dict[int, _Parts]()
        for piece in found.pieces:
            done, written = engine.write([piece.head + read(piece.start, piece.end) + piece.tail])
            if done[0] != 1:
                return None
            ends = [0, *written.end.tolist()]
            for number, text in zip(written.query.tolist(), written.text.tolist(), strict=True):
                own = parts.setdefault(number, _Parts())
                own.add(written.bytes[ends[text] : ends[text + 1]], bool(written.too_long[text]))
        most = self._options.limits.query_bytes
        texts = {n: own.joined(self._programs[n], most) for n, own in sorted(parts.items())}
        return JoinedOutputs(found.size, texts)


class _Parts:
    """The results of one query on pieces."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._too_long = False

    def add(self, part: bytes, too_long: bool) -> None:
        self._parts.append(part)
        self._too_long |= too_long

    def joined(self, program: OutputProgram, most: int) -> str | None:
        """The result; None if it is too long."""
        before, behind = program.frame
        size = len(before) + len(behind) + sum(map(len, self._parts))
        if self._too_long or size > most:
            return None
        return b"".join((before, *self._parts, behind)).decode()


@contextmanager
def readable(
    document: Document, name: str, limits: Limits
) -> Iterator[tuple[Document, Callable[[int, int], bytes]]]:
    """A document that can be read again, and what reads ranges of its bytes."""
    if isinstance(document, bytes):
        yield document, lambda start, end: document[start:end]
        return
    with ExitStack() as stack:
        source = stack.enter_context(open_source(document, name, limits))
        path = source.plain_path
        if path is None:
            copy = stack.enter_context(tempfile.NamedTemporaryFile(prefix="extract-"))
            for window in source.windows():
                copy.write(window)
            copy.flush()
            path = copy.name
        file = stack.enter_context(open(path, "rb"))

        def read(start: int, end: int) -> bytes:
            file.seek(start)
            return file.read(end - start)

        yield path, read
