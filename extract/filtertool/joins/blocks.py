"""Blocks of the state: kept documents and their values as columns.

A block has documents that arrived one after the other. It never changes: it is made of documents
or of other blocks, and dropped as a whole. Numbers take as many bytes as the largest of them needs;
values of nodes are digests, sorted, so that one search finds those of a new document.

    documents   clock, time, seq, place, until, held, stream, structure, timelines for which it is
                late; ends of name, XML, values
    values      for each compared node of each document, the rank of its digest
    digests     in order, as two halves; and which of the values each is of
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from extract.filtertool.joins.documents import JoinDocument
from extract.filtertool.joins.structures import packed_structure, structure_of

T = TypeVar("T")
Numbers = npt.NDArray[Any]

BY_PLACE: Final = 1
BY_SEQ: Final = 2
NEVER: Final = -(1 << 63)
LATEST: Final = (1 << 63) - 1
HALF: Final = np.dtype(">u8")  # of a digest


@dataclass(frozen=True, slots=True)
class Hold:
    """Why a document is kept.

    Attributes:
        until: Until the horizon has passed this time; `NEVER` if not for a window in time.
        held: `BY_PLACE` while it is among the last of its stream, `BY_SEQ` of all, or both.
    """

    until: int = NEVER
    held: int = 0

    def __bool__(self) -> bool:
        return self.until != NEVER or self.held != 0


@dataclass(frozen=True, slots=True)
class Needs:
    """Which documents a later one may still join.

    Attributes:
        horizon: Those held until this time or later, by stream and whether it is published.
        places: For streams with windows in events, the first place that is still among the last;
            None for all that are held by their places.
        seq: The first number among all input documents that is still among the last.
    """

    horizon: Callable[[str, bool], int]
    places: Mapping[str, int] | None
    seq: int

    def place(self, stream: str, place: int) -> bool:
        """Whether a document that is held by its place in a stream is needed."""
        return self.places is None or place >= self.places.get(stream, place + 1)

    def document(self, document: JoinDocument, hold: Hold) -> bool:
        """Whether a document is needed."""
        if hold.until != NEVER and hold.until >= self.horizon(document.stream, document.published):
            return True
        if hold.held & BY_PLACE and self.place(document.stream, document.place):
            return True
        return bool(hold.held & BY_SEQ and document.seq >= self.seq)


@dataclass(frozen=True, slots=True, eq=False)
class WitnessBlock:
    """Documents and witnesses in columns; see the module."""

    clock: Numbers
    time: Numbers
    seq: Numbers
    place: Numbers
    until: Numbers
    held: Numbers
    stream: Numbers
    structure: Numbers
    late: Numbers
    name_end: Numbers
    data_end: Numbers
    value_end: Numbers
    value_rank: Numbers
    digest_high: Numbers
    digest_low: Numbers
    digest_value: Numbers
    streams: tuple[tuple[str, bool], ...]
    structures: tuple[bytes, ...]
    lates: tuple[tuple[int, ...], ...]
    witnesses: int
    names: bytes
    data: bytes
    common: dict[int, Mapping[int, Numbers]] = field(default_factory=dict, init=False)  # found

    def __len__(self) -> int:
        return len(self.clock)

    @property
    def bytes(self) -> int:
        """How much memory the columns take."""
        total = len(self.names) + len(self.data) + sum([len(one) + 41 for one in self.structures])
        total += sum([8 * len(one) for one in self.lates])
        for one in fields(self):
            column = getattr(self, one.name)
            total += column.nbytes + 112 if isinstance(column, np.ndarray) else 64
        return total

    def find(self, high: Numbers, low: Numbers) -> list[tuple[int, Numbers]]:
        """Returns where given values are.

        Args:
            high, low: The halves of their digests.

        Returns:
            Numbers of digests that are there, and the values that are the same.
        """
        first = self.digest_high.searchsorted(high)
        there = self.digest_high.take(first, mode="clip") == high
        found = []
        for number in there.nonzero()[0].tolist():
            last = self.digest_high.searchsorted(high[number], "right")
            rows = slice(first[number], last)
            values = self.digest_value[rows][self.digest_low[rows] == low[number]]
            if len(values):
                found.append((number, values))
        return found

    def owners(self, values: Numbers) -> list[tuple[int, int]]:
        """Returns the rows of the documents of values, with the edges that lead there."""
        owners = []
        rows = self.value_end.searchsorted(values, "right")
        for value, row in zip(values.tolist(), rows.tolist(), strict=True):
            start = int(self.value_end[row - 1]) if row else 0
            structure = structure_of(self.structures[self.structure[row]])
            owners += [(row, edge) for edge in structure.edges[value - start]]
        return owners

    def many_owners(self, values: Numbers) -> Mapping[int, Numbers]:
        """Returns for each edge that leads to one of many equal values the rows of documents."""
        known = self.common.get(int(values[0]))
        if known is None:
            known = self.common[int(values[0])] = self._by_edge(values)
        return known

    def _by_edge(self, values: Numbers) -> Mapping[int, Numbers]:
        rows = self.value_end.searchsorted(values, "right")
        offsets = values - np.where(rows, self.value_end[rows - 1], 0)
        places = np.stack((self.structure[rows], offsets), axis=1)
        different, which = np.unique(places, axis=0, return_inverse=True)
        by_edge: dict[int, list[Numbers]] = {}
        for number, (structure, offset) in enumerate(different.tolist()):
            own = rows[which.reshape(-1) == number]
            for edge in structure_of(self.structures[structure]).edges[offset]:
                by_edge.setdefault(edge, []).append(own)
        return {edge: _small(np.unique(np.concatenate(some))) for edge, some in by_edge.items()}

    def needed(self, needs: Needs) -> npt.NDArray[np.bool_]:
        """Returns for each document whether a later one may still join it."""
        horizons = np.array([needs.horizon(*one) for one in self.streams], np.int64)
        needed: npt.NDArray[np.bool_] = self.until != NEVER
        needed &= self.until >= horizons[self.stream]
        if self.held.any():
            never, any_place = np.iinfo(np.int64).max, needs.places is None
            places = needs.places or {}
            first = [0 if any_place else places.get(stream, never) for stream, _ in self.streams]
            in_place = self.place >= np.array(first, np.int64)[self.stream]
            needed |= ((self.held & BY_PLACE) != 0) & in_place
            needed |= ((self.held & BY_SEQ) != 0) & (self.seq >= needs.seq)
        return needed

    def document(self, row: int) -> JoinDocument:
        """Returns a document."""
        stream, published = self.streams[self.stream[row]]
        structure = structure_of(self.structures[self.structure[row]])
        ranks = self.value_rank[_span(self.value_end, row)]
        halves = np.empty((len(ranks), 2), HALF)
        halves[:, 0], halves[:, 1] = self.digest_high[ranks], self.digest_low[ranks]
        digests = halves.tobytes()
        keys = [b""] * len(structure.locators)
        for number, node in enumerate(structure.compared):
            keys[node] = digests[16 * number : 16 * number + 16]
        return JoinDocument(
            stream,
            self.names[_span(self.name_end, row)].decode("utf-8", "surrogatepass"),
            int(self.time[row]),
            int(self.seq[row]),
            int(self.place[row]),
            int(self.clock[row]),
            published,
            self.data[_span(self.data_end, row)],
            structure.locators,
            keys,
            structure.links,
            frozenset(self.lates[self.late[row]]),
        )

    def digests(self) -> Numbers:
        """Returns the halves of the digest of each value."""
        return np.stack((self.digest_high[self.value_rank], self.digest_low[self.value_rank]), 1)


def block_of(documents: Sequence[tuple[JoinDocument, Hold]]) -> WitnessBlock:
    """Returns a block of documents that arrived in this order."""
    streams = _numbered([(one.stream, one.published) for one, _ in documents])
    packed = [packed_structure(one) for one, _ in documents]
    structures = _numbered(packed)
    late = [tuple(sorted(one.late)) for one, _ in documents]
    lates = _numbered(late)
    names = [one.name.encode("utf-8", "surrogatepass") for one, _ in documents]
    keys = [[key for key in one.keys if key] for one, _ in documents]
    digests = np.frombuffer(b"".join([key for some in keys for key in some]), HALF)
    return WitnessBlock(
        clock=_wide([one.clock for one, _ in documents]),
        time=_wide([one.time for one, _ in documents]),
        seq=_wide([one.seq for one, _ in documents]),
        place=_wide([one.place for one, _ in documents]),
        until=_wide([hold.until for _, hold in documents]),
        held=_small([hold.held for _, hold in documents]),
        stream=_small([streams[one.stream, one.published] for one, _ in documents]),
        structure=_small([structures[one] for one in packed]),
        late=_small([lates[one] for one in late]),
        name_end=_ends(names),
        data_end=_ends([one.data for one, _ in documents]),
        value_end=_ends(keys),
        **_digests(digests.reshape(-1, 2)),
        streams=tuple(streams),
        structures=tuple(structures),
        lates=tuple(lates),
        witnesses=sum([len(one.locators) for one, _ in documents]),
        names=b"".join(names),
        data=b"".join([one.data for one, _ in documents]),
    )


def merged(blocks: Sequence[WitnessBlock], needs: Needs) -> WitnessBlock | None:
    """Returns one block with those documents of several that are needed; None if none is."""
    chosen = [(block, block.needed(needs)) for block in blocks]
    if not any(rows.any() for _, rows in chosen):
        return None
    streams = _numbered([one for block in blocks for one in block.streams])
    of_rows = [(block, block.structure[rows].tolist()) for block, rows in chosen]
    packed = [block.structures[number] for block, numbers in of_rows for number in numbers]
    structures = _numbered(packed)
    late = [b.lates[number] for b, rows in chosen for number in b.late[rows].tolist()]
    lates = _numbered(late)

    def joined(column: str) -> Numbers:
        return np.concatenate([getattr(block, column)[rows] for block, rows in chosen])

    def end(column: str) -> Numbers:
        lengths = [_lengths(getattr(block, column))[rows] for block, rows in chosen]
        return _small(np.cumsum(np.concatenate(lengths)))

    def text(column: str, ends: str) -> bytes:
        parts = [
            getattr(block, column)[_span(getattr(block, ends), row)]
            for block, rows in chosen
            for row in np.flatnonzero(rows).tolist()
        ]
        return b"".join(parts)

    codes = [
        np.array([streams[one] for one in block.streams])[block.stream[rows]]
        for block, rows in chosen
    ]
    digests = [
        block.digests()[np.repeat(rows, _lengths(block.value_end))] for block, rows in chosen
    ]
    return WitnessBlock(
        **{name: joined(name) for name in ("clock", "time", "seq", "place", "until", "held")},
        **{name: end(name) for name in ("name_end", "data_end", "value_end")},
        **_digests(np.concatenate(digests)),
        stream=_small(np.concatenate(codes)),
        structure=_small([structures[one] for one in packed]),
        late=_small([lates[one] for one in late]),
        streams=tuple(streams),
        structures=tuple(structures),
        lates=tuple(lates),
        witnesses=sum([len(structure_of(one).locators) for one in packed]),
        names=text("names", "name_end"),
        data=text("data", "data_end"),
    )


def _numbered(some: Iterable[T]) -> dict[T, int]:
    """Numbers for different things, in the order in which they come first."""
    return {one: number for number, one in enumerate(dict.fromkeys(some))}


def _lengths(ends: Numbers) -> Numbers:
    return np.diff(ends.astype(np.int64), prepend=0)


def _digests(halves: Numbers) -> dict[str, Numbers]:
    """The columns of digests, from those of all values."""
    high, low = halves.T
    order = np.lexsort((low, high))
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return {
        "value_rank": _small(ranks),
        "digest_high": np.ascontiguousarray(high[order], np.uint64),
        "digest_low": np.ascontiguousarray(low[order], np.uint64),
        "digest_value": _small(order),
    }


def _span(ends: Numbers, row: int) -> slice:
    return slice(int(ends[row - 1]) if row else 0, int(ends[row]))


def _wide(numbers: Sequence[int]) -> Numbers:
    return np.array(numbers, np.int64)


def _small(numbers: Sequence[int] | Numbers) -> Numbers:
    """Numbers from 0, in as few bytes as the largest needs."""
    wide = np.asarray(numbers, np.int64)
    return wide.astype(np.min_scalar_type(int(wide.max()) if len(wide) else 0))


def _ends(parts: Sequence[Any]) -> Numbers:
    return _small(np.cumsum([len(one) for one in parts], dtype=np.int64))
