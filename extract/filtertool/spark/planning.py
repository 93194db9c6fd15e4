"""Which task gets which documents: by size, so that no task keeps the others waiting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from extract.filtertool.spark.locations import Listed

_TASKS_A_CORE: Final = 4  # more tasks than cores, so that a slow one does not keep others waiting
_LEAST: Final = 1 << 18  # bytes that are worth a task
_MOST: Final = 1 << 27  # bytes that a task has at most, but for a document that has more
_BATCH_BYTES: Final = 1 << 22
_BATCH_DOCUMENTS: Final = 256
_DOCUMENT: Final = 1 << 14  # bytes that opening a document takes as long as
_LARGE: Final = 1 << 27  # bytes of a document that is too much for one worker
_WORTH_SHARING: Final = 1 << 22  # bytes of a document that is worth more than one task
_SHARED: Final = 1 << 26  # bytes of a document for which there is one more task, for memory's sake
_SCAN: Final = 0.2  # part of the work that all shares of the queries have to do


class Task(NamedTuple):
    """Documents that are filtered one batch after the other.

    Attributes:
        number: Which task it is, from 1, in the order of the documents.
        cost: How much work it is, in bytes.
        batches: The documents; those of a batch are filtered together.
        shares: Which shares of the queries are evaluated on its one document; empty for all.
    """

    number: int
    cost: int
    batches: tuple[tuple[Listed, ...], ...]
    shares: tuple[int, ...] = ()

    @property
    def documents(self) -> int:
        """How many documents it has; one that is shared counts where the first share is."""
        return sum(map(len, self.batches)) if not self.shares or 0 in self.shares else 0


class TaskPlan(NamedTuple):
    """Who does what.

    Attributes:
        tasks: The tasks, in the order in which they begin: the longest first.
        cores: For how many cores it was made.
    """

    tasks: tuple[Task, ...]
    cores: int

    def __str__(self) -> str:
        documents = sum(task.documents for task in self.tasks)
        total = sum(task.cost for task in self.tasks)
        longest = max((task.cost for task in self.tasks), default=0)
        lines = [
            f"{documents:,} documents in {len(self.tasks):,} tasks for {self.cores:,} cores",
            f"together about {_megabytes(total)}, the longest task {_megabytes(longest)}",
        ]
        for task in self.tasks[:20]:
            first, last = task.batches[0][0].name, task.batches[-1][-1].name
            names = first if first == last else f"{first} … {last}"
            what = f"{task.documents:,} in {len(task.batches):,} batches"
            if task.shares:
                what = f"shares {', '.join(str(n + 1) for n in sorted(task.shares))} of queries"
            lines.append(
                f"  task {task.number:>5}  {_megabytes(task.cost):>9}  {what:<24}  {names}"
            )
        if len(self.tasks) > 20:
            lines.append(f"  … and {len(self.tasks) - 20:,} more")
        return "\n".join(lines)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"


def plan_tasks(documents: Sequence[Listed], cores: int, weights: Sequence[float] = ()) -> TaskPlan:
    """Makes tasks of documents.

    Args:
        documents: The documents, in the order that results are to have.
        cores: How many tasks can run at once.
        weights: Which part of the work each share of the queries is, for documents that would keep
            one core busy when all others are done, or that are large for one worker's memory.

    >>> plan_tasks([Listed("a", 10), Listed("b", 9_000_000), Listed("c", 10)], 1).tasks[0].batches
    ((Listed(name='b', size=9000000, path=''),),)
    """
    total = sum(_cost(one) for one in documents)
    most = min(_MOST, max(_LEAST, total // (_TASKS_A_CORE * max(1, cores))))
    large = min(_LARGE, max(_WORTH_SHARING, total // max(1, cores)))
    groups: list[list[Listed]] = []
    filled = 0
    for one in documents:
        cost = _cost(one)
        if not groups or filled + cost > most:
            groups.append([])
            filled = 0
        groups[-1].append(one)
        filled += cost
    tasks: list[Task] = []
    for group in groups:
        shared = len(weights) > 1 and len(group) == 1 and group[0].size >= large
        many = max(cores, -(-group[0].size // _SHARED)) if shared else 1
        for shares in _even(weights, many) if shared else [()]:
            weight = sum(weights[n] for n in shares) if shared else 1.0
            cost = int(sum(map(_cost, group)) * (_SCAN + (1 - _SCAN) * weight))
            tasks.append(Task(len(tasks) + 1, cost, _batches(group), shares))
    return TaskPlan(tuple(sorted(tasks, key=lambda task: (-task.cost, task.number))), cores)


def _even(weights: Sequence[float], most: int) -> list[tuple[int, ...]]:
    """Shares put together until there are not too many, each about as heavy as the others.

    >>> _even([0.5, 0.2, 0.3], 2), _even([0.5, 0.5], 5)
    ([(0,), (2, 1)], [(0,), (1,)])
    """
    found: list[list[int]] = [[] for _ in range(min(most, len(weights)))]
    for share in sorted(range(len(weights)), key=lambda n: -weights[n]):
        min(found, key=lambda one: (sum(weights[n] for n in one), len(one))).append(share)
    return [tuple(one) for one in found]


def _cost(document: Listed) -> int:
    return document.size + _DOCUMENT


def _batches(documents: Sequence[Listed]) -> tuple[tuple[Listed, ...], ...]:
    found: list[list[Listed]] = []
    filled = 0
    for one in documents:
        if not found or filled + one.size > _BATCH_BYTES or len(found[-1]) >= _BATCH_DOCUMENTS:
            found.append([])
            filled = 0
        found[-1].append(one)
        filled += one.size
    return tuple(map(tuple, found))
