"""What is to be done when an object goes, in the process that made it and in no other.

A process that is forked has copies of all objects, and collects them as garbage. To close a copy of
a connection there would end that of the parent, or crash.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from typing import Any, Final

_left: Final[list[Callable[[], Any]]] = []  # with what they hold, in processes that were forked


def when_gone(owner: object, action: Callable[[], Any]) -> Callable[[], Any]:
    """Has something done when an object goes, at the latest when the process ends; once.

    Args:
        owner: The object.
        action: What to do; it must not hold the object.

    Returns:
        A function that does it at once.
    """
    return weakref.finalize(owner, _act, os.getpid(), action)


def _act(process: int, action: Callable[[], Any]) -> None:
    if os.getpid() == process:
        action()
    else:
        _left.append(action)
