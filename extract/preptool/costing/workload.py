"""The work of filtering for a set of queries, summed up by spine.

A hundred thousand queries have a million branches, but a few thousand spines. The footprints and
costs of a spine's branches are computed once; then each way to cut documents is estimated from
these sums. Of very many branches a sample is enough for an estimate.
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

MOST_BRANCHES: Final = 50_000  # that are examined one by one


@dataclass(frozen=True, slots=True)
class SpineLoad:
    """The branches of one spine.

    Attributes:
        spine: Its names.
        paths: The same as paths of the statistics, as far as documents have them.
        marks: The needs of the branches.
        shapes: The number of branches of each shape.
    """

    spine: NamePath
    paths: tuple[int, ...] = field(repr=False)
    marks: PathMarks = field(repr=False)
    shapes: Mapping[Shape, int]


@dataclass(frozen=True, slots=True)
class Workload:
    """All branches of a set of queries, in a fixed order.

    Attributes:
        loads: Branches with a footprint, by spine.
        whole: Branches that need the whole document, by spine.
    """

    loads: tuple[SpineLoad, ...]
    whole: tuple[SpineLoad, ...] = ()

    @classmethod
    def of(
        cls,
        times: Mapping[int, int],
        spines: Sequence[NamePath],
        footprints: BranchFootprints,
        whole: Container[int],
        estimator: Estimator,
    ) -> Workload:
        """Sums up branches.

        Args:
            times: The branches, each with the number of constants that it is evaluated with.
            spines: For each branch the names of its spine.
            footprints: The footprints of the branches.
            whole: The branches that need the whole document.
            estimator: The statistics of documents.
        """
        marker = _Marker(estimator)
        groups: dict[tuple[NamePath, bool], list[int]] = {}
        part, stands_for = _part(times, footprints)
        for number in part:
            groups.setdefault((spines[number], number in whole), []).append(number)
        loads: list[SpineLoad] = []
        documents: list[SpineLoad] = []
        for (spine, needs_all), branches in sorted(groups.items()):
            shapes: Counter[Shape] = Counter()
            for number in branches:
                shapes[_shape(spine, *footprints.outline(number))] += times[number]
            marks = PathMarks()
            if not needs_all:
                marks = PathMarks.together(map(marker.of, footprints.partials(branches)))
            in_order = {shape: stands_for * count for shape, count in sorted(shapes.items())}
            load = SpineLoad(spine, marker.paths(spine), marks, in_order)
            (documents if needs_all else loads).append(load)
        return cls(tuple(loads), tuple(documents))


def _part(numbers: Iterable[int], footprints: BranchFootprints) -> tuple[list[int], int]:
    """Returns a sample of the branches if they are very many, and the number that each stands for.

    The sample depends on their texts, not on their order: a revised scheme has the same as one that
        is
    made afresh.
    """
    all_numbers = list(numbers)
    stands_for = 1
    while len(all_numbers) // stands_for > MOST_BRANCHES:
        stands_for *= 2
    if stands_for == 1:
        return all_numbers, 1
    xpath = footprints.xpath
    return [n for n in all_numbers if crc32(xpath(n).encode()) % stands_for == 0], stands_for


def _shape(spine: NamePath, filters: tuple[int, ...], tail: str) -> Shape:
    deep = not spine or "//" in tail or "descendant" in tail
    return Shape(filters, deep, bool(tail) and not deep)


class _Marker:
    """Finds the paths of the statistics in the footprints of branches' parts."""

    def __init__(self, estimator: Estimator) -> None:
        self._estimator = estimator
        self._path_marks: dict[tuple[int, object], PathMarks] = {}
        self._paths: dict[NamePath, tuple[int, ...]] = {(): ()}

    def paths(self, spine: NamePath) -> tuple[int, ...]:
        """Returns the paths along a spine, as far as documents have them."""
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
        """Returns the needs of a part of a branch."""
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
