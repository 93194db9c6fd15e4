"""Spark's workers, with a job: what the driver has them do, one job of Spark's after the other."""

from __future__ import annotations

import errno
import os
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from py4j.protocol import Py4JError
from pyspark import Accumulator, SparkContext, TaskContext
from pyspark.errors import PySparkException

from extract.errors import NO_ROOM, ExtractError
from extract.filtertool.account import Account
from extract.filtertool.matcher import Select
from extract.filtertool.progress import Progress, ProgressStep
from extract.filtertool.spark import planning
from extract.filtertool.spark.isolation import SUSPICIOUS
from extract.filtertool.spark.keeping import keep
from extract.filtertool.spark.locations import Listed
from extract.filtertool.spark.planning import Task, TaskPlan, pieces_suffice
from extract.filtertool.spark.reading import survey_document
from extract.filtertool.spark.resuming import Done, Stamp, stamps
from extract.filtertool.spark.settling import Part, Settlement, settle_anew
from extract.filtertool.spark.shipping import Shipped
from extract.filtertool.spark.watching import ByTask, Finished, watched
from extract.filtertool.spark.worker import Written, write_results
from extract.filtertool.survey import Survey
from extract.filtertool.writers import Format

_T = TypeVar("_T")


class Order(NamedTuple):
    """What workers are told.

    Attributes:
        where: The directory for what they write.
        form: In which format.
        select: What is asked for.
        job: The job's digest, if it may be interrupted and resumed.
    """

    where: str
    form: Format
    select: Select
    job: str


class Crew:
    """Spark's workers, with a job.

    Args:
        context: Spark.
        shipped: The job.
        order: What workers are told.
        progress: Is told how far they are.
        before: What a run that was interrupted has done of large documents.
    """

    def __init__(
        self,
        context: SparkContext,
        shipped: Shipped,
        order: Order,
        progress: Progress,
        before: Mapping[tuple[Stamp, str], Done],
    ) -> None:
        self._before = before
        self.known = 0  # parts that were done before
        self.context = context
        self._shipped = shipped
        self._order = order
        self._progress = progress

    def survey(
        self, large: Sequence[Listed], documents: Sequence[Listed]
    ) -> tuple[dict[str, Survey], list[Listed]]:
        """Looks where large documents may be cut; gives the documents as they are to be read."""
        shipped, where, size = self._shipped, self._order.where, planning.PIECE
        cores = self.context.defaultParallelism
        quick = {one.name for one in large if pieces_suffice(one, cores)}

        def work(some: Iterable[Listed]) -> Iterator[tuple[str, Survey, str]]:
            current: Any = TaskContext.get()
            for one in some:
                if current.attemptNumber() >= SUSPICIOUS:  # it may kill workers
                    yield one.name, Survey(0, ()), ""
                    continue
                job = shipped.job.value
                fast = one.name in quick
                yield one.name, *survey_document(shipped.key, job, one, where, size, fast)[:2]

        done = self._collect(large, work, f"survey of {_many(len(large), 'large document')}")
        surveys = {name: found for name, found, _ in done}
        paths = {name: path for name, found, path in done if path and found.pieces}
        found = [one._replace(path=paths.get(one.name, one.path)) for one in documents]
        sizes = {name: one.size for name, one in surveys.items() if one.pieces}
        return surveys, [one._replace(size=sizes.get(one.name, one.size)) for one in found]

    def run(self, plan: TaskPlan) -> list[Part]:
        """Runs all tasks; gives each with what one attempt at it has written."""
        known = self._known(plan.tasks)
        self.known += len(known)
        left = [task for task in plan.tasks if task.number not in known]
        shipped, order = self._shipped, self._order
        nothing: Finished = {}
        finished = self.context.accumulator(nothing, ByTask())

        def work(tasks: Iterable[Task]) -> Iterator[Written]:
            current: Any = TaskContext.get()
            for task in tasks:
                started = time.perf_counter()
                kept = keep(shipped.key, shipped.job.value, task.shares, task.reading)
                made = time.perf_counter() - started
                attempt = current.attemptNumber()
                written = write_results(kept, task, *order[:3], attempt, order.job)
                written.account.seconds.add("compile", made)
                finished.add({task.number: _step(task, written.account)})
                yield written

        count = sum(task.documents for task in left)
        what = f"{_many(count, 'document')} in {_many(len(left), 'task')}"
        done = self._collect(left, work, what, finished) if left else []
        if any(written.folder is None for written in done):
            reason = f"Spark's workers do not see the directory {order.where}"
            hint = "name one that is on a file system that all machines share"
            raise ExtractError(reason, hint)
        by_number = known | {written.number: written for written in done}
        return [Part(task, by_number[task.number]) for task in sorted(plan.tasks)]

    def _known(self, tasks: Iterable[Task]) -> dict[int, Written]:
        """What an earlier run has written for tasks of this one."""
        found = {}
        for task in tasks:
            if task.part and self._before:
                done = self._before.get((stamps(task.batches[0])[0], task.part))
                if done is not None:
                    number, folder, account = task.number, done.folder, done.account
                    found[number] = Written(number, folder, account, done.tally)
        return found

    def settle(self, settlements: Sequence[Settlement]) -> list[tuple[int, str, int]]:
        """Has nodes of pieces written with the numbers that they have in their documents."""
        where, form = self._order.where, self._order.form

        def work(some: Iterable[Settlement]) -> Iterator[tuple[int, str, int]]:
            for one in some:
                yield settle_anew(one, where, form)

        what = f"numbering the nodes of {_many(len(settlements), 'part')}"
        return self._collect(settlements, work, what)

    def _collect(
        self,
        items: Sequence[Any],
        work: Callable[[Iterable[Any]], Iterator[_T]],
        what: str,
        finished: Accumulator[Finished] | None = None,
    ) -> list[_T]:
        """Does work on each item, as a task of its own."""
        context, group = self.context, uuid.uuid4().hex
        if finished is None:
            nothing: Finished = {}
            finished = context.accumulator(nothing, ByTask())

        def collect() -> list[_T]:
            context.setJobGroup(group, f"extract: {what}", interruptOnCancel=True)
            rows = context.parallelize(items, max(1, len(items))).setName(what)
            return rows.mapPartitions(work).collect()

        try:
            return watched(collect, finished, self._progress)
        except (PySparkException, Py4JError) as error:
            reason = reason_of(error)
            hint = "--debug shows all that Spark says; --engine local does without Spark"
            if os.strerror(errno.ENOSPC) in reason:
                hint = NO_ROOM
            raise ExtractError(f"the Spark job failed: {reason}", hint) from error


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _step(task: Task, account: Account) -> ProgressStep:
    """What a task adds to what is done; a document that several share counts once."""
    size = account.bytes if task.documents else 0
    return ProgressStep(task.documents, size, account.matches, account.rejections)


def reason_of(error: Exception) -> str:
    """The line that matters of what Spark says: what was raised in a worker, or by Spark itself."""
    lines = [line.strip() for line in str(error).splitlines()]
    for at, line in enumerate(lines):
        if line.startswith("Traceback (most recent call last)"):
            raised = next((one for one in lines[at + 1 :] if _is_raised(one)), "")
            if raised:
                return raised
    for line in lines:
        if "SparkException" in line or "Caused by" in line:
            return line.split("SparkException: ")[-1]
    return next(iter(lines), type(error).__name__)


def _is_raised(line: str) -> bool:
    """Whether a line of a traceback is its last.

    >>> [_is_raised(x) for x in ('File "a.py", line 3', "OSError: no space", "x = f(a: 1)")]
    [False, True, False]
    """
    name = line.split(":")[0]
    return name.replace(".", "").isidentifier() and name.endswith(("Error", "Exception", "Exit"))
