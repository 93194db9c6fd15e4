"""`extract.chunk`: the chunks of one document, each with its queries."""

from __future__ import annotations

import io
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import BinaryIO, Final, Literal, TypeAlias, cast, overload

import numpy as np

from extract.chunktool.automaton.automaton import Automaton
from extract.chunktool.automaton.outputs import chunk_outputs, projection_output
from extract.chunktool.input.source import Document, Source, open_source
from extract.chunktool.input.spill import Content, ContentReader, Original, Piles, read_all
from extract.chunktool.scan.byte_ranges import Cutter, Window
from extract.chunktool.scan.driver import Outcome, Verdict, scan
from extract.chunktool.scan.node_table import NodeCollector, NodeTable, Ranges
from extract.chunktool.scan.protocol import Batch, Numbers, Smalls
from extract.limits import Limits
from extract.scheme.model import DOCUMENT, Scheme

OnNonconforming: TypeAlias = Literal["fallback", "reject"]


@dataclass(frozen=True, slots=True)
class DocumentChunk:
    """A part of one document, with the queries to evaluate on it.

    Attributes:
        id: The id of the chunk in the scheme; ``document`` for the whole document.
        queries: Ids of the subscribers that have a branch in the chunk.
        branches: The branches to evaluate, as indices into `Scheme.branches`; empty in a fallback.
        ranges: The bytes of the original that the chunk consists of: start and end of each range,
            shape (n, 2). No two ranges touch.
        fallback: Whether this is the whole document in place of all chunks, because the document
            breaks the schema or no scanner supports it. Then evaluate the queries as written
            (`Subscriber.absolute`), including those that the scheme calls unsatisfiable.
        nodes: The node table of the document, if requested; `rows` selects the rows of this chunk.
        content: The bytes.
    """

    id: str
    queries: tuple[str, ...] = field(repr=False)
    branches: tuple[int, ...] = field(repr=False)
    ranges: Numbers = field(repr=False, compare=False)
    content: Content = field(repr=False, compare=False)
    fallback: bool = False
    nodes: NodeTable | None = field(default=None, repr=False, compare=False)

    @property
    def size(self) -> int:
        """The number of bytes."""
        return self.content.size

    @property
    def rows(self) -> Smalls:
        """The rows of the node table that are elements of this chunk."""
        assert self.nodes is not None, "the node table was not asked for"
        return self.nodes.rows(self.ranges)

    def xml(self) -> bytes:
        """The chunk as one well-formed document, byte for byte as in the original."""
        return read_all(self.content)

    def open(self) -> BinaryIO:
        """The same bytes as a file object, for chunks that are larger than memory."""
        return cast(BinaryIO, io.BufferedReader(ContentReader(self.content), 1 << 16))

    def original(self, offset: int) -> int:
        """Maps an offset in the chunk to an offset in the document.

        >>> ranges = np.array([[0, 3], [11, 15]])
        >>> DocumentChunk("1", (), (), ranges, Piles(1)[0]).original(4)
        12
        """
        lengths = np.cumsum(self.ranges[:, 1] - self.ranges[:, 0])
        which = int(np.searchsorted(lengths, offset, "right"))
        if which == len(lengths):
            return int(self.ranges[-1, 1]) if which else offset
        return int(self.ranges[which, 1] - (lengths[which] - offset))


class Chunks(Sequence[DocumentChunk]):
    """The chunks of one document, in the order of the scheme.

    Attributes:
        outcome: The scan's verdict on the document.
        nodes: The node table, if requested and if the document conforms.
    """

    def __init__(
        self, chunks: Sequence[DocumentChunk], outcome: Outcome, nodes: NodeTable | None
    ) -> None:
        self._chunks = tuple(chunks)
        self.outcome = outcome
        self.nodes = nodes

    def __len__(self) -> int:
        return len(self._chunks)

    @overload
    def __getitem__(self, index: int) -> DocumentChunk: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[DocumentChunk]: ...
    def __getitem__(self, index: int | slice) -> DocumentChunk | Sequence[DocumentChunk]:
        return self._chunks[index]

    def __repr__(self) -> str:
        return f"<{self.outcome.verdict} document: {', '.join(c.id for c in self._chunks)}>"


def chunk(
    scheme: Scheme,
    document: Document,
    *,
    nodes: bool = False,
    on_nonconforming: OnNonconforming = "fallback",
    assume_valid: bool = False,
    limits: Limits | None = None,
    name: str = "",
) -> Chunks:
    """Cuts a document into the chunks of a scheme, in one pass.

    No chunk is handed on before the whole document is read: only then is the document known to be
    well-formed, and to keep to the schema. The chunks of a large document wait in temporary files.

    Args:
        scheme: How to cut, from `extract.prepare` or `Scheme.load`.
        document: Bytes; a path; ``"-"`` for standard input; or a file object opened for bytes.
            Each may be gzipped.
        nodes: Whether to make the node table as well.
        on_nonconforming: The policy for documents that break the schema: ``"fallback"`` gives one
            chunk with the whole document, ``"reject"`` raises.
        assume_valid: Trust that the document keeps to the schema, and check less. If it does not,
            matches may be missed.
        limits: The largest document, depth and so on.
        name: The document's name in messages; by default its path.

    Raises:
        DocumentError: The document is not well-formed, cannot be read, or is rejected; with file,
            line, column and byte offset.

    >>> from extract import prepare, Subscriptions
    >>> from extract.schema.model import Declaration, Schema
    >>> a, b, c = Declaration(0, "a", children=(1, 2)), Declaration(1, "b"), Declaration(2, "c")
    >>> schema = Schema("memory", "dtd", (a, b, c), roots=(0,))
    >>> scheme = prepare(schema, Subscriptions.of({"bs": "//b", "cs": "/a/c"}), chunks=2)
    >>> for part in chunk(scheme, b"<a> <b>1</b> <c/> <b/> </a>"):
    ...     part.id, part.queries, part.xml()
    ('1', ('bs',), b'<a><b>1</b><b/></a>')
    ('2', ('cs',), b'<a><c/></a>')
    >>> for part in chunk(scheme, b"<a><b><d/></b></a>"):
    ...     part.id, part.queries, part.fallback
    ('document', ('bs', 'cs'), True)
    """
    with (
        open_source(document, name, limits) as source,
        borrowed_automaton(scheme, "chunks", assume_valid) as automaton,
    ):
        sink = ChunkSink(automaton, nodes)
        outcome = scan(source, automaton, sink, limits, table=nodes)
        if outcome.conforming:
            table = sink.nodes.table(automaton) if nodes else None
            return Chunks(list(chunks_of(scheme, source, sink, outcome, table)), outcome, table)
        if on_nonconforming == "reject" and outcome.verdict is Verdict.NONCONFORMING:
            raise outcome.rejection(source.name)
        return Chunks([whole_document(scheme, source, outcome)], outcome, None)


def chunks_of(
    scheme: Scheme, source: Source, sink: ChunkSink, outcome: Outcome, table: NodeTable | None
) -> Iterator[DocumentChunk]:
    """Yields the chunks of a conforming document, from the bytes that a scan has collected."""
    for number, (part, output) in enumerate(
        zip(scheme.every_chunk, sink.automaton.outputs, strict=True)
    ):
        content = kept_document(source, outcome.size) if output.whole else sink.piles[number]
        ranges = sink.ranges[number].array()
        queries = tuple(scheme.queries_in(part))
        yield DocumentChunk(part.id, queries, part.branches, ranges, content, False, table)


def whole_document(scheme: Scheme, source: Source, outcome: Outcome) -> DocumentChunk:
    """Returns the chunk that stands for all others where a document is evaluated whole."""
    content = kept_document(source, outcome.size)
    ranges = np.array([[0, content.size]], np.int64)
    return DocumentChunk(DOCUMENT, every_query(scheme), (), ranges, content, True)


def kept_document(source: Source, size: int) -> Content:
    """Returns the bytes of a document for later use: a copy, if the source does not keep them."""
    if source.lasting:
        source.keep()
        return Original(source, size)
    piles = Piles(1)
    for window in source.windows():
        piles.add(0, bytes(window))
    return piles[0]


def every_query(scheme: Scheme) -> tuple[str, ...]:
    """Returns the ids of all queries that can be evaluated on a whole document.

    A query that matches no conforming document may match one that breaks the schema.
    """
    return tuple(scheme.directory.ids)


class ChunkSink:
    """Collects the bytes and ranges of each chunk."""

    def __init__(self, automaton: Automaton, nodes: bool) -> None:
        self.automaton = automaton
        self.piles = Piles(len(automaton.outputs))
        self.ranges: list[Ranges] = []
        self.nodes = NodeCollector()
        self._with_nodes = nodes
        self._whole = [output.whole for output in automaton.outputs]
        self._cutter = Cutter()

    def restart(self) -> None:
        """Drops everything collected so far: a scan begins."""
        self.piles.clear()
        self.ranges = [Ranges() for _ in self._whole]
        self.nodes.restart()
        self._cutter = Cutter()

    def take(self, window: Window, batch: Batch) -> None:
        """Adds the ranges and nodes of one window."""
        for number, ranges in enumerate(batch.ranges):
            self.ranges[number].add(ranges)
        for number, data in enumerate(self._cutter.cut(window, batch, self._whole)):
            self.piles.add(number, data)
        if self._with_nodes:
            self.nodes.take(batch)


# -- automata, which cost more to build than a small document to scan

MAX_STATES: Final = 50_000
_Key: TypeAlias = tuple[str, bool]
_cached: dict[int, tuple[weakref.ref[Scheme], dict[_Key, list[Automaton]]]] = {}


@contextmanager
def borrowed_automaton(
    scheme: Scheme, kind: Literal["chunks", "projection"], assume_valid: bool
) -> Iterator[Automaton]:
    """Lends an automaton for exclusive use, and returns it to the cache afterwards.

    Args:
        scheme: The scheme; its automata are cached as long as it lives.
        kind: Whether the outputs are the chunks, or one projection for all queries.
        assume_valid: Whether documents are trusted to keep to the schema.
    """
    shelf = _shelf(scheme).setdefault((kind, assume_valid), [])
    try:
        automaton = shelf.pop()
    except IndexError:
        outputs = chunk_outputs(scheme) if kind == "chunks" else [projection_output(scheme)]
        automaton = Automaton(scheme, outputs, assume_valid, MAX_STATES)
    try:
        yield automaton
    finally:
        # A full automaton would be of no use to the next document.
        if automaton.states < MAX_STATES:
            shelf.append(automaton)


def _shelf(scheme: Scheme) -> dict[_Key, list[Automaton]]:
    key = id(scheme)  # a scheme is not hashable: its tables are dictionaries
    cached = _cached.get(key)
    if cached is None or cached[0]() is not scheme:
        alive = weakref.ref(scheme, lambda _: _cached.pop(key, None))
        cached = _cached[key] = (alive, {})
    return cached[1]
