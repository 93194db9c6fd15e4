"""What a client may do in a second, and how many connections it may hold."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from extract.broker.problems import Problem

_BURST_SECONDS = 2.0  # of the average that may come at once
_MOST_CLIENTS = 10_000  # that are remembered


class Rates:
    """Requests and bytes of each client, as buckets that fill with time.

    Args:
        requests: A second, on average; 0 for any number.
        size: Bytes a second, on average; 0 for any number.
    """

    def __init__(self, requests: float, size: float) -> None:
        self._requests = _Buckets(requests)
        self._bytes = _Buckets(size)

    def request(self, client: str) -> None:
        """Counts a request.

        Raises:
            Problem: There were too many.
        """
        self._requests.take(client, 1, "requests")

    def received(self, client: str, size: int) -> None:
        """Counts bytes of documents.

        Raises:
            Problem: There were too many.
        """
        self._bytes.take(client, size, "bytes")


class _Buckets:
    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._levels: dict[str, tuple[float, float]] = {}  # what is left, and when

    def take(self, client: str, amount: float, what: str) -> None:
        if not self._rate:
            return
        now = time.monotonic()
        most = self._rate * _BURST_SECONDS
        left, then = self._levels.get(client, (most, now))
        left = min(most, left + (now - then) * self._rate)
        if left <= 0:
            reason = f"more than {self._rate:g} {what} a second"
            raise Problem(429, reason, retry_after=math.ceil(-left / self._rate) + 1)
        if len(self._levels) >= _MOST_CLIENTS and client not in self._levels:
            self._levels.pop(next(iter(self._levels)))
        self._levels[client] = (left - amount, now)


class Connections:
    """Long polls and event streams of each client.

    Args:
        most: At a time.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: Counter[str] = Counter()

    def check(self, client: str) -> None:
        """Whether a client may hold one more.

        Raises:
            Problem: It holds too many.
        """
        if self._held[client] >= self._most:
            reason = f"more than {self._most:,} connections that wait"
            raise Problem(429, reason, retry_after=5)

    @contextmanager
    def one_of(self, client: str) -> Iterator[None]:
        """Holds a connection of a client; none if it has no name.

        Raises:
            Problem: It holds too many.
        """
        if not client:
            yield
            return
        self.check(client)
        self._held[client] += 1
        try:
            yield
        finally:
            self._held[client] -= 1
            if not self._held[client]:
                del self._held[client]


class Sockets:
    """Open connections of each address, before anybody knows whose they are.

    Args:
        most: At a time.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: Counter[str] = Counter()

    def __len__(self) -> int:
        return self._held.total()

    def enter(self, address: str) -> bool:
        """Counts a connection; returns False if there are too many."""
        if self._held[address] >= self._most:
            return False
        self._held[address] += 1
        return True

    def leave(self, address: str) -> None:
        """Counts a connection no longer."""
        self._held[address] -= 1
        if self._held[address] <= 0:
            del self._held[address]
