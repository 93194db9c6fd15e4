"""The output of a task, as reported to the driver."""

from __future__ import annotations

from typing import NamedTuple

from extract.filtertool.results.account import Account
from extract.filtertool.spark.worker.row_numbers import NumberedRows, RowCounts
from extract.filtertool.spark.worker.tasks import Task


class TaskOutput(NamedTuple):
    """The output of one attempt at a task.

    Attributes:
        folder: The attempt's folder, below the directory of all tasks. None if this machine does
            not see that directory.
        account: The figures of its documents.
        counts: For pieces, the number of rows of each subscriber.
        torn: Whether a piece no longer fits the document, so that the output is worthless.
        numbered: The rows of its pieces with their numbers in the document, if the task could
            number them.
    """

    folder: str | None
    account: Account
    counts: RowCounts | None = None
    torn: bool = False
    numbered: NumberedRows | None = None


class FinishedTask(NamedTuple):
    """A task with its output."""

    task: Task
    output: TaskOutput
