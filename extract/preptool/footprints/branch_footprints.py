"""The footprints of many branches, and whether the branches allow a chunk to be split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, MutableSequence, Sequence
from typing import TypeAlias

from extract.preptool.footprints.partial_footprints import (
    PartialFootprint,
    PartialFootprints,
    SpineFootprint,
    child_steps,
)
from extract.scheme.model import Branch
from extract.scheme.spine import take_apart
from extract.scheme.splittable import why_not_splittable
from extract.transtool.branch_syntax import BranchSyntax

Tails: TypeAlias = MutableSequence[str] | MutableSequence[str | None]


class BranchFootprints:
    """The footprints of many branches, computed on demand.

    Args:
        branches: The branches; more may be added later.
        tails: For each branch the part after its spine; None where it is not known yet.
        syntax: The parts of the branches as expressions, as far as they are known.
    """

    def __init__(
        self, branches: Sequence[Branch], tails: Tails, syntax: BranchSyntax | None = None
    ) -> None:
        self._syntax = syntax or BranchSyntax()
        self._partials = PartialFootprints(self._syntax)
        self._branches = branches
        self._tails = tails
        self._spines: list[SpineFootprint | None] = []
        self._ends: dict[int, PartialFootprint] = {}  # of tails, by branch
        self._why_not: dict[tuple[str, str, int], str] = {}

    def xpath(self, number: int) -> str:
        """Returns the branch as XPath."""
        return self._branches[number].xpath

    def whole(self) -> dict[int, str]:
        """Returns the branches that need the whole document, with the reasons."""
        reasons = map(self.why_whole, range(len(self._branches)))
        return {number: reason for number, reason in enumerate(reasons) if reason}

    def why_whole(self, number: int) -> str:
        """Returns why a branch needs the whole document; empty if it does not."""
        return self._spine(number).whole or self._tail(number).beyond.whole

    def partials(self, numbers: Iterable[int]) -> Counter[PartialFootprint]:
        """Returns the footprints of these branches' parts, each with its number of branches."""
        numbers = list(numbers)
        counts = Counter(map(self._tail, numbers))
        for spine, times in Counter(map(self._spine, numbers)).items():
            for partial in spine.filters:
                counts[partial] += times
        return counts

    def outline(self, number: int) -> tuple[tuple[int, ...], str]:
        """Returns a branch's steps with a filter (with two filters, twice), and its tail."""
        return self._spine(number).filtered, self._tails[number] or ""

    def _tail(self, number: int) -> PartialFootprint:
        end = self._ends.get(number)
        if end is None:
            spine, branch = self._spine(number), self._branches[number]  # which may find the tail
            end = self._partials.of_tail(branch, spine, self._tails[number] or "")
            self._ends[number] = end
        return end

    def _spine(self, number: int) -> SpineFootprint:
        """Returns the footprint of a branch without its tail."""
        spines = self._spines
        if number >= len(spines):
            spines.extend([None] * (len(self._branches) - len(spines)))
        spine = spines[number]
        if spine is None:
            branch, tail = self._branches[number], self._tails[number]
            if tail is None:
                tail = self._tails[number] = take_apart(branch).tail
            spine = spines[number] = self._partials.of_spine(branch, tail)
        return spine

    def why_not_splittable(self, numbers: Iterable[int], depth: int) -> str:
        """Returns why some branches cannot be evaluated record by record; empty if all can.

        Args:
            numbers: The branches of a chunk.
            depth: The number of steps of its prefix.
        """
        for number in numbers:
            names, filters, _ = self._spine(number).spine
            tail = self._tails[number]
            # The result for each step is that of a branch with only this step: above the record, on
            # its own step, or inside.
            paths = [(names[s - 1], text, max(0, min(2, depth - s + 1))) for s, text in filters]
            if tail:
                paths.append((names[-1], tail, 1))
            for path in paths:
                reason = self._why_not.get(path)
                if reason is None:
                    name, text, prefix = path
                    steps = self._partials.path(child_steps((name,)), text)
                    reason = self._why_not[path] = why_not_splittable(steps, prefix)
                if reason:
                    return f"{reason} in {self._branches[number].xpath}"
        return ""
