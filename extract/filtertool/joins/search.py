"""Finds the join graphs that a new document may satisfy with documents that are kept.

A graph needs documents that share a value for each of its pairs of edges. Graphs are words over
these pairs, kept in a tree of common beginnings: so documents that share the values of a beginning
are found once for all graphs that have it (the paper's section 5, views that templates share), and
graphs of which no pair is there cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from typing import Generic, TypeAlias, TypeVar

from extract.filtertool.joins.postings import Documents, listed, shared

T = TypeVar("T")

EdgePair: TypeAlias = tuple[int, int]
Found: TypeAlias = Callable[[T, Set[int]], None]


class _Branch(Generic[T]):
    __slots__ = ("below", "entries")

    def __init__(self) -> None:
        self.below: dict[EdgePair, _Branch[T]] = {}
        self.entries: list[T] = []


class PairTree(Generic[T]):
    """Entries by the sets of edge pairs that they need.

    >>> tree = PairTree[str]()
    >>> tree.add([(1, 2)], "one")
    >>> tree.add([(1, 2), (3, 4)], "both")
    >>> tree.find({(1, 2): {7, 8}, (3, 4): {8, 9}}, lambda entry, found: print(entry, found))
    one {8, 7}
    both {8}
    """

    def __init__(self, shared: bool = True) -> None:
        self._top: _Branch[T] = _Branch()
        self._shared = shared
        self._flat: list[tuple[tuple[EdgePair, ...], T]] = []

    def add(self, pairs: Iterable[EdgePair], entry: T) -> None:
        """Adds an entry that needs these pairs, in the order of their numbers."""
        branch = self._top
        for pair in pairs:
            branch = branch.below.setdefault(pair, _Branch())
        branch.entries.append(entry)
        if not self._shared:
            self._flat.append((tuple(pairs), entry))

    def remove(self, pairs: Iterable[EdgePair], entry: T) -> None:
        """Removes an entry, and the branches that are left empty."""
        way = [self._top]
        words = list(pairs)
        for pair in words:
            way.append(way[-1].below[pair])
        way[-1].entries.remove(entry)
        for pair, branch, above in zip(words[::-1], way[::-1], way[-2::-1], strict=False):
            if branch.entries or branch.below:
                break
            del above.below[pair]
        if not self._shared:
            self._flat.remove((tuple(words), entry))

    def find(self, present: Mapping[EdgePair, Documents], found: Found[T]) -> None:
        """Calls a function for each entry all of whose pairs are present in some document.

        Args:
            present: For pairs the documents that have them.
            found: Takes an entry and the documents that have all its pairs.
        """
        if self._shared:
            _walk(self._top, present, None, found)
            return
        for pairs, entry in self._flat:  # each for itself, as without a view
            documents = set.intersection(*[set(listed(present.get(pair, set()))) for pair in pairs])
            if documents:
                found(entry, documents)


def _walk(
    branch: _Branch[T],
    present: Mapping[EdgePair, Documents],
    documents: Documents | None,
    found: Found[T],
) -> None:
    if documents is not None and branch.entries:
        clocks = listed(documents)
        for entry in branch.entries:
            found(entry, clocks)
    below = branch.below
    for pair in below if len(below) < len(present) else present:
        having = present.get(pair)
        if having is None or pair not in below:
            continue
        both = having if documents is None else shared(having, documents)
        if both:
            _walk(below[pair], present, both, found)
