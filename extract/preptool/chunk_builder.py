"""Builds one chunk of a scheme, and revises it when branches are added or removed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from extract.preptool.footprints.branch_footprints import BranchFootprints
from extract.preptool.footprints.need_counts import ChunkNeeds, NeedCounts, PathNeed, path_needs
from extract.preptool.query_tree import NamePath
from extract.scheme.model import DOCUMENT, POTPOURRI, Chunk

# The prefix of a chunk; None for the potpourri, and the empty path, which is a prefix of every
# path, for the whole document.
ChunkKey: TypeAlias = NamePath | None

WHOLE_DOCUMENT: Final[NamePath] = ()
_WHY_NOT: Final = {
    None: "the potpourri has no records",
    WHOLE_DOCUMENT: "the whole document is needed",
}
_FEW: Final = 8
_NAMES: Final = {None: POTPOURRI, WHOLE_DOCUMENT: DOCUMENT}


@dataclass(slots=True)
class ChunkBuilder:
    """One chunk, the potpourri, or the chunk of the whole document, while it is built or revised.

    Attributes:
        key: The prefix of the chunk, or the key of one of the other two.
        footprints: The footprints of all branches.
        branches: The branches that are evaluated on the chunk.
    """

    key: ChunkKey
    footprints: BranchFootprints
    branches: set[int] = field(default_factory=set)
    _counts: NeedCounts | None = field(default_factory=NeedCounts)
    _needs: ChunkNeeds | None = None
    _unsplittable: str | None = ""  # None if unknown
    _whole: tuple[str, ...] | None = ()  # None if unknown
    _chunk: Chunk | None = None  # the last result, while it is valid

    @classmethod
    def of_chunk(cls, chunk: Chunk, key: ChunkKey, footprints: BranchFootprints) -> ChunkBuilder:
        """Makes the builder of an existing chunk."""
        counts = NeedCounts.of_chunk(chunk)
        return cls(
            key,
            footprints,
            set(chunk.branches),
            counts,
            ChunkNeeds(chunk.filters, chunk.inside, chunk.uses) if counts is not None else None,
            chunk.unsplittable,
            chunk.whole,
            chunk if counts is not None else None,
        )

    def add(self, numbers: Collection[int]) -> None:
        """Adds branches."""
        if not numbers:
            return
        self._chunk = None
        self.branches.update(numbers)
        if self.key == WHOLE_DOCUMENT:
            if self._whole is not None:
                self._whole = tuple(
                    sorted({*self._whole, *map(self.footprints.why_whole, numbers)})
                )
            return
        self._count(numbers, 1)
        if self.key and self._unsplittable == "":
            self._unsplittable = self.footprints.why_not_splittable(numbers, len(self.key))

    def remove(self, numbers: Collection[int]) -> None:
        """Removes branches."""
        if not numbers:
            return
        self._chunk = None
        self.branches.difference_update(numbers)
        if self.key == WHOLE_DOCUMENT:
            self._whole = None
            return
        self._count(numbers, -1)
        if self.key and self._unsplittable:
            ends = tuple([f" in {self.footprints.xpath(number)}" for number in numbers])
            if self._unsplittable.endswith(ends):
                self._unsplittable = None  # the removed branch was the example; there may be others

    def chunk(
        self, number: int, rows: Callable[[int], int] = int, projected: bool = False
    ) -> Chunk:
        """Returns the present chunk.

        Args:
            number: The number of the chunk, if it has a prefix.
            rows: Maps a branch to its row in the scheme; by default its number.
            projected: Whether the chunk has only those parts of its subtrees that its branches look
                at.
        """
        last = self._chunk
        if last is not None and rows is int:
            name = str(number) if self.key else last.id
            if (name, projected) == (last.id, last.projected):
                return last
            return replace(last, id=name, projected=projected)
        chunk = self._made(number, rows, projected)
        self._chunk = chunk if rows is int else None
        return chunk

    def _made(self, number: int, rows: Callable[[int], int], projected: bool) -> Chunk:
        needs = self._current_needs()
        if self._unsplittable is None:
            depth = len(self.key or ())
            self._unsplittable = self.footprints.why_not_splittable(sorted(self.branches), depth)
        if self._whole is None:
            self._whole = tuple(sorted(set(map(self.footprints.why_whole, self.branches))))
        return Chunk(
            id=_NAMES.get(self.key) or str(number),
            prefix=_text(self.key),
            filters=needs.filters,
            branches=tuple(sorted(map(rows, self.branches))),
            unsplittable=_WHY_NOT.get(self.key) or self._unsplittable,
            whole=self._whole,
            inside=needs.inside,
            projected=projected,
            uses=needs.uses,
        )

    def _count(self, numbers: Collection[int], sign: int) -> None:
        self._needs = None
        if self._counts is not None:
            self._counts.count_all(self.footprints.partials(numbers), sign)

    def _current_needs(self) -> ChunkNeeds:
        if self._needs is None:
            if self._counts is None:  # the scheme has no counts
                self._counts = NeedCounts.of(self.footprints.partials(self.branches))
            self._counts.uncover(self._path_needs)
            self._needs = self._counts.chunk_needs(_text(self.key))
        return self._needs

    def _path_needs(self, paths: Collection[str]) -> Iterator[tuple[PathNeed, int]]:
        """Yields the needs of the branches that may need these paths or paths below."""
        names = {_last_name(path) for path in paths}
        numbers: Iterable[int] = self.branches
        if "" not in names and len(names) <= _FEW:
            xpath = self.footprints.xpath
            numbers = [n for n in numbers if any(name in xpath(n) for name in names)]
        for partial, times in self.footprints.partials(numbers).items():
            for path_need in path_needs(partial):
                yield path_need, times


def _text(key: ChunkKey) -> str:
    return "/" + "/".join(key) if key else ""


def _last_name(path: str) -> str:
    """Returns a name in every branch that needs the path or a path below it.

    >>> _last_name("/a/descendant::b/*"), _last_name("/*")
    ('b', '')
    """
    names = [step.rpartition("::")[2] for step in path.split("/")]
    return next((name for name in reversed(names) if not name.endswith("*")), "")
