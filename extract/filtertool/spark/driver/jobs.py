"""The Spark jobs of a run: each gives every item to a task of its own, and collects the results."""

from __future__ import annotations

import errno
import os
import re
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from py4j.protocol import Py4JError
from pyspark import Accumulator, SparkContext, TaskContext
from pyspark.errors import PySparkException

from extract.chunktool.input.find import InputFile
from extract.errors import ExtractError
from extract.files import DISK_FULL
from extract.filtertool.output.joined import joined_columns
from extract.filtertool.output.writers import Format
from extract.filtertool.processes.isolation import SUSPICIOUS
from extract.filtertool.results.account import Account
from extract.filtertool.results.progress import Progress, ProgressStep
from extract.filtertool.spark.driver import planner
from extract.filtertool.spark.driver.broadcast import BroadcastJob
from extract.filtertool.spark.driver.job_progress import FinishedSteps, StepsByTask, watched
from extract.filtertool.spark.worker.filter_cache import cached_filter
from extract.filtertool.spark.worker.row_numbers import (
    NumberedRows,
    UnnumberedRows,
    write_numbered,
)
from extract.filtertool.spark.worker.run_task import TaskTarget, run_task
from extract.filtertool.spark.worker.survey_document import DocumentSurvey, survey_document
from extract.filtertool.spark.worker.task_output import FinishedTask, TaskOutput
from extract.filtertool.spark.worker.tasks import Task

_RAISED: Final = re.compile(r"[A-Za-z_][\w.]*(:|$)")  # a line of a traceback that is not indented

_T = TypeVar("_T")
_R = TypeVar("_R")


class SparkJobs:
    """Runs jobs on Spark, one after the other.

    Args:
        context: Spark.
        job: The scheme, matcher and options, as broadcast to the workers.
        target: Where and how tasks write.
        progress: Receives the progress of a job.
    """

    def __init__(
        self, context: SparkContext, job: BroadcastJob, target: TaskTarget, progress: Progress
    ) -> None:
        self.context = context
        self._job = job
        self._target = target
        self._progress = progress

    @property
    def cores(self) -> int:
        """The number of tasks that can run at once."""
        return self.context.defaultParallelism

    def survey(self, documents: Sequence[InputFile]) -> dict[str, DocumentSurvey]:
        """Surveys large documents; returns the surveys by document name."""
        shipped, directory, size = self._job, self._target.directory, planner.PIECE
        by_pieces = {
            document.name for document in documents if planner.pieces_suffice(document, self.cores)
        }

        def work(items: Iterable[InputFile]) -> Iterator[tuple[str, DocumentSurvey]]:
            current: Any = TaskContext.get()
            for document in items:
                if current.attemptNumber() >= SUSPICIOUS:  # the document may kill workers
                    yield document.name, DocumentSurvey()
                    continue
                skip, job = document.name in by_pieces, shipped.job.value
                yield (
                    document.name,
                    survey_document(shipped.key, job, document, directory, size, skip),
                )

        what = f"survey of {_many(len(documents), 'large document')}"
        return dict(self._collect(documents, work, what))

    def filter(self, tasks: Sequence[Task]) -> list[FinishedTask]:
        """Runs tasks; returns each with the output of one attempt."""
        if not tasks:
            return []
        shipped, target = self._job, self._target
        nothing: FinishedSteps = {}
        finished = self.context.accumulator(nothing, StepsByTask())

        def work(items: Iterable[Task]) -> Iterator[tuple[int, TaskOutput]]:
            current: Any = TaskContext.get()
            for task in items:
                started = time.perf_counter()
                cached = cached_filter(shipped.key, shipped.job.value, task.shares, task.input)
                spent = time.perf_counter() - started
                output = run_task(cached, task, target, current.attemptNumber())
                output.account.seconds.add("compile", spent)
                finished.add({task.number: _step(task, output.account)})
                yield task.number, output

        count = sum(task.documents for task in tasks)
        what = f"{_many(count, 'document')} in {_many(len(tasks), 'task')}"
        outputs = dict(self._collect(tasks, work, what, finished))
        if any(output.folder is None for output in outputs.values()):
            reason = f"Spark's workers do not see the directory {target.directory}"
            hint = "name one that is on a file system that all machines share"
            raise ExtractError(reason, hint)
        return [FinishedTask(task, outputs[task.number]) for task in tasks]

    def number_rows(
        self, unnumbered: Sequence[UnnumberedRows], form: Format
    ) -> dict[int, NumberedRows]:
        """Numbers nodes of pieces as in their documents; returns them by their task's number."""
        shipped, directory = self._job, Path(self._target.directory)

        def work(some: Iterable[UnnumberedRows]) -> Iterator[tuple[int, NumberedRows]]:
            job = shipped.job.value
            joined = joined_columns(job.scheme, job.options.joined)
            for one in some:
                yield one.number, write_numbered(one, directory, form, joined)

        what = f"numbering the nodes of {_many(len(unnumbered), 'part')}"
        return dict(self._collect(unnumbered, work, what))

    def _collect(
        self,
        items: Sequence[_T],
        work: Callable[[Iterable[_T]], Iterator[_R]],
        what: str,
        finished: Accumulator[FinishedSteps] | None = None,
    ) -> list[_R]:
        """Runs a function on each item, in a task of its own."""
        context, group = self.context, uuid.uuid4().hex
        if finished is None:
            nothing: FinishedSteps = {}
            finished = context.accumulator(nothing, StepsByTask())

        def collect() -> list[_R]:
            context.setJobGroup(group, f"extract: {what}", interruptOnCancel=True)
            rows = context.parallelize(items, max(1, len(items))).setName(what)
            return rows.mapPartitions(work).collect()

        try:
            return watched(collect, finished, self._progress)
        except (PySparkException, Py4JError) as error:
            raise job_error(error, self._target.directory) from error


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _step(task: Task, account: Account) -> ProgressStep:
    """Returns a task's step of progress; a document that several tasks share counts once."""
    size = account.bytes if task.documents else 0
    return ProgressStep(task.documents, size, account.matches, account.rejections)


def job_error(error: Exception, directory: str) -> ExtractError | OSError:
    """The error that a Spark job ended with, as a user understands it.

    Args:
        error: What Spark raised.
        directory: Where tasks write.
    """
    raised = raised_in_worker(str(error))
    for number in DISK_FULL:
        if os.strerror(number) in raised:
            return OSError(number, os.strerror(number), directory)
    if os.strerror(errno.ENOSPC) in str(error):
        hint = "make room, or name another disk: --conf spark.local.dir=DIR"
        return ExtractError("there is no space left for Spark's temporary files", hint)
    hint = "--debug shows all that Spark says; --engine local does without Spark"
    return ExtractError(f"the Spark job failed: {raised or _said_by_spark(str(error))}", hint)


def raised_in_worker(message: str) -> str:
    '''Returns the line of Spark's message that says what Python raised in a worker.

    >>> raised_in_worker("""PythonException: Traceback (most recent call last):
    ...   File "a.py", line 3, in write
    ... OSError: [Errno 28] No space left on device
    ...
    ... During handling of the above exception, another exception occurred:
    ...
    ... pyarrow.lib.ArrowInvalid: Operation on closed file""")
    'OSError: [Errno 28] No space left on device'
    '''
    _, _, rest = message.partition("Traceback (most recent call last):\n")
    return next((line for line in rest.splitlines() if _RAISED.match(line)), "")


def _said_by_spark(message: str) -> str:
    """Returns the line of Spark's message that says why it gave up."""
    lines = [line.strip() for line in message.splitlines()]
    for line in lines:
        if "SparkException" in line or "Caused by" in line:
            return line.split("SparkException: ")[-1]
    return next(iter(lines), "no reason was given")
