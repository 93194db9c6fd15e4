"""`extract.Prefilter`: reduces a document to the part that the queries need, for any matcher.

A matcher that reads the projection in place of the document gives the same answers: the projection
lacks only nodes that no query looks at. In front of lxml:

    prefilter = extract.Prefilter(scheme)
    tree = lxml.etree.fromstring(prefilter.project(data))    # bytes in, bytes out
    tree = lxml.etree.parse(prefilter.open("big.xml.gz"))    # or a file object

In front of SaxonC, with ``proc.parse_xml(xml_text=prefilter.project(data).decode())``; in front of
``xmllint``, BaseX or anything else that reads a pipe, with the command ``extract project``.

A projection is provisional until the last byte of the document is read, so it is held back (in a
temporary file if it is large) and then handed out as a whole, unless the documents are trusted
(``assume_valid``).
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import BinaryIO, Final, Protocol, cast

from extract.chunktool.chunks import OnNonconforming, borrowed_automaton, kept_document
from extract.chunktool.input.archives import ZIP
from extract.chunktool.input.packed import packing_of
from extract.chunktool.input.source import Document, open_source
from extract.chunktool.input.spill import Content, ContentReader, Piles, read_all
from extract.chunktool.scan.byte_ranges import Cutter, Window
from extract.chunktool.scan.driver import Outcome, Verdict, kernel_scanner, scan
from extract.chunktool.scan.protocol import Batch, HandOver
from extract.errors import DocumentError
from extract.limits import DEFAULTS, Limits
from extract.scheme.model import Scheme

_SMALL: Final = 1 << 26  # bytes; larger projections wait in temporary files


class Writable(Protocol):
    """A file object that accepts bytes."""

    def write(self, data: bytes | memoryview, /) -> object:
        """Writes all of the data."""


class Prefilter:
    """Reduces documents to the parts that a scheme's queries look at.

    The projection is a well-formed document of original bytes on which every query of the scheme
    selects the nodes that it selects on the document. A document that breaks the schema, or that no
    scanner supports, is returned unchanged.

    A prefilter can be pickled and sent to other processes; several threads may use the same one.

    Args:
        scheme: The scheme with the queries.
        on_nonconforming: The policy for documents that break the schema: ``"fallback"`` returns the
            whole document, ``"reject"`` raises.
        assume_valid: Trust that documents keep to the schema, and check less. The projection of a
            document that does not may lack nodes that a query selects.
        limits: The largest document, depth and so on.

    >>> from extract import prepare, Subscriptions
    >>> from extract.schema.model import Declaration, Schema
    >>> a, b, c = Declaration(0, "a", children=(1, 2)), Declaration(1, "b"), Declaration(2, "c")
    >>> schema = Schema("memory", "dtd", (a, b, c), roots=(0,))
    >>> prefilter = Prefilter(prepare(schema, Subscriptions.of({"bs": "//b"}), chunks=1))
    >>> prefilter.project(b"<a> <b>1</b> <c>2</c> <b/> </a>")
    b'<a><b>1</b><b/></a>'
    >>> prefilter.project(b"<a><c><b/></c></a>")
    b'<a><c><b/></c></a>'
    """

    def __init__(
        self,
        scheme: Scheme,
        on_nonconforming: OnNonconforming = "fallback",
        assume_valid: bool = False,
        limits: Limits | None = None,
    ) -> None:
        self.scheme = scheme
        self.on_nonconforming = on_nonconforming
        self.assume_valid = assume_valid
        self.limits = limits or DEFAULTS

    def project(self, document: Document) -> bytes:
        """Returns the projection: a small well-formed document that answers every query.

        Args:
            document: Bytes; a path; ``"-"`` for standard input; or a file object opened for bytes.
                Each may be compressed.

        Raises:
            DocumentError: The document is not well-formed, cannot be read, or is rejected.
        """
        quickly = self._project_quickly(document) if isinstance(document, bytes) else None
        return read_all(self._run(document)[0]) if quickly is None else quickly

    def _project_quickly(self, document: bytes) -> bytes | None:
        """Returns the projection of a plain conforming document in one scan.

        Returns None for all other documents; `_run` handles them.
        """
        kernel = kernel_scanner()
        most = min(_SMALL, self.limits.document_bytes)
        if kernel is None or len(document) > most:
            return None
        if document.startswith(ZIP) or packing_of(document) is not None:
            return None
        with borrowed_automaton(self.scheme, "projection", self.assume_valid) as automaton:
            if automaton.outputs[0].whole:
                return None
            try:
                return kernel(automaton, self.limits).keep(document)
            except (DocumentError, HandOver):
                return None

    def project_all(self, documents: Iterable[Document]) -> Iterator[bytes]:
        """Yields the projection of each document, in their order.

        Raises:
            DocumentError: A document cannot be processed. To go on with the others, call `project`
                for each.
        """
        return map(self.project, documents)

    def open(self, document: Document) -> BinaryIO:
        """Returns the projection as a file object, for parsers that read one.

        Raises:
            DocumentError: The document is not well-formed, cannot be read, or is rejected; always
                before the first byte can be read.
        """
        content, _ = self._run(document)
        return cast(BinaryIO, io.BufferedReader(ContentReader(content), 1 << 16))

    def write(self, document: Document, stream: Writable, name: str = "") -> Outcome:
        """Writes the projection to a stream, in memory that does not grow with the document.

        With ``assume_valid`` the projection is written while the document is read. Then a document
        that turns out to be ill-formed raises an error after a part is written.

        Args:
            document: As for `project`.
            stream: A file object opened for bytes.
            name: The document's name in messages; by default its path.

        Returns:
            The scan's verdict on the document.

        Raises:
            DocumentError: The document is not well-formed, cannot be read, or is rejected.
        """
        if self.assume_valid:
            return self._write_at_once(document, stream, name)
        content, outcome = self._run(document, name)
        for part in content.parts():
            stream.write(part)
        return outcome

    def _run(self, document: Document, name: str = "") -> tuple[Content, Outcome]:
        with (
            open_source(document, name, self.limits) as source,
            borrowed_automaton(self.scheme, "projection", self.assume_valid) as automaton,
        ):
            piles = Piles(1)
            sink = _ProjectionSink(piles, automaton.outputs[0].whole)
            outcome = scan(source, automaton, sink, self.limits)
            if outcome.conforming and not automaton.outputs[0].whole:
                return piles[0], outcome
            if self.on_nonconforming == "reject" and outcome.verdict is Verdict.NONCONFORMING:
                raise outcome.rejection(source.name)
            return kept_document(source, outcome.size), outcome

    def _write_at_once(self, document: Document, stream: Writable, name: str) -> Outcome:
        with (
            open_source(document, name, self.limits) as source,
            borrowed_automaton(self.scheme, "projection", True) as automaton,
        ):
            sink = _StreamSink(stream)
            outcome = scan(source, automaton, sink, self.limits)
            if not outcome.conforming:
                if sink.written:
                    hint = "without assuming that documents are valid, it would be passed on whole"
                    reason = f"it must be evaluated whole ({outcome.reason}), but a part is written"
                    raise DocumentError(reason, hint, source.name)
                for window in source.windows():
                    stream.write(window)
            return outcome


class _ProjectionSink:
    """Collects the bytes of the projection."""

    def __init__(self, piles: Piles, idle: bool) -> None:
        self._piles = piles
        self._idle = idle
        self._cutter = Cutter()

    def restart(self) -> None:
        """Drops everything collected so far: a scan begins."""
        self._piles.clear()
        self._cutter = Cutter()

    def take(self, window: Window, batch: Batch) -> None:
        """Adds the bytes of one window."""
        if not self._idle:
            self._piles.add(0, self._cutter.cut(window, batch)[0])


class _StreamSink:
    """Writes the bytes of the projection to a stream during the scan.

    Attributes:
        written: The number of bytes written. When a second scanner takes over, it repeats these
            bytes, and the sink skips them.
    """

    def __init__(self, stream: Writable) -> None:
        self.written = 0
        self._found = 0
        self._stream = stream
        self._cutter = Cutter()

    def restart(self) -> None:
        """Starts again at the first byte, without writing bytes a second time."""
        self._found = 0
        self._cutter = Cutter()

    def take(self, window: Window, batch: Batch) -> None:
        """Writes the bytes of one window."""
        data = self._cutter.cut(window, batch)[0]
        fresh = data[max(0, self.written - self._found) :]
        self._found += len(data)
        if fresh:
            self._stream.write(fresh)
            self.written += len(fresh)
