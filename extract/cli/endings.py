"""What ends a command from outside besides Ctrl-C: ``kill``, a shutdown, a closed terminal.

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

_ENDINGS: Final = ("SIGTERM", "SIGHUP")  # not every system has both


class Terminated(KeyboardInterrupt):
    """The process was told to end; what heeds Ctrl-C heeds this as well.

    Attributes:
        signal: The number of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.signal = number


@contextlib.contextmanager
def ended_in_order() -> Iterator[None]:
    """Lets signals that would end the process raise `Terminated` in the block.

    One that is ignored, as ``nohup`` does, stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name) for name in _ENDINGS if hasattr(signal, name)]
    ours = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, _terminate)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _terminate(number: int, _: FrameType | None) -> None:
    for each in _ENDINGS:  # a second one must not disturb the tidying up
        if hasattr(signal, each) and signal.getsignal(getattr(signal, each)) is _terminate:
            signal.signal(getattr(signal, each), signal.SIG_IGN)
    raise Terminated(number)
