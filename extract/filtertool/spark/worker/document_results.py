"""Joins the results of the tasks that share one large document.

The driver uses this module for a directory of results, and a task of a DataFrame for the document
that it cuts itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import Final

import numpy as np

from extract.filtertool.matchers.protocol import Select
from extract.filtertool.results.account import Account
from extract.filtertool.results.findings import Findings
from extract.filtertool.results.outcome import Rejection
from extract.filtertool.spark.worker.findings_file import FindingsFile
from extract.filtertool.spark.worker.row_numbers import RowCounts, RowNumbering, UnnumberedRows
from extract.filtertool.spark.worker.task_output import FinishedTask
from extract.limits import Limits

_WORST_FIRST: Final = ("rejected", "whole", "conforming")


class PieceResults:
    """The findings of tasks on the pieces of one document.

    Args:
        finished: The tasks.
        attempts: The directory of the tasks' files.
        select: Whether rows are nodes, numbers of nodes, or only which queries match.
        limits: The most nodes that a query may select.

    Attributes:
        tasks: The tasks, in the order of their pieces, share by share.
        failed: Ids of queries that failed on some piece, or select too much.
    """

    def __init__(
        self, finished: Sequence[FinishedTask], attempts: Path, select: Select, limits: Limits
    ) -> None:
        self._attempts = attempts
        self._select = select
        self._document = finished[0].task.document.name
        by_share: dict[tuple[int, ...], list[FinishedTask]] = {}
        for done in sorted(finished, key=lambda done: done.task.pieces[0].number):
            by_share.setdefault(done.task.shares, []).append(done)
        self._shares = list(by_share.values())
        self.tasks = [done for share in self._shares for done in share]
        failing = [done.output.account.failing_queries for done in self.tasks]
        failed = frozenset[str]().union(*failing)
        self._beyond_limits = self._beyond(limits, failed) if select == "nodes" else {}
        self.failed = failed | self._beyond_limits.keys()

    def _beyond(self, limits: Limits, failed: frozenset[str]) -> dict[str, str]:
        """Returns the ids of queries that select too much, with the reasons."""
        reasons: dict[str, str] = {}
        for share in self._shares:
            total = reduce(RowCounts.plus, map(_counts, share))
            for name, numbers in (("query_rows", total.rows), ("query_bytes", total.bytes)):
                beyond = np.flatnonzero(numbers > getattr(limits, name)).tolist()
                ids = self._file(share[0]).ids() if beyond else ()
                for who in beyond:
                    if ids[who] not in failed:
                        reasons.setdefault(ids[who], limits.passed(name))
        return reasons

    def rejections(self) -> list[Rejection]:
        """Returns the failed queries, each once, with the first reason."""
        rejections: dict[str | None, Rejection] = {}
        if self.failed:
            for done in self.tasks:
                for rejection in self._file(done).rejections():
                    rejections.setdefault(rejection.query, rejection)
            for name, reason in sorted(self._beyond_limits.items()):
                rejections[name] = Rejection(self._document, name, "filter", reason)
        return list(rejections.values())

    def counts(self, ids: Sequence[str]) -> Iterator[Findings]:
        """Yields the numbers of matches, share by share, for subscribers with these ids."""
        without = [number for number, id_ in enumerate(ids) if id_ in self.failed]
        for share in self._shares:
            files = [self._file(done) for done in share]
            parts = (findings for file in files for _, findings in file.findings(ids))
            yield RowNumbering(len(ids), without=without).sum(parts, self._select == "count")

    def unnumbered(self) -> Iterator[UnnumberedRows]:
        """Yields the nodes that have no numbers yet, in the order of the document."""
        for share in self._shares:
            before = None
            for task, output in share:
                rows = _counts(FinishedTask(task, output)).rows
                assert output.folder is not None
                if rows.any() and output.numbered is None:
                    number, folder = task.number, output.folder
                    yield UnnumberedRows(number, folder, self._document, before, self.failed)
                before = rows if before is None else before + rows

    def _file(self, done: FinishedTask) -> FindingsFile:
        assert done.output.folder is not None
        return FindingsFile(self._attempts / done.output.folder)


class DocumentResults:
    """The findings of tasks in one large document.

    Args:
        finished: All tasks on the document.
        attempts, select, limits: As for `PieceResults`.

    Attributes:
        document: The document's name.
        whole: Tasks that evaluated queries on the whole document.
        pieces: The results of the tasks that evaluated queries on pieces, if there are any.
        rejecting: A task that rejects the document: then no row of any task counts.
    """

    def __init__(
        self, finished: Sequence[FinishedTask], attempts: Path, select: Select, limits: Limits
    ) -> None:
        self._input = finished[0].task.document
        self.document = self._input.name
        self.whole = [done for done in finished if not done.task.pieces]
        cut = [done for done in finished if done.task.pieces]
        self.pieces = PieceResults(cut, attempts, select, limits) if cut else None
        worst = min(self.whole, key=_severity, default=None)
        self._fate = self._conforming() if worst is None else worst.output.account
        self.rejecting = worst if self._fate.documents["rejected"] else None

    def account(self, rows_of_pieces: int = 0) -> Account:
        """Returns the account of the document: it counts once, and rows and failures add up.

        Args:
            rows_of_pieces: The number of rows of all pieces.
        """
        fate = self._fate
        total = Account(fate.documents.copy(), bytes=fate.bytes, examples=list(fate.examples))
        total.scanners, total.notes = fate.scanners.copy(), fate.notes.copy()
        cut = [] if self.pieces is None else self.pieces.tasks
        accounts = [done.output.account for done in (*self.whole, *cut)]
        for account in accounts:
            total.seconds.update_by(account.seconds)
            total.add_answer_seconds(account.answer_seconds)
        total.workers = {number: account.figures() for number, account in enumerate(accounts)}
        if self.rejecting is not None:
            return total
        for account in accounts[: len(self.whole)]:
            total.matches += account.matches
            total.rejected_evaluations += account.rejected_evaluations
            total.failing_queries |= account.failing_queries
            total.examples += account.examples if account is not fate else []
        if self.pieces is not None:
            total.matches += rows_of_pieces
            total.rejected_evaluations += len(self.pieces.failed)
            total.failing_queries |= self.pieces.failed
            total.examples += [text for done in cut for text in done.output.account.examples][:1]
        return total

    def _conforming(self) -> Account:
        """Returns the account of a document that was evaluated on pieces only."""
        account = Account(bytes=self._input.size)
        account.documents.update(["seen", "processed", "conforming"])
        account.scanners["kernel"] += 1
        return account


def by_document(finished: Sequence[FinishedTask]) -> dict[str, list[FinishedTask]]:
    """Groups tasks on shared documents by document name."""
    shared: dict[str, list[FinishedTask]] = {}
    for done in finished:
        if done.task.shares:
            shared.setdefault(done.task.document.name, []).append(done)
    return shared


def _counts(done: FinishedTask) -> RowCounts:
    assert done.output.counts is not None
    return done.output.counts


def _severity(done: FinishedTask) -> int:
    documents = done.output.account.documents
    return next(rank for rank, fate in enumerate(_WORST_FIRST) if documents[fate])
