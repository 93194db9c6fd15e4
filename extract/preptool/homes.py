"""Chunks while branches come and go: what prepares a chunk once, and what revises it later."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from extract.preptool.chunks import Looks
from extract.preptool.ledger import Ask, Held, Ledger, asks
from extract.preptool.tree import Path
from extract.scheme.model import DOCUMENT, POTPOURRI, Chunk

# Of a chunk its prefix; of the potpourri None, and of the whole document the empty path, which all
# paths begin with.
Key: TypeAlias = Path | None

WHOLE: Final[Path] = ()
_WHY_NOT: Final = {None: "the potpourri has no records", WHOLE: "the whole document is needed"}
_FEW: Final = 8
_NAMES: Final = {None: POTPOURRI, WHOLE: DOCUMENT}


@dataclass(slots=True)
class Home:
    """One chunk, the potpourri, or the whole document, while it is being made or revised.

    Attributes:
        key: Which it is.
        looks: What all branches look at.
        branches: The branches that are evaluated on it.
        ids: The subscribers that have one of these branches, in the order in which they came.
    """

    key: Key
    looks: Looks
    branches: set[int] = field(default_factory=set)
    ids: dict[str, None] = field(default_factory=dict)
    _ledger: Ledger | None = field(default_factory=Ledger)
    _held: Held | None = None
    _unsplittable: str | None = ""  # None if it is not known
    _whole: tuple[str, ...] | None = ()  # None if it is not known
    _chunk: Chunk | None = None  # what was made last, if it is still right

    @classmethod
    def of_chunk(cls, chunk: Chunk, key: Key, looks: Looks) -> Home:
        """The home that a chunk of a scheme was made from."""
        ledger = Ledger.of_chunk(chunk)
        return cls(
            key,
            looks,
            set(chunk.branches),
            dict.fromkeys(chunk.queries),
            ledger,
            Held(chunk.filters, chunk.inside, chunk.uses) if ledger is not None else None,
            chunk.unsplittable,
            chunk.whole,
            chunk if ledger is not None else None,
        )

    def subscribe(self, identifiers: Iterable[str]) -> None:
        """Notes subscribers that have a branch here."""
        self._chunk = None
        self.ids.update(dict.fromkeys(identifiers))

    def unsubscribe(self, identifier: str) -> None:
        """Forgets a subscriber that has no branch here any more."""
        self._chunk = None
        del self.ids[identifier]

    def enter(self, numbers: Collection[int]) -> None:
        """Takes branches in."""
        if not numbers:
            return
        self._chunk = None
        self.branches.update(numbers)
        if self.key == WHOLE:
            if self._whole is not None:
                self._whole = tuple(sorted({*self._whole, *map(self.looks.why_whole, numbers)}))
            return
        self._count(numbers, 1)
        if self.key and self._unsplittable == "":
            self._unsplittable = self.looks.why_not_splittable(numbers, len(self.key))

    def leave(self, numbers: Collection[int]) -> None:
        """Lets branches go."""
        if not numbers:
            return
        self._chunk = None
        self.branches.difference_update(numbers)
        if self.key == WHOLE:
            self._whole = None
            return
        self._count(numbers, -1)
        if self.key and self._unsplittable:
            ends = tuple([f" in {self.looks.xpath(number)}" for number in numbers])
            if self._unsplittable.endswith(ends):
                self._unsplittable = None  # it was the example; there may be others

    def chunk(
        self, number: int, rows: Callable[[int], int] = int, projected: bool = False
    ) -> Chunk:
        """The chunk as it is now.

        Args:
            number: Which of the chunks it is, if it has a prefix.
            rows: For each branch its row in the scheme; by default its number.
            projected: Whether it has of its subtrees only what its branches look at.
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
        held = self._settled()
        if self._unsplittable is None:
            depth = len(self.key or ())
            self._unsplittable = self.looks.why_not_splittable(sorted(self.branches), depth)
        if self._whole is None:
            self._whole = tuple(sorted(set(map(self.looks.why_whole, self.branches))))
        return Chunk(
            id=_NAMES.get(self.key) or str(number),
            prefix=_text(self.key),
            filters=held.filters,
            queries=tuple(self.ids),
            branches=tuple(sorted(map(rows, self.branches))),
            unsplittable=_WHY_NOT.get(self.key) or self._unsplittable,
            whole=self._whole,
            inside=held.inside,
            projected=projected,
            uses=held.uses,
        )

    def _count(self, numbers: Collection[int], sign: int) -> None:
        self._held = None
        if self._ledger is not None:
            self._ledger.ask_all(self.looks.pieces(numbers), sign)

    def _settled(self) -> Held:
        if self._held is None:
            if self._ledger is None:  # the scheme did not say how often anything is asked for
                self._ledger = Ledger.of(self.looks.pieces(self.branches))
            self._ledger.settle(self._asks)
            self._held = self._ledger.held(_text(self.key))
        return self._held

    def _asks(self, paths: Collection[str]) -> Iterator[tuple[Ask, int]]:
        """What the branches ask for; those that cannot ask at these paths or below are left out."""
        names = {_last_name(path) for path in paths}
        numbers: Iterable[int] = self.branches
        if "" not in names and len(names) <= _FEW:
            xpath = self.looks.xpath
            numbers = [n for n in numbers if any(name in xpath(n) for name in names)]
        for piece, times in self.looks.pieces(numbers).items():
            for ask in asks(piece):
                yield ask, times


def _text(key: Key) -> str:
    return "/" + "/".join(key) if key else ""


def _last_name(path: str) -> str:
    """A name without which a branch cannot ask for a path: names come from nowhere else.

    >>> _last_name("/a/descendant::b/*"), _last_name("/*")
    ('b', '')
    """
    names = [step.rpartition("::")[2] for step in path.split("/")]
    return next((name for name in reversed(names) if not name.endswith("*")), "")
