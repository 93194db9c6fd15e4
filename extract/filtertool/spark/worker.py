"""What Spark's Python workers do for a directory of results. Nothing here imports pyspark."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from extract.filtertool.account import Account, added
from extract.filtertool.guard import guarded
from extract.filtertool.matcher import Select
from extract.filtertool.outcome import DocumentOutcome
from extract.filtertool.pieces import PieceBytes
from extract.filtertool.piecewise import Tally
from extract.filtertool.spark.isolation import SUSPICIOUS, one_by_one
from extract.filtertool.spark.keeping import Kept
from extract.filtertool.spark.locations import Bytes
from extract.filtertool.spark.parcels import ParcelWriter
from extract.filtertool.spark.planning import Task
from extract.filtertool.spark.reading import filtered, located
from extract.filtertool.spark.resuming import Done, note, stamps
from extract.filtertool.survey import Piece
from extract.filtertool.writers import Format, Writer, open_writer


class Written(NamedTuple):
    """What one attempt at a task has written.

    Attributes:
        number: Which task.
        folder: Where, below the directory of all tasks; another attempt has another. None if this
            machine does not see that directory.
        account: What became of the documents.
        tally: Of pieces, how much each subscriber has there.
        torn: Whether pieces did not fit the document any more, so that this counts for nothing.
    """

    number: int
    folder: str | None
    account: Account
    tally: Tally | None = None
    torn: bool = False


def write_results(
    kept: Kept,
    task: Task,
    directory: str,
    form: Format,
    select: Select,
    attempt: int = 0,
    job: str = "",
) -> Written:
    """Filters the documents of a task into files of its own.

    Whatever happens to other attempts at the same task, what the driver hears of is whole.

    Args:
        kept: The filter.
        task: The documents.
        directory: Where all tasks write.
        form: In which format.
        select: What is asked for.
        attempt: How often the task was tried before. If others died of it, every document gets a
            process of its own, and the one that kills it is rejected.
        job: The job's digest, if it may be interrupted and resumed.
    """
    account = Account()
    started = time.perf_counter()
    if not os.path.isdir(directory):
        return Written(task.number, None, account)
    folder = f"{task.number:05d}-{uuid4().hex}"
    target = Path(directory) / folder
    target.mkdir()
    documents = stamps(one for batch in task.batches for one in batch) if job else ()
    before, limits = kept.filter.figures(), kept.filter.options.limits
    tally = Tally.none(len(kept.ids)) if task.pieces else None
    torn = False
    writer: Writer
    if form == "xml" or task.pieces:
        writer = ParcelWriter(target, kept.ids)
    else:
        writer = open_writer(target, form, kept.ids, select)
    try:
        for done in _results(kept, task, attempt):
            since = time.perf_counter()
            writer.write(done.document, done.findings)
            writer.reject(done.rejections)
            account.add(done)
            if tally is not None:
                tally = tally.plus(Tally.of(done.findings, len(kept.ids), limits))
                torn = torn or done.fate != "conforming"
            account.seconds.since("write", since)
    finally:
        since = time.perf_counter()
        writer.close()
        account.seconds.since("write", since)
    account.workers = {0: _since(before, kept.filter.figures())}
    account.seconds.since("tasks", started)
    if job and not torn:
        note(target, Done(job, documents, folder, account, task.part, tally))
    return Written(task.number, folder, account, tally, torn)


def _results(kept: Kept, task: Task, attempt: int) -> Iterator[DocumentOutcome]:
    if task.pieces:
        yield from _pieces(kept, task, attempt)
    else:
        for batch in task.batches:
            yield from filtered(kept, batch, located, attempt)


def _pieces(kept: Kept, task: Task, attempt: int) -> Iterator[DocumentOutcome]:
    """What is found on pieces of a document, up to the first that does not fit it any more."""
    ((one,),) = task.batches
    limits = kept.filter.options.limits

    def process(piece: Piece) -> DocumentOutcome:
        body = b""  # does not fit
        with contextlib.suppress(OSError, ValueError), Bytes(one) as document:
            body = document.read(piece.start, piece.end)
        (done,) = kept.filter.process([(one.name, PieceBytes(piece, body))])
        return done

    def guard(piece: Piece) -> DocumentOutcome:
        with guarded(limits):
            return process(piece)

    if attempt >= SUSPICIOUS:
        found = one_by_one(task.pieces, process, lambda _: one.name, limits)
    else:
        found = map(guard, task.pieces)
    for done in found:
        yield done
        if done.fate != "conforming":
            return


def _since(before: Any, after: Any) -> dict[str, float]:
    """What a filter has done between two moments; the number of questions stays."""
    past = {k: -number for k, number in before.items() if not k.endswith("_questions")}
    return added([after, past])
