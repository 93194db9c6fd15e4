"""The join engine: from documents, one by one, to the rows of all queries."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from extract.errors import DocumentError
from extract.filtertool.flwr.writer import OutputError
from extract.filtertool.joins.blocks import NEVER, Hold, Needs
from extract.filtertool.joins.combinations import DocumentViews, Row, TooMany, combinations
from extract.filtertool.joins.documents import DocumentTree, DocumentTrees, JoinDocument, Locator
from extract.filtertool.joins.edges import EdgeTable, PatternEdge
from extract.filtertool.joins.graphs import (
    JoinGraph,
    NamedGraph,
    graph_of,
    release,
    template_of,
    use_again,
)
from extract.filtertool.joins.joined import Joined, JoinState
from extract.filtertool.joins.members import GraphMembers, JoinMember, MemberVariant
from extract.filtertool.joins.plan import JoinPlan, StreamCounts, streams_of
from extract.filtertool.joins.publishing import PUBLISH
from extract.filtertool.joins.store import WitnessStore
from extract.filtertool.joins.witnesses import WitnessFinder
from extract.filtertool.results.outcome import COST, Rejection
from extract.limits import GivenUp, Limits
from extract.xscl.ast import EVERY_STREAM, JoinOperator, XsclQuery

_TAIL_BYTES: Final = 700  # of bindings, paths and names that rows of several queries share
_ROW_BYTES: Final = 350  # of one row, with its place

Candidates: TypeAlias = Callable[[str, bytes], Collection[int] | None]
"""Returns for a stream and a document the numbers of edges that may lead to nodes; None for all."""

OnlyPairs: TypeAlias = Callable[[JoinGraph, JoinDocument, JoinDocument], bool]
"""Says whether the rows of a graph, a left and a right document are wanted."""


@dataclass(slots=True)
class JoinOutcome:
    """What a document leads to.

    Attributes:
        rows: The rows, with the queries that they are of.
        places: For each row the order of its query, the clocks of its documents, and the rank of
            the combination of nodes: rows are in this order.
        rejections: Queries that could not be evaluated.
        bytes: What rows take, about, also of documents that led to this one.
    """

    rows: list[tuple[JoinMember, Joined]] = field(default_factory=list)
    places: list[tuple[int, int, int, int]] = field(default_factory=list)
    rejections: list[Rejection] = field(default_factory=list)
    bytes: int = 0


class JoinEngine:
    """Joins documents for many queries at once.

    Args:
        limits: How many rows a query may have for two documents, and how long an output may be.
        shared: Whether join graphs share what they have in common: the search, and what was made of
            a document; without it, each is evaluated for itself, which only measurements want.

    Attributes:
        edges: The edges of all patterns.
        store: The documents that are kept.
    """

    def __init__(self, limits: Limits, shared: bool = True) -> None:
        self.edges = EdgeTable()
        self._limits = limits
        self.store = WitnessStore()
        self._plans: dict[tuple[JoinOperator, bool], JoinPlan] = {}
        self._shared = shared
        self._queries: dict[str, tuple[JoinMember, NamedGraph, XsclQuery]] = {}
        self._named: dict[int, tuple[NamedGraph, int]] = {}  # by the query's object; how many
        self._trees = DocumentTrees(limits)
        self._views = DocumentViews(limits.query_rows, shared)

    # -- queries

    def add(self, member: JoinMember, query: XsclQuery) -> None:
        """Adds a query; one object may be given for several queries with the same text."""
        known = self._named.get(id(query))
        if known is None:
            named, uses = graph_of(query, self.edges), 0
        else:
            named, uses = known
            use_again(named.graph, self.edges)
        self._named[id(query)] = named, uses + 1
        self._queries[member.id] = member, named, query
        self._plan(query).add(member, named, query)

    def remove(self, identifier: str) -> None:
        """Removes a query."""
        member, named, query = self._queries.pop(identifier)
        self._plan(query).remove(member, named, query)
        release(named.graph, self.edges)
        _, uses = self._named.pop(id(query))
        if uses > 1:
            self._named[id(query)] = named, uses - 1

    def _plan(self, query: XsclQuery) -> JoinPlan:
        key = (query.window.operator, query.window.events)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = JoinPlan(*key, self.store, self._shared)
        return plan

    def graph_of(self, identifier: str) -> JoinGraph:
        """Returns the join graph of a query."""
        return self._queries[identifier][1].graph

    def graphs(self) -> int:
        """Returns the number of different join graphs."""
        return sum([len(list(plan.graphs)) for plan in self._plans.values()])

    def templates(self) -> int:
        """Returns the number of different query templates."""
        graphs = [graph for plan in self._plans.values() for graph in plan.graphs]
        return len({template_of(graph) for graph in graphs})

    # -- state

    @property
    def state(self) -> JoinState:
        """What is kept of documents."""
        return JoinState(len(self.store), self.store.witnesses, self.store.bytes)

    def release(self, horizon: Callable[[str, bool], int], counts: StreamCounts) -> None:
        """Lets go of documents that no later one can join.

        Args:
            horizon: As of `Lateness`.
            counts: The numbers of documents so far.
        """
        first: dict[str, int] = {}
        for plan in self._plans.values():
            for stream, place in plan.first_places(counts).items():
                first[stream] = min(place, first.get(stream, place))
        self.store.release(Needs(horizon, first, first.get(EVERY_STREAM, counts.inputs)))

    def forget(self) -> None:
        """Forgets what was made of documents, before clocks stand for others."""
        self._trees.clear()
        self._views.clear()

    # -- documents

    def reads(self, stream: str) -> bool:
        """Whether a query reads a published stream."""
        return bool(self.edges.of_stream(stream))

    def read(self, document: JoinDocument, candidates: Candidates | None = None) -> list[Rejection]:
        """Finds the witnesses of a document.

        Args:
            document: The document.
            candidates: Says which patterns may match.

        Returns:
            Queries with a pattern that cannot be evaluated. Of a published document also why it
            cannot be read: it keeps its number, and joins nothing.

        Raises:
            DocumentError: It comes from outside, and is not well-formed.
        """
        if document.published and not self.reads(document.stream):
            return []  # nobody reads it
        try:
            tree = DocumentTree(document.data, document.name, self._limits)
        except DocumentError as error:
            if not document.published:
                raise
            return [Rejection(document.name, None, PUBLISH, error.reason)]
        self._trees.keep(document, tree)
        failures: list[tuple[PatternEdge, str]] = []
        finder = WitnessFinder(document, tree, self._limits)
        for stream in streams_of(document):
            chosen = None if candidates is None else candidates(stream, document.data)
            failures += finder.find(*self.edges.select(stream, chosen))
        return [one for edge, why in failures for one in self._failed(document, edge, why)]

    def _failed(self, document: JoinDocument, edge: PatternEdge, why: str) -> Iterable[Rejection]:
        for member, named, _ in self._queries.values():
            if edge.number in (*named.graph.left.edges, *named.graph.right.edges):
                stage = COST if isinstance(why, GivenUp) else "join"
                yield Rejection(document.name, member.id, stage, why)

    def keep(self, document: JoinDocument) -> None:
        """Keeps a document, if later ones may need it."""
        if not document.links:
            return
        until, held = NEVER, 0
        for plan in self._plans.values():
            own_until, own_held = plan.holds(document)
            until, held = max(until, own_until), held | own_held
        hold = Hold(until, held)
        if hold:
            self.store.add(document, hold)

    def join(
        self,
        document: JoinDocument,
        counts: StreamCounts,
        latest: int | None,
        only: OnlyPairs | None = None,
        spent: int = 0,
    ) -> JoinOutcome:
        """Joins a document with those that are kept.

        Args:
            document: The document, with its witnesses.
            counts: The numbers of documents before it.
            latest: The latest time of those.
            only: Says whether the rows of a graph, a left and a right document are wanted.
            spent: Bytes that rows take already, of documents that led to this one.
        """
        pairs = _PairRows(document, self._trees, self._views, self._limits, only, spent)
        keys = {key for key in document.keys if key}
        hits = self.store.find(keys) if keys and self.store else {}
        if hits:
            for plan in self._plans.values():
                plan.search(document, hits, counts, latest, pairs.found)
            self._views.tidy()
        return pairs.outcome()


class _PairRows:
    """Makes the rows of one document with those that it joins."""

    def __init__(
        self,
        document: JoinDocument,
        trees: DocumentTrees,
        views: DocumentViews,
        limits: Limits,
        only: OnlyPairs | None,
        spent: int,
    ) -> None:
        self._document = document
        self._only = only
        self._trees = trees
        self._limits = limits
        self._views = views
        self._done = JoinOutcome()
        self._bytes = spent  # that rows take, about
        self._full: set[str] = set()  # queries that have no more rows
        # Order of the query, clocks, rank of the combination: these differ; then member and row.
        self._rows: list[tuple[int, int, int, int, JoinMember, Joined]] = []

    def outcome(self) -> JoinOutcome:
        """Returns the rows in the order of queries, then of documents, then of nodes."""
        self._rows.sort()
        self._done.rows = [(row[4], row[5]) for row in self._rows]
        self._done.places = [row[:4] for row in self._rows]
        self._done.bytes = self._bytes
        return self._done

    def found(
        self, members: GraphMembers, left: JoinDocument, right: JoinDocument, distance: int
    ) -> None:
        """Makes the rows of queries for two documents that share the values of their graph."""
        if self._only is not None and not self._only(members.graph, left, right):
            return
        clock, views, late = min(left.clock, right.clock), self._views, left.late | right.late
        matches: list[tuple[Row, Row]] | None = None
        for variant in members:
            seeing = variant.seeing(distance, clock, late)
            if not seeing:
                continue
            if matches is None:
                try:
                    matches = combinations(
                        members.graph, views.of(left), views.of(right), self._limits.query_rows
                    )
                except TooMany:
                    self._reject(seeing, self._limits.passed("query_rows"))
                    continue
            if matches:
                self._add(variant, seeing, left, right, matches)

    def _add(
        self,
        variant: MemberVariant,
        seeing: list[JoinMember],
        left: JoinDocument,
        right: JoinDocument,
        matches: list[tuple[Row, Row]],
    ) -> None:
        names, trees = variant.names, (self._trees.of(left), self._trees.of(right))
        if len(matches) > 1:
            matches = sorted(matches, key=lambda pair: _order(variant, left, right, pair))
        for rank, (one, other) in enumerate(matches):
            if self._bytes > self._limits.joined_bytes:
                self._end(seeing)
                return
            bindings = {
                name: trees[0].path(left.locators[one[index]]) for name, index in names.left
            }
            for name, index in names.right:
                bindings[name] = trees[1].path(right.locators[other[index]])
            try:
                output = variant.output.make((left, right), trees, (one, other), self._limits)
            except OutputError as error:
                self._reject(seeing, error.reason)
                continue
            tail = (
                left.name, right.name, left.seq, right.seq, left.time, right.time, bindings, output,
            )  # fmt: skip
            self._bytes += _TAIL_BYTES + len(output) + _ROW_BYTES * len(seeing)
            one_clock, other_clock = left.clock, right.clock
            self._rows += [
                (member.order, one_clock, other_clock, rank, member, _joined(member.id, tail))
                for member in seeing
            ]

    def _end(self, members: list[JoinMember]) -> None:
        """Says, once for each query, that there are more rows than fit."""
        more = [one for one in members if one.id not in self._full]
        self._full.update([one.id for one in more])
        self._reject(more, self._limits.passed("joined_bytes"))

    def _reject(self, members: list[JoinMember], reason: str) -> None:
        name = self._document.name
        self._done.rejections += [Rejection(name, one.id, "join", reason) for one in members]


def _joined(query: str, tail: tuple[object, ...]) -> Joined:
    """A row; made like this it takes half of the time."""
    return tuple.__new__(Joined, (query, *tail))


def _order(
    variant: MemberVariant, left: JoinDocument, right: JoinDocument, pair: tuple[Row, Row]
) -> tuple[list[Locator], list[Locator]]:
    """The key by which combinations are in document order, variable by variable."""
    one, other = pair
    return (
        [left.locators[one[index]] for _, index in variant.names.left],
        [right.locators[other[index]] for _, index in variant.names.right],
    )
