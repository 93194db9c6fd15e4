"""Calls that may kill their process: each is made in a child whose end is reported.

Both engines use it for documents that have killed a worker. The child is a fork, where the system
has
forks: it inherits everything that the parent has compiled, and only items and answers are pickled.
    It
answers one item after the other; when it dies, the next item gets another child.

Two modules beside this one have other purposes. `guard` enforces limits in its own process, by
ending
it: it is what kills a child here. `sandbox` is a separate interpreter, which may be started from
threads and beside a JVM, for single calls into libxml2 that may take too long: its caller goes on
with the same document.
"""

from __future__ import annotations

import multiprocessing
import sys
import warnings
from collections.abc import Callable, Generator, Iterable
from multiprocessing.connection import Connection
from typing import Any, Final, NamedTuple, TypeVar

from extract.filtertool.processes.guard import guarded
from extract.filtertool.processes.signals import deferred_signals
from extract.limits import Limits

FORKS: Final = sys.platform == "linux"
SUSPICIOUS: Final = 2  # failed attempts after which documents are suspected of killing workers

_T = TypeVar("_T")
_R = TypeVar("_R")


class ChildExit(NamedTuple):
    """The end of a child that did not answer.

    Attributes:
        status: As in `multiprocessing.Process.exitcode`: negative for a signal.
    """

    status: int | None


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
    child: _Child | None = None
    try:
        for item in items:
            if child is None:
                child = _Child(call, limits, begin)
            answer = child.ask(item)
            if isinstance(answer, ChildExit):
                child = None
            yield answer
    finally:
        if child is not None:
            child.kill()


class _Child:
    """A child process that answers one item after the other."""

    def __init__(
        self, call: Callable[[Any], Any], limits: Limits, begin: Callable[[], object] | None
    ) -> None:
        self._pipe, theirs = multiprocessing.Pipe()
        fork, spawn = multiprocessing.get_context("fork"), multiprocessing.get_context("spawn")
        start = fork.Process if FORKS else spawn.Process
        inherited = self._pipe if FORKS else None
        arguments = (theirs, inherited, call, limits, begin)
        self._process = start(target=_serve, args=arguments, daemon=True)
        with warnings.catch_warnings(), deferred_signals():
            # Python 3.12 warns of threads, such as Arrow's. A child does not use what these hold.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._process.start()
        theirs.close()  # so that the child's end closes the pipe

    def ask(self, item: Any) -> Any:
        try:
            self._pipe.send(item)
            succeeded, answer = self._pipe.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            self._process.join()
            self._pipe.close()
            return ChildExit(self._process.exitcode)
        except BaseException:
            self.kill()
            raise
        if not succeeded:
            raise answer
        return answer

    def kill(self) -> None:
        self._process.kill()
        self._process.join()
        self._pipe.close()


def _serve(
    pipe: Connection,
    inherited: Connection | None,
    call: Callable[[Any], Any],
    limits: Limits,
    begin: Callable[[], object] | None,
) -> None:
    """Answers items until the parent closes its end of the pipe, or has ended."""
    if inherited is not None:
        inherited.close()  # the parent's end, which would be open for ever
    if begin is not None:
        begin()
    while True:
        try:
            item = pipe.recv()
        except EOFError:
            return
        try:
            with guarded(limits):
                answer = call(item)
            pipe.send((True, answer))
        except BrokenPipeError:  # nobody waits for it any more
            return
        except Exception as error:  # raised again by the parent
            pipe.send((False, error))
