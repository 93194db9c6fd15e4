"""The findings of a document's pieces, counted and put together again."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from extract.filtertool.findings import Findings
from extract.limits import Limits


class Tally(NamedTuple):
    """How much subscribers have found.

    Attributes:
        rows: For each of them how many rows.
        bytes: For each of them how many bytes the elements of these rows have, nested ones each;
            those that are too long for a value do not count.
    """

    rows: NDArray[np.int64]
    bytes: NDArray[np.int64]

    @classmethod
    def none(cls, subscribers: int) -> Tally:
        """Nobody has found anything."""
        return cls(np.zeros(subscribers, np.int64), np.zeros(subscribers, np.int64))

    @classmethod
    def of(cls, findings: Findings, subscribers: int, limits: Limits) -> Tally:
        """How much was found on a piece."""
        who = findings.subscriber
        rows = np.bincount(who, minlength=subscribers)
        if not len(findings.node):
            return cls(rows, np.zeros(subscribers, np.int64))
        table = findings.described.table
        span = pc.fill_null(pc.subtract(table["end"], table["start"]), 0).to_numpy()
        counts = pc.equal(table["node"], "element").to_numpy()
        if limits.value_bytes is not None:
            counts = counts & (span <= limits.value_bytes)
        sizes = np.where(counts, span, 0)[findings.node]
        return cls(rows, np.bincount(who, sizes, subscribers).astype(np.int64))

    def plus(self, other: Tally) -> Tally:
        """Both together."""
        return Tally(self.rows + other.rows, self.bytes + other.bytes)


class Rejoined:
    """Puts the findings of a document's pieces together, in their order.

    Args:
        subscribers: How many subscribers there are.
        before: For each of them how many rows came before; None for none.
        without: Subscribers of whom nothing is to be said, for a query of theirs has failed.
    """

    def __init__(
        self,
        subscribers: int,
        before: NDArray[np.int64] | None = None,
        without: Collection[int] = (),
    ) -> None:
        self._before = np.zeros(subscribers, np.int64) if before is None else before.copy()
        self._without = np.array(sorted(without), np.int64)

    def add(self, findings: Findings) -> Findings:
        """The nodes of a piece, numbered on from those before."""
        if len(self._without):
            keep = ~np.isin(findings.subscriber, self._without)
            findings = replace(
                findings,
                subscriber=findings.subscriber[keep],
                node=findings.node[keep],
                ordinal=findings.ordinal[keep],
            )
        ordinal = findings.ordinal + self._before[findings.subscriber]
        self._before += np.bincount(findings.subscriber, minlength=len(self._before))
        return replace(findings, ordinal=ordinal)

    def sum(self, every: Iterable[Findings], counted: bool) -> Findings:
        """The numbers of all pieces, or only who has found anything."""
        total = self._before
        for findings in every:
            total[findings.subscriber] += findings.count if counted else 1
        total[self._without] = 0
        subscriber = np.flatnonzero(total).astype(np.int32)
        return replace(Findings.none(), subscriber=subscriber, count=total[subscriber])
