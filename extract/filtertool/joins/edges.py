"""Edges of tree patterns: a path from one bound node to the next, shared by all patterns.

The paper's relation ``R_bin`` has a row for two variables and two nodes. Here an edge stands for
the two variables, so that patterns which differ only in the names of their variables, or in their
other branches, share the edges that they have in common, and each is evaluated once for a document.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Final

from lxml import etree

from extract.filtertool.flwr.bound_nodes import BoundExpression
from extract.filtertool.matchers.cost_bound import Bound
from extract.xpath.ast import FilterPath, LocationPath, Step, Variable
from extract.xpath.traverse import prefixes_in
from extract.xscl.ast import PatternNode

_NODE: Final = "node"
_DOWN: Final = frozenset({"child", "attribute", "self", "descendant", "descendant-or-self"})
ROOT: Final = -1


@dataclass(slots=True, eq=False)
class PatternEdge:
    """An edge.

    Attributes:
        number: Its number.
        stream: The stream that the pattern is for.
        above: The edge that leads to the node above; `ROOT` for the root of a pattern.
        path: From the node above to the nodes below.
        namespaces: Those of the prefixes in the path.
        below: The edges that go on from there.
        uses: How many patterns have it.
        compared: How many queries compare the values of the nodes that it leads to.
        is_quick: Whether it costs little to follow it once, on whatever document.
    """

    number: int
    stream: str
    above: int
    path: LocationPath
    namespaces: tuple[tuple[str, str], ...]
    below: list[PatternEdge] = field(default_factory=list)
    uses: int = 0
    compared: int = 0
    _compiled: Any = None
    is_quick: bool = field(init=False)
    _bound: Bound | None = None

    def __post_init__(self) -> None:
        steps = self.path.steps
        self.is_quick = all(step.axis in _DOWN and not step.predicates for step in steps)

    def nodes(self, start: Any) -> list[Any]:
        """Returns the nodes that the edge leads to.

        Args:
            start: lxml's tree for the root of a pattern, else the node above.

        Raises:
            etree.XPathError: The path cannot be evaluated.
        """
        if self._compiled is None:
            self._compiled = self._compile()
        found: list[Any] = self._compiled(start)
        return found

    @property
    def bound(self) -> Bound:
        """The bound of what it costs to follow the edge once."""
        if self._bound is None:
            self._bound = Bound(str(LocationPath(True, self.path.steps)))
        return self._bound

    def bare(self) -> PatternEdge:
        """Returns the edge for another process: without others, and not compiled."""
        return PatternEdge(self.number, self.stream, self.above, self.path, self.namespaces)

    def _compile(self) -> Any:
        namespaces = dict(self.namespaces)
        if self.above == ROOT:
            return etree.XPath(str(self.path), namespaces=namespaces)
        whole = (
            self.path if self.path.absolute else FilterPath(Variable(_NODE), (), self.path.steps)
        )
        return BoundExpression(self.path, whole, _NODE, namespaces).at


class EdgeTable:
    """All edges of the patterns of some queries."""

    def __init__(self) -> None:
        self._edges: dict[tuple[object, ...], PatternEdge] = {}
        self._numbered: dict[int, tuple[tuple[object, ...], PatternEdge]] = {}
        self._next = 0
        self._roots: dict[str, dict[int, PatternEdge]] = defaultdict(dict)
        self._of_stream: dict[str, dict[int, PatternEdge]] = defaultdict(dict)
        self._changes: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._edges)

    def add(
        self, stream: str, above: int, node: PatternNode, namespaces: Mapping[str, str]
    ) -> PatternEdge:
        """Returns the edge of a pattern's node, which has one more use."""
        used = sorted(prefixes_in(node.path))
        bound = tuple([(prefix, namespaces[prefix]) for prefix in used if prefix in namespaces])
        key = (stream if above == ROOT else "", above, node.path, bound)
        edge = self._edges.get(key)
        if edge is None:
            edge = PatternEdge(self._next, stream, above, node.path, bound)
            self._next += 1
            self._edges[key] = edge
            self._numbered[edge.number] = key, edge
            self._of_stream[stream][edge.number] = edge
            self._changes[stream] += 1
            if above == ROOT:
                self._roots[stream][edge.number] = edge
            else:
                self._numbered[above][1].below.append(edge)
        edge.uses += 1
        return edge

    def use(self, numbers: Iterable[int]) -> None:
        """Adds one use to edges that are there."""
        for number in numbers:
            self._numbered[number][1].uses += 1

    def compare(self, numbers: Iterable[int], times: int) -> None:
        """Notes that so many more queries compare the values of edges."""
        for number in numbers:
            self._numbered[number][1].compared += times

    def remove(self, number: int) -> None:
        """Takes one use from an edge; those of a pattern from the leaves to the root."""
        key, edge = self._numbered[number]
        edge.uses -= 1
        if edge.uses:
            return
        del self._edges[key], self._numbered[number], self._of_stream[edge.stream][number]
        self._changes[edge.stream] += 1
        if edge.above == ROOT:
            del self._roots[edge.stream][number]
        else:
            self._numbered[edge.above][1].below.remove(edge)

    def of_stream(self, stream: str) -> Mapping[int, PatternEdge]:
        """Returns the edges of all patterns for a stream, by their numbers."""
        return self._of_stream[stream]

    def changes(self, stream: str) -> int:
        """Returns a number that is another one whenever the edges for a stream have changed."""
        return self._changes[stream]

    def select(
        self, stream: str, chosen: Collection[int] | None
    ) -> tuple[Iterable[PatternEdge], Callable[[PatternEdge], Iterable[PatternEdge]]]:
        """Returns the edges at which the patterns for a stream begin, and how they go on.

        Args:
            stream: The stream, as queries name it.
            chosen: The numbers of edges that are to be followed; None for all.
        """
        if chosen is None:
            return self._roots[stream].values(), attrgetter("below")
        edges, below = self._of_stream[stream], defaultdict[int, list[PatternEdge]](list)
        for number in chosen:
            if number in edges:
                below[edges[number].above].append(edges[number])
        return below[ROOT], lambda edge: below.get(edge.number, ())

    def absolute(self, number: int) -> tuple[LocationPath, dict[str, str]]:
        """Returns the path of an edge from the document on, and the namespaces of its prefixes."""
        edge = self._numbered[number][1]
        steps: tuple[Step, ...] = edge.path.steps
        namespaces = dict(edge.namespaces)
        while edge.above != ROOT and not edge.path.absolute:
            edge = self._numbered[edge.above][1]
            steps = edge.path.steps + steps
            namespaces.update(edge.namespaces)
        return LocationPath(True, steps), namespaces
