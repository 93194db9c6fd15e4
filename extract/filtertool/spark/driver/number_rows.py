"""Numbers the nodes of pieces, where several tasks had pieces of the same document.

A task that had all pieces has numbered its nodes already. The others are numbered here in the
driver if they are few, and otherwise in a Spark job.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from extract.filtertool.output.joined import NO_COLUMNS, JoinedColumns
from extract.filtertool.output.writers import Format
from extract.filtertool.spark.worker.document_results import DocumentResults
from extract.filtertool.spark.worker.findings_file import FindingsFile
from extract.filtertool.spark.worker.row_numbers import (
    NumberedRows,
    UnnumberedRows,
    write_numbered,
)

IN_DRIVER: Final = 1 << 20  # bytes of findings, for which a Spark job gains nothing (two cores)

RunJob = Callable[[Sequence[UnnumberedRows], Format], Mapping[int, NumberedRows]]


def number_rows(
    documents: Sequence[DocumentResults],
    attempts: Path,
    form: Format,
    run_job: RunJob,
    joined: JoinedColumns = NO_COLUMNS,
) -> dict[int, NumberedRows]:
    """Numbers the nodes of pieces as in their documents.

    Args:
        documents: The results of large documents.
        attempts: The directory of the tasks' files.
        form: The format of the rows.
        run_job: Numbers them in a Spark job.
        joined: Columns of metadata.

    Returns:
        The rows of all tasks on pieces with rows, by the number of the task.
    """
    pieces = [(result.pieces, result.rejecting) for result in documents]
    cut = [part for part, rejecting in pieces if part is not None and rejecting is None]
    numbered = {
        task.number: output.numbered
        for pieces in cut
        for task, output in pieces.tasks
        if output.numbered is not None
    }
    unnumbered = [rows for pieces in cut for rows in pieces.unnumbered()]
    if not unnumbered:
        return numbered
    if sum(FindingsFile(attempts / rows.folder).size() for rows in unnumbered) > IN_DRIVER:
        return numbered | dict(run_job(unnumbered, form))
    return numbered | {
        rows.number: write_numbered(rows, attempts, form, joined) for rows in unnumbered
    }
