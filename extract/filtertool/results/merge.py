"""Merges the answers of a document's parts into findings.

Nodes that several parts have found become one, in document order. All columns hold numbers until
the last step: a node is described once, however many queries select it, and the rows of a query are
multiplied by its subscribers at the very end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extract.chunktool.scan.node_table import NodeTable
from extract.filtertool.matchers.node_refs import BITS, DocumentOrder, Keys
from extract.filtertool.matchers.protocol import Nodes, Select
from extract.filtertool.results.describe_nodes import NodeDescriber
from extract.filtertool.results.findings import Findings, is_true
from extract.filtertool.results.node_columns import Described
from extract.filtertool.results.owners import Indices, Longs, Owners
from extract.limits import DEFAULTS, Limits
from extract.markup.node_kinds import NodeKind


class Answered(NamedTuple):
    """The nodes that a matcher selected in one part of a document.

    Attributes:
        table: The nodes of the part.
        nodes: The selected nodes, with questions already replaced by queries; None for none.
        describer: Describes them.
        original: Turns offsets of the table into those of the document; None if they are the same.
    """

    table: NodeTable
    nodes: Nodes | None
    describer: NodeDescriber
    original: Callable[[Longs], Longs] | None = None


class Merger:
    """Merges the answers of the parts of one document.

    Args:
        select: What the answers are: nodes, counts, or which queries match.
        limits: How many bytes a value may have, and how many nodes a query may select.

    Attributes:
        failed: By query, why it could not be evaluated.
    """

    def __init__(self, select: Select, limits: Limits | None = None) -> None:
        self._select = select
        self._limits = limits or DEFAULTS
        self._most = self._limits.value_bytes
        self._parts: list[Answered] = []
        self._values: list[tuple[int, float | str | bool]] = []
        self._counts: list[tuple[Indices, Longs]] = []
        self.failed: dict[int, str] = {}

    def nodes(self, answered: Answered) -> None:
        """Adds nodes of a part. The nodes of one query may come from several parts."""
        if answered.nodes is not None and len(answered.nodes.question):
            self._parts.append(answered)

    def counts(self, queries: Indices, counts: Longs) -> None:
        """Adds the numbers of nodes of queries that no other part has."""
        self._counts.append((queries, counts))

    def value(self, query: int, value: float | str | bool) -> None:
        """Adds the value of a query that is no node set."""
        self._values.append((query, value))

    def taken(self, complete: NDArray[np.bool_]) -> Merger:
        """Moves the answers of some queries to a merger of their own, and returns that.

        Args:
            complete: For each query whether it is one of them.
        """
        mine = Merger(self._select, self._limits)
        parts, self._parts = self._parts, []
        for part in parts:
            assert part.nodes is not None
            ours = complete[part.nodes.question]
            mine.nodes(part._replace(nodes=part.nodes.where(ours)))
            self.nodes(part._replace(nodes=part.nodes.where(~ours)))
        counts, self._counts = self._counts, []
        for queries, numbers in counts:
            ours = complete[queries]
            mine.counts(queries[ours], numbers[ours])
            self.counts(queries[~ours], numbers[~ours])
        mine._values = [one for one in self._values if complete[one[0]]]
        self._values = [one for one in self._values if not complete[one[0]]]
        mine.failed = {query: why for query, why in self.failed.items() if complete[query]}
        return mine

    def fail(self, query: int, reason: str) -> None:
        """Notes that a query could not be evaluated: it then gives no rows at all."""
        self.failed.setdefault(query, reason)

    def findings(self, owners: Owners) -> Findings:
        """Returns the rows of all subscribers."""
        if self._select == "nodes":
            self._check_output()
            return self._rows(owners)
        return self._numbers(owners)

    def _check_output(self) -> None:
        """Fails queries that select too much, before their nodes are described."""
        limits = self._limits
        rows = sum([len(part.nodes.question) for part in self._parts if part.nodes is not None])
        most = max([int(part.table.elements.end.max(initial=0)) for part in self._parts], default=0)
        if rows <= limits.query_rows and rows * most <= limits.query_bytes:
            return  # as nearly everywhere: all together are not too many
        query, _, part_of, place = self._merged()
        size = np.zeros(len(query), np.int64)
        for number, part in enumerate(self._parts):
            ours = np.flatnonzero(part_of == number)
            assert part.nodes is not None
            refs = part.nodes.refs.take(place[ours])
            element = refs.kind == NodeKind.ELEMENT.value
            span = part.table.elements.end[refs.row] - part.table.elements.start[refs.row]
            kept = element if self._most is None else element & (span <= self._most)
            size[ours] = np.where(kept, span, 0)
        for limit, most, total in (
            ("query_rows", limits.query_rows, np.bincount(query)),
            ("query_bytes", limits.query_bytes, np.bincount(query, size)),
        ):
            for number in np.flatnonzero(total > most).tolist():
                self.fail(number, limits.passed(limit))

    def _merged(self) -> tuple[Indices, Keys, NDArray[np.int32], NDArray[np.int64]]:
        """Returns query, key, part and place in that part of all nodes, sorted and unique."""
        queries, keys, parts, places = [], [], [], []
        for number, part in enumerate(self._parts):
            nodes = part.nodes
            assert nodes is not None
            queries.append(nodes.question)
            keys.append(_keys(part, nodes))
            parts.append(np.full(len(nodes.question), number, np.int32))
            places.append(np.arange(len(nodes.question)))
        if not queries:
            empty = np.empty(0, np.int32)
            return empty, np.empty(0, np.int64), empty, np.empty(0, np.int64)
        query, key = np.concatenate(queries), np.concatenate(keys)
        part_of, place = np.concatenate(parts), np.concatenate(places)
        keep = np.ones(len(query), np.bool_)
        if len(queries) > 1:
            order = np.lexsort((key, query))
            query, key, part_of, place = query[order], key[order], part_of[order], place[order]
            keep[1:] = (query[1:] != query[:-1]) | (key[1:] != key[:-1])
        if self.failed:
            keep &= ~np.isin(query, list(self.failed))
        if keep.all():
            return query, key, part_of, place
        return query[keep], key[keep], part_of[keep], place[keep]

    def _rows(self, owners: Owners) -> Findings:
        described = Described()
        if len(self._parts) == 1 and not self.failed:
            query, node = self._rows_of_one_part(described)
        else:
            query, key, part_of, place = self._merged()
            _, first, which = np.unique(key, return_index=True, return_inverse=True)
            node = self._describe(part_of[first], place[first], described)[which.reshape(-1)]
        values = [(q, v) for q, v in self._values if q not in self.failed]
        if values:
            fresh = np.arange(len(values), dtype=np.int32) + len(described)
            for _, value in values:
                described.add_value(value, self._most)
            query = np.concatenate((query, np.array([q for q, _ in values], np.int32)))
            node = np.concatenate((node, fresh))
            order = np.argsort(query, kind="stable")
            query, node = query[order], node[order]
        subscriber, index, ordinal = owners.expand(query)
        return Findings(subscriber, np.empty(0, np.int64), node[index], ordinal, described)

    def _rows_of_one_part(self, described: Described) -> tuple[Indices, Indices]:
        """Returns query and node of all rows, which are sorted and unique already."""
        (part,) = self._parts
        nodes = part.nodes
        assert nodes is not None
        refs, which = nodes.refs.distinct()
        part.describer.describe(refs, described)
        return nodes.question, which

    def _describe(
        self, part_of: NDArray[np.int32], place: NDArray[np.int64], into: Described
    ) -> NDArray[np.int32]:
        """Describes nodes of several parts; returns the row of each in ``into``."""
        where = np.empty(len(part_of), np.int32)
        for number, part in enumerate(self._parts):
            ours = np.flatnonzero(part_of == number)
            where[ours] = np.arange(len(ours), dtype=np.int32) + len(into)
            assert part.nodes is not None
            part.describer.describe(part.nodes.refs.take(place[ours]), into)
        return where

    def _numbers(self, owners: Owners) -> Findings:
        query, _, _, _ = self._merged()
        found, counts = np.unique(query, return_counts=True)
        values = [q for q, v in self._values if is_true(v)]
        queries = [found, np.array(values, np.int32), *[q for q, _ in self._counts]]
        numbers = [counts, np.ones(len(values), np.int64), *[n for _, n in self._counts]]
        query, number = np.concatenate(queries), np.concatenate(numbers).astype(np.int64)
        if self._select == "doc":
            query = np.unique(query)
            number = np.ones(len(query), np.int64)
        keep = (number > 0) & ~np.isin(query, list(self.failed))
        query, number = query[keep].astype(np.int32), number[keep]
        order = np.argsort(query, kind="stable")
        query, number = query[order], number[order]
        subscriber, index, _ = owners.expand(query)
        none = Findings.none()
        return Findings(subscriber, number[index], none.node, none.ordinal, none.described)


def _keys(part: Answered, nodes: Nodes) -> Keys:
    keys = DocumentOrder(part.table).keys(nodes.refs)
    if part.original is None:
        return keys
    moved: Keys = (part.original(keys >> BITS) << BITS) + (keys & ((1 << BITS) - 1))
    return moved
