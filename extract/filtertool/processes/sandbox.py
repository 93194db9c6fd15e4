"""A child process for calls that may never end: it is killed, and the caller goes on.

libxml2 cannot be interrupted: not by a signal, not by another thread. Queries that the cost bound
(`extract.filtertool.matchers.cost_bound`) does not trust run here instead. A child is a separate
interpreter and not a fork, so that it may be started from threads, from pool workers and next to a
JVM; it answers many calls. For documents that may kill the process that filters them, use
`isolation`.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import select
import signal
import struct
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import IO, Any, Final, NamedTuple

from extract.filtertool.processes.memory import is_out_of_memory, memory_limited
from extract.limits import GivenUp, Limits

_LENGTH: Final = struct.Struct("!Q")
# The path is set after the start: as PYTHONPATH it would come before the standard library, of which
# a module beside somebody's script may have the name.
_START: Final = (
    "import sys; sys.path[:] = sys.argv[1:]; "
    "from extract.filtertool.processes.sandbox import serve; serve()"
)
_GRACE: Final = 5.0  # seconds of processor time after which a child that was not killed ends itself
_LONG: Final = 3_600.0  # seconds, for calls that end


class Before(NamedTuple):
    """A call that a child must have made before another, such as parsing the document.

    Attributes:
        key: Identifies the call among all calls of this process.
        function, args: As for `Sandbox.call`.
    """

    key: object
    function: Callable[..., object]
    args: tuple[Any, ...]


class NoAnswer(Exception):
    """A call that the child did not answer: it took more than it may."""

    def reason(self, limits: Limits) -> GivenUp:
        """Returns why there is no answer, with the limit that was passed.

        Args:
            limits: Those of the call.
        """
        return GivenUp(self)


class TimeLimit(NoAnswer):
    """A call took too long, and the child that made it was killed."""

    def reason(self, limits: Limits) -> GivenUp:
        """Returns the limit of time."""
        return GivenUp(limits.passed("query_seconds"))


class MemoryLimit(NoAnswer):
    """A call took too much memory, and the child that made it was ended."""

    def reason(self, limits: Limits) -> GivenUp:
        """Returns the limit of memory."""
        return GivenUp(limits.passed("query_memory"))


class ChildDied(NoAnswer):
    """The child ended during a call, perhaps for lack of memory."""


_put_off: Final = threading.local()


@contextlib.contextmanager
def calls_put_off() -> Iterator[None]:
    """Makes no calls of this thread in the block: each raises `TimeLimit` at once.

    For a caller that makes them later, when others no longer wait for it.
    """
    before = getattr(_put_off, "now", False)
    _put_off.now = True
    try:
        yield
    finally:
        _put_off.now = before


class Sandbox:
    """Calls functions in a child process, which starts with the first call.

    >>> Sandbox().call(max, 3, 5, seconds=60)
    5
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._stop: Callable[[], object] | None = None
        self._done: object = None  # the key of the child's last `Before`

    def call(
        self,
        function: Callable[..., Any],
        *args: Any,
        seconds: float,
        memory: int | None = None,
        before: Before | None = None,
    ) -> Any:
        """Returns the result of ``function(*args)`` in the child, or raises its exception.

        Args:
            function: A function of a module; it and its arguments are pickled.
            seconds: The time limit.
            memory: The memory limit in bytes, on top of the child's present memory; None for no
                limit.
            before: A call that the child makes first, unless it was its last one. It has no limits.

        Raises:
            TimeLimit: The call took longer.
            MemoryLimit: The call took more.
            MemoryError: There was no memory left, below the limit.
            ChildDied: The child ended before it answered.
        """
        if seconds <= 0 or getattr(_put_off, "now", False):
            raise TimeLimit("it took too long")
        with self._lock:
            if before is not None and (self._child is None or self._done != before.key):
                self._done = None
                self._call(before.function, before.args, _LONG, None)
                self._done = before.key
            return self._call(function, args, seconds, memory)

    def _call(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        seconds: float,
        memory: int | None,
    ) -> Any:
        try:
            child = self._running()
            until = time.monotonic() + seconds
            _send(child.stdin, (function, args, seconds, memory))
            succeeded, value = _receive(child.stdout, until)
        except (BrokenPipeError, EOFError) as error:
            self.close()
            raise ChildDied("the child process ended; it may have run out of memory") from error
        except BaseException:
            self.close()
            raise
        if succeeded:
            return value
        if isinstance(value, MemoryError):
            self.close()  # an answer may be on its way
            if memory is not None:
                raise MemoryLimit("it took too much memory")
        raise value

    def close(self) -> None:
        """Kills the child."""
        if self._stop is not None:
            self._stop()
        self._child = self._stop = self._done = None

    def _running(self) -> subprocess.Popen[bytes]:
        if self._child is None:
            path = [entry or os.getcwd() for entry in sys.path]
            self._child = subprocess.Popen(
                [sys.executable, "-c", _START, *path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            self._stop = weakref.finalize(self, _end, self._child, os.getpid())
            # The child reports that it runs: its start does not count as time of the first call.
            _receive(self._child.stdout, time.monotonic() + _LONG)
        return self._child


_shared: tuple[int, Sandbox] | None = None


def shared_sandbox() -> Sandbox:
    """Returns the one sandbox of this process; more would only take memory, for calls are
    sequential.

    A forked process has its own.
    """
    global _shared
    if _shared is None or _shared[0] != os.getpid():
        _shared = (os.getpid(), Sandbox())
    return _shared[1]


def _end(child: subprocess.Popen[bytes], owner: int) -> None:
    if os.getpid() != owner:  # a fork inherits this object, but not the child
        return
    child.kill()
    child.wait()
    for stream in (child.stdin, child.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):  # unsent data is dropped
                stream.close()


def _send(stream: IO[bytes] | None, message: Any) -> None:
    assert stream is not None
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    stream.write(_LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def _receive(stream: IO[bytes] | None, until: float) -> tuple[bool, Any]:
    assert stream is not None
    (length,) = _LENGTH.unpack(_read(stream, _LENGTH.size, until))
    succeeded, value = pickle.loads(_read(stream, length, until))
    return succeeded, value


def _read(stream: IO[bytes], count: int, until: float) -> bytes:
    """Reads exactly so many bytes from an unbuffered stream."""
    parts = io.BytesIO()
    while parts.tell() < count:
        left = until - time.monotonic()
        if left <= 0 or not select.select([stream.fileno()], [], [], left)[0]:
            raise TimeLimit("it took too long")
        data = os.read(stream.fileno(), count - parts.tell())
        if not data:
            raise EOFError
        parts.write(data)
    return parts.getvalue()


def serve() -> None:
    """The main loop of the child: answers calls until its parent is gone."""
    source, target = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of print must not mix with the answers
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and ends the child
    if hasattr(select, "poll"):
        threading.Thread(target=_end_with_parent, daemon=True).start()
    _send(target, (True, None))
    while head := source.read(_LENGTH.size):
        function, args, seconds, memory = pickle.loads(source.read(*_LENGTH.unpack(head)))
        _limit(seconds + _GRACE)
        bounded = contextlib.nullcontext() if memory is None else memory_limited(memory)
        answer: tuple[bool, Any]
        try:
            with bounded:
                answer = (True, function(*args))
        except Exception as error:
            answer = (False, MemoryError() if is_out_of_memory(error) else picklable(error))
        _send(target, answer)


def _end_with_parent() -> None:
    """Ends this process when its parent has gone, also in the middle of a call.

    The system could do it (`extract.filtertool.processes.signals`), but would look at the thread
    that has started the child, which others use as well.
    """
    parent = select.poll()
    parent.register(0, 0)  # asks for no data: only the end of file is told
    parent.poll()
    os._exit(1)


def _limit(seconds: float) -> None:
    """Makes the system end this process after so much processor time.

    If the parent is killed, only this stops a call that never ends and keeps Python's lock.
    """
    try:
        import resource
    except ImportError:  # not on this system
        return
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    most = int(time.process_time() + seconds) + 1
    if hard == resource.RLIM_INFINITY or most < hard:
        resource.setrlimit(resource.RLIMIT_CPU, (most, hard))


def picklable(error: Exception) -> Exception:
    """Returns the error, or a picklable one with the same text; lxml's errors hold logs."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
