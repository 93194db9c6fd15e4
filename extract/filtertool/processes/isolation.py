"""Calls that may kill their process: each is made in a child whose end is reported.

Both engines use it for documents that have killed a worker. The child
(`extract.filtertool.processes.workers`) answers one item after the other; when it dies, the next
item gets another child.

Two modules beside this one have other purposes. `guard` enforces limits in its own process, by
ending it: it is what kills a child here. `sandbox` is a separate interpreter, which may be started
from threads and beside a JVM, for single calls into libxml2 that may take too long: its caller goes
on with the same document.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from functools import partial
from typing import Final, TypeVar

from extract.filtertool.processes.guard import guarded
from extract.filtertool.processes.workers import ChildExit, open_workers
from extract.limits import Limits

SUSPICIOUS: Final = 2  # failed attempts after which documents are suspected of killing workers

_T = TypeVar("_T")
_R = TypeVar("_R")


def each_in_child(
    items: Iterable[_T],
    call: Callable[[_T], _R],
    limits: Limits,
    begin: Callable[[], object] | None = None,
) -> Generator[_R | ChildExit, None, None]:
    """Calls a function for each item in a child of this process, which the call may kill.

    Args:
        items: The items.
        call: The function. Without forks, it and ``begin`` are pickled.
        limits: The time and memory limits of a call.
        begin: Called by each child before its first item.

    Yields:
        For each item, the function's result, or the child's exit.

    Raises:
        Exception: The function's exception.
    """
    with open_workers(1, partial(_guarded, call, limits), begin) as workers:
        for item in items:
            answer = workers.send(item)
            assert answer is not None
            workers.receive()
            yield answer.result()


def _guarded(call: Callable[[_T], _R], limits: Limits, item: _T) -> _R:
    with guarded(limits):
        return call(item)
