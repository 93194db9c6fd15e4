"""Findings: the rows of one document, in columns, and one by one as matches."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from extract.filtertool.results.node_columns import AtomicValue, Described
from extract.filtertool.results.owners import Indices, Longs


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
        text: The string value of the element, as XPath's ``string()`` gives it; of anything else
            the value. None if it is too long.
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
    text: str | None


@dataclass(frozen=True, slots=True)
class Findings:
    """The matches in one document: rows in columns.

    Attributes:
        subscriber: The subscriber of each row: indices into `QueryPlan.subscribers`, ascending.
        count: Number of nodes, where only that was asked for; else empty.
        node: The node or value of each row: indices into ``described``; empty if only numbers were
            asked for.
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
        """Returns findings without rows."""
        small, long = np.empty(0, np.int32), np.empty(0, np.int64)
        return cls(small, long, small, long, Described())

    def outputs(self) -> list[tuple[int, str]]:
        """What FLWR queries made: subscriber and output of each row."""
        texts = self.described.lists().value
        rows = zip(self.subscriber.tolist(), self.node.tolist(), strict=True)
        return [(subscriber, texts[node] or "") for subscriber, node in rows]

    @classmethod
    def together(cls, findings: Iterable[Findings]) -> Findings:
        """Joins findings of different subscribers in one document."""
        parts = [one for one in findings if len(one)]
        if len(parts) <= 1:
            return parts[0] if parts else cls.none()
        described = Described()
        nodes = []
        for part in parts:
            nodes.append(part.node + len(described))
            described.extend(part.described)
        subscriber = np.concatenate([part.subscriber for part in parts])
        order = np.argsort(subscriber, kind="stable")
        count = np.concatenate([part.count for part in parts])
        ordinal = np.concatenate([part.ordinal for part in parts])
        return cls(
            subscriber[order],
            count[order] if len(count) else count,
            np.concatenate(nodes)[order] if len(ordinal) else parts[0].node,
            ordinal[order] if len(ordinal) else ordinal,
            described,
        )

    def __len__(self) -> int:
        return len(self.subscriber)

    def only(self, wanted: NDArray[np.bool_]) -> Findings:
        """Returns the rows of some subscribers.

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
        """Yields the rows one by one; ``ids`` are those of all subscribers."""
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
                d.text[n],
            )


def is_true(value: float | str | bool | AtomicValue) -> bool:
    """Whether a value counts as a match where only numbers of matches are asked for.

    >>> [is_true(v) for v in (True, 0.0, float("nan"), -2.0, "", "0")]
    [True, False, False, True, False, True]
    """
    if isinstance(value, AtomicValue):
        return value.counts
    return bool(value) and not (isinstance(value, float) and math.isnan(value))
