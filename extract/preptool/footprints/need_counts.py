"""Counts how often the branches of a chunk need each path, so that branches can be removed again.

A chunk keeps the union of its branches' footprints, and nothing can be subtracted from a union. So
every need, a path with one bit of `Need`, is counted; one whose count is zero is dropped.

Needs below a *covered* path, one that is kept with its whole subtree, are not counted: the chunk
keeps nothing more for them. There may be a million of these, and they would be most of a scheme.
When the last branch that needs the subtree is removed, the needs below are counted from the
remaining branches (`NeedCounts.uncover`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from extract.errors import SchemeError
from extract.preptool.footprints.footprint import Pattern, pattern_text
from extract.preptool.footprints.partial_footprints import PartialFootprint
from extract.scheme.model import Chunk, Need, Uses, Want

PathNeed: TypeAlias = tuple[str, Need]  # a path without filters, and one bit of its need
_NODE, _SUBTREE = 0, 3  # positions in a row: node, children, string, subtree
_ESSENCE = [Need(bits).essence for bits in range(16)]


class ChunkNeeds(NamedTuple):
    """The needs of a chunk's branches; the fields are those of `Chunk`."""

    filters: tuple[Want, ...]
    inside: tuple[Want, ...]
    uses: tuple[Uses, ...]


class NeedCounts:
    """How often each need of one chunk's branches occurs.

    >>> counts = NeedCounts()
    >>> counts.count("/a/b", Need.NODE, 2)
    >>> counts.count("/a/b", Need.STRING, 1)
    >>> counts.chunk_needs("").filters, counts.chunk_needs("").uses
    ((Want(path='/a/b', need=<Need.STRING: 4>),), ((2, 0, 1),))
    >>> counts.count("/a/b", Need.STRING, -1)
    >>> counts.chunk_needs("").filters, counts.chunk_needs("").uses
    ((Want(path='/a/b', need=<Need.NODE: 1>),), ((2,),))
    """

    __slots__ = ("_may_cover", "_rows", "_uncovered")

    def __init__(self) -> None:
        self._rows: dict[str, list[int]] = {}
        # Paths whose subtrees were kept and are not needed any more. Until the needs below them are
        # counted, they still count as covered.
        self._uncovered: set[str] = set()
        # Whether a new need of a subtree may cover older rows.
        self._may_cover = False

    @classmethod
    def of(cls, partials: Mapping[PartialFootprint, int]) -> NeedCounts:
        """Counts the needs of branches, given the footprints of their parts with numbers."""
        counts = cls()
        counts.count_all(partials, 1)
        counts.uncover(lambda _: ())
        return counts

    @classmethod
    def of_chunk(cls, chunk: Chunk) -> NeedCounts | None:
        """Returns the counts in a scheme; None if it has none."""
        wants = (*chunk.filters, *chunk.inside)
        if len(wants) != len(chunk.uses):
            return None
        counts = cls()
        for want, uses in zip(wants, chunk.uses, strict=True):
            counts._rows[want.path] = [*uses, *[0] * (4 - len(uses))]
        return counts

    def count_all(self, partials: Mapping[PartialFootprint, int], sign: int) -> None:
        """Counts the needs of partial footprints.

        Args:
            partials: Footprints that do not need the whole document, with their numbers.
            sign: 1 if branches with these footprints are added, -1 if they are removed.
        """
        # From the top down: below a subtree that is kept anyway nothing needs to be counted.
        for partial in sorted(partials, key=_depth):
            times = sign * partials[partial]
            if partial.below is not None:
                start = "/" + "/".join(partial.above)
                if self._covers(start) or self._is_covered(start):
                    if ((), Need.SUBTREE) in partial.below:
                        self.count(start, Need.SUBTREE, times)
                    continue
            for path, need in path_needs(partial):
                self.count(path, need, times)

    def count(self, path: str, need: Need, times: int) -> None:
        """Adds to the count of one need; ``times`` may be negative.

        Raises:
            SchemeError: The count becomes negative.
        """
        at = need.bit_length() - 1
        if (at == _NODE and _is_everywhere(path)) or self._is_covered(path):
            return
        row = self._rows.get(path)
        if at == _SUBTREE:
            if row is None or not self._covers(path):
                row = self._rows[path] = [0, 0, 0, 0]
                self._may_cover = True
        elif self._covers(path):
            return
        elif row is None:
            row = self._rows[path] = [0, 0, 0, 0]
        row[at] += times
        if row[at] < 0:
            hint = "the scheme is damaged; prepare the queries again with `extract prep`"
            raise SchemeError(f"more look at {path} than the scheme knows of", hint)
        if at == _SUBTREE:
            (self._uncovered.discard if row[at] else self._uncovered.add)(path)
        elif not any(row):
            del self._rows[path]

    def uncover(self, recount: Callable[[Collection[str]], Iterable[tuple[PathNeed, int]]]) -> None:
        """Counts the needs below paths that are no longer covered.

        Args:
            recount: Returns the needs of the chunk's branches at some paths and below, with their
                numbers; needs elsewhere are ignored.
        """
        if self._uncovered:
            self._drop_covered()
            bare = frozenset(self._uncovered)
            self._uncovered.clear()
            for path in bare:
                del self._rows[path]
            for (path, need), times in recount(bare) if bare else ():
                if is_at_or_below(path, bare):
                    self.count(path, need, times)
        if self._may_cover:
            self._drop_covered()
            self._may_cover = False

    def chunk_needs(self, prefix: str) -> ChunkNeeds:
        """Returns the needs of the chunk, after `uncover`.

        Args:
            prefix: The chunk's prefix; empty for the potpourri.
        """
        filters: list[tuple[Want, Uses]] = []
        inside: list[tuple[Want, Uses]] = []
        below = f"{prefix}/"
        for path, row in sorted(self._rows.items()):
            need = _ESSENCE[sum([1 << at for at, times in enumerate(row) if times])]
            is_inside = prefix and (path == prefix or path.startswith(below))
            (inside if is_inside else filters).append((Want(path, need), _trimmed(row)))
        return ChunkNeeds(
            tuple([want for want, _ in filters]),
            tuple([want for want, _ in inside]),
            tuple([uses for _, uses in (*filters, *inside)]),
        )

    def _covers(self, path: str) -> bool:
        """Whether the whole subtree of a path is kept."""
        row = self._rows.get(path)
        return row is not None and (row[_SUBTREE] > 0 or path in self._uncovered)

    def _is_covered(self, path: str) -> bool:
        return any(map(self._covers, _above(path)))

    def _drop_covered(self) -> None:
        for path in [path for path in self._rows if self._is_covered(path)]:
            del self._rows[path]
            self._uncovered.discard(path)


def path_needs(partial: PartialFootprint) -> Iterator[PathNeed]:
    """Yields the needs of a part of a branch, with paths from the document node."""
    if partial.below is None:
        for pattern, need in partial.beyond.wants:
            yield pattern_text(pattern), need
        return
    start = "/" + "/".join(partial.above)
    for pattern, need in partial.below:
        yield start + _rest(pattern), need


def is_at_or_below(path: str, tops: Collection[str]) -> bool:
    """Whether a path is one of the paths in ``tops``, or below one.

    >>> [is_at_or_below(path, {"/a/b"}) for path in ("/a/b", "/a/b/c", "/a/bc", "/a")]
    [True, True, False, False]
    """
    return path in tops or any(above in tops for above in _above(path))


def _above(path: str) -> Iterator[str]:
    """Yields the prefixes of a path, from the longest up, without the document node."""
    end = path.rfind("/")
    while end > 0:
        yield path[:end]
        end = path.rfind("/", 0, end)


def _depth(partial: PartialFootprint) -> int:
    return len(partial.above)


def _is_everywhere(path: str) -> bool:
    """Whether a path is the document node or the document element, which every chunk has."""
    return path.rfind("/") == 0 and "::" not in path


def _trimmed(row: list[int]) -> Uses:
    end = len(row)
    while not row[end - 1]:
        end -= 1
    return tuple(row[:end])


@lru_cache(maxsize=1 << 16)
def _rest(pattern: Pattern) -> str:
    """Returns a pattern as text to append to a path."""
    return pattern_text(pattern) if pattern else ""
