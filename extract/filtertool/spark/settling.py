"""What was found on the pieces of a document becomes what was found in the document.

Numbers of matches are added up. Nodes are numbered on from piece to piece, which can be done only
when it is known how many each piece has: so those that tasks have found are written anew by others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from extract.filtertool.account import Account
from extract.filtertool.findings import Findings
from extract.filtertool.matcher import Select
from extract.filtertool.outcome import Rejection
from extract.filtertool.piecewise import Rejoined, Tally
from extract.filtertool.spark.parcels import Parcel
from extract.filtertool.spark.planning import Task
from extract.filtertool.spark.worker import Written
from extract.filtertool.writers import Format, open_writer
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
        document: In which document.
        before: For each subscriber how many rows earlier pieces have; None for none.
        without: Ids of queries that have failed on some piece: nothing is said of them.
    """

    number: int
    folder: str
    document: str
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
        self._too_much = {} if limits is None else self._beyond(limits, failed)
        self.document = document
        self.failed = failed | self._too_much.keys()
        self.account = _one_account(accounts)
        self.account.failing_queries |= self._too_much.keys()
        self.account.rejected_evaluations = len(self.account.failing_queries)

    def _beyond(self, limits: Limits, failed: frozenset[str]) -> dict[str, str]:
        """Ids of queries that select more than they may in one document, each with the reason."""
        found: dict[str, str] = {}
        for share in self._shares:
            total = reduce(Tally.plus, [_tally(part) for part in share])
            for name, numbers in (("query_rows", total.rows), ("query_bytes", total.bytes)):
                beyond = np.flatnonzero(numbers > getattr(limits, name)).tolist()
                ids = self._parcel(share[0].written).ids() if beyond else ()
                for who in beyond:
                    if ids[who] not in failed:
                        found.setdefault(ids[who], limits.passed(name))
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
            for name, reason in sorted(self._too_much.items()):
                found[name] = Rejection(self.document, name, "filter", reason)
        return list(found.values())

    def numbers(self, ids: Sequence[str], select: Select) -> Iterator[Findings]:
        """Numbers of matches, for subscribers with these ids."""
        for share in self._shares:
            parcels = [self._parcel(part.written) for part in share]
            every = (findings for one in parcels for _, findings in one.findings(ids))
            without = [number for number, one in enumerate(ids) if one in self.failed]
            yield Rejoined(len(ids), without=without).sum(every, select == "count")

    def settlements(self) -> Iterator[Settlement]:
        """What is to be written anew, in the order of the document."""
        for share in self._shares:
            before: Any = None
            for part in share:
                number, folder = part.written[:2]
                rows = _tally(part).rows
                assert folder is not None
                if rows.any():
                    yield Settlement(number, folder, self.document, before, self.failed)
                before = rows if before is None else before + rows

    def _parcel(self, written: Written) -> Parcel:
        assert written.folder is not None
        return Parcel(self._attempts / written.folder)


def _tally(part: Part) -> Tally:
    assert part.written.tally is not None
    return part.written.tally


def settled(
    one: Settlement, attempts: Path, ids: Sequence[str] | None = None
) -> Iterator[Findings]:
    """Nodes with the numbers that they have in their document, piece by piece.

    Args:
        one: What to write.
        attempts: Where tasks have written.
        ids: The ids of the subscribers that are counted by; None for those by which the nodes were
            written.
    """
    parcel = Parcel(attempts / one.folder)
    own = parcel.ids()
    places = {name: number for number, name in enumerate(own if ids is None else ids)}
    before: Any = None
    if one.before is not None:
        before = np.zeros(len(places), np.int64)
        before[[places[name] for name in own]] = one.before
    joined = Rejoined(len(places), before, [places[name] for name in own if name in one.without])
    for _, findings in parcel.findings(ids):
        yield joined.add(findings)


def settle_anew(one: Settlement, directory: str, form: Format) -> tuple[int, str, int]:
    """Writes them into a directory of its own: the task's number, where, and how many rows."""
    attempts = Path(directory)
    folder = f"{one.number:05d}-{uuid4().hex}"
    (attempts / folder).mkdir()
    writer = open_writer(attempts / folder, form, Parcel(attempts / one.folder).ids(), "nodes")
    try:
        rows = 0
        for findings in settled(one, attempts):
            writer.write(one.document, findings)
            rows += len(findings)
    finally:
        writer.close()
    return one.number, folder, rows


def _one_account(accounts: Sequence[Account]) -> Account:
    """What was done on the pieces of a document, as of no document yet: it counts elsewhere."""
    total = Account()
    for account in accounts:
        total.seconds.update_by(account.seconds)
        total.add_answer_seconds(account.answer_seconds)
        total.failing_queries |= account.failing_queries
        total.examples += account.examples[: 1 if not total.examples else 0]
    total.rejected_evaluations = len(total.failing_queries)
    total.workers = {n: account.figures() for n, account in enumerate(accounts)}
    return total
