"""Committing a run: what tasks have written becomes a directory of results."""

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
    """Where results go.

    Attributes:
        attempts: Where tasks have written.
        directory: Where all results are.
        ids: The ids of all subscribers.
        writer: Writes results that only the driver can write.
        form: In which format.
        select: What was asked for.
    """

    attempts: Path
    directory: Path
    ids: Sequence[str]
    writer: Writer
    form: Format
    select: Select

    def take(self, number: int, folder: str, matches: bool, rejected: bool) -> None:
        """Takes over what a task has written.

        Args:
            number: The task's number.
            folder: Where it has written.
            matches, rejected: What to take.
        """
        attempt = self.attempts / folder
        if self.form == "xml":
            copy_findings(attempt, self.writer, self.ids, matches, rejected)
            return
        for kind, wanted in (("matches", matches), ("rejected", rejected)):
            if wanted:
                for file in (attempt / kind).iterdir():
                    file.rename(self.directory / kind / f"part-{number:05d}{file.suffix}")

    def write(self, document: str, every: Iterable[Findings]) -> int:
        """Writes the findings of a document; returns how many rows there are."""
        rows = 0
        for findings in every:
            self.writer.write(document, findings)
            rows += len(findings)
        return rows


def commit_tasks(finished: Iterable[FinishedTask], target: CommitTarget) -> Iterator[Account]:
    """Commits tasks that shared no document; yields the account of each.

    Args:
        finished: The tasks.
        target: Where results go.
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
        target: Where they go.
        numbered: The rows of tasks on pieces, by the number of the task.
    """
    if results.rejecting is not None:
        _take(results.rejecting, target, matches=False)  # one reason is enough
        return results.account()
    for one in results.whole:
        _take(one, target, one.output.account.matches > 0)
    rows = 0
    if results.pieces is not None:
        rows = _commit_pieces(results.document, results.pieces, target, numbered)
        target.writer.reject(results.pieces.rejections())
    return results.account(rows)


def _take(one: FinishedTask, target: CommitTarget, matches: bool) -> None:
    task, output = one
    assert output.folder is not None
    target.take(task.number, output.folder, matches, output.account.rejections > 0)


def _commit_pieces(
    document: str,
    pieces: PieceResults,
    target: CommitTarget,
    numbered: Mapping[int, NumberedRows],
) -> int:
    """Commits what was found on pieces; returns how many rows there are."""
    if target.select != "nodes":
        return target.write(document, pieces.counts(target.ids))
    if target.form == "xml":
        every = [numbered_findings(one, target.attempts, target.ids) for one in pieces.unnumbered()]
        return sum(target.write(document, findings) for findings in every)
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
    """Returns how much was gained by running tasks side by side, and how long the parts of large
    documents took: what figure 11 of the paper shows.

    Args:
        finished: The tasks.
        cores: How many of them could run at once.
        seconds: How long it took until all were done.
    """
    spent = [(task, output.account.seconds["tasks"]) for task, output in finished]
    alone = sum(each for _, each in spent)
    shares: dict[str, list[float]] = {}
    for task, each in spent:
        if task.shares:
            shares.setdefault(task.chunks, []).append(each)
    return {
        "cores": cores,
        "tasks": len(spent),
        "one_after_the_other_s": round(alone, 3),
        "side_by_side_s": round(seconds, 3),
        "gain": round(alone / seconds, 2) if seconds else 0.0,
        "longest_task_s": round(max((each for _, each in spent), default=0.0), 3),
        "chunks_of_large_documents": {
            name: {"tasks": len(each), "seconds": round(sum(each), 3)}
            for name, each in sorted(shares.items())
        },
    }
