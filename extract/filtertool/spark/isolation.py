"""Documents that workers may have died of, in processes that may die."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from extract.errors import DocumentError
from extract.filtertool.processed import Processed, Rejection
from extract.filtertool.results import Findings

_T = TypeVar("_T")
_call: Callable[[Any], Processed] | None = None


def one_by_one(
    documents: Iterable[_T], process: Callable[[_T], Processed], name: Callable[[_T], str]
) -> Iterator[Processed]:
    """Processes documents in a child of this process; one that kills the child is rejected.

    Args:
        documents: The documents, or pieces of one.
        process: What to do. The child is a fork, so that what was compiled here is there.
        name: What a document is called.
    """
    global _call
    _call = process
    executor: ProcessPoolExecutor | None = None
    try:
        for one in documents:
            if executor is None:
                executor = ProcessPoolExecutor(1, multiprocessing.get_context("fork"))
            try:
                yield executor.submit(_process, one).result()
            except BrokenProcessPool:
                executor.shutdown()
                executor = None
                yield _fatal(name(one))
    finally:
        _call = None
        if executor is not None:
            executor.shutdown()


def _process(document: Any) -> Processed:
    assert _call is not None
    return _call(document)


def _fatal(name: str) -> Processed:
    reason = "the process that filtered it was killed, for want of memory perhaps"
    error = DocumentError(reason, "give Spark's Python workers more memory", name)
    rejection = Rejection(name, None, "filter", reason)
    return Processed(name, "rejected", Findings.none(), (rejection,), error=error)
