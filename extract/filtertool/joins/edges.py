"""Edges of tree patterns: a path from one bound node to the next, shared by all patterns.

The paper's relation ``R_bin`` has a row for two variables and two nodes. Here an edge stands for
the two variables, so that patterns which differ only in the names of their variables, or in their
other branches, share the edges that they have in common, and each is evaluated once for a document.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from lxml import etree

from extract.filtertool.flwr.bound_nodes import BoundExpression
from extract.xpath.ast import FilterPath, LocationPath, Variable
from extract.xpath.traverse import prefixes_in
from extract.xscl.ast import PatternNode

_NODE: Final = "node"
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
    """

    number: int
    stream: str
    above: int
    path: LocationPath
    namespaces: tuple[tuple[str, str], ...]
    below: list[PatternEdge] = field(default_factory=list)
    uses: int = 0
    _compiled: Any = None

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
            if above == ROOT:
                self._roots[stream][edge.number] = edge
            else:
                self._numbered[above][1].below.append(edge)
        edge.uses += 1
        return edge

    def remove(self, number: int) -> None:
        """Takes one use from an edge; those of a pattern from the leaves to the root."""
        key, edge = self._numbered[number]
        edge.uses -= 1
        if edge.uses:
            return
        del self._edges[key], self._numbered[number]
        if edge.above == ROOT:
            del self._roots[edge.stream][number]
        else:
            self._numbered[edge.above][1].below.remove(edge)

    def roots(self, stream: str, chosen: Collection[int] | None = None) -> list[PatternEdge]:
        """Returns the edges at which the patterns for a stream begin.

        Args:
            stream: The stream, as queries name it.
            chosen: The numbers of those that are asked for; None for all.
        """
        roots = self._roots[stream]
        if chosen is None:
            return list(roots.values())
        return [roots[number] for number in chosen if number in roots]
