"""Room for bytes of many requests together: what comes, and what clients have not taken."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator
from typing import Final

from extract.broker.problems import Problem

TOO_MANY: Final = "too many answers are not taken yet"
_WAIT_SECONDS: Final = 5.0  # for room


class ByteRoom:
    """Counts bytes of many requests, in one event loop.

    Args:
        most: How many there may be; what comes first always has room.

    Attributes:
        used: How many there are.
        most: How many there may be.
    """

    def __init__(self, most: int) -> None:
        self.used = 0
        self.most = most
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    def has(self, size: int) -> bool:
        """Whether there is room for more bytes."""
        return not self.used or self.used + size <= self.most

    def take(self, size: int) -> None:
        """Counts bytes that come, if there is room.

        Raises:
            Problem: There is none.
        """
        if not self.has(size):
            raise Problem(429, "too much is being sent to the broker now", retry_after=1)
        self.used += size

    def add(self, size: int) -> None:
        """Counts bytes that are there already."""
        self.used += size

    def give(self, size: int) -> None:
        """Counts bytes no longer; those who wait longest for room get it, a moment later.

        Who has read a page gives back what was held for it, and counts the answer at once: only
        then is it known how much room there is.
        """
        self.used -= size
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._hand_out)

    def _hand_out(self) -> None:
        while self._waiting and self.has(self._waiting[0][0]):
            wanted, one = self._waiting.popleft()
            if not one.done():
                self.used += wanted
                one.set_result(None)

    @contextlib.asynccontextmanager
    async def held(self, size: int) -> AsyncIterator[None]:
        """Holds room for bytes, as soon as there is some.

        Raises:
            Problem: There was none for some seconds.
        """
        if self._waiting or not self.has(size):
            one: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((size, one))
            try:
                await asyncio.wait_for(one, _WAIT_SECONDS)
            except TimeoutError:
                raise Problem(429, TOO_MANY, retry_after=5) from None
            except asyncio.CancelledError:
                if one.done() and not one.cancelled():
                    self.give(size)
                raise
        else:
            self.used += size
        try:
            yield
        finally:
            self.give(size)
