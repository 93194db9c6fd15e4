"""Documents that workers may have died of, in processes that may die."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from extract.filtertool.guard import died_of, guarded
from extract.filtertool.processed import Processed
from extract.limits import Limits

_T = TypeVar("_T")
_call: Callable[[Any], Processed] | None = None


def one_by_one(
    documents: Iterable[_T],
    process: Callable[[_T], Processed],
    name: Callable[[_T], str],
    limits: Limits,
) -> Iterator[Processed]:
    """Processes documents in a child of this process; one that kills the child is rejected.

    Args:
        documents: The documents, or pieces of one.
        process: What to do. The child is a fork, so that what was compiled here is there.
        name: What a document is called.
        limits: How long it may take for one, and how much memory.
    """
    global _call
    _call = process
    executor: ProcessPoolExecutor | None = None
    try:
        for one in documents:
            if executor is None:
                executor = ProcessPoolExecutor(1, multiprocessing.get_context("fork"))
            try:
                asked = executor.submit(_process, one, limits)
                (child,) = executor._processes.values()
                yield asked.result()
            except BrokenProcessPool:
                child.join()
                executor.shutdown()
                executor = None
                yield died_of(name(one), child.exitcode, limits)
    finally:
        _call = None
        if executor is not None:
            executor.shutdown()


def _process(document: Any, limits: Limits) -> Processed:
    assert _call is not None
    with guarded(limits):
        return _call(document)
