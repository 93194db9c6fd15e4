"""The local engine: documents filtered on all cores of this machine, in the order they came.

Also a single document is filtered by a worker, for only a process that may die can hold limits of
time and memory (`extract.filtertool.guard`). What that costs is a fork and the way of the rows
between processes: a fifth more processor time for documents of 2 KB, up to an eighth for large
ones with many rows.

Memory is bounded: only as many batches are on their way as there are workers, and some more.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Final, TextIO

from extract.chunktool.source import Document
from extract.filtertool.filtering import DocumentFilter
from extract.filtertool.guard import died_of, guarded
from extract.filtertool.job import Job
from extract.filtertool.memory import keep_memory
from extract.filtertool.outcome import DocumentOutcome

_BATCH_BYTES: Final = 1 << 22
_BATCH_DOCUMENTS: Final = 256
_ENDINGS: Final = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
_FORKS: Final = sys.platform == "linux"
_STDIN: Final = "-"
_GZIPPED: Final = 8  # how many times smaller a gzipped document is, about


def available_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def batches(paths: Sequence[str], workers: int) -> Iterator[list[str]]:
    """Documents in batches: small ones together, but so that all workers have something to do.

    Standard input is a batch of its own.
    """
    sizes = [_size(path) for path in paths]
    most = min(_BATCH_BYTES, max(1, sum(sizes) // (4 * workers)))
    batch: list[str] = []
    filled = 0
    for path, size in zip(paths, sizes, strict=True):
        alone = _STDIN in (path, *batch[:1])
        if batch and (alone or filled + size > most or len(batch) >= _BATCH_DOCUMENTS):
            yield batch
            batch, filled = [], 0
        batch.append(path)
        filled += size
    if batch:
        yield batch


def _size(path: str) -> int:
    try:
        size = os.stat(path).st_size
    except (OSError, ValueError):
        return 1
    return size * _GZIPPED if path.endswith(".gz") else size


def run_local(job: Job, paths: Sequence[str], workers: int = 0) -> Iterator[DocumentOutcome]:
    """Filters documents.

    Args:
        job: What to do.
        paths: The documents; ``"-"`` is standard input.
        workers: How many processes; 0 for one on each core.

    Yields:
        What became of each document, in the order of ``paths``.
    """
    workers = workers or available_cores()
    work = list(batches(paths, workers))
    if not work:
        return
    with _Pool(job, min(workers, len(work))) as pool:
        yield from pool.run(work)


def _name(path: str) -> str:
    return "<stdin>" if path == _STDIN else path


class _Pool:
    """Worker processes that are replaced when one dies."""

    def __init__(self, job: Job, workers: int) -> None:
        self._job = job
        self._workers = workers
        self._executor = self._start(workers)

    def __enter__(self) -> _Pool:
        return self

    def __exit__(self, *_: object) -> None:
        _stop(self._executor)

    def _start(self, workers: int, stdin: TextIO | None = None) -> ProcessPoolExecutor:
        # A fork shares the scheme, which may be large.
        context = multiprocessing.get_context("fork" if _FORKS else "spawn")
        return ProcessPoolExecutor(workers, context, _begin, (self._job, stdin))

    def run(self, work: Sequence[list[str]]) -> Iterator[DocumentOutcome]:
        waiting = deque(work)
        running: deque[tuple[list[str], Future[list[DocumentOutcome]]]] = deque()
        while waiting or running:
            try:
                while waiting and waiting[0] != [_STDIN] and len(running) < self._workers + 2:
                    running.append((waiting[0], _submit(self._executor, waiting[0])))
                    waiting.popleft()
                if not running:
                    yield from self._stdin(waiting.popleft())
                    continue
                done = running[0][1].result()
            except BrokenProcessPool:
                _stop(self._executor)
                waiting.extendleft(batch for batch, _ in reversed(list(running)[1:]))
                yield from self._one_by_one(running[0][0] if running else waiting.popleft())
                running.clear()
                self._executor = self._start(self._workers)
                continue
            running.popleft()
            yield from done

    def _one_by_one(self, batch: list[str]) -> Iterator[DocumentOutcome]:
        """Documents that a worker may have died of, each in a process of its own."""
        for path in batch:
            yield from self._alone(path, self._start(1))

    def _stdin(self, batch: list[str]) -> Iterator[DocumentOutcome]:
        """Standard input, in a process of its own: nobody can read it again if a worker dies."""
        if not _FORKS:  # then it is ours alone
            yield from self._job.filter().process([(_name(path), path) for path in batch])
            return
        executor = self._start(1, sys.stdin)
        with _stdin_left_open():
            done = list(self._alone(batch[0], executor))
        yield from done

    def _alone(self, path: str, executor: ProcessPoolExecutor) -> Iterator[DocumentOutcome]:
        try:
            asked = _submit(executor, [path])
            (child,) = executor._processes.values()
            yield from asked.result()
        except BrokenProcessPool:
            executor.shutdown()  # its thread waits for the child, too: then both know how it ended
            child.join()
            yield died_of(_name(path), child.exitcode, self._job.options.limits)
        finally:
            _stop(executor)


def _submit(executor: ProcessPoolExecutor, batch: list[str]) -> Future[list[DocumentOutcome]]:
    """Gives a batch out. This may start a process, and what is raised around a fork gets lost."""
    with warnings.catch_warnings(), interrupted_afterwards():
        # Python 3.12 warns of threads, such as Arrow's. Workers touch nothing that those hold.
        warnings.simplefilter("ignore", DeprecationWarning)
        return executor.submit(_process, batch)


@contextlib.contextmanager
def interrupted_afterwards() -> Iterator[None]:
    """Lets signals that raise something, such as Ctrl-C, wait for the end of the block, where
    somebody would swallow what they raise."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    handlers = {int(number): signal.getsignal(number) for number in _ENDINGS}
    raising = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in raising:
        signal.signal(number, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for number, handler in raising.items():
            signal.signal(number, handler)
    for which in came:
        raising[which](which, None)


@contextlib.contextmanager
def _stdin_left_open() -> Iterator[None]:
    """Lets forks keep standard input, which multiprocessing closes in them if it sees it."""
    ours, sys.stdin = sys.stdin, None  # as Python has it where there is none
    try:
        yield
    finally:
        sys.stdin = ours


def _stop(executor: ProcessPoolExecutor) -> None:
    """Ends workers, whatever they are doing."""
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
    """What a worker does first. It has standard input only if that is for it."""
    global _filter
    if stdin is not None:
        sys.stdin = stdin
    for number in _ENDINGS:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends us
    keep_memory()
    _filter = job.filter()


def _process(batch: Sequence[Any]) -> list[DocumentOutcome]:
    assert _filter is not None
    with guarded(_filter.options.limits):
        return _filter.process([(_name(path), path) for path in batch])
