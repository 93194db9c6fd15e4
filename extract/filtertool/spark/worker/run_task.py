"""Runs a task in a Spark worker: filters documents, or pieces of one, into files of results."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from extract.chunktool.input.remote import RangeReader
from extract.chunktool.split.survey import Piece
from extract.filtertool.isolated_documents import process_isolated
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.output.writers import (
    Format,
    Writer,
    closed_at_end,
    open_writer,
    write_outcome,
)
from extract.filtertool.pieces import PieceBytes
from extract.filtertool.processes.guard import guarded
from extract.filtertool.processes.isolation import SUSPICIOUS
from extract.filtertool.results.account import Account, added
from extract.filtertool.results.batch_outcome import FilterOutcome
from extract.filtertool.results.outcome import DocumentOutcome
from extract.filtertool.spark.worker.checkpoint import TaskNote, document_versions, write_note
from extract.filtertool.spark.worker.document_results import PieceResults
from extract.filtertool.spark.worker.documents import filter_files
from extract.filtertool.spark.worker.filter_cache import CachedFilter
from extract.filtertool.spark.worker.findings_file import FindingsFileWriter
from extract.filtertool.spark.worker.row_numbers import NumberedRows, RowCounts, write_numbered
from extract.filtertool.spark.worker.task_output import FinishedTask, TaskOutput
from extract.filtertool.spark.worker.tasks import Task


class TaskTarget(NamedTuple):
    """Where and how tasks write.

    Attributes:
        directory: The directory in which each attempt at a task makes a folder of its own.
        form: The format; None for a file of findings that the caller reads.
        select: Whether rows are nodes, numbers of nodes, or only which queries match.
        job: The job's digest, if the run can be resumed.
    """

    directory: str
    form: Format | None
    select: Select
    job: str = ""


def run_task(cached: CachedFilter, task: Task, target: TaskTarget, attempt: int = 0) -> TaskOutput:
    """Filters the documents of a task into files of its own.

    Whatever other attempts at the same task do, the reported files are complete.

    Args:
        cached: The filter.
        task: The documents.
        target: Where and how to write.
        attempt: The number of earlier attempts. If they died, every document gets a process of its
            own, and the one that kills it is rejected.
    """
    account = Account()
    started = time.perf_counter()
    if not os.path.isdir(target.directory):
        return TaskOutput(None, account)
    folder = f"{task.number:05d}-{uuid4().hex}"
    place = Path(target.directory) / folder
    place.mkdir()
    documents = [document for batch in task.batches for document in batch]
    versions = document_versions(documents) if target.job else ()
    figures, limits = cached.filter.figures(), cached.filter.options.limits
    counts = RowCounts.none(len(cached.ids)) if task.pieces else None
    torn = False
    with closed_at_end(_open_writer(place, cached, task, target)) as writer:
        for done in _outcomes(cached, task, attempt):
            since = time.perf_counter()
            write_outcome(writer, done)
            account.add(done)
            if counts is not None:
                assert isinstance(done, DocumentOutcome)
                counts = counts.plus(RowCounts.of(done.findings, len(cached.ids), limits))
                torn = torn or done.fate != "conforming"
            account.seconds.since("write", since)
        since = time.perf_counter()
    account.seconds.since("write", since)
    output = TaskOutput(folder, account, counts, torn)
    if task.all_pieces and not torn:
        since = time.perf_counter()
        output = output._replace(numbered=_numbered(cached, FinishedTask(task, output), target))
        account.seconds.since("write", since)
    account.workers = {0: _since(figures, cached.filter.figures())}
    account.seconds.since("tasks", started)
    if target.job and not torn:
        write_note(place, TaskNote(target.job, versions, output, task.part))
    return output


def _open_writer(place: Path, cached: CachedFilter, task: Task, target: TaskTarget) -> Writer:
    if target.form is None or target.form == "xml" or task.pieces:
        return FindingsFileWriter(place, cached.ids)
    return open_writer(place, target.form, cached.ids, target.select, cached.joined)


def _outcomes(cached: CachedFilter, task: Task, attempt: int) -> Iterator[FilterOutcome]:
    if task.pieces:
        yield from _outcomes_of_pieces(cached, task, attempt)
    else:
        for batch in task.batches:
            yield from filter_files(cached, batch, attempt)


def _outcomes_of_pieces(cached: CachedFilter, task: Task, attempt: int) -> Iterator[FilterOutcome]:
    """Filters pieces of a document, up to the first that no longer fits the document."""
    document = task.document
    limits = cached.filter.options.limits

    def process(piece: Piece) -> FilterOutcome:
        body = b""  # fits no piece
        with contextlib.suppress(OSError, ValueError), RangeReader(document) as reader:
            body = reader.read(piece.start, piece.end)
        (done,) = cached.filter.process([(document.name, PieceBytes(piece, body))])
        return done

    def process_guarded(piece: Piece) -> FilterOutcome:
        with guarded(limits):
            return process(piece)

    if attempt >= SUSPICIOUS:
        outcomes = process_isolated(task.pieces, process, lambda _: document.name, limits)
    else:
        outcomes = map(process_guarded, task.pieces)
    for done in outcomes:
        assert isinstance(done, DocumentOutcome)
        yield done
        if done.fate != "conforming":
            return


def _numbered(
    cached: CachedFilter, finished: FinishedTask, target: TaskTarget
) -> NumberedRows | None:
    """Numbers the rows of a task that has all pieces, and so all counts."""
    if target.select != "nodes" or target.form is None or target.form == "xml":
        return None
    attempts, limits = Path(target.directory), cached.filter.options.limits
    results = PieceResults([finished], attempts, target.select, limits)
    for rows in results.unnumbered():
        return write_numbered(rows, attempts, target.form, cached.joined)
    return None


def _since(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """Returns the figures of a filter's work between two moments; numbers of questions stay."""
    past = {k: -number for k, number in before.items() if not k.endswith("_questions")}
    return added([after, past])
