"""Joins by value: the part of all joins that one task or process can do alone.

Each join graph has a pair of edges whose values two documents have to share. A document goes to
every value that it has there; two documents may meet in several. Their rows are made where they
meet first, so that no row comes twice and no one has to compare rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from extract.filtertool.joins.blocks import WitnessBlock
from extract.filtertool.joins.documents import JoinDocument
from extract.filtertool.joins.engine import JoinEngine
from extract.filtertool.joins.graphs import JoinGraph
from extract.filtertool.joins.job import JoinJob
from extract.filtertool.joins.joined import Joined, JoinState
from extract.filtertool.joins.numbering import Arrival
from extract.filtertool.joins.plan import StreamCounts
from extract.filtertool.joins.room import StateLimit, dropped_document
from extract.filtertool.results.outcome import Rejection


class PlacedRow(NamedTuple):
    """A row or a rejection, and its place among all.

    Attributes:
        trigger: The clock of the document that led to it.
        order: The order of its query.
        left, right: The clocks of its documents; of a rejection in the stage ``state`` the number
            of the document, and whether it was published.
        rank: Its number among the combinations of nodes.
        publish: The stream that it is published to; empty if it is not.
        row: The row, or the rejection.
    """

    trigger: int
    order: int
    left: int
    right: int
    rank: int
    publish: str
    row: Joined | Rejection


class JoinPart(NamedTuple):
    """Some of the join graphs.

    Attributes:
        pairs: For each of them the pair of edges by whose values documents are joined.
        edges: All these edges.
    """

    pairs: Mapping[JoinGraph, tuple[int, int]]
    edges: frozenset[int]


class ValueJoins:
    """Finds witnesses and values of documents, and joins those that share some.

    Args:
        job: The queries.
        limit: How much memory kept documents may take; None for as much as they need.

    Attributes:
        alone: The queries that take part in no chain: no other reads what they publish, and they
            read nothing that others publish.
        chained: The other queries.
        first: The queries that read input streams alone.
        later: Those that read what others publish.
        times: How far the streams of the documents that come here have come.
    """

    def __init__(self, job: JoinJob, limit: StateLimit | None = None) -> None:
        self._engine = JoinEngine(job.limits)
        self._limit = limit
        if limit is not None:
            self._engine.store.limit(limit.own)
        self._candidates = job.filtering(self._engine.edges)
        self.times = job.times()
        first: set[JoinGraph] = set()
        later: set[JoinGraph] = set()
        chained: set[JoinGraph] = set()
        read = job.chained
        for member, query in job.queries:
            self._engine.add(member, query)
            graph = self._engine.graph_of(member.id)
            (first if read.isdisjoint(query.streams) else later).add(graph)
            if not read.isdisjoint((member.publish, *query.streams)):
                chained.add(graph)
        self.first, self.later = _part(first), _part(later)
        self.chained, self.alone = _part(chained), _part((first | later) - chained)

    def reads(self, stream: str) -> bool:
        """Whether a query reads a published stream."""
        return self._engine.reads(stream)

    def read(self, document: JoinDocument) -> list[Rejection]:
        """Finds the witnesses of a document.

        Returns:
            Queries with a pattern that cannot be evaluated.

        Raises:
            DocumentError: It is not well-formed.
        """
        return self._engine.read(document, self._candidates)

    def keys(self, document: JoinDocument, part: JoinPart) -> set[bytes]:
        """Returns the keys of the values at which some queries may join a document."""
        edges = part.edges & document.links.keys()
        return {key for edge in edges for key in _keys(document, edge)}

    def go_on(
        self,
        document: JoinDocument,
        arrival: Arrival,
        part: JoinPart,
        mine: Callable[[bytes], bool] | None = None,
    ) -> Iterator[PlacedRow]:
        """Joins a document with those that are kept, and keeps it.

        Args:
            document: The document, with its numbers.
            arrival: Where it stands among all.
            part: The queries.
            mine: Whether documents are joined here, from the first key that they share; None if all
                are.

        Raises:
            JoinError: The state is full.
        """
        pairs = part.pairs

        def here(graph: JoinGraph, left: JoinDocument, right: JoinDocument) -> bool:
            pair = pairs.get(graph)
            if pair is None or mine is None:
                return pair is not None
            return mine(min(_keys(left, pair[0]) & _keys(right, pair[1]), default=b""))

        engine = self._engine
        if self._limit is not None:
            for gone in self._limit.make_room(engine.store, document):
                why = dropped_document(gone)
                yield PlacedRow(document.clock, -1, gone.seq, gone.published, -1, "", why)
        # A later time than its own: so what it may precede is looked for as well.
        done = engine.join(document, arrival.counts, document.time + 1, here)
        for (member, row), place in zip(done.rows, done.places, strict=True):
            yield PlacedRow(document.clock, *place, member.publish, row)
        for one in done.rejections:
            yield PlacedRow(document.clock, -1, -1, -1, -1, "", one)
        self.times.accept(document.stream, document.time)
        engine.keep(document)
        engine.release(self.times.horizon, arrival.counts)

    def keep(self, document: JoinDocument) -> None:
        """Keeps a document, without joining it."""
        self._engine.keep(document)

    def needed(self) -> Iterator[JoinDocument]:
        """Yields the documents that later ones may still join."""
        return self._engine.store.needed()

    @property
    def state(self) -> JoinState:
        """What is kept of documents."""
        return self._engine.state

    def begin(
        self, kept: Sequence[WitnessBlock] = (), latest: Mapping[str, int] | None = None
    ) -> None:
        """Forgets all documents, whose clocks may stand for others now, but for some.

        Args:
            kept: What `end` returned for these.
            latest: How far the streams had come then, as `Lateness` has it.
        """
        self.times.begin(latest or {})
        self._engine.forget()
        self._engine.store.clear()
        self._engine.store.load(kept)

    def end(self, counts: StreamCounts) -> Sequence[WitnessBlock]:
        """Returns what later documents may still join.

        Args:
            counts: The numbers of documents so far.
        """
        self._engine.release(self.times.horizon, counts)
        return self._engine.store.dump()


def _part(graphs: Iterable[JoinGraph]) -> JoinPart:
    pairs = {graph: graph.edge_pairs[0] for graph in graphs}
    return JoinPart(pairs, frozenset([edge for pair in pairs.values() for edge in pair]))


def _keys(document: JoinDocument, edge: int) -> set[bytes]:
    """The keys of the values to which an edge leads."""
    keys = document.keys
    return {keys[n] for nodes in document.links[edge].values() for n in nodes}
