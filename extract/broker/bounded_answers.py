"""Nodes and results of queries, so many at a time that memory stays bounded.

A document that many subscriptions select nodes of has more rows than fit into memory. So the nodes
are counted first, which takes a row for each document and query, whatever they select. From the
counts follows what rows may take: documents whose rows are few enough are answered together; of one
that has too many, a few queries are answered at a time, each once for all who ask the same, and of
each only as many nodes as a notification shows. The number of nodes is exact all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extract.broker.said_rows import (
    Said,
    Shown,
    number_column,
    plain,
    rejections,
    said_of,
    said_rows,
    table_of,
)
from extract.filtertool.results.outcome import COST
from extract.limits import Limits
from extract.live_filter import Filter
from extract.pipeline import prepare
from extract.scheme.model import Scheme
from extract.subscriptions import Subscription, Subscriptions
from extract.xpath.functions import Type

Longs = NDArray[np.int64]
Batch = Sequence[tuple[str, bytes]]
_ROW_BYTES: Final = 400  # that a row takes, beside the values of its node
_ENTITY: Final = b"<!ENTITY"


class _Counted(NamedTuple):
    """A document with the queries that match it.

    Attributes:
        place: In the batch.
        content: The document.
        keys: Of the queries.
        counts: How many nodes each selects or binds.
        cost: Bytes that their rows may take, each.
    """

    place: int
    content: bytes
    keys: Longs
    counts: Longs
    cost: Longs


class BoundedAnswers:
    """Answers queries for nodes, or for what FLWR queries make.

    Args:
        select: Which of the two.
        queries: By the keys of their subscribers.
        limits: For documents and answers.
        shown: How much a notification shows of nodes.
        room: Bytes that rows may take at a time, about.
        patient: Whether a query may take a process of its own, for seconds.
    """

    def __init__(
        self,
        select: Literal["nodes", "output"],
        queries: Subscriptions,
        limits: Limits,
        shown: Shown,
        room: int,
        patient: bool = True,
    ) -> None:
        self._select = select
        self._limits = limits
        self._shown = shown
        self._room = room
        self._patient = patient
        scheme = prepare(None, queries, limits=limits)
        self._counting = Filter(scheme, "count", limits=limits)
        self._answering = Filter(scheme, select, limits=limits)
        self._values = _value_queries(scheme)  # these have a row for every document
        self._weights = _Weights(limits) if select == "output" else None
        if self._weights is not None:
            self._weights.add(queries)

    def __len__(self) -> int:
        return len(self._answering)

    @property
    def scheme(self) -> Scheme:
        """The scheme of the present queries."""
        return self._answering.scheme

    def add(self, queries: Subscriptions) -> None:
        """Adds queries."""
        for one in (self._counting, self._answering):
            one.add(queries)
        if self._weights is not None:
            self._weights.add(queries)
        elif queries:
            names = [one.id for one in queries]
            self._values |= {one for one in names if not self._answering.selects_nodes(one)}

    def remove(self, identifiers: Sequence[str]) -> None:
        """Removes queries."""
        for one in (self._counting, self._answering):
            one.remove(identifiers)
        if self._weights is not None:
            self._weights.remove(identifiers)
        self._values.difference_update(identifiers)

    def query(self, identifier: str) -> Subscription:
        """A query, such that another filter answers it in the same way."""
        return self._answering.query(identifier)

    def figures(self) -> Any:
        """What was done so far."""
        return self._answering.figures()

    def match(self, batch: Batch, rejected: list[dict[str, Any]]) -> Iterator[Said]:
        """Yields what is told of documents, for each subscriber in the order of the documents.

        Args:
            batch: The documents, named by their places.
            rejected: Gets what cannot be answered.
        """
        counts = table_of(self._counting, batch, self._patient)
        rejected += rejections(self._counting)
        if not counts.num_rows:
            return
        matching = [batch[place] for place in sorted(set(map(int, plain(counts, "document"))))]
        if self._are_few(matching, counts):
            yield from self._together(matching, batch, counts, rejected)
            return
        for some in self._in_groups(self._counted(batch, counts)):
            if len(some) == 1 and self._total(some[0]) > self._room:
                yield from self._in_parts(some[0], range(len(some[0].keys)), rejected)
            else:
                chosen = [(str(one.place), one.content) for one in some]
                yield from self._together(chosen, batch, counts, rejected)

    # -- how much it is

    def _are_few(self, documents: Batch, counts: Any) -> bool:
        """Whether rows are few whatever they are, as nearly everywhere: a quick look."""
        if any(_ENTITY in content for _, content in documents):
            return False
        largest = max([len(content) for _, content in documents])
        total = int(sum(counts.column("count").to_pylist()))
        if self._weights is not None:
            each = self._weights.most(largest)
        else:
            each = 2 * largest + _ROW_BYTES
        values = len(documents) * len(self._values) * _ROW_BYTES
        return total * each + values <= self._room

    def _counted(self, batch: Batch, table: Any) -> Iterator[_Counted]:
        places, keys = number_column(table, "document"), number_column(table, "query")
        counts = table.column("count").to_numpy()
        first = np.flatnonzero(np.diff(places, prepend=-1))
        for start, end in zip(first, np.append(first[1:], len(places)), strict=True):
            place, own = int(places[start]), slice(start, end)
            content = batch[place][1]
            cost = self._cost(keys[own], counts[own], content)
            yield _Counted(place, content, keys[own], counts[own], cost)

    def _cost(self, keys: Longs, counts: Longs, content: bytes) -> Longs:
        """Bytes that rows may take: nodes have at most the size of the document each."""
        limits, size = self._limits, len(content)
        if _ENTITY in content:
            size += min(limits.entity_free_bytes + limits.entity_ratio * size, limits.entity_bytes)
        if self._weights is not None:
            return self._weights.cost(keys, counts, size, content)
        longest = size if limits.value_bytes is None else min(size, limits.value_bytes)
        values: Longs = np.minimum(counts * longest, limits.query_bytes)
        return counts * _ROW_BYTES + 2 * values

    def _total(self, one: _Counted) -> int:
        return int(one.cost.sum()) + len(self._values) * _ROW_BYTES

    def _in_groups(self, documents: Iterable[_Counted]) -> Iterator[list[_Counted]]:
        """Documents whose rows are not too many together; one that has too many comes alone."""
        some: list[_Counted] = []
        total = 0
        for one in documents:
            cost = self._total(one)
            if some and total + cost > self._room:
                yield some
                some, total = [], 0
            some.append(one)
            total += cost
        if some:
            yield some

    # -- answers

    def _together(
        self, some: Batch, batch: Batch, counts: Any, rejected: list[dict[str, Any]]
    ) -> Iterator[Said]:
        """Answers all queries on some documents; those that select too much, once more alone.

        Args:
            some: The documents.
            batch: All documents of the batch, and
            counts: what was counted in them.
            rejected: Gets what cannot be answered.
        """
        table = table_of(self._answering, some, self._patient)
        failed = rejections(self._answering)
        told = said_rows(self._select, table, self._shown)
        if not failed:
            yield from told
            return
        by_place = {one.place: one for one in self._counted(batch, counts)}
        gathered = list(told)
        again: dict[int, list[int]] = {}
        for row in failed:
            one = by_place[int(row["document"])]
            matching = np.flatnonzero(one.keys == int(row["query"] or -1))
            if not len(matching):
                rejected.append(row)
            elif self._select == "nodes" and row["stage"] != COST:  # its nodes are too much
                again.setdefault(one.place, []).append(int(matching[0]))
            else:
                rejected.append(row)
                gathered.append(self._without(one, [int(matching[0])]))
        for place, chosen in again.items():
            gathered += self._in_parts(by_place[place], chosen, rejected)
        gathered.sort(key=lambda one: one.place)
        yield from gathered

    def _in_parts(
        self, one: _Counted, chosen: Sequence[int], rejected: list[dict[str, Any]]
    ) -> Iterator[Said]:
        """Answers some of the queries on one document, a few at a time and each text once."""
        same: dict[Any, list[int]] = {}
        for number in chosen:
            asked = self._answering.query(str(one.keys[number]))
            text = (asked.xpath, tuple(sorted(asked.namespaces.items())), asked.version)
            same.setdefault(text, []).append(number)
        part: list[tuple[Subscription, list[int]]] = []
        total = 0
        for (xpath, namespaces, version), numbers in same.items():
            first = numbers[0]
            count, cost = int(one.counts[first]), int(one.cost[first])
            if self._select == "nodes" and count > self._shown.nodes:
                xpath = f"({xpath})[position() <= {self._shown.nodes}]"
                cost = min(cost, self._shown.nodes * _ROW_BYTES + 2 * self._limits.query_bytes)
            if part and total + cost > self._room:
                yield from self._part(one, part, rejected)
                part, total = [], 0
            name = str(one.keys[first])
            part.append((Subscription(name, xpath, dict(namespaces), version=version), numbers))
            total += cost
        yield from self._part(one, part, rejected)

    def _part(
        self,
        one: _Counted,
        part: Sequence[tuple[Subscription, list[int]]],
        rejected: list[dict[str, Any]],
    ) -> Iterator[Said]:
        queries = Subscriptions.of([query for query, _ in part])
        scheme = prepare(None, queries, limits=self._limits)
        ready = Filter(scheme, self._select, limits=self._limits)
        table = table_of(ready, [(str(one.place), one.content)], self._patient)
        failed = {row["query"]: row for row in rejections(ready)}
        failed |= {bad.id: {"stage": "match", "reason": bad.reason} for bad in scheme.rejected}
        found = {said.keys[0]: said.said for said in said_rows(self._select, table, self._shown)}
        for query, numbers in part:
            keys = one.keys[numbers].tolist()
            said = found.get(int(query.id))
            if said is not None:
                if self._select == "nodes":
                    said = said_of(said["matches"], int(one.counts[numbers[0]]))
                yield Said(one.place, keys, said)
            elif query.id in failed:
                row = failed[query.id]
                stage = COST if row["stage"] == COST else "match"
                reason = row["reason"]
                rejected += [rejection(one.place, key, reason, stage) for key in keys]
                yield self._without(one, numbers)

    def _without(self, one: _Counted, numbers: Sequence[int]) -> Said:
        """What is told of answers that are too much: how many nodes there are, and no more."""
        count = int(one.counts[numbers[0]])
        said: dict[str, Any] = {"output": "", "count": count, "truncated": True}
        said = said_of([], count) if self._select == "nodes" else said
        return Said(one.place, one.keys[list(numbers)].tolist(), said)


def rejection(place: int, key: int, reason: str, stage: str = "match") -> dict[str, Any]:
    """A rejection of a query on the document at a place, as `rejections` gives them."""
    names = {"document": str(place), "query": str(key), "line": None, "offset": None}
    return {**names, "stage": stage, "reason": reason}


def _value_queries(scheme: Scheme) -> set[str]:
    """The ids of queries that are no node sets, or of which that is not known."""
    directory = scheme.directory
    values = np.array([one.type is not Type.NODES for one in scheme.forms] or [False])
    rows = np.flatnonzero((directory.forms >= 0) & values[directory.forms])
    later = [one.subscriber.id for one in scheme.later]
    return {directory.subscriber(row).id for row in rows.tolist()} | set(later)


class _Weights:
    """How long the results of FLWR queries may be.

    Args:
        limits: For answers.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._known: dict[int, tuple[int, int, bool]] = {}
        self._longest = self._inserted = 0  # of all that were ever known
        self._any_deep = False

    def add(self, queries: Subscriptions) -> None:
        """Takes note of queries: their length, how often they insert something, and of what."""
        for one in queries:
            made = one.xpath.partition("return")[2]
            deep = "//" in made or "descendant" in made
            inserted = made.count("{")
            self._known[int(one.id)] = len(one.xpath), inserted, deep
            self._longest = max(self._longest, len(one.xpath))
            self._inserted = max(self._inserted, inserted)
            self._any_deep |= deep

    def remove(self, identifiers: Sequence[str]) -> None:
        """Forgets queries."""
        for one in identifiers:
            self._known.pop(int(one), None)

    def most(self, size: int) -> int:
        """Bytes that the result for one binding may take, in documents up to a size."""
        deepest = size * size // 4 if self._any_deep else size  # an element has four bytes
        return 2 * (self._longest + self._inserted * deepest) + _ROW_BYTES

    def cost(self, keys: Longs, counts: Longs, size: int, content: bytes) -> Longs:
        """Bytes that results may take, for so many bindings."""
        elements = content.count(b"<")
        costs = []
        for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
            length, inserted, deep = self._known[key]
            each = length + inserted * size * (elements if deep else 1)
            costs.append(min(count * each, self._limits.query_bytes))
        return 2 * np.array(costs, np.int64) + _ROW_BYTES
