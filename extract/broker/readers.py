"""Readers that wait: a long poll or an event stream wakes when its subscription has news."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable


class Readers:
    """Who waits for which subscription, in one event loop."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: dict[int, set[asyncio.Event]] = {}

    def bind(self, loop: asyncio.AbstractEventLoop) -> None:
        """Tells in which loop readers wait."""
        self._loop = loop

    def __len__(self) -> int:
        return sum([len(some) for some in list(self._waiting.values())])

    def enter(self, key: int) -> asyncio.Event:
        """Begins to wait for a subscription; before one looks whether there is something."""
        event = asyncio.Event()
        self._waiting.setdefault(key, set()).add(event)
        return event

    def leave(self, key: int, event: asyncio.Event) -> None:
        """Ends waiting."""
        some = self._waiting.get(key)
        if some is not None:
            some.discard(event)
            if not some:
                del self._waiting[key]

    def wake(self, keys: Iterable[int]) -> None:
        """Wakes those who wait for subscriptions; from any thread."""
        chosen = [key for key in keys if key in self._waiting]
        if chosen and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._set, chosen)

    def wake_everybody(self) -> None:
        """Wakes all who wait; from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.wake_all)

    def wake_all(self) -> None:
        """Wakes all who wait; in the loop."""
        self._set(list(self._waiting))

    def _set(self, keys: Iterable[int]) -> None:
        for key in keys:
            for event in self._waiting.get(key, ()):
                event.set()
