"""A cost model of filtering, to compare ways to cut documents before there are any.

For one document: a scan over its bytes, then for each chunk a parse of its content and the
    evaluation
of its branches, which take steps from nodes, look at their children, test filters and return
results. Each has a price, in seconds on the machine that measured it; only the ratios matter for a
choice. Another matcher has other prices: they are arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heapreplace
from math import log2
from typing import Final, NamedTuple

from extract.preptool.costing.estimate import Estimator, KeptSize


@dataclass(frozen=True, slots=True)
class Prices:
    """The prices of the parts of the work, for one matcher.

    Attributes:
        seconds_per_scanned_byte: CHUNKTOOL's pass over the document.
        seconds_per_kept_byte: Copying the bytes of a chunk.
        seconds_per_chunk: The fixed cost of a chunk.
        seconds_per_parsed_byte: Parsing a chunk, by its size.
        seconds_per_parsed_element: Parsing a chunk, by its elements.
        seconds_per_branch: Calling the matcher for one branch.
        seconds_per_visit: Looking at one child in a step or a filter, in a small chunk.
        seconds_per_descendant: Looking at one element below, for ``//``, in a small chunk.
        seconds_per_filtered_node: Testing one node with a filter, besides looking at its children.
        seconds_per_result: Returning one selected element.
        visits_per_result: The cost of reaching it in memory, in visits.
        seconds_per_value: Returning one selected attribute or text.
        visits_per_value: The cost of reaching it in memory, in visits.
        small_elements: The number of elements of a small chunk: one that fits the processor's
            cache.
        slowdown_per_doubling: The relative slowdown of a visit each time that a chunk is twice as
            large as a small one.
        selectivity: The part of nodes that pass a filter. Assumed, not measured: it depends on
            values, which statistics do not have.
    """

    seconds_per_scanned_byte: float
    seconds_per_kept_byte: float
    seconds_per_chunk: float
    seconds_per_parsed_byte: float
    seconds_per_parsed_element: float
    seconds_per_branch: float
    seconds_per_visit: float
    seconds_per_descendant: float
    seconds_per_filtered_node: float
    seconds_per_result: float
    visits_per_result: float
    seconds_per_value: float
    visits_per_value: float
    small_elements: float
    slowdown_per_doubling: float
    selectivity: float = 0.1

    def slowdown(self, elements: float) -> float:
        """Returns how many times longer a visit takes in a chunk than in a small one."""
        return 1.0 + self.slowdown_per_doubling * log2(max(1.0, elements / self.small_elements))


# One compiled XPath for each branch on the parsed chunk. Measured by `extract bench cost` with lxml
# 6.1, libxml2 2.14 and the native kernel, on one core of a shared Xeon.
LXML: Final = Prices(
    seconds_per_scanned_byte=1.34e-9,
    seconds_per_kept_byte=0.19e-9,
    seconds_per_chunk=7.7e-6,
    seconds_per_parsed_byte=0.39e-9,
    seconds_per_parsed_element=398e-9,
    seconds_per_branch=1.1e-6,
    seconds_per_visit=10.2e-9,
    seconds_per_descendant=17.8e-9,
    seconds_per_filtered_node=182e-9,
    seconds_per_result=65e-9,
    visits_per_result=1.1,
    seconds_per_value=233e-9,
    visits_per_value=4.2,
    small_elements=5_000,
    slowdown_per_doubling=1.1,
)


class Shape(NamedTuple):
    """The properties of a branch that decide its cost, apart from its spine.

    Attributes:
        filters: The steps of the spine that have a filter, from 1; one with two filters twice.
        deep: Whether the tail looks at all descendants.
        value: Whether the tail selects attributes or texts.
    """

    filters: tuple[int, ...] = ()
    deep: bool = False
    value: bool = False


class Matching:
    """Computes the cost of evaluating branches on one chunk.

    Args:
        estimator: The statistics of documents.
        kept: The size of the chunk.
        prices: The prices of the matcher's work.
    """

    def __init__(self, estimator: Estimator, kept: KeptSize, prices: Prices) -> None:
        self._estimator = estimator
        self._kept = kept
        self._prices = prices
        self._documents = max(1, estimator.statistics.documents)
        slowdown = prices.slowdown(kept.elements)
        self._visit = prices.seconds_per_visit * slowdown
        self._descendant = prices.seconds_per_descendant * slowdown
        self._result = prices.seconds_per_result + prices.visits_per_result * self._visit
        self._value = prices.seconds_per_value + prices.visits_per_value * self._visit
        self._seconds: dict[int, float] = {}  # for the children of a path

    def fixed_seconds(self) -> float:
        """Returns the cost of the chunk before a branch is evaluated."""
        prices, kept = self._prices, self._kept
        return (
            prices.seconds_per_chunk
            + (prices.seconds_per_kept_byte + prices.seconds_per_parsed_byte) * kept.size_bytes
            + prices.seconds_per_parsed_element * kept.elements
        )

    def branch_seconds(self, spine: Sequence[int], shapes: Mapping[Shape, int]) -> float:
        """Returns the cost of the branches of one spine.

        Args:
            spine: The numbers of its paths in the estimator, as far as documents have them.
            shapes: The number of branches of each shape.
        """
        prices, last = self._prices, len(spine)
        counts = [1.0, *map(self._elements, spine)]
        visits = [self._visits(0), *map(self._visits, spine)]
        below: float | None = None
        total = 0.0
        for (filters, deep, value), branches in shapes.items():
            seconds, passed, done = prices.seconds_per_branch, 1.0, 0
            for step in filters:
                at = min(step, last)
                seconds += passed * sum(visits[done:at])
                seconds += passed * (prices.seconds_per_filtered_node * counts[at] + visits[at])
                passed *= prices.selectivity
                done = at
            seconds += passed * sum(visits[done:last])
            if deep:
                below = self._descendant * self._below(spine) if below is None else below
                end = below
            else:
                end = counts[last] * (self._value if value else self._result)
            total += branches * (seconds + passed * end)
        return total

    def _elements(self, number: int) -> float:
        """Returns the number of elements of a path in the chunk."""
        kept = self._kept.at.get(number)
        if kept is not None:
            return kept
        if self._kept.whole & self._estimator.above[number]:
            return self._estimator.rows[number].elements / self._documents
        return 0.0

    def _visits(self, number: int) -> float:
        """Returns the cost of looking at all children of the elements of a path in the chunk."""
        seconds = self._seconds.get(number)
        if seconds is None:
            children = self._estimator.children[number].values()
            seconds = self._visit * sum(map(self._elements, children))
            self._seconds[number] = seconds
        return seconds

    def _below(self, spine: Sequence[int]) -> float:
        """Returns the number of elements below a spine in the chunk; at most all of them."""
        if not spine:
            return self._kept.elements
        below = self._estimator.rows[spine[-1]].subtree_elements / self._documents
        return min(below, self._kept.elements)


def makespan(seconds: Iterable[float], workers: int) -> float:
    """Returns the time when all workers are done, if the longest task always starts first.

    >>> makespan([5, 4, 3, 3, 3], workers=2)
    10.0
    """
    busy = [0.0] * workers
    heapify(busy)
    for task in sorted(seconds, reverse=True):
        heapreplace(busy, busy[0] + task)
    return max(busy)
