"""Results of FLWR queries on large documents, piece by piece: in memory for one piece at a time.

A query is answered on pieces if what it binds is found there (`extract.chunktool.split.divide`),
and the engine writes its result from what is below that: then the results of all pieces, one after
the other, are the result of the document; or in the order of their keys, which the engine writes
with them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from extract.chunktool.input.source import Document, open_source
from extract.chunktool.split.divide import divide
from extract.chunktool.split.survey import PIECE_BYTES, Read, survey
from extract.errors import DocumentError
from extract.filtertool.matchers.push.engine import PushEngine
from extract.filtertool.matchers.push.output_programs import OutputProgram
from extract.filtertool.options import Options
from extract.filtertool.output_parts import OutputParts
from extract.filtertool.push_queries import members_by_key, question_of
from extract.filtertool.scheme_view import SchemeView
from extract.filtertool.written_queries import WrittenQueries
from extract.limits import Limits

_MOST_KEYS: Final = 1 << 30  # bytes of keys that results of a piece may have beside their limit


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
        view: The queries, and the numbers of their subscribers.
        written: Those whose results the engine writes.
        options: How to filter.
        piece_bytes: The size of a piece, about.

    Attributes:
        numbers: The subscribers whose queries are answered.
    """

    def __init__(
        self,
        view: SchemeView,
        written: WrittenQueries,
        options: Options,
        piece_bytes: int = PIECE_BYTES,
    ) -> None:
        self._scheme = scheme = view.scheme
        self._options = options
        self._piece_bytes = piece_bytes
        self._division = divide(scheme)
        forms = scheme.directory.forms
        numbers = view.numbers[: len(forms)]
        self._rows = np.array(
            [
                row
                for row, number in enumerate(numbers.tolist())
                if number in written
                and int(forms[row]) in self._division.forms
                and written.program(number).stays_below
            ],
            np.int64,
        )
        self.numbers = numbers[self._rows].astype(np.int64)
        self._programs = {number: written.program(number) for number in self.numbers.tolist()}
        self._engine: PushEngine | None = None

    def _compiled(self) -> PushEngine:
        """The engine, with programs that write nothing around all results, and keys."""
        if self._engine is not None:
            return self._engine
        scheme, limits = self._scheme, self._options.limits
        limits = replace(limits, query_bytes=limits.query_bytes + _MOST_KEYS)
        engine = PushEngine(scheme.schema, scheme.namespaces, "output", limits)
        for form, members in members_by_key(scheme.directory.forms[self._rows]):
            question = question_of(scheme, form, self._rows[members])
            if engine.takes(form, question):
                engine.add(form, question, self.numbers[members].astype(np.int32))
        numbers_of: dict[OutputProgram, list[int]] = {}
        for number, program in self._programs.items():
            numbers_of.setdefault(program, []).append(number)
        for program, numbers in numbers_of.items():
            engine.assign_program(engine.add_program(program.for_pieces), numbers)
        self._engine = engine
        return engine

    def figures(self) -> dict[str, float]:
        """What the engine has done so far, as ``figures`` in ``report.json``."""
        own = {} if self._engine is None else self._engine.figures()
        return {f"push_{name}": n for name, n in own.items()}

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
        engine, parts = self._compiled(), dict[int, OutputParts]()
        most = self._options.limits.query_bytes
        for piece in found.pieces:
            done, written = engine.write([piece.head + read(piece.start, piece.end) + piece.tail])
            if done[0] != 1:
                return None
            ends = [0, *written.end.tolist()]
            for number, text in zip(written.query.tolist(), written.text.tolist(), strict=True):
                own = parts.get(number)
                if own is None:
                    own = parts[number] = OutputParts(self._programs[number], most)
                own.add(written.bytes[ends[text] : ends[text + 1]], bool(written.too_long[text]))
        texts = {number: own.joined() for number, own in sorted(parts.items())}
        return JoinedOutputs(found.size, texts)


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
