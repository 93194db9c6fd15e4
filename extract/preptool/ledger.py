"""What the branches of a chunk look at, with how often: so that branches can leave again.

A chunk keeps the union of what its branches look at, and from a union nothing can be taken away. So
every *ask*, a path and what is needed there, is counted: one that nobody makes any more goes.

Not counted is what is hidden: below a path that is kept with its whole subtree, nothing more is
kept for anybody's sake. There may be a million such asks, and they would be most of a scheme. If
the last one goes that asked for the subtree, what it hid is counted from the branches.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from extract.errors import SchemeError
from extract.preptool.footprint import Pattern, pattern_text
from extract.preptool.pieces import Piece
from extract.scheme.model import Chunk, Need, Uses, Want

Ask: TypeAlias = tuple[str, Need]  # a path without filters, and what is needed there: one bit
_NODE, _SUBTREE = 0, 3  # positions in a row: node, children, string, subtree
_ESSENCE = [Need(bits).essence for bits in range(16)]


class Held(NamedTuple):
    """What a chunk holds for its branches; the fields are those of `Chunk`."""

    filters: tuple[Want, ...]
    inside: tuple[Want, ...]
    uses: tuple[Uses, ...]


class Ledger:
    """The asks of one chunk's branches.

    >>> ledger = Ledger()
    >>> ledger.ask("/a/b", Need.NODE, 2)
    >>> ledger.ask("/a/b", Need.STRING, 1)
    >>> ledger.held("").filters, ledger.held("").uses
    ((Want(path='/a/b', need=<Need.STRING: 4>),), ((2, 0, 1),))
    >>> ledger.ask("/a/b", Need.STRING, -1)
    >>> ledger.held("").filters, ledger.held("").uses
    ((Want(path='/a/b', need=<Need.NODE: 1>),), ((2,),))
    """

    __slots__ = ("_crowded", "_lost", "_rows")

    def __init__(self) -> None:
        self._rows: dict[str, list[int]] = {}
        # Paths whose subtrees were kept, and nobody asks for them any more: until the asks that
        # they hide are counted, they go on hiding.
        self._lost: set[str] = set()
        # Whether a subtree was asked for that may hide older rows.
        self._crowded = False

    @classmethod
    def of(cls, pieces: Mapping[Piece, int]) -> Ledger:
        """The ledger of branches that have these pieces, each so often."""
        ledger = cls()
        ledger.ask_all(pieces, 1)
        ledger.settle(lambda _: ())
        return ledger

    @classmethod
    def of_chunk(cls, chunk: Chunk) -> Ledger | None:
        """The ledger that is written in a scheme; None if the scheme has none."""
        wants = (*chunk.filters, *chunk.inside)
        if len(wants) != len(chunk.uses):
            return None
        ledger = cls()
        for want, uses in zip(wants, chunk.uses, strict=True):
            ledger._rows[want.path] = [*uses, *[0] * (4 - len(uses))]
        return ledger

    def ask_all(self, pieces: Mapping[Piece, int], sign: int) -> None:
        """Counts the asks of pieces.

        Args:
            pieces: The pieces, none of which needs the whole document, each with how often.
            sign: 1 if branches with these pieces come, -1 if they go.
        """
        # From the top down: below a subtree that is kept anyway nothing needs to be looked at.
        for piece in sorted(pieces, key=_depth):
            times = sign * pieces[piece]
            if piece.below is not None:
                start = "/" + "/".join(piece.above)
                if self._hides(start) or self._is_hidden(start):
                    if ((), Need.SUBTREE) in piece.below:
                        self.ask(start, Need.SUBTREE, times)
                    continue
            for path, need in asks(piece):
                self.ask(path, need, times)

    def ask(self, path: str, need: Need, times: int) -> None:
        """Counts one ask so many times more, or less.

        Raises:
            SchemeError: It was made less often than it is taken back.
        """
        at = need.bit_length() - 1
        if (at == _NODE and _is_everywhere(path)) or self._is_hidden(path):
            return
        row = self._rows.get(path)
        if at == _SUBTREE:
            if row is None or not self._hides(path):
                row = self._rows[path] = [0, 0, 0, 0]
                self._crowded = True
        elif self._hides(path):
            return
        elif row is None:
            row = self._rows[path] = [0, 0, 0, 0]
        row[at] += times
        if row[at] < 0:
            hint = "the scheme is damaged; prepare the queries again with `extract prep`"
            raise SchemeError(f"more look at {path} than the scheme knows of", hint)
        if at == _SUBTREE:
            (self._lost.discard if row[at] else self._lost.add)(path)
        elif not any(row):
            del self._rows[path]

    def settle(self, recount: Callable[[Collection[str]], Iterable[tuple[Ask, int]]]) -> None:
        """Finds out what was hidden, where it no longer is.

        Args:
            recount: Gives for some paths the asks of the chunk's branches there and below, each
                with how often; others do no harm.
        """
        if self._lost:
            self._drop_hidden()
            lost = frozenset(self._lost)
            self._lost.clear()
            for path in lost:
                del self._rows[path]
            for (path, need), times in recount(lost) if lost else ():
                if is_at_or_below(path, lost):
                    self.ask(path, need, times)
        if self._crowded:
            self._drop_hidden()
            self._crowded = False

    def held(self, prefix: str) -> Held:
        """What the chunk holds, once the ledger is settled.

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
        return Held(
            tuple([want for want, _ in filters]),
            tuple([want for want, _ in inside]),
            tuple([uses for _, uses in (*filters, *inside)]),
        )

    def _hides(self, path: str) -> bool:
        """Whether the whole subtree is kept there."""
        row = self._rows.get(path)
        return row is not None and (row[_SUBTREE] > 0 or path in self._lost)

    def _is_hidden(self, path: str) -> bool:
        return any(map(self._hides, _above(path)))

    def _drop_hidden(self) -> None:
        for path in [path for path in self._rows if self._is_hidden(path)]:
            del self._rows[path]
            self._lost.discard(path)


def asks(piece: Piece) -> Iterator[Ask]:
    """What a piece of a branch asks for, in paths from the document node."""
    if piece.below is None:
        for pattern, need in piece.beyond.wants:
            yield pattern_text(pattern), need
        return
    start = "/" + "/".join(piece.above)
    for pattern, need in piece.below:
        yield start + _rest(pattern), need


def is_at_or_below(path: str, tops: Collection[str]) -> bool:
    """Whether a path is one of some, or begins with one.

    >>> [is_at_or_below(path, {"/a/b"}) for path in ("/a/b", "/a/b/c", "/a/bc", "/a")]
    [True, True, False, False]
    """
    return path in tops or any(above in tops for above in _above(path))


def _above(path: str) -> Iterator[str]:
    """The paths that a path begins with, from the longest up; without the document node."""
    end = path.rfind("/")
    while end > 0:
        yield path[:end]
        end = path.rfind("/", 0, end)


def _depth(piece: Piece) -> int:
    return len(piece.above)


def _is_everywhere(path: str) -> bool:
    """Whether it is the document node or the document element, which every chunk has."""
    return path.rfind("/") == 0 and "::" not in path


def _trimmed(row: list[int]) -> Uses:
    end = len(row)
    while not row[end - 1]:
        end -= 1
    return tuple(row[:end])


@lru_cache(maxsize=1 << 16)
def _rest(pattern: Pattern) -> str:
    """A pattern as text to put after a path."""
    return pattern_text(pattern) if pattern else ""
