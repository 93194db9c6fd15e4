"""Infers a schema from documents, in one pass over each and in bounded memory.

The kernel scans a document and `extract.chunktool.inference.edges` counts its node table; documents
that the kernel hands over are read by libxml2 (`extract.chunktool.inference.events`). A document
counts only when all of it is read and well-formed.
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

_DECLARATION_BYTES: Final = 1_000  # in which the XML declaration is searched
_MANY_TAGS: Final = 100_000  # different tags in a tally before they are merged


def infer_schema(documents: Iterable[Document], limits: Limits | None = None) -> InferredSchema:
    """Returns the smallest schema that all documents keep.

    Args:
        documents: Each bytes, a path, ``"-"`` for standard input or a file object opened for
            bytes; also gzipped.
        limits: The largest document and depth.

    Raises:
        DocumentError: A document cannot be read, is not well-formed, or exceeds a limit. To go on
            with the others, use `Inference`.
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
    """Infers a schema from documents that are added one by one.

    Args:
        limits: The largest document and depth.

    Attributes:
        documents: The number of documents added.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self.documents = 0
        self._limits = limits or DEFAULTS
        self._seen = Observations()
        # Documents with standalone="yes" are counted separately: see `ElementContent.STANDALONE`.
        self._counters = {False: _Counter(), True: _Counter()} if _native() else {}
        self._anything = Automaton(scheme_of_anything(), [])

    def add(self, document: Document, name: str = "") -> int:
        """Adds a document and returns its size in bytes.

        Args:
            document: As for `infer_schema`.
            name: The document's name in messages.

        Raises:
            DocumentError: The document cannot be read, is not well-formed, or exceeds a limit; then
                it does not count.
        """
        with open_source(document, name, self._limits) as source:
            data = source.load(WINDOW - 1)
            start = bytes(next(source.windows(_DECLARATION_BYTES), b"")) if data is None else data
            standalone = _says_standalone(start[:_DECLARATION_BYTES])
            # A document in memory is one window: when its batch comes, the whole document is read.
            size = self._add(source, standalone, single=data is not None)
        self.documents += 1
        return size

    def _add(self, source: Source, standalone: bool, single: bool) -> int:
        if not self._counters:
            return self._add_events(source, standalone)
        # The counts of a document of several windows are provisional until its last byte.
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
        """Adds libxml2's observations of a document, if it keeps the limits."""
        outcome = scan(source, self._anything, _Nobody(), self._limits, kernel=False)
        observations = observe_events(source, self._limits)
        if outcome.verdict is Verdict.WHOLE:
            observations = observe_tree(source, self._limits)
        if standalone:
            observations.mark_standalone()
        self._seen.add(observations)
        return outcome.size if outcome.size >= 0 else sum(map(len, source.windows()))

    def _fold(self, counter: _Counter, standalone: bool) -> None:
        """Adds the counts of a counter to the observations."""
        if counter.documents:
            observations = counter.observations()
            if standalone:
                observations.mark_standalone()
            self._seen.add(observations)

    def result(self) -> InferredSchema:
        """Returns the schema of the documents so far.

        Raises:
            SchemaError: There are no documents.
        """
        for standalone, counter in self._counters.items():
            self._fold(counter, standalone)
            self._counters[standalone] = _Counter()
        return InferredSchema.of(self._seen)


_DECLARATION = re.compile(
    rb"""(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?<\?xml\s[^>]*standalone\s*=\s*["']yes["']"""
)


def _says_standalone(start: bytes) -> bool:
    """Whether the XML declaration at the start of a document has ``standalone="yes"``.

    >>> _says_standalone(b"<?xml version='1.0' standalone='yes'?>"), _says_standalone(b"<a/>")
    (True, False)
    """
    return _DECLARATION.match(start.replace(b"\0", b"")) is not None  # no zeros of UTF-16, UTF-32


def _native() -> bool:
    """Whether the compiled modules for counting are built and may be used."""
    try:
        importlib.import_module("extract.chunktool.scan.kernel._tally")
    except ImportError:
        return False
    return kernel_available()


class _Nobody:
    """A sink that ignores everything, for scans of which only the verdict matters."""

    def restart(self) -> None:
        """Does nothing."""

    def take(self, window: Window, batch: Batch) -> None:
        """Does nothing."""


class _Counter:
    """A sink that counts what the kernel reports.

    Attributes:
        documents: The number of documents counted; the owner updates it.
        torn: Whether counting stopped in the middle of a document, which is then read by libxml2.
            Its first part counts twice, so the schema stays as closed as ever, but an attribute or
            child that all elements have may count as optional.
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
        """Begins another document."""
        self._begun = False

    def restart(self) -> None:
        """Checks that the scan that begins is the kernel's.

        Raises:
            HandOver: Another scanner begins; its batches cannot be counted.
        """
        if self._begun:
            raise HandOver("the kernel handed over")
        self._begun = True
        self.tally.begin()

    def take(self, window: Window, batch: Batch) -> None:
        """Counts the nodes of one window."""
        assert batch.elements is not None
        assert batch.leaves is not None
        rows, states = (batch.elements, batch.leaves), self.automaton.states
        try:
            self.tally.add(window.data, window.start, *rows, states)
        except HandOver:
            self.torn = True
            raise

    def observations(self) -> Observations:
        """Returns the counts as observations."""
        edges = importlib.import_module("extract.chunktool.inference.edges")
        observations: Observations = edges.observations_of(self.tally, self.automaton)
        observations.documents = self.documents
        return observations
