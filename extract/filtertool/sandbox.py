"""A child process that can be killed, for what may take for ever.

libxml2 cannot be interrupted: not by a signal, not by another thread. What the cost guard
(`extract.filtertool.cost`) does not trust runs here instead. A child is an interpreter of its own
and no fork, so that it may be started from threads, from pool workers and next to a JVM.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import select
import struct
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import IO, Any, Final

_LENGTH: Final = struct.Struct("!Q")
_START: Final = "from extract.filtertool.sandbox import serve; serve()"


class TimeLimit(Exception):
    """A call took too long, and the child that made it was killed."""


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

    def call(self, function: Callable[..., Any], *args: Any, seconds: float) -> Any:
        """What ``function(*args)`` returns, or raises.

        Args:
            function: A function of a module; it and its arguments are pickled.
            seconds: How long it may take.

        Raises:
            TimeLimit: It took longer.
            ChildDied: The child ended before it could answer.
        """
        with self._lock:
            return self._call(function, args, seconds)

    def _call(self, function: Callable[..., Any], args: tuple[Any, ...], seconds: float) -> Any:
        child = self._running()
        until = time.monotonic() + seconds
        try:
            _send(child.stdin, (function, args))
            succeeded, value = _receive(child.stdout, until)
        except (BrokenPipeError, EOFError) as error:
            self.close()
            raise ChildDied("the child process ended; it may have run out of memory") from error
        except BaseException:
            self.close()
            raise
        if succeeded:
            return value
        raise value

    def close(self) -> None:
        """Ends the child, whatever it is doing."""
        if self._stop is not None:
            self._stop()
        self._child = self._stop = None

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
    while head := source.read(_LENGTH.size):
        function, args = pickle.loads(source.read(*_LENGTH.unpack(head)))
        answer: tuple[bool, Any]
        try:
            answer = (True, function(*args))
        except KeyboardInterrupt:
            return
        except Exception as error:
            answer = (False, _picklable(error))
        _send(target, answer)


def _picklable(error: Exception) -> Exception:
    """The error, or one that says the same; lxml's carry logs that do not travel."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
