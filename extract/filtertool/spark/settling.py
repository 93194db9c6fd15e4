"""What was found on the pieces of a document becomes what was found in the document.

Numbers of matches are added up. Nodes are numbered on from piece to piece, which can be done only
when it is known how many each piece has: so those that tasks have found are written anew by others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from extract.filtertool.account import Account
from extract.filtertool.matcher import Select
from extract.filtertool.piecewise import Rejoined
from extract.filtertool.processed import Rejection
from extract.filtertool.spark.parcels import Parcel
from extract.filtertool.spark.planning import Task
from extract.filtertool.spark.worker import Written
from extract.filtertool.writers import Format, Writer, open_writer
from extract.limits import Limits


class Part(NamedTuple):
    """A task on pieces of a document, and what it has written."""

    task: Task
    written: Written


class Settlement(NamedTuple):
    """What is to be written anew.

    Attributes:
        number: That of the task which has found it.
        folder: Where that one has written.
        before: For each subscriber how many rows earlier pieces have; None for none.
        without: Ids of queries that have failed on some piece: nothing is said of them.
    """

    number: int
    folder: str
    before: Any
    without: frozenset[str]


class Pieced:
    """What tasks on the pieces of one document have found.

    Args:
        document: Its name.
        parts: The tasks and what they have written.
        attempts: Where they have written.
        limits: How many nodes a query may select; None where nodes are only counted.
    """

    def __init__(
        self, document: str, parts: Iterable[Part], attempts: Path, limits: Limits | None
    ) -> None:
        self._attempts = attempts
        by_share: dict[tuple[int, ...], list[Part]] = {}
        for part in sorted(parts, key=lambda part: part.task.pieces[0].number):
            by_share.setdefault(part.task.shares, []).append(part)
        self._shares = list(by_share.values())
        accounts = [part.written.account for share in self._shares for part in share]
        failed = frozenset[str]().union(*[account.failing_queries for account in accounts])
        self._too_many = self._beyond(limits.query_rows) - failed if limits is not None else set()
        self._limits = limits
        self._document = document
        self.failed = failed | self._too_many
        self.account = _one_account(accounts)
        self.account.failing_queries |= self._too_many
        self.account.rejected_evaluations = len(self.account.failing_queries)

    def _beyond(self, most: int) -> set[str]:
        """Ids of queries that select more nodes than they may in one document."""
        found: set[str] = set()
        for share in self._shares:
            rows = sum([part.written.rows for part in share])
            if (rows > most).any():
                ids = self._parcel(share[0].written).ids()
                found |= {ids[n] for n in np.flatnonzero(rows > most).tolist()}
        return found

    @property
    def tasks(self) -> list[Written]:
        """What tasks have written."""
        return [part.written for share in self._shares for part in share]

    def rejections(self) -> list[Rejection]:
        """Queries that have failed, each once, with the first reason."""
        found: dict[str | None, Rejection] = {}
        if self.failed:
            for written in self.tasks:
                for one in self._parcel(written).rejections():
                    found.setdefault(one.query, one)
            for name in sorted(self._too_many):
                assert self._limits is not None
                reason = self._limits.passed("query_rows")
                found[name] = Rejection(self._document, name, "filter", reason)
        return list(found.values())

    def write_numbers(self, writer: Writer, ids: Sequence[str], select: Select) -> int:
        """Writes numbers of matches; returns how many rows there are."""
        rows = 0
        for share in self._shares:
            parcels = [self._parcel(part.written) for part in share]
            every = (findings for one in parcels for _, findings in one.findings(ids))
            without = [number for number, one in enumerate(ids) if one in self.failed]
            found = Rejoined(len(ids), without=without).sum(every, select == "count")
            writer.write(self._document, found)
            rows += len(found)
        return rows

    def settlements(self) -> Iterator[Settlement]:
        """What is to be written anew, in the order of the document."""
        for share in self._shares:
            before: Any = None
            for part in share:
                number, folder, _, rows, _ = part.written
                assert folder is not None
                if rows.any():
                    yield Settlement(number, folder, before, self.failed)
                before = rows if before is None else before + rows

    def _parcel(self, written: Written) -> Parcel:
        assert written.folder is not None
        return Parcel(self._attempts / written.folder)


def settle(
    one: Settlement, attempts: Path, writer: Writer, ids: Sequence[str] | None = None
) -> int:
    """Writes nodes with the numbers that they have in their document; returns how many.

    Args:
        one: What to write.
        attempts: Where tasks have written.
        writer: Takes the nodes.
        ids: The ids of the subscribers that this writer counts by; None for those by which the
            nodes were written.
    """
    parcel = Parcel(attempts / one.folder)
    own = parcel.ids()
    places = {name: number for number, name in enumerate(own if ids is None else ids)}
    before: Any = None
    if one.before is not None:
        before = np.zeros(len(places), np.int64)
        before[[places[name] for name in own]] = one.before
    joined = Rejoined(len(places), before, [places[name] for name in own if name in one.without])
    rows = 0
    for document, findings in parcel.findings(ids):
        found = joined.add(findings)
        rows += len(found)
        writer.write(document, found)
    return rows


def settle_anew(one: Settlement, directory: str, form: Format) -> tuple[int, str, int]:
    """The same into a directory of its own: the task's number, where, and how many rows."""
    attempts = Path(directory)
    folder = f"{one.number:05d}-{uuid4().hex}"
    (attempts / folder).mkdir()
    writer = open_writer(attempts / folder, form, Parcel(attempts / one.folder).ids(), "nodes")
    try:
        rows = settle(one, attempts, writer)
    finally:
        writer.close()
    return one.number, folder, rows


def _one_account(accounts: Sequence[Account]) -> Account:
    """What was done on the pieces of a document, as of no document yet: it counts elsewhere."""
    total = Account()
    for account in accounts:
        total.seconds.update_by(account.seconds)
        total.deliver(account.delivered)
        total.failing_queries |= account.failing_queries
        total.examples += account.examples[: 1 if not total.examples else 0]
    total.rejected_evaluations = len(total.failing_queries)
    total.workers = {n: account.figures() for n, account in enumerate(accounts)}
    return total
