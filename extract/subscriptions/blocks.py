"""Queries as columns, which become `Subscription` values one by one when somebody asks for them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain, groupby, islice
from operator import eq
from typing import overload

import numpy as np
from numpy.typing import NDArray

from extract.flwr.parser import is_flwr
from extract.subscriptions.bindings import Bindings, bindings_of
from extract.subscriptions.columns import Offsets, TextColumn
from extract.subscriptions.metadata import NO_METADATA, Metadata
from extract.subscriptions.model import Subscription


@dataclass(frozen=True, slots=True, eq=False)
class QueryBlock:
    """Queries in one version of XPath.

    Attributes:
        ids: Their ids.
        xpaths: The queries; where they come from a file, the buffer is that of its lines.
        namespaces: What their prefixes stand for; where that is not the same for all, what those of
            each query stand for.
        version: Their version of XPath.
        lines: Their lines in the query file, from 1.
        columns: Where the queries start in these lines, from 1; None if that is known from the
            buffer.
        weights: How much each counts; None if all count 1.
        metadata: What else is known of those of which something is, by position.
    """

    ids: TextColumn
    xpaths: TextColumn
    namespaces: Bindings
    version: str
    lines: Offsets
    columns: Offsets | None = None
    weights: NDArray[np.float64] | None = None
    metadata: Mapping[int, Metadata] = field(default_factory=dict)

    @classmethod
    def of(cls, subscriptions: Iterable[Subscription]) -> Iterator[QueryBlock]:
        """The blocks of some subscriptions, in their order."""
        every = list(subscriptions)
        # Rules bind the prefixes that they use, each its own: such queries are one block all the
        # same. FLWR queries come before the others of a block, so with them blocks are smaller.
        apart = any(is_flwr(one.xpath) for one in every)
        ids = TextColumn.of([one.id for one in every])
        xpaths = TextColumn.of([one.xpath for one in every])
        lines = np.array([one.line for one in every], np.int64)
        columns = np.array([one.column for one in every], np.int64)
        weights = np.array([one.weight for one in every], np.float64)
        weighted = bool((weights != 1).any())
        start = 0
        for _, group in groupby(every, lambda one: (apart and id(one.namespaces), one.version)):
            some = list(group)
            part = slice(start, start + len(some))
            start += len(some)
            bindings = [one.namespaces for one in some]
            yield cls(
                ids[part],
                xpaths[part],
                bindings[0] if all(one is bindings[0] for one in bindings) else bindings,
                some[0].version,
                lines[part],
                columns[part],
                weights[part] if weighted else None,
                {place: one.metadata for place, one in enumerate(some) if one.metadata},
            )

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[Subscription]:
        return map(self.subscription, range(len(self)))

    def subscription(self, position: int) -> Subscription:
        """One of the queries."""
        return Subscription(
            self.ids.text(position),
            self.xpaths.text(position),
            bindings_of(self.namespaces, position),
            1.0 if self.weights is None else float(self.weights[position]),
            int(self.lines[position]),
            self._column(position),
            self.version,
            self.metadata.get(position, NO_METADATA),
        )

    def with_defaults(self, namespaces: Mapping[str, str]) -> QueryBlock:
        """The same queries, with bindings for the prefixes that they do not bind."""
        own = self.namespaces
        if isinstance(own, Mapping):
            return replace(self, namespaces={**namespaces, **own})
        return replace(self, namespaces=[{**namespaces, **one} for one in own])

    def _column(self, position: int) -> int:
        """The column where a query starts."""
        if self.columns is not None:
            return int(self.columns[position])
        lines, start = self.xpaths.buffer, int(self.xpaths.starts[position])
        return len(lines[lines.rfind(b"\n", 0, start) + 1 : start].decode()) + 1

    def parts(self, most: int) -> Iterator[QueryBlock]:
        """The queries in blocks of so many at most."""
        if len(self) <= most:
            yield self
            return
        for start in range(0, len(self), most):
            places = np.arange(start, min(start + most, len(self)))
            bound = self.namespaces
            yield replace(
                self,
                ids=self.ids.take(places),
                xpaths=self.xpaths.take(places),
                namespaces=bound if isinstance(bound, Mapping) else bound[start : start + most],
                lines=self.lines[places],
                columns=None if self.columns is None else self.columns[places],
                weights=None if self.weights is None else self.weights[places],
                metadata={
                    place - start: one
                    for place, one in self.metadata.items()
                    if start <= place < start + most
                },
            )


@dataclass(frozen=True, slots=True, eq=False)
class FileQueries(Sequence[Subscription]):
    """The queries of a file of lines, made into values when they are asked for.

    Attributes:
        blocks: They as columns, in the order of the file.
    """

    blocks: tuple[QueryBlock, ...]

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    def __iter__(self) -> Iterator[Subscription]:
        return chain.from_iterable(self.blocks)

    @overload
    def __getitem__(self, index: int) -> Subscription: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Subscription, ...]: ...
    def __getitem__(self, index: int | slice) -> Subscription | tuple[Subscription, ...]:
        size = len(self)
        if isinstance(index, slice):
            chosen = range(*index.indices(size))
            if chosen.step == 1:
                return tuple(islice(self, chosen.start, chosen.stop))
            return tuple([self[i] for i in chosen])
        if not -size <= index < size:
            raise IndexError(f"there are {size} queries")
        index %= size
        ends = list(accumulate(map(len, self.blocks)))
        number = bisect_right(ends, index)
        block = self.blocks[number]
        return block.subscription(index - (ends[number] - len(block)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(eq, self, other))

    def __hash__(self) -> int:
        return hash(tuple(self))
