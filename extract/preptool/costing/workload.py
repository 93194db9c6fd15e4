"""What filtering has to do for a set of queries, summed up by spine.

A hundred thousand queries have a million branches, but a few thousand spines. What the branches of
a spine look at, and what it costs to evaluate them, is found once; after that each way to cut
documents is estimated from these sums. Of very many branches a part is enough for an estimate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from zlib import crc32

from extract.preptool.costing.cost import Shape
from extract.preptool.costing.estimate import Estimator, PathMarks
from extract.preptool.footprints.branch_footprints import BranchFootprints
from extract.preptool.footprints.partial_footprints import PartialFootprint
from extract.preptool.query_tree import NamePath

MOST_BRANCHES: Final = 50_000  # that are looked at one by one


@dataclass(frozen=True, slots=True)
class SpineLoad:
    """The branches of one spine.

    Attributes:
        spine: Its names.
        paths: The same as paths of the statistics, as far as documents go.
        marks: What the branches look at.
        shapes: How many branches there are of each shape.
    """

    spine: NamePath
    paths: tuple[int, ...] = field(repr=False)
    marks: PathMarks = field(repr=False)
    shapes: Mapping[Shape, int]


@dataclass(frozen=True, slots=True)
class Workload:
    """All branches of a set of queries, in an order that does not depend on theirs.

    Attributes:
        loads: Those with a footprint, by spine.
        whole: Those that need the whole document, by spine.
    """

    loads: tuple[SpineLoad, ...]
    whole: tuple[SpineLoad, ...] = ()

    @classmethod
    def of(
        cls,
        numbers: Iterable[int],
        spines: Sequence[NamePath],
        footprints: BranchFootprints,
        whole: Container[int],
        estimator: Estimator,
    ) -> Workload:
        """Sums branches up.

        Args:
            numbers: The branches.
            spines: For each branch the names of its spine.
            footprints: What the branches look at.
            whole: The branches that need the whole document.
            estimator: What is known about documents.
        """
        marker = _Marker(estimator)
        groups: dict[tuple[NamePath, bool], list[int]] = {}
        part, stands_for = _part(numbers, footprints)
        for number in part:
            groups.setdefault((spines[number], number in whole), []).append(number)
        loads: list[SpineLoad] = []
        documents: list[SpineLoad] = []
        for (spine, needs_all), ours in sorted(groups.items()):
            shapes = Counter([_shape(spine, *footprints.outline(number)) for number in ours])
            marks = PathMarks()
            if not needs_all:
                for partial in footprints.partials(ours):
                    marks |= marker.of(partial)
            in_order = {shape: stands_for * count for shape, count in sorted(shapes.items())}
            load = SpineLoad(spine, marker.paths(spine), marks, in_order)
            (documents if needs_all else loads).append(load)
        return cls(tuple(loads), tuple(documents))


def _part(numbers: Iterable[int], footprints: BranchFootprints) -> tuple[list[int], int]:
    """Some of the branches if there are very many, and how many each of them stands for.

    Which ones depends on their texts, not on their order: a scheme that was revised finds the same
    as one that is made afresh.
    """
    every = list(numbers)
    stands_for = 1
    while len(every) // stands_for > MOST_BRANCHES:
        stands_for *= 2
    if stands_for == 1:
        return every, 1
    xpath = footprints.xpath
    return [n for n in every if crc32(xpath(n).encode()) % stands_for == 0], stands_for


def _shape(spine: NamePath, filters: tuple[int, ...], tail: str) -> Shape:
    deep = not spine or "//" in tail or "descendant" in tail
    return Shape(filters, deep, bool(tail) and not deep)


class _Marker:
    """Finds the paths of the statistics that the parts of branches look at."""

    def __init__(self, estimator: Estimator) -> None:
        self._estimator = estimator
        self._path_marks: dict[tuple[int, object], PathMarks] = {}
        self._paths: dict[NamePath, tuple[int, ...]] = {(): ()}

    def paths(self, spine: NamePath) -> tuple[int, ...]:
        """The paths along a spine, as far as documents go."""
        numbers = self._paths.get(spine)
        if numbers is None:
            numbers = self.paths(spine[:-1])
            if len(numbers) == len(spine) - 1:
                name = self._estimator.expanded(spine[-1])
                child = self._estimator.child(numbers[-1] if numbers else 0, name)
                numbers = (*numbers, child) if child is not None else numbers
            self._paths[spine] = numbers
        return numbers

    def of(self, partial: PartialFootprint) -> PathMarks:
        """What a part of a branch looks at."""
        if partial.below is None:
            return self._estimator.marks(partial.beyond.wants)
        paths = self.paths(partial.above)
        if len(paths) < len(partial.above):
            return PathMarks()
        start = paths[-1] if paths else 0
        key = (start, partial.below)
        path_marks = self._path_marks.get(key)
        if path_marks is None:
            path_marks = self._path_marks[key] = self._estimator.marks(partial.below, start)
        return path_marks
