"""From the branches of a chunk to what the chunk must hold, and whether it can be split."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from extract.preptool.footprint import Pattern, pattern_text
from extract.preptool.pieces import Piece, Pieces, child_steps
from extract.preptool.splittable import why_not_splittable
from extract.preptool.tree import Path
from extract.scheme.model import Branch, Need, Want
from extract.xpath.parser import parse


class Split(NamedTuple):
    """What a chunk's branches look at.

    Attributes:
        filters: Outside of the subtrees at its prefix.
        inside: In these subtrees, their roots included.
    """

    filters: tuple[Want, ...]
    inside: tuple[Want, ...]


def split_wants(prefix: Path, pieces: Iterable[Piece]) -> Split:
    """What pieces of branches look at, outside and inside of the subtrees at a chunk's prefix.

    Args:
        prefix: The chunk's prefix; empty for the potpourri, which has no such subtrees.
        pieces: The pieces, none of which needs the whole document.
    """
    start = child_steps(prefix)
    needs: dict[Pattern, int] = {}
    whole: set[Path] = set()
    # From the top down: below a subtree that is kept anyway nothing else needs to be looked at.
    for piece in sorted(pieces, key=_depth):
        if piece.below is not None:
            if any(piece.above[:end] in whole for end in range(1, len(piece.above) + 1)):
                continue
            if ((), Need.SUBTREE) in piece.below:
                whole.add(piece.above)
        for pattern, need in piece.wants:
            needs[pattern] = needs.get(pattern, 0) | need
    filters: dict[str, Need] = {}
    inside: dict[str, Need] = {}
    for pattern, united in needs.items():
        if not _is_kept_anyway(pattern, needs):
            is_inside = bool(prefix) and pattern[: len(start)] == start
            (inside if is_inside else filters)[pattern_text(pattern)] = Need(united).essence
    return Split(_in_order(filters), _in_order(inside))


def _in_order(needs: dict[str, Need]) -> tuple[Want, ...]:
    return tuple([Want(path, need) for path, need in sorted(needs.items())])


def _depth(piece: Piece) -> int:
    return len(piece.above)


def _is_kept_anyway(pattern: Pattern, needs: dict[Pattern, int]) -> bool:
    """Whether a want asks for nothing that is not kept for another reason."""
    if len(pattern) <= 1 and needs[pattern] == Need.NODE:
        # The document node and the document element are in every chunk.
        return not pattern or pattern[0].axis == "child"
    return any(needs.get(pattern[:end], 0) & Need.SUBTREE for end in range(1, len(pattern)))


class Looks:
    """What each of many branches looks at.

    Args:
        branches: The branches.
        tails: For each of them what follows its spine.
    """

    def __init__(self, branches: Sequence[Branch], tails: Sequence[str]) -> None:
        self._pieces = Pieces()
        self._branches = branches
        self._tails = tails
        self._stems = list(map(self._pieces.stem, branches, tails))
        self._why_not: dict[tuple[str, int], str] = {}

    def whole(self) -> dict[int, str]:
        """The branches that need the whole document, and why."""
        found: dict[int, str] = {}
        for number, stem in enumerate(self._stems):
            if reason := stem.whole or self._end(number).beyond.whole:
                found[number] = reason
        return found

    def pieces(self, numbers: Sequence[int]) -> dict[Piece, None]:
        """The pieces of these branches, each once."""
        found: dict[Piece, None] = {}
        for stem in dict.fromkeys([self._stems[number] for number in numbers]):
            found.update(dict.fromkeys(stem.pieces))
        found.update(dict.fromkeys(map(self._end, numbers)))
        return found

    def _end(self, number: int) -> Piece:
        return self._pieces.end(self._branches[number], self._stems[number], self._tails[number])

    def why_not_splittable(self, numbers: Iterable[int], depth: int) -> str:
        """Why some of these branches cannot be evaluated record by record; empty if all can.

        Args:
            numbers: The branches of a chunk.
            depth: How many steps its prefix has.
        """
        for number in numbers:
            names, filters, _ = self._stems[number].spine
            tail = self._tails[number]
            # The same for each step as for a branch that has only this one: above the record, on
            # its own step, or inside.
            paths = [
                (f"/{names[s - 1]}{text}", max(0, min(2, depth - s + 1))) for s, text in filters
            ]
            if tail:
                paths.append((f"/{names[-1]}{tail}", 1))
            for path in paths:
                reason = self._why_not.get(path)
                if reason is None:
                    reason = self._why_not[path] = why_not_splittable(parse(path[0]), path[1])
                if reason:
                    return f"{reason} in {self._branches[number].xpath}"
        return ""
