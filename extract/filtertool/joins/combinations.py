"""Combinations of witnesses: the bindings with which two documents satisfy a join graph."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from typing import Final, TypeAlias

from extract.filtertool.joins.documents import JoinDocument
from extract.filtertool.joins.graphs import GraphSide, JoinGraph

Row: TypeAlias = tuple[int, ...]
"""The witness of each node of a pattern: numbers of nodes of one document."""


_MOST_VIEWS: Final = 20_000


class TooMany(Exception):
    """Two documents have more combinations than a query may have rows."""


class RowsOfDocument:
    """The combinations of one document's witnesses, pattern by pattern; each is made once."""

    def __init__(self, document: JoinDocument, most: int) -> None:
        self.locators = document.locators
        self._keys = document.keys
        self._links = document.links
        self._most = most
        self._rows: dict[tuple[GraphSide, Row], dict[tuple[bytes, ...], list[Row]]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def by_values(self, side: GraphSide, joined: Row) -> dict[tuple[bytes, ...], list[Row]]:
        """Returns the combinations by the values of some nodes of the pattern."""
        key = (side, joined)
        rows = self._rows.get(key)
        if rows is None:
            rows = self._rows[key] = defaultdict(list)
            keys = self._keys
            for row in self._combinations(side):
                rows[tuple([keys[row[index]] for index in joined])].append(row)
        return rows

    def _combinations(self, side: GraphSide) -> Iterable[Row]:
        links, keys = self._links, self._keys
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
            rows = [row for row in rows if keys[row[one]] == keys[row[other]]]
        return rows


class DocumentViews:
    """The combinations of documents that were joined last, for all graphs that ask for them.

    These are the slices of the paper's section 5: what was made of a document for one graph, or for
    an earlier document, is not made again while it is here.

    Args:
        most: How many rows a query may have.
        kept: Whether anything is kept at all.
    """

    def __init__(self, most: int, kept: bool = True) -> None:
        self._most = most
        self._kept = kept
        self._views: OrderedDict[int, RowsOfDocument] = OrderedDict()
        self._used: dict[int, int] = {}  # since the last call of `tidy`, and how large they were
        self._size = 0

    def of(self, document: JoinDocument) -> RowsOfDocument:
        """Returns the combinations of a document."""
        clock = document.clock
        view = self._views.get(clock)
        if view is None:
            view = RowsOfDocument(document, self._most)
            if self._kept:
                self._views[clock] = view
                self._used[clock] = -1
        elif clock not in self._used:
            self._views.move_to_end(clock)
            self._used[clock] = len(view)
        return view

    def tidy(self) -> None:
        """Forgets what was used first, if there is too much."""
        self._size += sum([len(self._views[clock]) - was for clock, was in self._used.items()])
        self._used.clear()
        while self._size > _MOST_VIEWS:
            self._size -= 1 + len(self._views.popitem(last=False)[1])

    def clear(self) -> None:
        """Forgets all, before clocks stand for other documents."""
        self._views.clear()
        self._used.clear()
        self._size = 0


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
    places = left.locators, right.locators
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
