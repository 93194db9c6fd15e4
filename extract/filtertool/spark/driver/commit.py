"""Commits a run: moves the files that tasks have written into a directory of results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from extract.filtertool.matchers.protocol import Select
from extract.filtertool.output.writers import Format, Writer
from extract.filtertool.results.account import Account
from extract.filtertool.results.findings import Findings
from extract.filtertool.spark.worker.document_results import DocumentResults, PieceResults
from extract.filtertool.spark.worker.findings_file import copy_findings
from extract.filtertool.spark.worker.row_numbers import NumberedRows, numbered_findings
from extract.filtertool.spark.worker.task_output import FinishedTask


class CommitTarget(NamedTuple):
    """The destination of results.

    Attributes:
        attempts: The directory of the tasks' files.
        directory: The directory of the results.
        ids: The ids of all subscribers.
        writer: Writes results that only the driver can write.
        form: The format.
        select: Whether rows are nodes, numbers of nodes, or only which queries match.
    """

    attempts: Path
    directory: Path
    ids: Sequence[str]
    writer: Writer
    form: Format
    select: Select

    def take(self, number: int, folder: str, matches: bool, rejected: bool) -> None:
        """Moves the files of a task.

        Args:
            number: The task's number.
            folder: The task's folder.
            matches, rejected: Which files to move.
        """
        attempt = self.attempts / folder
        if self.form == "xml":
            copy_findings(attempt, self.writer, self.ids, matches, rejected)
            return
        for kind, moved in (("matches", matches), ("rejected", rejected)):
            if moved:
                for file in (attempt / kind).iterdir():
                    file.rename(self.directory / kind / f"part-{number:05d}{file.suffix}")

    def write(self, document: str, parts: Iterable[Findings]) -> int:
        """Writes the findings of a document; returns the number of rows."""
        rows = 0
        for findings in parts:
            self.writer.write(document, findings)
            rows += len(findings)
        return rows


def commit_tasks(finished: Iterable[FinishedTask], target: CommitTarget) -> Iterator[Account]:
    """Commits tasks that shared no document; yields the account of each.

    Args:
        finished: The tasks.
        target: The destination.
    """
    for task, output in finished:
        account, folder = output.account, output.folder
        assert folder is not None
        target.take(task.number, folder, account.matches > 0, account.rejections > 0)
        yield account


def commit_document(
    results: DocumentResults, target: CommitTarget, numbered: Mapping[int, NumberedRows]
) -> Account:
    """Commits the results of one large document; returns its account.

    Args:
        results: The results.
        target: The destination.
        numbered: The rows of tasks on pieces, by the number of the task.
    """
    if results.rejecting is not None:
        _take(results.rejecting, target, matches=False)  # one reason is enough
        return results.account()
    for finished in results.whole:
        _take(finished, target, finished.output.account.matches > 0)
    rows = 0
    if results.pieces is not None:
        rows = _commit_pieces(results.document, results.pieces, target, numbered)
        target.writer.reject(results.pieces.rejections())
    return results.account(rows)


def _take(finished: FinishedTask, target: CommitTarget, matches: bool) -> None:
    task, output = finished
    assert output.folder is not None
    target.take(task.number, output.folder, matches, output.account.rejections > 0)


def _commit_pieces(
    document: str,
    pieces: PieceResults,
    target: CommitTarget,
    numbered: Mapping[int, NumberedRows],
) -> int:
    """Commits the findings on pieces; returns the number of rows."""
    if target.select != "nodes":
        return target.write(document, pieces.counts(target.ids))
    if target.form == "xml":
        parts = [
            numbered_findings(rows, target.attempts, target.ids) for rows in pieces.unnumbered()
        ]
        return sum(target.write(document, findings) for findings in parts)
    total = 0
    for task, _ in pieces.tasks:
        if task.number in numbered:
            folder, rows = numbered[task.number]
            target.take(task.number, folder, matches=rows > 0, rejected=False)
            total += rows
    return total


def parallel_figures(
    finished: Sequence[FinishedTask], cores: int, seconds: float
) -> dict[str, Any]:
    """Returns the gain of running tasks in parallel, and the times of the parts of large documents,
    as in figure 11 of the paper.

    Args:
        finished: The tasks.
        cores: The number of tasks that could run at once.
        seconds: The time until all were done.
    """
    spent = [(task, output.account.seconds["tasks"]) for task, output in finished]
    alone = sum(seconds_ for _, seconds_ in spent)
    shares: dict[str, list[float]] = {}
    for task, seconds_ in spent:
        if task.shares:
            shares.setdefault(task.chunks, []).append(seconds_)
    return {
        "cores": cores,
        "tasks": len(spent),
        "one_after_the_other_s": round(alone, 3),
        "side_by_side_s": round(seconds, 3),
        "gain": round(alone / seconds, 2) if seconds else 0.0,
        "longest_task_s": round(max((seconds_ for _, seconds_ in spent), default=0.0), 3),
        "chunks_of_large_documents": {
            name: {"tasks": len(times), "seconds": round(sum(times), 3)}
            for name, times in sorted(shares.items())
        },
    }
