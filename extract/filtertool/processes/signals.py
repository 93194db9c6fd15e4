"""Signals that end a command, in the process that starts workers and in the workers."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Final

_PARENT_DEATH: Final = 1  # PR_SET_PDEATHSIG of Linux

_ENDING: Final = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


@contextlib.contextmanager
def deferred_signals() -> Iterator[None]:
    """Defers signals whose handlers raise, such as Ctrl-C, to the end of the block.

    For blocks that swallow exceptions, such as a fork.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []
    handlers = {int(number): signal.getsignal(number) for number in _ENDING}
    raising = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in raising:
        signal.signal(number, lambda number, _: received.append(number))
    try:
        yield
    finally:
        for number, handler in raising.items():
            signal.signal(number, handler)
    for number in received:
        raising[number](number, None)


def reset_signals() -> None:
    """Makes signals end this process, a worker, without a handler of its parent.

    Ctrl-C is ignored: the parent handles it and ends its workers.
    """
    for number in _ENDING:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def end_with_parent(parent: int) -> None:
    """Has the system kill this process, a worker, when its parent ends, whatever it is doing then.

    To be exact, when that thread ends which has started it. Other systems than Linux cannot do it:
    there a worker sees the end of its pipe when it has answered.

    Args:
        parent: The parent, which may have ended by now.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PARENT_DEATH, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
