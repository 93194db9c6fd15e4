"""The local engine: filters documents on all cores of this machine, in the order of the input.

Even a single document is filtered by a worker, because only a process that may die can enforce
limits of time and memory (`extract.filtertool.processes.guard`). The cost is a fork and the
transfer of rows between processes: a fifth more processor time for documents of 2 KB, up to an
eighth for large ones with many rows.

Memory is bounded: at any time there are only as many batches as workers, and two more. When a
worker dies, the documents of its batch are filtered once more, each in a child
(`extract.filtertool.isolated_documents`), and the one that kills its child is rejected.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Final, TextIO, TypeAlias

from extract.chunktool.input.find import STDIN, InputFile, input_file
from extract.chunktool.input.messages.blocks import MessageBlock
from extract.chunktool.input.messages.read import message_blocks
from extract.chunktool.input.source import Document
from extract.filtertool.batching import BATCH_BYTES, batches
from extract.filtertool.isolated_documents import process_isolated
from extract.filtertool.job import Job, JobFilter
from extract.filtertool.loaded_batch import NamedDocument
from extract.filtertool.processes.guard import guarded
from extract.filtertool.processes.memory import keep_memory
from extract.filtertool.processes.workers import FORKS, ChildExit, Workers, open_workers
from extract.filtertool.results.batch_outcome import FilterOutcome

_BATCHES_A_WORKER: Final = 4  # at least, so that all workers are busy until the end
_AHEAD: Final = 2  # batches that wait for a worker


def available_cores() -> int:
    """Returns the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# What a worker filters at once: names of files, or consecutive messages of a file.
_Batch: TypeAlias = list[str] | MessageBlock


def run_local(
    job: Job, documents: Sequence[str | InputFile], workers: int = 0
) -> Generator[FilterOutcome, None, None]:
    """Filters documents.

    Args:
        job: The scheme, matcher and options.
        documents: The documents: paths, or what a search for them found. ``"-"`` is standard input.
        workers: The number of processes; 0 for one on each core.

    Yields:
        The outcome of each document, in the order of ``documents``.
    """
    workers = workers or available_cores()
    files = [one if isinstance(one, InputFile) else input_file(one) for one in documents]
    if not files:
        return
    size = sum(one.size for one in files)
    most = min(BATCH_BYTES, max(1, size // (_BATCHES_A_WORKER * workers)))
    if job.in_database:
        most = BATCH_BYTES  # a statement takes its time, however few values there are
    work = _work(files, most, job)
    if job.in_database:
        yield from _in_database(job, work)
        return
    with open_workers(workers, _process, partial(_begin, job, None)) as processes:
        yield from _in_order(job, work, processes, workers + _AHEAD)


def _in_database(job: Job, work: Iterable[_Batch]) -> Iterator[FilterOutcome]:
    """Filters batches in this process; the database has processes or threads of its own. What it
    does not decide, a child does, which may die."""
    from extract.filtertool.sql_filter import sql_filter

    with contextlib.closing(sql_filter(job.scheme, job.options, guarded=FORKS)) as ready:
        for batch in work:
            yield from ready.process(_opened(batch))


def _work(files: Sequence[InputFile], most: int, job: Job) -> Iterator[_Batch]:
    """Yields the work in batches, small enough to keep all workers busy.

    Standard input is a batch of its own. Messages are read here, while workers filter others.
    """
    for batch in batches(files, lambda one: one.size, most, _alone):
        if batch[0].messages is None:
            yield [one.name for one in batch]
        else:
            yield from message_blocks(batch[0], job.options.limits)


def _alone(file: InputFile) -> bool:
    return file.name == STDIN or file.messages is not None


def _opened(batch: _Batch) -> list[NamedDocument]:
    """The documents of a batch, with their names."""
    if isinstance(batch, list):
        return [("<stdin>" if path == STDIN else path, path) for path in batch]
    return batch.documents()


@dataclass(eq=False, slots=True)
class _Task:
    """A batch whose outcomes are still to be yielded; it has an answer when a worker has it."""

    batch: _Batch
    answer: Future[list[FilterOutcome] | ChildExit] | None = None

    @property
    def done(self) -> bool:
        return self.answer is not None and self.answer.done()


def _in_order(
    job: Job, work: Iterator[_Batch], workers: Workers, most: int
) -> Iterator[FilterOutcome]:
    """Filters batches, and reads only so many of them ahead of the one whose outcomes are next."""
    tasks, waiting = deque[_Task](), deque[_Task]()
    stdin = False  # whether the next batch is standard input
    while True:
        while len(tasks) < most and not stdin and (batch := next(work, None)) is not None:
            if stdin := batch == [STDIN]:
                break
            tasks.append(_Task(batch))
            waiting.append(tasks[-1])
            _give(workers, waiting)
        if tasks:
            workers.receive(0 if tasks[0].done else None)
            _give(workers, waiting)
            if tasks[0].done:
                yield from _outcomes(job, tasks.popleft())
        elif stdin:
            stdin = False
            yield from _stdin(job)
        else:
            return


def _give(workers: Workers, waiting: deque[_Task]) -> None:
    """Gives batches to workers that are idle."""
    while waiting and (answer := workers.send(waiting[0].batch)) is not None:
        waiting.popleft().answer = answer


def _outcomes(job: Job, task: _Task) -> Iterable[FilterOutcome]:
    """The outcomes of a batch, which is filtered once more if its worker has died."""
    assert task.answer is not None
    done = task.answer.result()
    return _isolated(job, task.batch) if isinstance(done, ChildExit) else done


def _isolated(job: Job, batch: _Batch, stdin: TextIO | None = None) -> Iterator[FilterOutcome]:
    """Filters documents that may have killed a worker, each in a child."""
    begin = partial(_begin, job, stdin)
    yield from process_isolated(_opened(batch), _process_one, _name, job.options.limits, begin)


def _stdin(job: Job) -> Iterator[FilterOutcome]:
    """Filters standard input in a child: it cannot be read again if a worker dies."""
    if not FORKS:  # without forks a child has no standard input
        yield from job.filter().process(_opened([STDIN]))
        return
    with _stdin_left_open() as stdin:
        done = list(_isolated(job, [STDIN], stdin))
    yield from done


def _name(document: NamedDocument) -> str:
    return document[0]


@contextlib.contextmanager
def _stdin_left_open() -> Iterator[TextIO]:
    """Lets forks inherit standard input, which multiprocessing would close in them."""
    stdin, sys.stdin = sys.stdin, None  # as in a Python without standard input
    try:
        yield stdin
    finally:
        sys.stdin = stdin


_filter: JobFilter[Document] | None = None


def _begin(job: Job, stdin: TextIO | None) -> None:
    """Prepares a worker; ``stdin`` is its standard input, if it has one."""
    global _filter
    if stdin is not None:
        sys.stdin = stdin
    keep_memory()
    _filter = job.filter()


def _process(batch: _Batch) -> list[FilterOutcome]:
    assert _filter is not None
    with guarded(_filter.options.limits):
        return list(_filter.process(_opened(batch)))


def _process_one(document: NamedDocument) -> FilterOutcome:
    assert _filter is not None
    (done,) = _filter.process([document])
    return done
