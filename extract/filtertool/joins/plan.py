"""The joins of one kind of window: which documents are kept for them, and how they are found.

There are four kinds: two operators, with windows in time or in events. They differ in what has to
be kept of a document, and in which of two documents can come first.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Set
from typing import TypeAlias

from extract.filtertool.joins.documents import JoinDocument
from extract.filtertool.joins.graphs import JoinGraph, NamedGraph
from extract.filtertool.joins.members import GraphMembers, JoinMember
from extract.filtertool.joins.search import EdgePair, PairTree
from extract.filtertool.joins.side_state import SideState, StateLedger
from extract.xscl.ast import EVERY_STREAM, JoinOperator, XsclQuery

Found: TypeAlias = Callable[[GraphMembers, JoinDocument, JoinDocument, int], None]
"""Takes queries, a left and a right document, and their distance in the unit of the windows."""


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

    def distance(self, stream: str, earlier: JoinDocument) -> int:
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
        ledger: Counts what is kept.
        shared: Whether graphs share the search for their common pairs.
    """

    def __init__(
        self, operator: JoinOperator, events: bool, ledger: StateLedger, shared: bool
    ) -> None:
        self._operator = operator
        self._events = events
        self._sides = (SideState(ledger), SideState(ledger))
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
                self._sides[0].edges[left] += 1
                self._sides[1].edges[right] += 1
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
            _subtract(self._sides[0].edges, left)
            _subtract(self._sides[1].edges, right)
            _subtract(self._partners[0][left], right)
            _subtract(self._partners[1][right], left)

    # -- documents

    def search(
        self, document: JoinDocument, counts: StreamCounts, latest: int | None, found: Found
    ) -> None:
        """Finds the queries and kept documents that a new document may join.

        Args:
            document: The document.
            counts: The numbers of documents before it.
            latest: The latest time of those; None if there are none.
            found: Called for each graph and pair of documents that share its values.
        """
        follows = self._operator is JoinOperator.FOLLOWED_BY
        self._search(1, document, counts, found)
        if not follows or (not self._events and latest is not None and document.time < latest):
            self._search(0, document, counts, found)

    def _search(
        self, side: int, document: JoinDocument, counts: StreamCounts, found: Found
    ) -> None:
        """Searches with the new document on one side."""
        kept = self._sides[1 - side]
        if not kept.documents:
            return
        present: dict[EdgePair, Set[int]] = {}
        partners = self._partners[side]
        for edge in document.links:
            others = partners.get(edge)
            if not others:
                continue
            values = {document.values[n] for nodes in document.links[edge].values() for n in nodes}
            for value in values:
                having = kept.having(value)
                for other in having if len(having) < len(others) else others:
                    if other not in having or other not in others:
                        continue
                    pair = (other, edge) if side else (edge, other)
                    before = present.get(pair)
                    present[pair] = having[other] if before is None else before | having[other]
        if present:
            self._tree.find(
                present,
                lambda members, clocks: self._pairs(members, clocks, side, document, counts, found),
            )

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
        kept, follows = self._sides[1 - side].documents, self._operator is JoinOperator.FOLLOWED_BY
        stream = members.streams[1 - side]
        for clock in clocks:
            other = kept[clock]
            left, right = (other, document) if side else (document, other)
            if self._events:
                found(members, left, right, counts.distance(stream, other))
                continue
            span = right.time - left.time
            if span > 0 or not follows:
                found(members, left, right, abs(span))

    def keep(self, document: JoinDocument) -> None:
        """Keeps what later documents may need of a document."""
        if not self._graphs:
            return
        for side in self._needed():
            state = self._sides[side]
            if self._events:
                for stream in streams_of(document):
                    if self._sizes.get((side, stream)):
                        state.hold_place(document, stream)
            elif side and self._operator is JoinOperator.FOLLOWED_BY:
                state.hold_until(document, document.time - 1)  # what it follows is earlier
            else:
                state.hold_until(document, document.time + self.widest)

    def release(self, horizon: int | None, counts: StreamCounts) -> None:
        """Lets go of what no later document can join.

        Args:
            horizon: No document will be accepted whose time is earlier; None if any may.
            counts: The numbers of documents so far.
        """
        if not self._events:
            for state in self._sides:
                if horizon is not None:
                    state.release_before(horizon)
            return
        for (side, stream), sizes in self._sizes.items():
            place = counts.of(stream) - max(sizes.widest, 0)
            self._sides[side].release_places(stream, place)

    def drop(self, clock: int) -> None:
        """Lets go of a document, whatever windows need it."""
        for state in self._sides:
            state.drop(clock)

    def clear(self) -> None:
        """Lets go of all documents."""
        for state in self._sides:
            state.clear()

    def _needed(self) -> tuple[int, ...]:
        """The sides whose documents have to be kept."""
        follows = self._operator is JoinOperator.FOLLOWED_BY
        return (0,) if follows and self._events else (0, 1)


def streams_of(document: JoinDocument) -> tuple[str, ...]:
    """The streams that a document belongs to, as queries name them."""
    if document.published or document.stream == EVERY_STREAM:
        return (document.stream,)
    return document.stream, EVERY_STREAM


def _subtract(counter: Counter[int], key: int) -> None:
    counter[key] -= 1
    if not counter[key]:
        del counter[key]
