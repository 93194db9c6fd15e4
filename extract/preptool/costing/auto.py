"""``--chunks auto``: chooses the number of chunks, and which of them to reduce further.

It tries every number of chunks up to `MOST_CHUNKS`: `choices` finds the prefixes, statistics give
the size of each chunk, the cost model its cost. The cheapest plan wins.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import Final

from extract.preptool.choose import PrefixChoice, PrefixIndex, choices
from extract.preptool.costing.cost import LXML, Matching, Prices, makespan
from extract.preptool.costing.estimate import Estimator, KeptSize, PathMarks
from extract.preptool.costing.workload import SpineLoad, Workload
from extract.preptool.footprints.branch_footprints import BranchFootprints
from extract.preptool.query_tree import NamePath, QueryTree

AUTO: Final = "auto"
MOST_CHUNKS: Final = 16
_PROJECT_BELOW: Final = 0.7  # reduce a chunk if no more than this part of its bytes is left
# Work is spread less evenly than estimated. The error is a part of the longest chunk, which is
# shorter where there are more chunks.
_DOUBT: Final = 0.1
_WORTH: Final = 0.99  # the largest relative cost of more chunks: estimates are no better


@dataclass(frozen=True, slots=True)
class ChunkingPlan:
    """A way to cut documents, with its cost for an average document.

    Attributes:
        choice: The prefixes.
        projected: The prefixes whose chunks have only what their queries look at.
        scan_seconds: The scan of the document.
        chunk_seconds: Each chunk, including the potpourri and the whole document.
        seconds: The total, with the chunks spread over the workers; with several workers somewhat
            more, because no estimate is exact.
    """

    choice: PrefixChoice
    projected: frozenset[NamePath] = frozenset()
    scan_seconds: float = 0.0
    chunk_seconds: tuple[float, ...] = ()
    seconds: float = 0.0


def plans(
    tree: QueryTree,
    workload: Workload,
    estimator: Estimator,
    workers: int = 1,
    prices: Prices = LXML,
) -> list[ChunkingPlan]:
    """Returns plans for 1 chunk, 2 chunks and so on, as far as the queries allow.

    Args:
        tree: The query tree.
        workload: The work of the queries.
        estimator: The statistics of documents.
        workers: The number of chunks of one document that are evaluated at the same time.
        prices: The prices of the work.
    """
    planner = _Planner(workload, estimator, workers, prices)
    candidates: list[ChunkingPlan] = []
    for chunks, choice in enumerate(choices(tree, MOST_CHUNKS), 1):
        if len(choice.prefixes) < chunks and candidates:
            break
        candidates.append(planner.plan(choice))
    return candidates


def decide(
    tree: QueryTree,
    workload: Workload,
    estimator: Estimator,
    workers: int = 1,
    prices: Prices = LXML,
) -> ChunkingPlan:
    """Returns the cheapest plan, of about equal ones the one with the fewest chunks.

    With one worker the plan has the least work; with more, the shortest time for a document. The
    note of the choice gives the reason. The arguments are those of `plans`.
    """
    candidates = plans(tree, workload, estimator, workers, prices)
    best = candidates[0]
    for plan in candidates[1:]:
        if plan.seconds < best.seconds * _WORTH:
            best = plan
    note = _note(best, candidates, estimator, workers)
    return replace(best, choice=replace(best.choice, note=note or best.choice.note))


def best_plan(
    tree: QueryTree,
    times: Mapping[int, int],
    spines: Sequence[NamePath],
    footprints: BranchFootprints,
    whole: Container[int],
    estimator: Estimator,
    workers: int = 1,
) -> ChunkingPlan:
    """Returns the plan for branches, whatever their order.

    Args:
        tree: The query tree.
        times: The branches, each with the number of constants that it is evaluated with.
        spines: For each branch the names of its spine.
        footprints: The footprints of the branches.
        whole: The branches that need the whole document.
        estimator: The statistics of documents.
        workers: The number of chunks of one document that are evaluated at the same time.
    """
    workload = Workload.of(times, spines, footprints, whole, estimator)
    return decide(tree, workload, estimator, workers)


def _note(
    best: ChunkingPlan, plans: Sequence[ChunkingPlan], estimator: Estimator, workers: int
) -> str:
    """Returns the reason for a plan, with the costs at the ends of the range."""
    if not best.choice.prefixes:
        return ""
    others = [plan for plan in (plans[0], plans[-1]) if plan is not best]
    against = " and ".join([f"{_ms(plan.seconds)} with {_chunks(plan)}" for plan in others])
    source_facts = estimator.statistics
    source = f"{source_facts.documents} sample document{'s' if source_facts.documents != 1 else ''}"
    if source_facts.source == "schema":
        source = f"the schema alone, for a document of {estimator.document_bytes / 1000:.0f} KB"
    on = "" if workers == 1 else f" on {workers} workers"
    return (
        f"auto: {_chunks(best)}, for an estimated {_ms(best.seconds)} a document{on}"
        f"{f', against {against}' if against else ''} (from {source})"
    )


def _chunks(plan: ChunkingPlan) -> str:
    count = len(plan.choice.prefixes)
    return "1 chunk" if count == 1 else f"{count} chunks"


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.3g} ms"


class _Planner:
    """Prices plans; chunks that several plans share are priced once."""

    def __init__(
        self, workload: Workload, estimator: Estimator, workers: int, prices: Prices
    ) -> None:
        self._workload = workload
        self._estimator = estimator
        self._workers = workers
        self._prices = prices
        self._estimates: dict[tuple[NamePath | None, frozenset[NamePath]], tuple[float, bool]] = {}
        self._document = 0.0
        if workload.whole:
            everything = estimator.keep(PathMarks(subtrees=estimator.roots))
            self._document = self._seconds(everything, workload.whole)

    def plan(self, choice: PrefixChoice) -> ChunkingPlan:
        """Returns the plan for a choice of prefixes, with its cost."""
        index = PrefixIndex(choice.prefixes)
        by_prefix: dict[NamePath | None, list[SpineLoad]] = {
            prefix: [] for prefix in choice.prefixes
        }
        for load in self._workload.loads:
            by_prefix.setdefault(index.assign(load.spine), []).append(load)
        seconds: list[float] = []
        projected: set[NamePath] = set()
        for prefix, loads in by_prefix.items():
            inner = frozenset(
                p for p in choice.prefixes if p[: len(prefix or ())] == (prefix or ())
            )
            estimate = self._estimates.get((prefix, inner))
            if estimate is None:
                estimate = self._estimates[prefix, inner] = self._chunk(prefix, loads)
            seconds.append(estimate[0])
            if prefix is not None and estimate[1]:
                projected.add(prefix)
        if self._document:
            seconds.append(self._document)
        scan = self._prices.seconds_per_scanned_byte * self._estimator.document_bytes
        total = scan + makespan(seconds, self._workers)
        if self._workers > 1:
            total += _DOUBT * max(seconds, default=0.0)
        return ChunkingPlan(choice, frozenset(projected), scan, tuple(seconds), total)

    def _chunk(self, prefix: NamePath | None, loads: Sequence[SpineLoad]) -> tuple[float, bool]:
        """Returns the cost of a chunk, and whether it is worth reducing it to its footprints."""
        marks = PathMarks.together([load.marks for load in loads])
        reduced = self._estimator.keep(marks)
        if prefix is None:
            return self._seconds(reduced, loads), False
        at = self._estimator.path(prefix)
        full = reduced
        if at is not None:
            full = self._estimator.keep(marks | PathMarks(subtrees=1 << at))
        projected = reduced.size_bytes <= _PROJECT_BELOW * full.size_bytes
        return self._seconds(reduced if projected else full, loads), projected

    def _seconds(self, kept: KeptSize, loads: Sequence[SpineLoad]) -> float:
        matching = Matching(self._estimator, kept, self._prices)
        branches = [matching.branch_seconds(load.paths, load.shapes) for load in loads]
        # Exactly rounded, so that the order of the spines does not matter.
        return fsum([matching.fixed_seconds(), *branches])
