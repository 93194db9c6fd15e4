"""From the branches of a chunk to what the chunk must hold, and whether it can be split."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from extract.preptool.footprint import Pattern, pattern_text
from extract.preptool.pieces import Piece, Pieces, child_steps
from extract.preptool.splittable import why_not_splittable
from extract.preptool.tree import Path
from extract.scheme.model import Branch, Need, Want
from extract.xpath.parser import parse


def outside(prefix: Path, pieces: Iterable[Piece]) -> tuple[Want, ...]:
    """What pieces of branches look at that is not in the subtrees at the chunk's prefix.

    Args:
        prefix: The chunk's prefix; empty for the potpourri, which has no such subtrees.
        pieces: The pieces, none of which needs the whole document. The same may come many times.
    """
    start = child_steps(prefix)
    needs: dict[Pattern, int] = {start: Need.SUBTREE} if prefix else {}
    whole = {prefix} if prefix else set()
    # From the top down: below a subtree that is kept anyway nothing else needs to be looked at.
    for piece in sorted(set(pieces), key=_depth):
        if piece.below is not None:
            if any(piece.above[:end] in whole for end in range(1, len(piece.above) + 1)):
                continue
            if ((), Need.SUBTREE) in piece.below:
                whole.add(piece.above)
        for pattern, need in piece.wants:
            needs[pattern] = needs.get(pattern, 0) | need
    kept = [pattern for pattern in needs if not _is_kept_anyway(pattern, needs)]
    wants = {pattern_text(p): Need(needs[p]).essence for p in kept if not prefix or p != start}
    return tuple([Want(path, need) for path, need in sorted(wants.items())])


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
        for number, (stem, tail) in enumerate(zip(self._stems, self._tails, strict=True)):
            reason = stem.whole
            if not reason and not self._pieces.ends_inside(stem, tail):
                reason = self._end(number).beyond.whole
            if reason:
                found[number] = reason
        return found

    def pieces(self, numbers: Sequence[int], depth: int) -> Iterator[Piece]:
        """The pieces of these branches that may look beyond the subtrees at a prefix.

        Args:
            numbers: The branches.
            depth: How many steps the prefix has that all of them begin with; 0 for none at all.
        """
        for stem in dict.fromkeys([self._stems[number] for number in numbers]):
            for piece in stem.pieces:
                if not depth or piece.below is None or len(piece.above) < depth:
                    yield piece
        for number in numbers:
            if not depth or not self._pieces.ends_inside(self._stems[number], self._tails[number]):
                yield self._end(number)

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
