"""Documents that workers may have died of, in processes that may die."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Final, NamedTuple, TypeVar

from extract.filtertool.guard import died_of, guarded
from extract.filtertool.outcome import DocumentOutcome
from extract.limits import Limits

SUSPICIOUS: Final = 2  # attempts, after which the documents are suspected to kill workers

_T = TypeVar("_T")
_R = TypeVar("_R")
_call: Callable[[Any], Any] | None = None


class Died(NamedTuple):
    """A process died; how it ended, as `multiprocessing.Process.exitcode` says."""

    status: int | None


def apart(items: Iterable[_T], call: Callable[[_T], _R], limits: Limits) -> Iterator[_R | Died]:
    """Calls a function for each item in a child of this process, which may die of it.

    Args:
        items: The items.
        call: What to do. The child is a fork, so that what was compiled here is there.
        limits: How long it may take for one, and how much memory.
    """
    global _call
    _call = call
    executor: ProcessPoolExecutor | None = None
    try:
        for one in items:
            if executor is None:
                executor = ProcessPoolExecutor(1, multiprocessing.get_context("fork"))
            try:
                asked = executor.submit(_called, one, limits)
                (child,) = executor._processes.values()
                yield asked.result()
            except BrokenProcessPool:
                child.join()
                executor.shutdown()
                executor = None
                yield Died(child.exitcode)
    finally:
        _call = None
        if executor is not None:
            executor.shutdown()


def one_by_one(
    documents: Iterable[_T],
    process: Callable[[_T], DocumentOutcome],
    name: Callable[[_T], str],
    limits: Limits,
) -> Iterator[DocumentOutcome]:
    """Processes documents, or pieces of one, apart; one that kills the child is rejected.

    Args:
        documents: The documents.
        process: What to do.
        name: What a document is called.
        limits: As for `apart`.
    """
    every = list(documents)
    for one, done in zip(every, apart(every, process, limits), strict=True):
        yield died_of(name(one), done.status, limits) if isinstance(done, Died) else done


def _called(item: Any, limits: Limits) -> Any:
    assert _call is not None
    with guarded(limits):
        return _call(item)
