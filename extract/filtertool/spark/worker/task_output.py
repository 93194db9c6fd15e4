"""What a task has written, as the driver hears of it."""

from __future__ import annotations

from typing import NamedTuple

from extract.filtertool.results.account import Account
from extract.filtertool.spark.worker.row_numbers import NumberedRows, RowCounts
from extract.filtertool.spark.worker.tasks import Task


class TaskOutput(NamedTuple):
    """What one attempt at a task has written.

    Attributes:
        folder: Where, below the directory of all tasks; another attempt has another. None if this
            machine does not see that directory.
        account: The figures of its documents.
        counts: Of pieces, how many rows each subscriber has there.
        torn: Whether a piece does not fit the document any more, so that this counts for nothing.
        numbered: The rows of its pieces with their numbers in the document, if it could give them.
    """

    folder: str | None
    account: Account
    counts: RowCounts | None = None
    torn: bool = False
    numbered: NumberedRows | None = None


class FinishedTask(NamedTuple):
    """A task, and what it has written."""

    task: Task
    output: TaskOutput
