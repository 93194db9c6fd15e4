"""A child process for calls that may take for ever: it is killed, and the caller goes on.

libxml2 cannot be interrupted: not by a signal, not by another thread. What the cost guard
(`extract.filtertool.matchers.cost_bound`) does not trust runs here instead. A child is an
interpreter of its own and no fork, so that it may be started from threads, from pool workers and
next to a JVM; it answers many calls. For documents that may kill the process that filters them, use
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
from collections.abc import Callable
from typing import IO, Any, Final, NamedTuple

from extract.filtertool.processes.memory import is_out_of_memory, memory_limited

_LENGTH: Final = struct.Struct("!Q")
_START: Final = "from extract.filtertool.processes.sandbox import serve; serve()"
_GRACE: Final = 5.0  # seconds of its own time after which a child ends itself: nobody has killed it
_LONG: Final = 3_600.0  # seconds; for what ends some day


class Before(NamedTuple):
    """What a child must have done before a call, such as parsing the document that it is about.

    Attributes:
        key: Tells what was done apart from anything else of this process.
        function, args: As for `Sandbox.call`.
    """

    key: object
    function: Callable[..., object]
    args: tuple[Any, ...]


class TimeLimit(Exception):
    """A call took too long, and the child that made it was killed."""


class MemoryLimit(Exception):
    """A call took too much memory, and the child that made it was ended."""


class ChildDied(Exception):
    """The child ended in the middle of a call, for want of memory perhaps."""


class Sandbox:
    """Calls functions in a child process, which starts with the first call.

    >>> Sandbox().call(max, 3, 5, seconds=60)
    5
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._stop: Callable[[], object] | None = None
        self._done: object = None  # the key of what the child did last before a call

    def call(
        self,
        function: Callable[..., Any],
        *args: Any,
        seconds: float,
        memory: int | None = None,
        before: Before | None = None,
    ) -> Any:
        """What ``function(*args)`` returns, or raises.

        Args:
            function: A function of a module; it and its arguments are pickled.
            seconds: How long it may take.
            memory: How many bytes it may take, beside what the child has; None: as many as there
                are.
            before: What the child does first, unless that is what it did last. It may take as long
                and as much as it takes.

        Raises:
            TimeLimit: It took longer.
            MemoryLimit: It took more.
            MemoryError: There was no memory left, whatever it may take.
            ChildDied: The child ended before it could answer.
        """
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
            self.close()  # it may be full of what is half done
            if memory is not None:
                raise MemoryLimit("it took too much memory")
        raise value

    def close(self) -> None:
        """Ends the child, whatever it is doing."""
        if self._stop is not None:
            self._stop()
        self._child = self._stop = self._done = None

    def _running(self) -> subprocess.Popen[bytes]:
        if self._child is None:
            path = os.pathsep.join([entry for entry in sys.path if entry] or [os.getcwd()])
            self._child = subprocess.Popen(
                [sys.executable, "-c", _START],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": path},
            )
            self._stop = weakref.finalize(self, _end, self._child, os.getpid())
            # It says that it is there: starting does not count as time of the first call.
            _receive(self._child.stdout, time.monotonic() + _LONG)
        return self._child


_shared: tuple[int, Sandbox] | None = None


def shared_sandbox() -> Sandbox:
    """The one child of this process: more would only take memory, for one call is made at a time.

    A process that was forked has its own.
    """
    global _shared
    if _shared is None or _shared[0] != os.getpid():
        _shared = (os.getpid(), Sandbox())
    return _shared[1]


def _end(child: subprocess.Popen[bytes], owner: int) -> None:
    if os.getpid() != owner:  # a fork of the process has a copy of this, but not the child
        return
    child.kill()
    child.wait()
    for stream in (child.stdin, child.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):  # what was not sent yet goes nowhere
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
    """Exactly this many bytes, from a stream that nothing else reads."""
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
    """What the child does: answers calls until its parent is gone."""
    source, target = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nobody's print may get between the answers
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends us
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
            answer = (False, MemoryError() if is_out_of_memory(error) else _picklable(error))
        _send(target, answer)


def _limit(seconds: float) -> None:
    """Lets the system end this process after so much time of its own.

    Should the parent be killed, nobody else would stop a call that takes for ever.
    """
    try:
        import resource
    except ImportError:  # not on this system
        return
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    most = int(time.process_time() + seconds) + 1
    if hard == resource.RLIM_INFINITY or most < hard:
        resource.setrlimit(resource.RLIMIT_CPU, (most, hard))


def _picklable(error: Exception) -> Exception:
    """The error, or one that says the same; lxml's carry logs that do not travel."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
