"""Queries as columns, which become `Subscription` values one by one when somebody asks for them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, islice
from operator import eq
from typing import overload

import numpy as np

from extract.subscriptions.columns import Offsets, TextColumn
from extract.subscriptions.model import Subscription


@dataclass(frozen=True, slots=True, eq=False)
class QueryBlock:
    """Queries that see the same namespaces.

    Attributes:
        ids: Their ids.
        xpaths: The queries; where they come from a file, the buffer is that of its lines.
        namespaces: What their prefixes stand for.
        version: Their version of XPath.
        lines: Their lines in the query file, from 1.
    """

    ids: TextColumn
    xpaths: TextColumn
    namespaces: Mapping[str, str]
    version: str
    lines: Offsets

    @classmethod
    def of(cls, subscriptions: Iterable[Subscription]) -> Iterator[QueryBlock]:
        """The blocks of some subscriptions, in their order."""
        for _, group in groupby(subscriptions, lambda one: (id(one.namespaces), one.version)):
            some = list(group)
            yield cls(
                TextColumn.of([one.id for one in some]),
                TextColumn.of([one.xpath for one in some]),
                some[0].namespaces,
                some[0].version,
                np.array([one.line for one in some], np.int64),
            )

    def __len__(self) -> int:
        return len(self.ids)


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
        for block in self.blocks:
            rows = zip(
                block.ids,
                block.xpaths,
                block.xpaths.starts.tolist(),
                block.lines.tolist(),
                strict=True,
            )
            for name, xpath, start, line in rows:
                column = _column(block.xpaths.buffer, start)
                yield Subscription(name, xpath, block.namespaces, 1.0, line, column, block.version)

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
        row = index - (ends[number] - len(block))
        return Subscription(
            block.ids.text(row),
            block.xpaths.text(row),
            block.namespaces,
            1.0,
            int(block.lines[row]),
            _column(block.xpaths.buffer, int(block.xpaths.starts[row])),
            block.version,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(eq, self, other))

    def __hash__(self) -> int:
        return hash(tuple(self))


def _column(lines: bytes, start: int) -> int:
    """The column of what starts there."""
    return len(lines[lines.rfind(b"\n", 0, start) + 1 : start].decode()) + 1
