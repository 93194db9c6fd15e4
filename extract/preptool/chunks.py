"""What branches look at, a million at a time, and whether they allow a chunk to be split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, MutableSequence, Sequence
from typing import TypeAlias

from extract.preptool.pieces import Piece, Pieces, Stem
from extract.scheme.model import Branch
from extract.scheme.spine import take_apart
from extract.scheme.splittable import why_not_splittable
from extract.xpath.parser import parse

Tails: TypeAlias = MutableSequence[str] | MutableSequence[str | None]


class Looks:
    """What each of many branches looks at.

    Args:
        branches: The branches; more may be added later.
        tails: For each of them what follows its spine; None where that is not known yet.
    """

    def __init__(self, branches: Sequence[Branch], tails: Tails) -> None:
        self._pieces = Pieces()
        self._branches = branches
        self._tails = tails
        self._stems: list[Stem | None] = []
        self._why_not: dict[tuple[str, int], str] = {}

    def xpath(self, number: int) -> str:
        """The branch as XPath."""
        return self._branches[number].xpath

    def whole(self) -> dict[int, str]:
        """The branches that need the whole document, and why."""
        reasons = map(self.why_whole, range(len(self._branches)))
        return {number: reason for number, reason in enumerate(reasons) if reason}

    def why_whole(self, number: int) -> str:
        """Why a branch needs the whole document; empty if it does not."""
        return self._stem(number).whole or self._end(number).beyond.whole

    def pieces(self, numbers: Iterable[int]) -> Counter[Piece]:
        """The pieces of these branches, each with how many of them have it."""
        numbers = list(numbers)
        found = Counter(map(self._end, numbers))
        for stem, times in Counter(map(self._stem, numbers)).items():
            for piece in stem.pieces:
                found[piece] += times
        return found

    def outline(self, number: int) -> tuple[tuple[int, ...], str]:
        """The steps of a branch's spine that have a filter (with two filters, twice), its tail."""
        steps = tuple([step for step, _ in self._stem(number).spine.filters])
        return steps, self._tails[number] or ""

    def _end(self, number: int) -> Piece:
        stem = self._stem(number)  # before the tail, which may be known only then
        return self._pieces.end(self._branches[number], stem, self._tails[number] or "")

    def _stem(self, number: int) -> Stem:
        """The pieces of a branch but for its tail, found when they are asked for."""
        stems = self._stems
        if number >= len(stems):
            stems.extend([None] * (len(self._branches) - len(stems)))
        stem = stems[number]
        if stem is None:
            branch, tail = self._branches[number], self._tails[number]
            if tail is None:
                tail = self._tails[number] = take_apart(branch).tail
            stem = stems[number] = self._pieces.stem(branch, tail)
        return stem

    def why_not_splittable(self, numbers: Iterable[int], depth: int) -> str:
        """Why some of these branches cannot be evaluated record by record; empty if all can.

        Args:
            numbers: The branches of a chunk.
            depth: How many steps its prefix has.
        """
        for number in numbers:
            names, filters, _ = self._stem(number).spine
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
