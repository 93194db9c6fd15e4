"""Joins of the documents that have a value: the part of all joins that one task can do alone.

Each join graph has a pair of edges whose values two documents have to share. A document goes to
every value that it has there; two documents may meet in several. Their rows are made where they
meet first, so that no row comes twice and no one has to compare rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from extract.filtertool.joins.documents import JoinDocument
from extract.filtertool.joins.engine import JoinEngine
from extract.filtertool.joins.graphs import JoinGraph
from extract.filtertool.joins.job import JoinJob
from extract.filtertool.joins.joined import Joined, JoinState
from extract.filtertool.joins.numbering import Arrival
from extract.filtertool.joins.plan import StreamCounts
from extract.filtertool.results.outcome import Rejection


class PlacedRow(NamedTuple):
    """A row or a rejection, and its place among all.

    Attributes:
        trigger: The clock of the document that led to it.
        order: The order of its query.
        left, right: The clocks of its documents.
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


class ValueJoins:
    """Finds witnesses and values of documents, and joins those that have one value.

    Args:
        job: The queries.
    """

    def __init__(self, job: JoinJob) -> None:
        self._engine = JoinEngine(job.limits)
        self._candidates = job.filtering(self._engine.edges)
        stages = job.stages()
        self._stages: dict[JoinGraph, int] = {}
        self._edges: dict[int, set[int]] = {stage: set() for stage in stages.values()}
        for member, query in job.queries:
            self._engine.add(member, query)
            graph = self._engine.graph_of(member.id)
            stage = self._stages[graph] = stages[member.id]
            self._edges[stage].update(graph.edge_pairs[0])

    def read(self, document: JoinDocument) -> list[Rejection]:
        """Finds the witnesses of a document.

        Returns:
            Queries with a pattern that cannot be evaluated.

        Raises:
            DocumentError: It is not well-formed.
        """
        return self._engine.read(document, self._candidates)

    def keys(self, document: JoinDocument, stage: int) -> set[bytes]:
        """Returns the keys of the values at which queries of a stage may join a document."""
        edges = self._edges[stage] & document.links.keys()
        return {key for edge in edges for key in _keys(document, edge)}

    def join(
        self,
        key: bytes,
        stage: int,
        documents: Iterable[tuple[JoinDocument, Arrival]],
        kept: Iterable[JoinDocument] = (),
    ) -> Iterator[PlacedRow]:
        """Joins documents that have a value.

        Args:
            key: The key of the value.
            stage: The stage of the queries.
            documents: The documents, with their numbers, in the order of their arrival.
            kept: What was kept of earlier ones.
        """

        engine = self._engine
        engine.store.clear()
        for document in kept:
            engine.keep(document)
        for document, arrival in documents:
            yield from self.go_on(document, arrival, key.__eq__, stage, stage)

    def go_on(
        self,
        document: JoinDocument,
        arrival: Arrival,
        mine: Callable[[bytes], bool],
        first: int = 0,
        last: int | None = None,
    ) -> Iterator[PlacedRow]:
        """Joins a document with those that are kept, and keeps it.

        Args:
            document: The document, with its numbers.
            arrival: Where it stands among all.
            mine: Whether documents are joined here, from the first key that they share.
            first, last: The stages of the queries; None for all from the first on.
        """

        def here(graph: JoinGraph, left: JoinDocument, right: JoinDocument) -> bool:
            stage = self._stages[graph]
            if stage < first or (last is not None and stage > last):
                return False
            one, other = graph.edge_pairs[0]
            return mine(min(_keys(left, one) & _keys(right, other), default=b""))

        engine = self._engine
        # A later time than its own: so what it may precede is looked for as well.
        done = engine.join(document, arrival.counts, document.time + 1, here)
        for (member, row), place in zip(done.rows, done.places, strict=True):
            yield PlacedRow(document.clock, *place, member.publish, row)
        for one in done.rejections:
            yield PlacedRow(document.clock, -1, -1, -1, -1, "", one)
        engine.keep(document)
        engine.release(arrival.horizon, arrival.counts)

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

    def kept(self, counts: StreamCounts, horizon: int | None) -> list[JoinDocument]:
        """Returns what later documents may still join, of those that were joined last.

        Args:
            counts: The numbers of documents so far.
            horizon: No document will be accepted whose time is earlier; None if any may.
        """
        self._engine.release(horizon, counts)
        return list(self._engine.store.needed())

    def begin(self) -> None:
        """Forgets the documents of the task before, whose clocks may stand for others now."""
        self._engine.forget()


def _keys(document: JoinDocument, edge: int) -> set[bytes]:
    """The keys of the values to which an edge leads."""
    keys = document.keys
    return {keys[n] for nodes in document.links[edge].values() for n in nodes}
