"""The local engine: filters documents on all cores of this machine, in the order of the input.

Even a single document is filtered by a worker, because only a process that may die can enforce
limits of time and memory (`extract.filtertool.processes.guard`). The cost is a fork and the
transfer of rows between processes: a fifth more processor time for documents of 2 KB, up to an
    eighth for large ones
with many rows.

Memory is bounded: at any time there are only as many batches as workers, and two more. When a
    worker
dies, the documents of its batch are filtered once more, each in a child
(`extract.filtertool.isolated_documents`), and the one that kills its child is rejected.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from itertools import chain, islice
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
from extract.filtertool.processes.isolation import FORKS
from extract.filtertool.processes.memory import keep_memory
from extract.filtertool.processes.signals import deferred_signals, reset_signals
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
) -> Iterator[FilterOutcome]:
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
    first = list(islice(work, workers))  # no more processes than there is work for
    if job.in_database:
        yield from _in_database(job, chain(first, work))
        return
    with _Pool(job, len(first)) as pool:
        yield from pool.run(chain(first, work))


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


class _Pool:
    """Worker processes; when one dies, all are replaced."""

    def __init__(self, job: Job, workers: int) -> None:
        self._job = job
        self._workers = workers
        self._executor = self._start()

    def __enter__(self) -> _Pool:
        return self

    def __exit__(self, *_: object) -> None:
        _kill(self._executor)

    def _start(self) -> ProcessPoolExecutor:
        # A fork shares the scheme, which may be large.
        context = multiprocessing.get_context("fork" if FORKS else "spawn")
        return ProcessPoolExecutor(self._workers, context, _begin, (self._job, None))

    def run(self, work: Iterable[_Batch]) -> Iterator[FilterOutcome]:
        """Filters batches; not more of them are read than there are workers, and two more."""
        rest, again = iter(work), deque[_Batch]()
        running: deque[tuple[_Batch, Future[list[FilterOutcome]]]] = deque()
        while True:
            try:
                while len(running) < self._workers + _AHEAD:
                    if not again:
                        again.extend(islice(rest, 1))
                    if not again or again[0] == [STDIN]:
                        break
                    running.append((again[0], _submit(self._executor, again[0])))
                    again.popleft()
                if not running:
                    if not again:
                        return
                    yield from self._stdin(again.popleft())
                    continue
                done = running[0][1].result()
            except BrokenProcessPool:
                _kill(self._executor)
                again.extendleft(batch for batch, _ in reversed(list(running)[1:]))
                yield from self._isolated(running[0][0] if running else again.popleft())
                running.clear()
                self._executor = self._start()
                continue
            running.popleft()
            yield from done

    def _isolated(self, batch: _Batch, stdin: TextIO | None = None) -> Iterator[FilterOutcome]:
        """Filters documents that may have killed a worker, each in a child."""
        begin = partial(_begin, self._job, stdin)
        limits = self._job.options.limits
        yield from process_isolated(_opened(batch), _process_one, _name, limits, begin)

    def _stdin(self, batch: _Batch) -> Iterator[FilterOutcome]:
        """Filters standard input in a child: it cannot be read again if a worker dies."""
        if not FORKS:  # without forks a child has no standard input
            yield from self._job.filter().process(_opened(batch))
            return
        with _stdin_left_open() as stdin:
            done = list(self._isolated(batch, stdin))
        yield from done


def _name(document: NamedDocument) -> str:
    return document[0]


def _submit(executor: ProcessPoolExecutor, batch: _Batch) -> Future[list[FilterOutcome]]:
    """Submits a batch to a worker. This may start a process; an exception raised then gets lost."""
    with warnings.catch_warnings(), deferred_signals():
        # Python 3.12 warns of threads, such as Arrow's. Workers do not use what these hold.
        warnings.simplefilter("ignore", DeprecationWarning)
        return executor.submit(_process, batch)


@contextlib.contextmanager
def _stdin_left_open() -> Iterator[TextIO]:
    """Lets forks inherit standard input, which multiprocessing would close in them."""
    stdin, sys.stdin = sys.stdin, None  # as in a Python without standard input
    try:
        yield stdin
    finally:
        sys.stdin = stdin


def _kill(executor: ProcessPoolExecutor) -> None:
    """Kills the workers."""
    children = list((getattr(executor, "_processes", None) or {}).values())
    executor.shutdown(wait=False, cancel_futures=True)
    for child in children:
        with contextlib.suppress(OSError, ValueError):
            child.kill()
    for child in children:
        with contextlib.suppress(OSError, ValueError, AssertionError):
            child.join()


_filter: JobFilter[Document] | None = None


def _begin(job: Job, stdin: TextIO | None) -> None:
    """Prepares a worker; ``stdin`` is its standard input, if it has one."""
    global _filter
    if stdin is not None:
        sys.stdin = stdin
    reset_signals()
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
