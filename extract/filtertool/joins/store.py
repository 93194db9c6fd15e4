"""The state of joins: documents that later ones may join, by time and value, in columns.

The last documents are kept as they are, with a dictionary of their values. When there are enough
of them they become a block (`blocks`). Blocks are in the order of arrival; one is dropped when the
widest windows have passed all its documents, and neighbours are merged, without documents that are
not needed any more, so that there are few.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, OrderedDict
from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise
from operator import attrgetter
from typing import Final, NamedTuple

import numpy as np

from extract.filtertool.joins.blocks import (
    BY_PLACE,
    BY_SEQ,
    HALF,
    NEVER,
    Hold,
    Needs,
    Numbers,
    WitnessBlock,
    block_of,
    merged,
)
from extract.filtertool.joins.documents import JoinDocument
from extract.filtertool.joins.postings import FEW, Hits

BLOCK_DOCUMENTS: Final = 128
BLOCK_BYTES: Final = 1 << 20
FEW_BLOCKS: Final = 8
_SHARE: Final = 8  # a block has at most this part of all, unless there are few
_AT_HAND: Final = 1 << 19  # bytes of documents that were read from blocks


class _Reason(NamedTuple):
    """Why some documents are kept: by stream until when, and the last places of theirs."""

    until: dict[tuple[str, bool], int]
    seq: int
    places: dict[str, int]

    def holds(self, needs: Needs) -> bool:
        """Whether one of the documents is needed."""
        for stream in reversed(self.until):  # the last are most likely needed
            if self.until[stream] >= needs.horizon(*stream):
                return True
        if self.seq >= needs.seq:
            return True
        return any(needs.place(stream, place) for stream, place in self.places.items())


def _any_time(stream: str, published: bool) -> int:
    return NEVER


class _Kept(NamedTuple):
    block: WitnessBlock
    reason: _Reason
    first: int
    last: int
    bytes: int


class Header(NamedTuple):
    """What windows have to know of a document."""

    time: int
    seq: int
    place: int


class WitnessStore:
    """Documents with their witnesses, until they are not needed any more.

    Attributes:
        bytes: About how much memory they take.
        witnesses: How many nodes of them are bound to variables.
    """

    def __init__(self) -> None:
        self._blocks: list[_Kept] = []
        self._open: dict[int, tuple[JoinDocument, Hold]] = {}
        self._values: dict[bytes, list[tuple[int, int]]] = {}
        self._open_bytes = 0
        self._reason = _Reason({}, -1, {})
        self._at_hand: OrderedDict[int, JoinDocument] = OrderedDict()
        self._at_hand_bytes = 0
        self._found: dict[int, tuple[WitnessBlock, int]] = {}  # of the last search
        self._needs = Needs(_any_time, None, 0)
        self._limit = BLOCK_BYTES
        self.bytes = 0
        self.witnesses = 0

    def __len__(self) -> int:
        return len(self._open) + sum([len(kept.block) for kept in self._blocks])

    def __bool__(self) -> bool:
        return bool(self._open or self._blocks)

    def limit(self, most: int) -> None:
        """Makes blocks so small that they are a small part of so many bytes."""
        self._limit = min(BLOCK_BYTES, most // (2 * _SHARE))

    def add(self, document: JoinDocument, hold: Hold) -> None:
        """Keeps a document, the last that has arrived."""
        if len(self._open) >= BLOCK_DOCUMENTS or self._open_bytes >= self._limit:
            self._seal()  # now that it is known which of them are still needed
        clock, keys = document.clock, document.keys
        for edge, nodes_of in document.links.items():
            for nodes in nodes_of.values():
                for node in nodes:
                    if keys[node]:
                        self._values.setdefault(keys[node], []).append((edge, clock))
        self._open[clock] = document, hold
        size = document.bytes
        self._open_bytes += size
        self.bytes += size
        self.witnesses += len(document.locators)
        self._reason = _reason_of([(document, hold)], self._reason)

    def find(self, keys: Collection[bytes]) -> dict[bytes, dict[int, Hits]]:
        """Returns for values that kept documents have, by edge, these documents."""
        found: dict[bytes, dict[int, Hits]] = {}
        self._found = {}
        for key in keys & self._values.keys():
            by_edge = found[key] = {}
            for edge, clock in self._values[key]:
                by_edge.setdefault(edge, Hits()).clocks.add(clock)
        if self._blocks and keys:
            names = list(keys)
            halves = np.frombuffer(b"".join(names), HALF).reshape(-1, 2)
            high, low = halves.T.astype(np.uint64)
            for kept in self._blocks:
                for number, values in kept.block.find(high, low):
                    self._add_values(found.setdefault(names[number], {}), kept.block, values)
        return found

    def _add_values(self, by_edge: dict[int, Hits], block: WitnessBlock, values: Numbers) -> None:
        if len(values) > FEW:
            for edge, rows in block.many_owners(values).items():
                by_edge.setdefault(edge, Hits()).rows.append((block, rows))
            return
        for row, edge in block.owners(values):
            clock = int(block.clock[row])
            self._found[clock] = block, row
            by_edge.setdefault(edge, Hits()).clocks.add(clock)

    def document(self, clock: int) -> JoinDocument:
        """Returns a document that is kept."""
        if clock in self._open:
            return self._open[clock][0]
        document = self._at_hand.get(clock)
        if document is not None:
            self._at_hand.move_to_end(clock)
            return document
        block, row = self._place(clock)
        document = self._at_hand[clock] = block.document(row)
        self._at_hand_bytes += document.bytes
        while self._at_hand_bytes > _AT_HAND and len(self._at_hand) > 1:
            self._at_hand_bytes -= self._at_hand.popitem(last=False)[1].bytes
        return document

    def header(self, clock: int) -> Header | JoinDocument:
        """Returns what windows have to know of a document."""
        known = self._open.get(clock)
        if known is not None:
            return known[0]
        block, row = self._place(clock)
        return Header(int(block.time[row]), int(block.seq[row]), int(block.place[row]))

    def needed(self) -> Iterator[JoinDocument]:
        """Yields the documents that a later one may still join, in the order of their arrival."""
        for kept in self._blocks:
            for row in np.flatnonzero(kept.block.needed(self._needs)).tolist():
                yield kept.block.document(row)
        for document, hold in self._open.values():
            if self._needs.document(document, hold):
                yield document

    def release(self, needs: Needs) -> None:
        """Drops blocks none of whose documents is needed any more."""
        self._needs = needs
        if self._open and not self._reason.holds(needs):
            self._clear_open()
        if any(not kept.reason.holds(needs) for kept in self._blocks):
            self._blocks = [kept for kept in self._blocks if kept.reason.holds(needs)]
            self._count()

    def compact(self) -> None:
        """Drops all documents that are not needed, if they are worth the work."""
        unneeded = [int((~kept.block.needed(self._needs)).sum()) for kept in self._blocks]
        if sum(unneeded) * 2 * _SHARE > len(self):
            self._swap(0, len(self._blocks), [[kept] for kept in self._blocks])
        for clock in [c for c, one in self._open.items() if not self._needs.document(*one)]:
            self._drop_open(clock)

    def drop_oldest(self) -> list[JoinDocument]:
        """Drops those that arrived first: a block, or one document where there is none.

        Returns:
            Those of them that were still needed.
        """
        if not self._blocks:
            return [self._drop_open(next(iter(self._open)))]
        block = self._blocks.pop(0).block
        self._count()
        return [block.document(row) for row in np.flatnonzero(block.needed(self._needs)).tolist()]

    def clear(self) -> None:
        """Drops all documents, and forgets which were needed."""
        self._needs = Needs(_any_time, None, 0)
        self._blocks = []
        self._clear_open()
        self._count()

    def dump(self) -> list[WitnessBlock]:
        """Returns all that is kept as blocks, for `load`."""
        self.compact()
        self._seal()
        return [kept.block for kept in self._blocks]

    def load(self, blocks: Iterable[WitnessBlock]) -> None:
        """Keeps the documents of blocks, where there are none."""
        self._blocks = [_kept(block) for block in blocks]
        self._count()

    def _place(self, clock: int) -> tuple[WitnessBlock, int]:
        if clock in self._found:
            return self._found[clock]
        kept = self._blocks[bisect_left(self._blocks, clock, key=attrgetter("last"))]
        return kept.block, int(np.searchsorted(kept.block.clock, clock))

    def _seal(self) -> None:
        """Makes a block of the last documents."""
        rows = [one for one in self._open.values() if self._needs.document(*one)]
        self._clear_open()
        if rows:
            self._blocks.append(_kept(block_of(rows)))
            self._merge()
        self._count()

    def _merge(self) -> None:
        """Merges neighbours until there are few blocks, or all are large."""
        while len(self._blocks) > FEW_BLOCKS:
            sizes = [len(kept.block) for kept in self._blocks]
            pairs = [one + other for one, other in pairwise(sizes)]
            at = min(range(len(pairs)), key=pairs.__getitem__)
            if pairs[at] * _SHARE > sum(sizes):
                return
            self._swap(at, at + 2, [self._blocks[at : at + 2]])

    def _swap(self, start: int, end: int, groups: list[list[_Kept]]) -> None:
        made = [merged([kept.block for kept in group], self._needs) for group in groups]
        self._blocks[start:end] = [_kept(block) for block in made if block is not None]
        self._count()

    def _drop_open(self, clock: int) -> JoinDocument:
        document, _ = self._open.pop(clock)
        for key in {key for key in document.keys if key}:
            left = [one for one in self._values.get(key, ()) if one[1] != clock]
            if left:
                self._values[key] = left
            else:
                self._values.pop(key, None)
        self._open_bytes -= document.bytes
        self._count()
        return document

    def _clear_open(self) -> None:
        self._open, self._values, self._open_bytes = {}, {}, 0
        self._reason = _Reason({}, -1, {})
        self._count()

    def _count(self) -> None:
        """Counts again after documents have gone."""
        self.bytes = self._open_bytes + sum([kept.bytes for kept in self._blocks])
        self.witnesses = sum([len(one.locators) for one, _ in self._open.values()])
        self.witnesses += sum([kept.block.witnesses for kept in self._blocks])
        self._at_hand.clear()  # clocks may stand for others
        self._at_hand_bytes = 0
        self._found = {}


def _kept(block: WitnessBlock) -> _Kept:
    seqs = block.seq[(block.held & BY_SEQ) != 0]
    places: Counter[str] = Counter()
    by_place = np.flatnonzero((block.held & BY_PLACE) != 0)
    until: dict[tuple[str, bool], int] = {}
    for number, stream in enumerate(block.streams):
        own = block.place[by_place][block.stream[by_place] == number]
        if len(own):
            places[stream[0]] = int(own.max())
        last = int(block.until[block.stream == number].max(initial=NEVER))
        if last != NEVER:
            until[stream] = last
    reason = _Reason(until, int(seqs.max()) if len(seqs) else -1, places)
    return _Kept(block, reason, int(block.clock[0]), int(block.clock[-1]), block.bytes)


def _reason_of(documents: list[tuple[JoinDocument, Hold]], before: _Reason) -> _Reason:
    until, seq, places = before
    for document, hold in documents:
        if hold.until != NEVER:
            stream = document.stream, document.published
            until[stream] = max(hold.until, until.pop(stream, NEVER))
        if hold.held & BY_SEQ:
            seq = max(seq, document.seq)
        if hold.held & BY_PLACE:
            places = {**places, document.stream: document.place}
    return _Reason(until, seq, places)
