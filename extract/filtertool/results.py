"""From answers to rows: merged over chunks, unique, in document order, and each subscriber's own.

Everything is columns of numbers until the last step. A node is described once, however many queries
have selected it, and a query's rows are multiplied by its subscribers at the very end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extract.chunktool.nodes import NodeTable
from extract.filtertool.describe_nodes import NodeDescriber
from extract.filtertool.document_order import BITS, DocumentOrder, Keys
from extract.filtertool.matcher import Nodes, Select
from extract.filtertool.node_columns import AtomicValue, Described
from extract.filtertool.plan import Indices, Owners
from extract.limits import DEFAULTS, Limits
from extract.markup.node_kinds import NodeKind

Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Match:
    """A node that a query selects in a document, or the value of a query that is no node set.

    Attributes:
        document: The document's name or path, as given or found.
        query: Id of the subscription.
        node: ``element``, ``attribute``, ``text``, ``comment``, ``pi`` or ``namespace``; or
            ``number``, ``string`` or ``boolean`` for a value.
        name: Name of the element or attribute as written; target of the processing instruction.
        start, end: Bytes of the element, comment or processing instruction in the document; for an
            attribute or text those of the element that it belongs to. None if the node came out of
            an entity.
        ordinal: Number of the match among those of its query in its document, from 0.
        path: Unique location path of the node.
        value: The element as XML, or the value of anything else; None if it is too long.
    """

    document: str
    query: str
    node: str
    name: str | None
    start: int | None
    end: int | None
    ordinal: int
    path: str | None
    value: str | None


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found in one document: rows in columns.

    Attributes:
        subscriber: Whose each row is: indices into `Plan.subscribers`, ascending.
        count: Number of nodes, where only that was asked for; else empty.
        node: What was found: indices into ``described``; empty if only numbers were asked for.
        ordinal: Number of each row among its subscriber's.
        described: The nodes and values, each once.
    """

    subscriber: Indices
    count: Longs
    node: Indices
    ordinal: Longs
    described: Described = field(repr=False)

    @classmethod
    def none(cls) -> Findings:
        """Nothing."""
        small, long = np.empty(0, np.int32), np.empty(0, np.int64)
        return cls(small, long, small, long, Described())

    def __len__(self) -> int:
        return len(self.subscriber)

    def only(self, wanted: NDArray[np.bool_]) -> Findings:
        """The rows of some subscribers.

        Args:
            wanted: For each subscriber whether it is one of them.
        """
        ours = wanted[self.subscriber]
        return Findings(
            self.subscriber[ours],
            self.count[ours] if len(self.count) else self.count,
            self.node[ours] if len(self.node) else self.node,
            self.ordinal[ours] if len(self.ordinal) else self.ordinal,
            self.described,
        )

    def matches(self, document: str, ids: Sequence[str]) -> Iterator[Match]:
        """The rows one by one; ``ids`` are those of all subscribers."""
        d = self.described.lists()
        rows = zip(self.subscriber.tolist(), self.node.tolist(), self.ordinal.tolist(), strict=True)
        for who, n, ordinal in rows:
            yield Match(
                document,
                ids[who],
                d.node[n],
                d.name[n],
                d.start[n],
                d.end[n],
                ordinal,
                d.path[n],
                d.value[n],
            )


class Answered(NamedTuple):
    """What one part of a document has answered.

    Attributes:
        table: The nodes of the part.
        nodes: The nodes found, with questions already replaced by queries; None for none.
        describer: Describes them.
        original: Where in the document offsets of the table are; None if they are of the document.
    """

    table: NodeTable
    nodes: Nodes | None
    describer: NodeDescriber
    original: Callable[[Longs], Longs] | None = None


def is_true(value: float | str | bool | AtomicValue) -> bool:
    """Whether a value counts as a match where only numbers of matches are asked for.

    >>> [is_true(v) for v in (True, 0.0, float("nan"), -2.0, "", "0")]
    [True, False, False, True, False, True]
    """
    if isinstance(value, AtomicValue):
        return value.counts
    return bool(value) and not (isinstance(value, float) and math.isnan(value))


class Merger:
    """Puts together what the parts of one document have answered.

    Args:
        select: What is asked for.
        limits: How many bytes a value may have, and how many nodes a query may select.
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
        """Adds nodes of a part; those of one query may come from several parts."""
        if answered.nodes is not None and len(answered.nodes.question):
            self._parts.append(answered)

    def counts(self, queries: Indices, counts: Longs) -> None:
        """Adds numbers of nodes of queries that no other part has."""
        self._counts.append((queries, counts))

    def value(self, query: int, value: float | str | bool) -> None:
        """Adds the value of a query that is no node set."""
        self._values.append((query, value))

    def taken(self, complete: NDArray[np.bool_]) -> Merger:
        """All that was answered of some queries, which then is here no more.

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
        """Notes that a query could not be answered: nothing is said of what it has found."""
        self.failed.setdefault(query, reason)

    def findings(self, owners: Owners) -> Findings:
        """The rows of all subscribers."""
        if self._select == "nodes":
            self._check_output()
            return self._rows(owners)
        return self._numbers(owners)

    def _check_output(self) -> None:
        """Fails queries that select too much, before it is put into words."""
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
            element = NodeKind.ELEMENT.among(refs.kind)
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
        """Queries, keys, parts and places within those of all nodes, sorted and unique."""
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
        subscriber, index, ordinal = expanded(query, owners)
        return Findings(subscriber, np.empty(0, np.int64), node[index], ordinal, described)

    def _rows_of_one_part(self, described: Described) -> tuple[Indices, Indices]:
        """Queries and nodes of all rows, which are sorted and unique already."""
        (part,) = self._parts
        nodes = part.nodes
        assert nodes is not None
        refs, which = nodes.refs.distinct()
        part.describer.describe(refs, described)
        return nodes.question, which

    def _describe(
        self, part_of: NDArray[np.int32], place: NDArray[np.int64], into: Described
    ) -> NDArray[np.int32]:
        """Describes nodes of several parts; returns where each has come."""
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
        subscriber, index, _ = expanded(query, owners)
        none = Findings.none()
        return Findings(subscriber, number[index], none.node, none.ordinal, none.described)


def _keys(part: Answered, nodes: Nodes) -> Keys:
    keys = DocumentOrder(part.table).keys(nodes.refs)
    if part.original is None:
        return keys
    moved: Keys = (part.original(keys >> BITS) << BITS) + (keys & ((1 << BITS) - 1))
    return moved


def expanded(query: Indices, owners: Owners) -> tuple[Indices, Longs, Longs]:
    """Rows of queries as rows of subscribers.

    Args:
        query: Whose each row is, ascending.
        owners: The subscribers of queries.

    Returns:
        For each new row its subscriber, which row it was, and its number among the subscriber's.

    >>> owners = Owners.of([[0], [1, 2]])
    >>> [column.tolist() for column in expanded(np.array([0, 1, 1], np.int32), owners)]
    [[0, 1, 1, 2, 2], [0, 1, 2, 1, 2], [0, 0, 1, 0, 1]]
    """
    first = np.flatnonzero(np.diff(query, prepend=-1))
    found, length = query[first], np.diff(first, append=len(query))
    times = owners.at[found + 1] - owners.at[found]
    who = owners.subscribers[_runs(owners.at[found], times)]
    begin, many = np.repeat(first, times), np.repeat(length, times)
    index = _runs(begin, many)
    return np.repeat(who, many), index, index - np.repeat(begin, many)


def _runs(start: Longs, length: Longs) -> Longs:
    """Numbers that count up from each start, for a length, one run after the other."""
    ends = np.cumsum(length)
    total = int(ends[-1]) if len(ends) else 0
    found: Longs = np.arange(total) + np.repeat(start - (ends - length), length)
    return found


def together(findings: Iterable[Findings]) -> Findings:
    """Findings of different subscribers in one document, as one."""
    parts = [one for one in findings if len(one)]
    if len(parts) <= 1:
        return parts[0] if parts else Findings.none()
    described = Described()
    nodes = []
    for part in parts:
        nodes.append(part.node + len(described))
        described.extend(part.described)
    subscriber = np.concatenate([part.subscriber for part in parts])
    order = np.argsort(subscriber, kind="stable")
    count = np.concatenate([part.count for part in parts])
    ordinal = np.concatenate([part.ordinal for part in parts])
    return Findings(
        subscriber[order],
        count[order] if len(count) else count,
        np.concatenate(nodes)[order] if len(ordinal) else parts[0].node,
        ordinal[order] if len(ordinal) else ordinal,
        described,
    )
