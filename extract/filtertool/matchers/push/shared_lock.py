"""A lock for many who read and one who changes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class SharedLock:
    """A lock that several threads may share, or one have alone.

    A thread that wants it alone goes before those that come after it and would share it, so that
    many readers do not keep a change waiting. A thread must not take it twice.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._sharing = 0
        self._waiting = 0
        self._exclusive = False

    def share(self) -> None:
        """Takes the lock together with others who share it, until `release`."""
        with self._lock:  # the condition's own, which is faster to take
            while self._exclusive or self._waiting:
                self._changed.wait()
            self._sharing += 1

    def release(self) -> None:
        """Gives up a share."""
        with self._lock:
            self._sharing -= 1
            if self._waiting:
                self._changed.notify_all()

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Holds the lock together with others who share it."""
        self.share()
        try:
            yield
        finally:
            self.release()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Holds the lock alone."""
        with self._lock:
            self._waiting += 1
            try:
                while self._exclusive or self._sharing:
                    self._changed.wait()
            finally:
                self._waiting -= 1
            self._exclusive = True
        try:
            yield
        finally:
            with self._lock:
                self._exclusive = False
                self._changed.notify_all()
