"""Workers: processes that answer one item after the other, each through a pipe of its own.

A worker alone holds its end of its pipe: no other thread forks while this process has it, and what
a worker forks closes it. So whatever ends a worker, at whatever moment, is the end of file for who
reads its answer, also in the middle of one: nobody waits for a dead process. A pipe that several
write to has no such end, which is why pools such as `concurrent.futures`, pebble and loky wait for
ever for the rest of a message.

Workers end with the block that has started them, and with the thread that has started them, also
one that is killed.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from multiprocessing.connection import Connection, wait
from typing import Any, Final, NamedTuple, cast

from extract.filtertool.processes.sandbox import picklable
from extract.filtertool.processes.signals import deferred_signals, end_with_parent, reset_signals

FORKS: Final = sys.platform == "linux"


class _Pipe:
    """The pipe of a worker, which is made in the middle of the fork that starts it.

    Attributes:
        ours: The parent's end.
        theirs: The worker's end.
        failure: Why there is none.
    """

    def __init__(self) -> None:
        self.ours: Connection | None = None
        self.theirs: Connection | None = None
        self.failure: OSError | None = None

    def open(self) -> None:
        """Makes both ends, unless there can be none."""
        try:
            self.ours, self.theirs = multiprocessing.Pipe()
        except OSError as error:  # raised again where the worker is made
            self.failure = error

    @staticmethod
    def close(end: Connection | None) -> None:
        """Closes an end that this process does not need."""
        if end is not None:
            end.close()


# One fork at a time, so that none has the worker's end of another one's pipe. Pipes are made and
# closed between the steps of a fork and not around it: other modules have locks that forks take,
# such as `concurrent.futures.thread`, and a thread must not come with one of them already held.
_FORKING: Final = threading.Lock()
_starting = threading.local()


def _before_fork() -> None:
    _FORKING.acquire()
    pipe: _Pipe | None = getattr(_starting, "pipe", None)
    if pipe is not None:
        pipe.open()


def _after_fork_in_parent() -> None:
    pipe: _Pipe | None = getattr(_starting, "pipe", None)
    if pipe is not None:
        pipe.close(pipe.theirs)
    _FORKING.release()


if FORKS:
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_FORKING.release,
    )


class ChildExit(NamedTuple):
    """The end of a worker that did not answer.

    Attributes:
        status: As in `multiprocessing.Process.exitcode`: negative for a signal. None where nobody
            can tell, as in a program that ignores the ends of its children (``SIGCHLD``).
    """

    status: int | None


class Worker:
    """A process that answers items, one at a time.

    It is a fork, where the system has forks: it inherits everything that its parent has compiled,
    and only items and answers are pickled.

    Args:
        call: Answers an item. Without forks, it and ``begin`` are pickled.
        begin: Called by the process before its first item.

    Attributes:
        pipe: To wait for: it can be read when there is something for `receive`.
    """

    def __init__(self, call: Callable[[Any], Any], begin: Callable[[], object] | None) -> None:
        context: Any = multiprocessing.get_context("fork" if FORKS else "spawn")
        self._answer: Future[Any] | None = None
        self._ended = False
        pipe = _Pipe()
        with warnings.catch_warnings(), deferred_signals():
            # Python 3.12 warns of threads, such as Arrow's. A child does not use what these hold.
            warnings.simplefilter("ignore", DeprecationWarning)
            if not FORKS:
                pipe.open()
            arguments = (pipe if FORKS else pipe.theirs, os.getpid(), call, begin)
            self._process = context.Process(target=_serve, args=arguments, daemon=True)
            _starting.pipe = pipe if FORKS else None
            try:
                self._process.start()
            finally:
                _starting.pipe = None
                if not FORKS:
                    pipe.close(pipe.theirs)
        if pipe.ours is None:
            self._process.join()
            raise pipe.failure or OSError("a pipe to a worker cannot be made")
        self.pipe = pipe.ours

    @property
    def idle(self) -> bool:
        """Whether it can take an item."""
        return self._answer is None

    def send(self, item: Any) -> Future[Any]:
        """Gives an item to the process, which must be idle.

        Returns:
            The answer, a `ChildExit`, or what was raised; there after `receive`.
        """
        assert self._answer is None
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # `receive` will see it
            self.pipe.send(item)
        self._answer = Future()
        return self._answer

    def receive(self) -> None:
        """Waits for the answer to the item, or for the end of the process."""
        answer, self._answer = self._answer, None
        assert answer is not None
        try:
            message = self.pipe.recv_bytes()
        except (EOFError, OSError):  # the latter in the middle of an answer
            self._process.join()
            self._ended = True
            answer.set_result(ChildExit(self._process.exitcode))
            return
        succeeded, value = pickle.loads(message)
        if succeeded:
            answer.set_result(value)
        else:
            answer.set_exception(value)

    @property
    def ended(self) -> bool:
        """Whether `receive` has seen the end of the process."""
        return self._ended

    def kill(self) -> None:
        """Kills the process; `join` waits until it has gone."""
        self._process.kill()

    def join(self) -> None:
        """Waits for the end of the process."""
        self._process.join()
        self.pipe.close()


class Workers:
    """Workers that answer at the same time, made by `open_workers`; one that ends is replaced."""

    def __init__(self, size: int, start: Callable[[], Worker]) -> None:
        self._size = size
        self._start = start
        self._members: list[Worker] = []
        self._owner = os.getpid()

    def send(self, item: Any) -> Future[Any] | None:
        """Gives an item to an idle worker; None if there is none."""
        for worker in self._members:
            if worker.idle:
                return worker.send(item)
        if len(self._members) == self._size:
            return None
        with deferred_signals():
            self._members.append(self._start())
        return self._members[-1].send(item)

    def receive(self, seconds: float | None = None) -> None:
        """Receives the answers that are there; waits for the first one so long, or for ever."""
        busy = {worker.pipe: worker for worker in self._members if not worker.idle}
        for pipe in wait(busy, seconds):
            worker = busy[cast(Connection, pipe)]
            worker.receive()
            if worker.ended:
                self._members.remove(worker)
                worker.join()

    def kill(self) -> None:
        """Ends all of them; a fork of their parent, which has this object too, ends none."""
        if os.getpid() != self._owner:
            return
        with deferred_signals():
            for worker in self._members:
                worker.kill()
            for worker in self._members:
                worker.join()
            self._members.clear()


@contextlib.contextmanager
def open_workers(
    size: int, call: Callable[[Any], Any], begin: Callable[[], object] | None = None
) -> Iterator[Workers]:
    """Opens workers, which start with their first items and end with the block.

    Args:
        size: How many at the most.
        call, begin: As for `Worker`.
    """
    workers = Workers(size, lambda: Worker(call, begin))
    try:
        yield workers
    finally:
        workers.kill()


def _serve(
    given: _Pipe | Connection | None,
    parent: int,
    call: Callable[[Any], Any],
    begin: Callable[[], object] | None,
) -> None:
    """Answers items until the parent closes its end of the pipe, or has ended."""
    reset_signals()
    end_with_parent(parent)
    if isinstance(given, _Pipe):
        _starting.pipe = None  # for its own forks
        given.close(given.ours)
        given = given.theirs
        if given is not None:
            os.register_at_fork(after_in_child=given.close)
    if given is None:
        return
    pipe = given
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            item = pipe.recv()
            try:
                if begin is not None:
                    begin()
                    begin = None
                message = pickle.dumps((True, call(item)), pickle.HIGHEST_PROTOCOL)
            except Exception as error:  # raised again by the parent
                error.add_note(f"In a worker:\n{traceback.format_exc()}")
                message = pickle.dumps((False, picklable(error)), pickle.HIGHEST_PROTOCOL)
            pipe.send_bytes(message)
            del item, message  # they may be large
