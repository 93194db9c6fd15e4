"""The joins of one kind of window: which documents are kept for them, and how they are found.

There are four kinds: two operators, with windows in time or in events. They differ in what has to
be kept of a document, and in which of two documents can come first.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Set
from typing import TypeAlias

from extract.filtertool.joins.blocks import BY_PLACE, BY_SEQ, LATEST, NEVER
from extract.filtertool.joins.documents import JoinDocument
from extract.filtertool.joins.graphs import JoinGraph, NamedGraph
from extract.filtertool.joins.members import GraphMembers, JoinMember
from extract.filtertool.joins.postings import Documents, Hits, Posting
from extract.filtertool.joins.search import EdgePair, PairTree
from extract.filtertool.joins.store import Header, WitnessStore
from extract.xscl.ast import EVERY_STREAM, JoinOperator, XsclQuery

Found: TypeAlias = Callable[[GraphMembers, JoinDocument, JoinDocument, int], None]
"""Takes queries, a left and a right document, and their distance in the unit of the windows."""

HitsByValue: TypeAlias = Mapping[bytes, Mapping[int, Hits]]
"""For values of a new document: by edge, the documents that have them."""


class StreamCounts:
    """How many documents were accepted.

    Attributes:
        inputs: From outside, whatever their stream.
        places: Of each stream.
    """

    def __init__(self, inputs: int = 0, places: Mapping[str, int] | None = None) -> None:
        self.inputs = inputs
        self.places: Counter[str] = Counter(places or {})

    def of(self, stream: str) -> int:
        """Returns how many documents a stream has, as a query names it."""
        return self.inputs if stream == EVERY_STREAM else self.places[stream]

    def distance(self, stream: str, earlier: JoinDocument | Header) -> int:
        """Returns how many documents of a stream there are from an earlier one on."""
        place = earlier.seq if stream == EVERY_STREAM else earlier.place
        return self.of(stream) - place


class WindowSizes:
    """The sizes of windows, of which the widest is known at any time."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self.widest = -1

    def __bool__(self) -> bool:
        return bool(self._counts)

    def add(self, size: int) -> None:
        """Adds a window."""
        self._counts[size] += 1
        self.widest = max(self.widest, size)

    def remove(self, size: int) -> None:
        """Removes a window."""
        _subtract(self._counts, size)
        if size == self.widest and size not in self._counts:
            self.widest = max(self._counts, default=-1)


class JoinPlan:
    """Join graphs whose queries have one operator and one kind of window.

    Args:
        operator: The operator.
        events: Whether windows are numbers of events.
        store: The documents that are kept.
        shared: Whether graphs share the search for their common pairs.
    """

    def __init__(
        self, operator: JoinOperator, events: bool, store: WitnessStore, shared: bool
    ) -> None:
        self._operator = operator
        self._events = events
        self._store = store
        self._partners: tuple[defaultdict[int, Counter[int]], defaultdict[int, Counter[int]]] = (
            defaultdict(Counter),
            defaultdict(Counter),
        )
        self._graphs: dict[JoinGraph, GraphMembers] = {}
        self._tree: PairTree[GraphMembers] = PairTree(shared)
        self._sizes: dict[tuple[int, str], WindowSizes] = defaultdict(WindowSizes)

    @property
    def graphs(self) -> Iterable[JoinGraph]:
        """The join graphs."""
        return self._graphs.keys()

    @property
    def widest(self) -> int:
        """The size of the widest window; -1 if there is none."""
        return max([sizes.widest for sizes in self._sizes.values()], default=-1)

    # -- queries

    def add(self, member: JoinMember, named: NamedGraph, query: XsclQuery) -> None:
        """Adds a query."""
        graph = named.graph
        members = self._graphs.get(graph)
        if members is None:
            members = self._graphs[graph] = GraphMembers(graph, query.streams)
            self._tree.add(graph.edge_pairs, members)
            for left, right in graph.edge_pairs:
                self._partners[0][left][right] += 1
                self._partners[1][right][left] += 1
        members.add(member, named, query)
        for side, stream in enumerate(query.streams):
            self._sizes[side, stream].add(member.size)

    def remove(self, member: JoinMember, named: NamedGraph, query: XsclQuery) -> None:
        """Removes a query."""
        graph = named.graph
        members = self._graphs[graph]
        members.remove(member, named, query)
        for side, stream in enumerate(query.streams):
            self._sizes[side, stream].remove(member.size)
        if members:
            return
        del self._graphs[graph]
        self._tree.remove(graph.edge_pairs, members)
        for left, right in graph.edge_pairs:
            for partners, edge, other in (
                (self._partners[0], left, right),
                (self._partners[1], right, left),
            ):
                _subtract(partners[edge], other)
                if not partners[edge]:
                    del partners[edge]

    # -- documents

    def search(
        self,
        document: JoinDocument,
        hits: HitsByValue,
        counts: StreamCounts,
        latest: int | None,
        found: Found,
    ) -> None:
        """Finds the queries and kept documents that a new document may join.

        Args:
            document: The document.
            hits: The kept documents that have its values.
            counts: The numbers of documents before it.
            latest: The latest time of those; None if there are none.
            found: Called for each graph and pair of documents that share its values.
        """
        follows = self._operator is JoinOperator.FOLLOWED_BY
        self._search(1, document, hits, counts, found)
        if not follows or (not self._events and latest is not None and document.time < latest):
            self._search(0, document, hits, counts, found)

    def _search(
        self,
        side: int,
        document: JoinDocument,
        hits: HitsByValue,
        counts: StreamCounts,
        found: Found,
    ) -> None:
        """Searches with the new document on one side."""
        pairs: dict[EdgePair, list[Hits]] = {}
        partners, keys = self._partners[side], document.keys
        for edge, nodes_of in document.links.items():
            others = partners.get(edge)
            if not others:
                continue
            for key in {keys[node] for nodes in nodes_of.values() for node in nodes}:
                having = hits.get(key)
                if having is None:
                    continue
                for other in having if len(having) < len(others) else others:
                    if other in having and other in others:
                        pair = (other, edge) if side else (edge, other)
                        pairs.setdefault(pair, []).append(having[other])
        if pairs:
            times = None if self._events else self._times(document)
            self._tree.find(
                {pair: _documents(several, times) for pair, several in pairs.items()},
                lambda members, clocks: self._pairs(members, clocks, side, document, counts, found),
            )

    def _times(self, document: JoinDocument) -> tuple[int, int]:
        """The first and the last time of documents that a document may join."""
        widest = self.widest
        return document.time - widest, document.time + widest

    def _pairs(
        self,
        members: GraphMembers,
        clocks: Set[int],
        side: int,
        document: JoinDocument,
        counts: StreamCounts,
        found: Found,
    ) -> None:
        """Tells of documents that share the values of a graph, with their distances."""
        store, follows = self._store, self._operator is JoinOperator.FOLLOWED_BY
        stream, widest = members.streams[1 - side], members.widest
        for clock in clocks:
            header = store.header(clock)
            if self._events:
                distance = counts.distance(stream, header)
            else:
                span = document.time - header.time if side else header.time - document.time
                if follows and span <= 0:
                    continue
                distance = abs(span)
            if distance <= widest:
                other = store.document(clock)
                left, right = (other, document) if side else (document, other)
                found(members, left, right, distance)

    def holds(self, document: JoinDocument) -> tuple[int, int]:
        """Returns until when, and by what numbers, later documents may need a document.

        See `extract.filtertool.joins.blocks.Hold`.
        """
        until, held = NEVER, 0
        for side in self._needed():
            if not self._partners[side].keys() & document.links.keys():
                continue
            if self._events:
                for stream in streams_of(document):
                    if self._sizes.get((side, stream)):
                        held |= BY_SEQ if stream == EVERY_STREAM else BY_PLACE
            elif side and self._operator is JoinOperator.FOLLOWED_BY:
                until = max(until, document.time - 1)  # what it follows is earlier
            else:
                sizes = [self._sizes.get((side, stream)) for stream in streams_of(document)]
                widest = max([one.widest for one in sizes if one], default=0)
                until = max(until, min(document.time + widest, LATEST))
        return until, held

    def first_places(self, counts: StreamCounts) -> Mapping[str, int]:
        """Returns for streams with windows in events the first place that these still take."""
        first: dict[str, int] = {}
        if self._events:
            for (_, stream), sizes in self._sizes.items():
                if sizes:
                    place = counts.of(stream) - sizes.widest
                    first[stream] = min(place, first.get(stream, place))
        return first

    def _needed(self) -> tuple[int, ...]:
        """The sides whose documents have to be kept."""
        follows = self._operator is JoinOperator.FOLLOWED_BY
        return (0,) if follows and self._events else (0, 1)


def _documents(several: list[Hits], times: tuple[int, int] | None) -> Documents:
    """All documents of several hits."""
    if any(hits.rows for hits in several):
        return Posting(several, times)
    if len(several) == 1:
        return several[0].clocks
    return set().union(*[hits.clocks for hits in several])


def streams_of(document: JoinDocument) -> tuple[str, ...]:
    """The streams that a document belongs to, as queries name them."""
    if document.published or document.stream == EVERY_STREAM:
        return (document.stream,)
    return document.stream, EVERY_STREAM


def _subtract(counter: Counter[int], key: int) -> None:
    counter[key] -= 1
    if not counter[key]:
        del counter[key]
