"""What tasks have written becomes a directory of results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from extract.filtertool.account import Account
from extract.filtertool.findings import Findings
from extract.filtertool.matcher import Select
from extract.filtertool.spark.parcels import unpack
from extract.filtertool.spark.settling import Part, Pieced, Settlement, settled
from extract.filtertool.spark.shares import one_account, worst
from extract.filtertool.spark.worker import Written
from extract.filtertool.writers import Format, Writer
from extract.limits import Limits

Settle = Callable[[Sequence[Settlement]], list[tuple[int, str, int]]]


class Target(NamedTuple):
    """Where results go.

    Attributes:
        attempts: Where tasks have written.
        directory: Where all results are.
        ids: The ids of all subscribers.
        writer: Writes results that cannot be written by many.
        form: In which format.
        select: What was asked for.
        limits: How much a query may select.
    """

    attempts: Path
    directory: Path
    ids: Sequence[str]
    writer: Writer
    form: Format
    select: Select
    limits: Limits

    def take(self, written: Written, matches: bool, rejected: bool) -> None:
        """Takes over what a task has written."""
        assert written.folder is not None
        attempt = self.attempts / written.folder
        if self.form == "xml":
            unpack(attempt, self.writer, self.ids, matches, rejected)
            return
        for kind, wanted in (("matches", matches), ("rejected", rejected)):
            if wanted:
                for file in (attempt / kind).iterdir():
                    name = f"part-{written.number:05d}{file.suffix}"
                    file.rename(self.directory / kind / name)

    def write(self, document: str, every: Iterable[Findings]) -> int:
        """Writes what was found in a document; returns how many rows there are."""
        rows = 0
        for findings in every:
            self.writer.write(document, findings)
            rows += len(findings)
        return rows


def commit(work: Sequence[Part], target: Target, settle_many: Settle) -> Iterator[Account]:
    """Puts the results of all tasks together; gives the account of each, or of each document that
    several tasks shared.

    Args:
        work: The tasks with what they have written, in the order of documents.
        target: Where results go.
        settle_many: Has the nodes of pieces written anew.
    """
    together: dict[str, list[Part]] = {}
    for part in work:
        account = part.written.account
        if part.task.shares:
            together.setdefault(part.task.batches[0][0].name, []).append(part)
        else:
            target.take(part.written, account.matches > 0, account.rejections > 0)
            yield account
    for document, parts in together.items():
        yield _commit_one(document, parts, target, settle_many)


def _commit_one(
    document: str, parts: Sequence[Part], target: Target, settle_many: Settle
) -> Account:
    """Puts the results of one document together."""
    whole = [part.written for part in parts if not part.task.pieces]
    cut = [part for part in parts if part.task.pieces]
    accounts = [written.account for written in whole]
    if whole and accounts[worst(accounts)].documents["rejected"]:
        target.take(whole[worst(accounts)], matches=False, rejected=True)  # one reason is enough
        return one_account(accounts)
    for written in whole:
        target.take(written, written.account.matches > 0, written.account.rejections > 0)
    if not cut:
        return one_account(accounts)
    limits = target.limits if target.select == "nodes" else None
    pieced = Pieced(document, cut, target.attempts, limits)
    total = one_account(accounts) if whole else _conforming(cut)
    pieced.account.matches = _settled(pieced, target, settle_many)
    target.writer.reject(pieced.rejections())
    total.merge(pieced.account)
    return total


def _settled(pieced: Pieced, target: Target, settle_many: Settle) -> int:
    """Writes what was found on pieces; returns how many rows there are."""
    if target.select != "nodes":
        return target.write(pieced.document, pieced.numbers(target.ids, target.select))
    settlements = list(pieced.settlements())
    rows = 0
    if target.form == "xml":
        for one in settlements:
            rows += target.write(one.document, settled(one, target.attempts, target.ids))
        return rows
    for number, folder, many in settle_many(settlements) if settlements else []:
        target.take(Written(number, folder, Account()), matches=many > 0, rejected=False)
        rows += many
    return rows


def _conforming(parts: Sequence[Part]) -> Account:
    """The account of a document of which nothing but pieces was looked at."""
    ((one,),) = parts[0].task.batches
    made = Account(bytes=one.size)
    made.documents.update(["seen", "processed", "conforming"])
    made.scanners["kernel"] += 1
    return made


def parallel(work: Sequence[Part], cores: int, seconds: float) -> dict[str, Any]:
    """How much was gained by doing tasks side by side, and how long the parts of large documents
    took: what figure 11 of the paper shows.

    Args:
        work: The tasks with what they have written.
        cores: How many of them could run at once.
        seconds: How long it took until all were done.
    """
    spent = [(part.task, part.written.account.seconds["tasks"]) for part in work]
    alone = sum(each for _, each in spent)
    shares: dict[str, list[float]] = {}
    for task, each in spent:
        if task.shares:
            shares.setdefault(task.name, []).append(each)
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
