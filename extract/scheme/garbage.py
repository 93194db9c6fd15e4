"""Keeping the garbage collector out of the way where a million values are made at once."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_MANY: Final = 100_000


@contextmanager
def no_collection(many: int = _MANY) -> Iterator[None]:
    """Switches the collector off, where no cycles are made; other values are freed all the same.

    Otherwise it walks through all that there is each time that this has grown by a quarter, and
    finds nothing: that took a third of the time to load or prepare a large scheme. Nor does it walk
    through all that is new at the end, as if it were young: it is taken for old at once.

    Args:
        many: New values from which on a walk through them is worth avoiding.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            # To count what is frozen takes time with its number: only where there is much to gain.
            # What somebody has frozen would thaw.
            if gc.get_count()[0] >= many and not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()  # puts it with the oldest
            gc.enable()
