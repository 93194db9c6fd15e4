"""What ends a command from outside: Ctrl-C, ``kill``, a shutdown, a closed terminal.

Each becomes an exception where the command is, so that whatever is half written is removed on the
way out. `ExtractGroup.invoke` has it for all commands.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Final

_ENDINGS: Final = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
_USUAL: Final = (signal.SIG_DFL, signal.default_int_handler)
_AGAIN: Final = 0.02  # seconds


class Terminated(KeyboardInterrupt):
    """A signal to end the process; code that handles Ctrl-C handles this as well.

    Attributes:
        signal: The number of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.signal = number


@contextlib.contextmanager
def ended_in_order() -> Iterator[None]:
    """Lets signals that would end the process raise `Terminated`, or KeyboardInterrupt for Ctrl-C.

    One that is ignored, as ``nohup`` does, stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _ENDINGS}
    ours = {number: handler for number, handler in before.items() if handler in _USUAL}
    for number in ours:
        signal.signal(number, _end)
    try:
        yield
    finally:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)  # whatever was to come: it has ended now
        for number, handler in ours.items():
            signal.signal(number, handler)


def _end(number: int, frame: FrameType | None) -> None:
    if _is_importing(frame) and hasattr(signal, "setitimer"):
        # Modules written in C, such as lxml, swallow what is raised while they are loaded.
        # Sent again, not raised from there: a signal may be blocked by then.
        signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(number))
        signal.setitimer(signal.ITIMER_REAL, _AGAIN)
        return
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    for each in _ENDINGS:  # another one must not disturb the tidying up
        if each != signal.SIGINT and signal.getsignal(each) is _end:
            signal.signal(each, signal.SIG_IGN)
    raise Terminated(number)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False
