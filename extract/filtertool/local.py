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
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from typing import Final, TextIO

from extract.chunktool.input.find import STDIN, input_file
from extract.chunktool.input.source import Document
from extract.filtertool.batching import BATCH_BYTES, batches
from extract.filtertool.document_filter import DocumentFilter
from extract.filtertool.isolated_documents import process_isolated
from extract.filtertool.job import Job
from extract.filtertool.processes.guard import guarded
from extract.filtertool.processes.isolation import FORKS
from extract.filtertool.processes.memory import keep_memory
from extract.filtertool.processes.signals import deferred_signals, reset_signals
from extract.filtertool.results.outcome import DocumentOutcome

_BATCHES_A_WORKER: Final = 4  # at least, so that all workers are busy until the end
_AHEAD: Final = 2  # batches that wait for a worker


def available_cores() -> int:
    """Returns the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_local(job: Job, paths: Sequence[str], workers: int = 0) -> Iterator[DocumentOutcome]:
    """Filters documents.

    Args:
        job: The scheme, matcher and options.
        paths: The documents; ``"-"`` is standard input.
        workers: The number of processes; 0 for one on each core.

    Yields:
        The outcome of each document, in the order of ``paths``.
    """
    workers = workers or available_cores()
    work = _batches(paths, workers)
    if not work:
        return
    with _Pool(job, min(workers, len(work))) as pool:
        yield from pool.run(work)


def _batches(paths: Sequence[str], workers: int) -> list[list[str]]:
    """Returns the documents in batches that are small enough to keep all workers busy.

    Standard input is a batch of its own.
    """
    sizes = {path: input_file(path).size for path in paths}
    even = sum(sizes[path] for path in paths) // (_BATCHES_A_WORKER * workers)
    most = min(BATCH_BYTES, max(1, even))
    return list(batches(paths, sizes.__getitem__, most, lambda path: path == STDIN))


def _name(path: str) -> str:
    return "<stdin>" if path == STDIN else path


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

    def run(self, work: Sequence[list[str]]) -> Iterator[DocumentOutcome]:
        waiting = deque(work)
        running: deque[tuple[list[str], Future[list[DocumentOutcome]]]] = deque()
        while waiting or running:
            try:
                while waiting and waiting[0] != [STDIN] and len(running) < self._workers + _AHEAD:
                    running.append((waiting[0], _submit(self._executor, waiting[0])))
                    waiting.popleft()
                if not running:
                    yield from self._stdin(waiting.popleft())
                    continue
                done = running[0][1].result()
            except BrokenProcessPool:
                _kill(self._executor)
                waiting.extendleft(batch for batch, _ in reversed(list(running)[1:]))
                yield from self._isolated(running[0][0] if running else waiting.popleft())
                running.clear()
                self._executor = self._start()
                continue
            running.popleft()
            yield from done

    def _isolated(
        self, batch: Sequence[str], stdin: TextIO | None = None
    ) -> Iterator[DocumentOutcome]:
        """Filters documents that may have killed a worker, each in a child."""
        begin = partial(_begin, self._job, stdin)
        yield from process_isolated(batch, _process_one, _name, self._job.options.limits, begin)

    def _stdin(self, batch: list[str]) -> Iterator[DocumentOutcome]:
        """Filters standard input in a child: it cannot be read again if a worker dies."""
        if not FORKS:  # without forks a child has no standard input
            yield from self._job.filter().process([(_name(path), path) for path in batch])
            return
        with _stdin_left_open() as stdin:
            done = list(self._isolated(batch, stdin))
        yield from done


def _submit(executor: ProcessPoolExecutor, batch: list[str]) -> Future[list[DocumentOutcome]]:
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


_filter: DocumentFilter[Document] | None = None


def _begin(job: Job, stdin: TextIO | None) -> None:
    """Prepares a worker; ``stdin`` is its standard input, if it has one."""
    global _filter
    if stdin is not None:
        sys.stdin = stdin
    reset_signals()
    keep_memory()
    _filter = job.filter()


def _process(batch: Sequence[str]) -> list[DocumentOutcome]:
    assert _filter is not None
    with guarded(_filter.options.limits):
        return _filter.process([(_name(path), path) for path in batch])


def _process_one(path: str) -> DocumentOutcome:
    assert _filter is not None
    (done,) = _filter.process([(_name(path), path)])
    return done
