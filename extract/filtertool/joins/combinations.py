"""Combinations of witnesses: the bindings with which two documents satisfy a join graph."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TypeAlias

from extract.filtertool.joins.documents import JoinDocument
from extract.filtertool.joins.graphs import GraphSide, JoinGraph

Row: TypeAlias = tuple[int, ...]
"""The witness of each node of a pattern: numbers of nodes of one document."""


class TooMany(Exception):
    """Two documents have more combinations than a query may have rows."""


class RowsOfDocument:
    """The combinations of one document's witnesses, pattern by pattern; each is made once."""

    def __init__(self, document: JoinDocument, most: int) -> None:
        self.document = document
        self._most = most
        self._rows: dict[tuple[GraphSide, Row], dict[tuple[str, ...], list[Row]]] = {}

    def by_values(self, side: GraphSide, joined: Row) -> dict[tuple[str, ...], list[Row]]:
        """Returns the combinations by the values of some nodes of the pattern."""
        key = (side, joined)
        rows = self._rows.get(key)
        if rows is None:
            rows = self._rows[key] = defaultdict(list)
            values = self.document.values
            for row in self._combinations(side):
                rows[tuple([values[row[index]] for index in joined])].append(row)
        return rows

    def _combinations(self, side: GraphSide) -> Iterable[Row]:
        links, values = self.document.links, self.document.values
        rows: list[Row] = [()]
        for edge, above in zip(side.edges, side.above, strict=True):
            below = links.get(edge)
            if below is None:
                return ()
            if above < 0:
                rows = [(node,) for node in below[-1]]
            elif len(rows) == 1:
                row = rows[0]
                rows = [(*row, node) for node in below.get(row[above], ())]
            else:
                rows = [(*row, node) for row in rows for node in below.get(row[above], ())]
            if len(rows) > self._most:
                raise TooMany
        for one, other in side.same:
            rows = [row for row in rows if values[row[one]] == values[row[other]]]
        return rows


def combinations(
    graph: JoinGraph, left: RowsOfDocument, right: RowsOfDocument, most: int
) -> list[tuple[Row, Row]]:
    """Returns the combinations of two documents that satisfy a join graph.

    Of several that differ only in nodes that results do not tell, there is one: that with the first
    nodes in document order.

    Raises:
        TooMany: There are more than ``most``.
    """
    ones = left.by_values(graph.left, tuple([one for one, _ in graph.equal]))
    others = right.by_values(graph.right, tuple([other for _, other in graph.equal]))
    pairs: list[tuple[Row, Row]] = []
    for values in ones if len(ones) < len(others) else others:
        if values in ones and values in others:
            pairs += [(one, other) for one in ones[values] for other in others[values]]
            if len(pairs) > most:
                raise TooMany
    shown = len(graph.left.shown) + len(graph.right.shown)
    if len(pairs) < 2 or shown == len(graph.left.edges) + len(graph.right.edges):
        return pairs
    first: dict[tuple[Row, Row], tuple[Row, Row]] = {}
    places = left.document.locators, right.document.locators
    for one, other in sorted(
        pairs,
        key=lambda pair: ([places[0][n] for n in pair[0]], [places[1][n] for n in pair[1]]),
    ):
        tells = (
            tuple([one[index] for index in graph.left.shown]),
            tuple([other[index] for index in graph.right.shown]),
        )
        first.setdefault(tells, (one, other))
    return list(first.values())
