"""The documents that are kept for one side of joins, by stream, time, edge and value."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Set
from heapq import heappop, heappush
from typing import Final

from extract.filtertool.joins.documents import JoinDocument
from extract.xscl.ast import EVERY_STREAM

_NONE: Final[Mapping[int, Set[int]]] = {}


class StateLedger:
    """What all sides together keep, each document counted once.

    Attributes:
        documents: The documents, by their clocks.
        witnesses: How many nodes of them are bound.
        bytes: About how much memory that takes.
    """

    def __init__(self) -> None:
        self.documents: dict[int, JoinDocument] = {}
        self._sides: Counter[int] = Counter()
        self.witnesses = 0
        self.bytes = 0

    def add(self, document: JoinDocument) -> None:
        """Notes that one more side keeps a document."""
        self._sides[document.clock] += 1
        if self._sides[document.clock] == 1:
            self.documents[document.clock] = document
            self.witnesses += len(document.locators)
            self.bytes += document.bytes

    def remove(self, document: JoinDocument) -> None:
        """Notes that a side keeps a document no more."""
        self._sides[document.clock] -= 1
        if not self._sides[document.clock]:
            del self._sides[document.clock], self.documents[document.clock]
            self.witnesses -= len(document.locators)
            self.bytes -= document.bytes


class SideState:
    """Documents of one side, until the widest window that needs them has passed.

    Args:
        ledger: Counts what is kept.

    Attributes:
        documents: The documents, by their clocks.
        edges: For each edge whose values are compared on this side, in how many graphs.
    """

    def __init__(self, ledger: StateLedger) -> None:
        self._ledger = ledger
        self.documents: dict[int, JoinDocument] = {}
        self.edges: Counter[int] = Counter()
        # By value: an edge and a document; only where there are more, for each edge its documents.
        self._having: dict[str, tuple[int, int] | dict[int, set[int]]] = {}
        self._holds: Counter[int] = Counter()
        self._by_time: list[tuple[int, int]] = []
        self._by_place: dict[str, deque[tuple[int, int]]] = defaultdict(deque)

    def having(self, value: str) -> Mapping[int, Set[int]]:
        """Returns for each edge the documents in which it leads to a node with this value."""
        entry = self._having.get(value, _NONE)
        return {entry[0]: {entry[1]}} if isinstance(entry, tuple) else entry

    def hold_until(self, document: JoinDocument, time: int) -> None:
        """Keeps a document until the horizon has passed a time."""
        if self._index(document):
            heappush(self._by_time, (time, document.clock))

    def hold_place(self, document: JoinDocument, stream: str) -> None:
        """Keeps a document while it is among the last of a stream."""
        if self._index(document):
            place = document.seq if stream == EVERY_STREAM else document.place
            self._by_place[stream].append((place, document.clock))

    def release_before(self, time: int) -> None:
        """Lets go of documents that were kept until an earlier time."""
        while self._by_time and self._by_time[0][0] < time:
            self._release(heappop(self._by_time)[1])

    def release_places(self, stream: str, place: int) -> None:
        """Lets go of documents with an earlier place in a stream."""
        waiting = self._by_place[stream]
        while waiting and waiting[0][0] < place:
            self._release(waiting.popleft()[1])

    def drop(self, clock: int) -> None:
        """Lets go of a document, whatever windows need it."""
        if clock in self.documents:
            self._holds[clock] = 1
            self._release(clock)

    def clear(self) -> None:
        """Lets go of all documents."""
        for document in self.documents.values():
            self._ledger.remove(document)
        for kept in (self.documents, self._having, self._holds, self._by_time, self._by_place):
            kept.clear()

    def _index(self, document: JoinDocument) -> bool:
        """Keeps a document by its values; False if it has none that are compared."""
        clock = document.clock
        if clock in self.documents:
            self._holds[clock] += 1
            return True
        entries = list(self._entries(document, self.edges.keys()))
        if not entries:
            return False
        for value, edge in entries:
            before = self._having.setdefault(value, (edge, clock))
            if isinstance(before, tuple):
                if before == (edge, clock):
                    continue
                before = self._having[value] = {before[0]: {before[1]}}
            before.setdefault(edge, set()).add(clock)
        self.documents[clock] = document
        self._ledger.add(document)
        self._holds[clock] = 1
        return True

    def _release(self, clock: int) -> None:
        document = self.documents.get(clock)
        if document is None:  # dropped before
            return
        self._holds[clock] -= 1
        if self._holds[clock]:
            return
        del self._holds[clock], self.documents[clock]
        self._ledger.remove(document)
        for value, edge in self._entries(document, None):
            entry = self._having.get(value)
            if isinstance(entry, tuple):
                if entry == (edge, clock):
                    del self._having[value]
            elif entry is not None and edge in entry:
                entry[edge].discard(clock)
                if not entry[edge]:
                    del entry[edge]
                if not entry:
                    del self._having[value]

    def _entries(self, document: JoinDocument, edges: Set[int] | None) -> Iterator[tuple[str, int]]:
        """The values of a document by edge; for None, of all its edges."""
        links, values = document.links, document.values
        for edge in links if edges is None else links.keys() & edges:
            for nodes in links[edge].values():
                for node in nodes:
                    yield values[node], edge
