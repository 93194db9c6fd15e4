"""Infers a schema from documents, in one pass over each and in bounded memory.

The kernel scans a document and its node table is counted (`extract.chunktool.inference.edges`);
what the kernel hands over, libxml2 reads (`extract.chunktool.inference.events`). A document counts
only when it turned out to be well-formed as a whole.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from extract.chunktool.automaton.automaton import Automaton, scheme_of_anything
from extract.chunktool.inference.events import observe_events, observe_tree
from extract.chunktool.input.source import WINDOW, Document, Source, open_source
from extract.chunktool.scan.byte_ranges import Window
from extract.chunktool.scan.driver import Verdict, kernel_available, scan
from extract.chunktool.scan.protocol import Batch, HandOver
from extract.limits import DEFAULTS, Limits
from extract.schema.infer import InferredSchema
from extract.schema.observations import Observations

if TYPE_CHECKING:
    from extract.chunktool.inference.edges import EdgeAutomaton
    from extract.chunktool.scan.kernel._tally import Tally

_DECLARATION_BYTES: Final = 1_000  # of a document, in which its XML declaration is looked for
_MANY_TAGS: Final = 100_000  # different tags in a tally, from which on they are put together


def infer_schema(documents: Iterable[Document], limits: Limits | None = None) -> InferredSchema:
    """The schema that all documents keep, and that allows nothing that none of them showed.

    Args:
        documents: Each bytes, a path, ``"-"`` for standard input or a file object opened for
            bytes; also gzipped.
        limits: How large and deep a document may be.

    Raises:
        DocumentError: One cannot be read, is not well-formed, or passes a limit. To go on with the
            others, use `Inference`.
        SchemaError: There are no documents.

    >>> inferred = infer_schema([b"<a><b x='1'/></a>", b"<a><b/>text</a>"])
    >>> print(inferred)
    inferred from 2 documents: 2 elements, 1 edge, 1 attribute, root a
    >>> inferred.schema.places.document.step("a").step("b").attributes
    frozenset({'x'})
    """
    inference = Inference(limits)
    for document in documents:
        inference.add(document)
    return inference.result()


class Inference:
    """A schema in the making: takes documents one by one.

    Args:
        limits: How large and deep a document may be.

    Attributes:
        documents: How many documents were taken.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self.documents = 0
        self._limits = limits or DEFAULTS
        self._seen = Observations()
        # Documents that say standalone="yes" are counted apart: see `ElementContent.STANDALONE`.
        self._counters = {False: _Counter(), True: _Counter()} if _native() else {}
        self._anything = Automaton(scheme_of_anything(), [])

    def add(self, document: Document, name: str = "") -> int:
        """Takes a document and returns its size in bytes.

        Args:
            document: As for `infer_schema`.
            name: What messages call it.

        Raises:
            DocumentError: It cannot be read, is not well-formed, or passes a limit. Then it does
                not count.
        """
        with open_source(document, name, self._limits) as source:
            data = source.load(WINDOW - 1)
            start = bytes(next(source.windows(_DECLARATION_BYTES), b"")) if data is None else data
            standalone = _says_standalone(start[:_DECLARATION_BYTES])
            # What is in memory is scanned at once: when the scan hands out what it found, the
            # document has ended.
            size = self._add(source, standalone, single=data is not None)
        self.documents += 1
        return size

    def _add(self, source: Source, standalone: bool, single: bool) -> int:
        if not self._counters:
            return self._add_events(source, standalone)
        # A document of several windows is provisional until its last byte.
        counter = self._counters[standalone] if single else _Counter()
        counter.begin()
        try:
            size = scan(source, counter.automaton, counter, self._limits, table=True).size
            counter.documents += 1
        except HandOver:
            size = self._add_events(source, standalone)
        if not single or len(counter.tally) > _MANY_TAGS or counter.torn:
            self._fold(counter, standalone)
            if single:
                self._counters[standalone] = _Counter()
        return size

    def _add_events(self, source: Source, standalone: bool) -> int:
        """Adds what libxml2 sees in a document, if it keeps the limits."""
        outcome = scan(source, self._anything, _Nobody(), self._limits, kernel=False)
        seen = observe_events(source, self._limits)
        if outcome.verdict is Verdict.WHOLE:
            seen = observe_tree(source, self._limits)
        if standalone:
            seen.mark_standalone()
        self._seen.add(seen)
        return outcome.size if outcome.size >= 0 else sum(map(len, source.windows()))

    def _fold(self, counter: _Counter, standalone: bool) -> None:
        """Adds what a counter has counted to what was seen."""
        if counter.documents:
            seen = counter.observations()
            if standalone:
                seen.mark_standalone()
            self._seen.add(seen)

    def result(self) -> InferredSchema:
        """The schema of the documents so far.

        Raises:
            SchemaError: There are none.
        """
        for standalone, counter in self._counters.items():
            self._fold(counter, standalone)
            self._counters[standalone] = _Counter()
        return InferredSchema.of(self._seen)


_DECLARATION = re.compile(
    rb"""(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?<\?xml\s[^>]*standalone\s*=\s*["']yes["']"""
)


def _says_standalone(start: bytes) -> bool:
    """Whether a document that begins so says ``standalone="yes"``.

    >>> _says_standalone(b"<?xml version='1.0' standalone='yes'?>"), _says_standalone(b"<a/>")
    (True, False)
    """
    return _DECLARATION.match(start.replace(b"\0", b"")) is not None  # UTF-16, UTF-32


def _native() -> bool:
    """Whether the parts in C are there that counting takes, and may be used."""
    try:
        importlib.import_module("extract.chunktool.scan.kernel._tally")
    except ImportError:
        return False
    return kernel_available()


class _Nobody:
    """Takes what a scan finds when only its verdict is asked for."""

    def restart(self) -> None:
        """Nothing was kept."""

    def take(self, window: Window, batch: Batch) -> None:
        """Nothing is kept."""


class _Counter:
    """Takes what the kernel finds in documents, and counts it.

    Attributes:
        documents: How many were counted; kept by the owner.
        torn: Whether counting gave up in the middle of a document, which then is read another way.
            What was counted of it twice is all in it, so the schema is as closed as ever, but an
            attribute or child that all elements have may be counted as optional.
    """

    def __init__(self) -> None:
        edges = importlib.import_module("extract.chunktool.inference.edges")
        tally = importlib.import_module("extract.chunktool.scan.kernel._tally")
        self.automaton: EdgeAutomaton = edges.EdgeAutomaton()
        self.tally: Tally = tally.Tally()
        self.documents = 0
        self.torn = False
        self._begun = False

    def begin(self) -> None:
        """Says that another document begins."""
        self._begun = False

    def restart(self) -> None:
        """A scan begins: the kernel's.

        Raises:
            HandOver: It is that of another scanner, whose findings are not counted.
        """
        if self._begun:
            raise HandOver("the kernel handed over")
        self._begun = True
        self.tally.begin()

    def take(self, window: Window, batch: Batch) -> None:
        """Counts what the kernel found in a window."""
        assert batch.elements is not None
        assert batch.leaves is not None
        rows, states = (batch.elements, batch.leaves), self.automaton.states
        try:
            self.tally.add(window.data, window.start, *rows, states)
        except HandOver:
            self.torn = True
            raise

    def observations(self) -> Observations:
        """What was counted."""
        edges = importlib.import_module("extract.chunktool.inference.edges")
        seen: Observations = edges.observations_of(self.tally, self.automaton)
        seen.documents = self.documents
        return seen
