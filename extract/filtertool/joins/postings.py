"""Postings: the kept documents that have a value, which may be many."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np

from extract.filtertool.joins.blocks import Numbers, WitnessBlock

FEW: Final = 32  # values of a block that are listed at once


@dataclass(slots=True)
class Hits:
    """Documents with a value at an edge.

    Attributes:
        clocks: The clocks of some.
        rows: Where a block has many: the block, and the rows of these documents in it, ascending.
    """

    clocks: set[int] = field(default_factory=set)
    rows: list[tuple[WitnessBlock, Numbers]] = field(default_factory=list)


class Posting:
    """Many documents, of which those within reach are listed only if they have to be.

    Args:
        hits: The documents.
        times: The first and the last time within reach; None if time does not matter.
    """

    def __init__(self, hits: Iterable[Hits], times: tuple[int, int] | None) -> None:
        self._clocks: set[int] = set()
        self._rows: list[tuple[WitnessBlock, Numbers]] = []
        for one in hits:
            self._clocks |= one.clocks
            self._rows += one.rows
        self._times = times
        self._all: set[int] | None = None

    def __len__(self) -> int:
        return len(self._clocks) + sum([len(rows) for _, rows in self._rows])

    def all(self) -> Set[int]:
        """Returns the clocks of all that are within reach."""
        if self._all is None:
            self._all = set(self._clocks)
            for block, rows in self._rows:
                clocks: Any = block.clock[rows]
                if self._times is not None:
                    times = block.time[rows]
                    clocks = clocks[(times >= self._times[0]) & (times <= self._times[1])]
                self._all.update(clocks.tolist())
        return self._all

    def among(self, clocks: Set[int]) -> Set[int]:
        """Returns those of some documents that are here."""
        if self._all is not None or len(self) < 4 * len(clocks):
            return self.all() & clocks
        return {clock for clock in clocks if clock in self._clocks or self._has(clock)}

    def _has(self, clock: int) -> bool:
        for block, rows in self._rows:
            row = int(np.searchsorted(block.clock, clock))
            if row < len(block) and block.clock[row] == clock:
                at = int(np.searchsorted(rows, row))
                if at < len(rows) and rows[at] == row:
                    return True
        return False


Documents: TypeAlias = "Set[int] | Posting"


def listed(documents: Documents) -> Set[int]:
    """Returns clocks."""
    return documents.all() if isinstance(documents, Posting) else documents


def shared(one: Documents, other: Documents) -> Set[int]:
    """Returns the documents that are in both."""
    if isinstance(one, Posting) and isinstance(other, Posting):
        first, second = (one, other) if len(one) <= len(other) else (other, one)
        return second.among(first.all())
    if isinstance(one, Posting):
        return one.among(listed(other))
    if isinstance(other, Posting):
        return other.among(one)
    return one & other
