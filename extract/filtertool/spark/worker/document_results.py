"""The results of one large document, from those of the tasks that shared it.

The driver uses it for a directory of results, and a task of a DataFrame for the document that it
has cut itself.
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
    """What tasks have found on the pieces of one document.

    Args:
        finished: The tasks.
        attempts: Where they have written.
        select: What was asked for.
        limits: How many nodes a query may select.

    Attributes:
        tasks: The tasks, in the order of their pieces, share by share.
        failed: Ids of queries that have failed on some piece, or select more than they may.
    """

    def __init__(
        self, finished: Sequence[FinishedTask], attempts: Path, select: Select, limits: Limits
    ) -> None:
        self._attempts = attempts
        self._select = select
        self._document = finished[0].task.document.name
        by_share: dict[tuple[int, ...], list[FinishedTask]] = {}
        for one in sorted(finished, key=lambda one: one.task.pieces[0].number):
            by_share.setdefault(one.task.shares, []).append(one)
        self._shares = list(by_share.values())
        self.tasks = [one for share in self._shares for one in share]
        failing = [one.output.account.failing_queries for one in self.tasks]
        failed = frozenset[str]().union(*failing)
        self._beyond_limits = self._beyond(limits, failed) if select == "nodes" else {}
        self.failed = failed | self._beyond_limits.keys()

    def _beyond(self, limits: Limits, failed: frozenset[str]) -> dict[str, str]:
        """Returns ids of queries that select more than they may, each with the reason."""
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
        """Returns the queries that have failed, each once, with the first reason."""
        rejections: dict[str | None, Rejection] = {}
        if self.failed:
            for one in self.tasks:
                for rejection in self._file(one).rejections():
                    rejections.setdefault(rejection.query, rejection)
            for name, reason in sorted(self._beyond_limits.items()):
                rejections[name] = Rejection(self._document, name, "filter", reason)
        return list(rejections.values())

    def counts(self, ids: Sequence[str]) -> Iterator[Findings]:
        """Yields numbers of matches, share by share, for subscribers with these ids."""
        without = [number for number, one in enumerate(ids) if one in self.failed]
        for share in self._shares:
            files = [self._file(one) for one in share]
            every = (findings for file in files for _, findings in file.findings(ids))
            yield RowNumbering(len(ids), without=without).sum(every, self._select == "count")

    def unnumbered(self) -> Iterator[UnnumberedRows]:
        """Yields the nodes that are still to be numbered, in the order of the document."""
        for share in self._shares:
            before = None
            for task, output in share:
                rows = _counts(FinishedTask(task, output)).rows
                assert output.folder is not None
                if rows.any() and output.numbered is None:
                    number, folder = task.number, output.folder
                    yield UnnumberedRows(number, folder, self._document, before, self.failed)
                before = rows if before is None else before + rows

    def _file(self, one: FinishedTask) -> FindingsFile:
        assert one.output.folder is not None
        return FindingsFile(self._attempts / one.output.folder)


class DocumentResults:
    """What tasks have found in one large document.

    Args:
        finished: All tasks on the document.
        attempts, select, limits: As for `PieceResults`.

    Attributes:
        document: The document's name.
        whole: Tasks that evaluated queries on all of the document.
        pieces: The results of the tasks that evaluated queries on pieces, if there are any.
        rejecting: A task that rejects the document: then no row of any task counts.
    """

    def __init__(
        self, finished: Sequence[FinishedTask], attempts: Path, select: Select, limits: Limits
    ) -> None:
        self._input = finished[0].task.document
        self.document = self._input.name
        self.whole = [one for one in finished if not one.task.pieces]
        cut = [one for one in finished if one.task.pieces]
        self.pieces = PieceResults(cut, attempts, select, limits) if cut else None
        worst = min(self.whole, key=_severity, default=None)
        self._fate = self._conforming() if worst is None else worst.output.account
        self.rejecting = worst if self._fate.documents["rejected"] else None

    def account(self, rows_of_pieces: int = 0) -> Account:
        """Returns the figures of the document: it counts once, and rows and failures add up.

        Args:
            rows_of_pieces: How many rows its pieces have together.
        """
        fate = self._fate
        total = Account(fate.documents.copy(), bytes=fate.bytes, examples=list(fate.examples))
        total.scanners, total.notes = fate.scanners.copy(), fate.notes.copy()
        cut = [] if self.pieces is None else self.pieces.tasks
        every = [one.output.account for one in (*self.whole, *cut)]
        for account in every:
            total.seconds.update_by(account.seconds)
            total.add_answer_seconds(account.answer_seconds)
        total.workers = {number: account.figures() for number, account in enumerate(every)}
        if self.rejecting is not None:
            return total
        for account in every[: len(self.whole)]:
            total.matches += account.matches
            total.rejected_evaluations += account.rejected_evaluations
            total.failing_queries |= account.failing_queries
            total.examples += account.examples if account is not fate else []
        if self.pieces is not None:
            total.matches += rows_of_pieces
            total.rejected_evaluations += len(self.pieces.failed)
            total.failing_queries |= self.pieces.failed
            total.examples += [text for one in cut for text in one.output.account.examples][:1]
        return total

    def _conforming(self) -> Account:
        """Returns the account of a document of which nothing but pieces was evaluated."""
        account = Account(bytes=self._input.size)
        account.documents.update(["seen", "processed", "conforming"])
        account.scanners["kernel"] += 1
        return account


def by_document(finished: Sequence[FinishedTask]) -> dict[str, list[FinishedTask]]:
    """Returns the tasks that share documents, by the names of these."""
    shared: dict[str, list[FinishedTask]] = {}
    for one in finished:
        if one.task.shares:
            shared.setdefault(one.task.document.name, []).append(one)
    return shared


def _counts(one: FinishedTask) -> RowCounts:
    assert one.output.counts is not None
    return one.output.counts


def _severity(one: FinishedTask) -> int:
    documents = one.output.account.documents
    return next(rank for rank, fate in enumerate(_WORST_FIRST) if documents[fate])
