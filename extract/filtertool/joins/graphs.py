"""Join graphs: what queries join, without the names of their variables and without their windows.

Queries with one join graph cost one search, however many they are. A graph has the edges of both
patterns, in an order that the texts do not change, and which nodes have to be equal. The *template*
of a graph is its shape alone, as in the paper's section 4: see `template_of`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from extract.filtertool.joins.edges import ROOT, EdgeTable
from extract.xscl.ast import JoinSide, PatternNode, XsclQuery

Pairs: TypeAlias = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class GraphSide:
    """A pattern as edges.

    Attributes:
        edges: The number of each node's edge, each before those below.
        above: For each node the index of the one above; -1 for the root.
        same: Pairs of indices whose values have to be equal.
        shown: The indices whose nodes results tell; others only have to exist.
    """

    edges: tuple[int, ...]
    above: tuple[int, ...]
    same: Pairs
    shown: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class JoinGraph:
    """Two patterns and the pairs of their nodes that have to be equal.

    Attributes:
        left, right: The patterns.
        equal: Pairs of indices into the left and the right pattern.
    """

    left: GraphSide
    right: GraphSide
    equal: Pairs

    @property
    def compared(self) -> set[int]:
        """The edges whose values are compared."""
        equal = [(self.left.edges[one], self.right.edges[other]) for one, other in self.equal]
        same = [
            side.edges[node] for side in (self.left, self.right) for p in side.same for node in p
        ]
        return {edge for pair in equal for edge in pair}.union(same)

    @property
    def edge_pairs(self) -> Pairs:
        """The pairs of edges whose values have to be equal, in order, each once."""
        pairs = {(self.left.edges[one], self.right.edges[other]) for one, other in self.equal}
        return tuple(sorted(pairs))


@dataclass(frozen=True, slots=True)
class NamedGraph:
    """The join graph of a query, and the names of its variables.

    Attributes:
        graph: The graph.
        left, right: For each variable that results tell its name and index, in the order of the
            text.
    """

    graph: JoinGraph
    left: tuple[tuple[str, int], ...]
    right: tuple[tuple[str, int], ...]


def graph_of(query: XsclQuery, edges: EdgeTable) -> NamedGraph:
    """Returns the join graph of a query, whose edges have one more use."""
    left, left_at = _side(query.left, query, edges)
    right, right_at = _side(query.right, query, edges)
    equal = {(left_at[one.left], right_at[one.right]) for one in query.equalities}
    graph = JoinGraph(left, right, tuple(sorted(equal)))
    edges.compare(graph.compared, 1)
    return NamedGraph(
        graph,
        tuple([(name, left_at[name]) for name in query.left.variables]),
        tuple([(name, right_at[name]) for name in query.right.variables]),
    )


def use_again(graph: JoinGraph, edges: EdgeTable) -> None:
    """Adds one use to the edges of a graph."""
    edges.compare(graph.compared, 1)
    for side in (graph.left, graph.right):
        edges.use(side.edges)


def release(graph: JoinGraph, edges: EdgeTable) -> None:
    """Takes one use from the edges of a graph."""
    edges.compare(graph.compared, -1)
    for side in (graph.left, graph.right):
        for number in reversed(side.edges):
            edges.remove(number)


def template_of(graph: JoinGraph) -> tuple[object, ...]:
    """Returns the shape of a graph: the paper's query template, made of the graph's minor.

    Nodes that neither take part in an equality nor lie where branches to such nodes part are gone.
    What is returned is the same for shapes that differ only in the order of their nodes.
    """
    minors = (
        _minor(graph.left, {one for one, _ in graph.equal}),
        _minor(graph.right, {other for _, other in graph.equal}),
    )
    near: dict[tuple[int, int], list[tuple[str, tuple[int, int]]]] = {
        (side, node): [] for side in (0, 1) for node in minors[side]
    }
    for side, minor in enumerate(minors):
        for node, above in minor.items():
            if above != ROOT:
                near[side, node].append(("above", (side, above)))
                near[side, above].append(("below", (side, node)))
    for one, other in graph.equal:
        near[0, one].append(("equal", (1, other)))
        near[1, other].append(("equal", (0, one)))
    labels: dict[tuple[int, int], object] = {node: node[0] for node in near}
    for _ in near:  # each round, a label tells of nodes that are one step further
        labels = {
            node: hash((labels[node], tuple(sorted([(how, hash(labels[n])) for how, n in others]))))
            for node, others in near.items()
        }
    return tuple(sorted([hash(label) for label in labels.values()]))


def _side(side: JoinSide, query: XsclQuery, edges: EdgeTable) -> tuple[GraphSide, dict[str, int]]:
    numbers: list[int] = []
    parents: list[int] = []
    at: dict[str, int] = {}
    shown: list[int] = []

    def place(node: PatternNode, edge: int, above: int) -> None:
        index = len(numbers)
        numbers.append(edge)
        parents.append(above)
        if node.variable:
            at[node.variable] = index
            if not node.hidden:
                shown.append(index)
        below = [
            (edges.add(side.stream, edge, child, query.namespaces).number, child)
            for child in node.children
        ]
        for number, child in sorted(below, key=lambda one: one[0]):  # whatever order the text has
            place(child, number, index)

    root = edges.add(side.stream, ROOT, side.root, query.namespaces)
    place(side.root, root.number, ROOT)
    same = tuple(sorted({(at[one], at[other]) for one, other in side.same}))
    return GraphSide(tuple(numbers), tuple(parents), same, tuple(shown)), at


def _minor(side: GraphSide, joined: set[int]) -> dict[int, int]:
    """The nodes of a pattern that its template has, and for each the one above."""
    branches: dict[int, set[int]] = {}
    for node in joined:
        below, above = node, side.above[node]
        while above != ROOT:
            branches.setdefault(above, set()).add(below)
            below, above = above, side.above[above]
    kept = {node for node, below in branches.items() if len(below) > 1} | joined
    minor: dict[int, int] = {}
    for node in sorted(kept):
        above = side.above[node]
        while above != ROOT and above not in kept:
            above = side.above[above]
        minor[node] = above
    return minor
