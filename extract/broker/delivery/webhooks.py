"""Webhooks: each gets its notifications in order, one after the other, at least once.

A notification that is not taken is tried again, after longer and longer waits; when all attempts
have failed it becomes a dead letter, and the next one follows.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple

from extract.broker.delivery.caller import CallFailed, WebhookCaller
from extract.broker.delivery.signatures import sign
from extract.broker.journal import Journal, Operation, Transaction
from extract.broker.metrics import Metrics
from extract.broker.problems import Problem
from extract.broker.settings import WebhookSettings
from extract.broker.store import notifications as notification_rows
from extract.broker.store.rows import DeadLetter

_log: Final = logging.getLogger("extract.broker.webhooks")
_PAGE: Final = 50
_TURN_SECONDS: Final = 1.0  # after which others may call, where many wait


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where notifications of a subscription go.

    Attributes:
        key: Of the subscriber.
        id: Of the subscription.
        url: The address.
        secret: That signs.
        delivered: The last number that was delivered or given up.
    """

    key: int
    id: str
    url: str
    secret: str
    delivered: int


Page = tuple[list[tuple[int, bytes]], int]


class _Refused(NamedTuple):
    """A notification that was not taken; unlike the error, it holds nothing of it.

    Attributes:
        seq: Its number.
        reason: Why.
        for_good: Whether another attempt would be in vain.
    """

    seq: int
    reason: str
    for_good: bool


class _Attempts:
    """Counts the attempts at one notification; a webhook that has changed begins anew."""

    def __init__(self) -> None:
        self._what: tuple[int, str, str] | None = None
        self._count = 0

    def add(self, webhook: Webhook, seq: int) -> int:
        """Counts one more; returns how many there were."""
        what = (seq, webhook.url, webhook.secret)
        self._count = self._count + 1 if what == self._what else 1
        self._what = what
        return self._count


class Webhooks:
    """Delivers to all webhooks, in one event loop.

    Args:
        settings: How often and how long.
        find: The webhook of a subscriber; None if it has none now.
        read: Notifications of a subscriber above a number, at most so many.
        journal: Writes what was delivered.
        metrics: The figures.
        caller: Makes the calls.
    """

    def __init__(
        self,
        settings: WebhookSettings,
        find: Callable[[int], Awaitable[Webhook | None]],
        read: Callable[[int, int, int], Awaitable[Page]],
        journal: Journal,
        metrics: Metrics,
        caller: WebhookCaller,
    ) -> None:
        self._settings = settings
        self._find = find
        self._read = read
        self._journal = journal
        self._metrics = metrics
        self._caller = caller
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._delivered: dict[
            int, int
        ] = {}  # of this process; the store hears of it a little later
        self._again: set[int] = set()  # that got news while they were busy
        self._calls = asyncio.Semaphore(settings.concurrency)
        self._is_stopping = False

    def __len__(self) -> int:
        return len(self._tasks)

    def wake(self, keys: Iterable[int]) -> None:
        """Delivers what is there for subscribers; in the event loop."""
        for key in keys if not self._is_stopping else ():
            if key in self._tasks:
                self._again.add(key)
            else:
                task = asyncio.get_running_loop().create_task(self._deliver(key))
                self._tasks[key] = task
                task.add_done_callback(partial(self._ended, key))

    def _ended(self, key: int, done: asyncio.Task[None]) -> None:
        self._tasks.pop(key, None)
        if done.cancelled():
            return
        if done.exception() is not None:  # as while the store does not answer
            _log.error("a webhook's delivery failed", exc_info=done.exception())
            done.get_loop().call_later(self._settings.failure_delay, self.wake, [key])
        elif key in self._again:
            self._again.discard(key)
            self.wake([key])

    async def stop(self) -> None:
        """Ends all deliveries; what was not delivered is delivered after the next start."""
        self._is_stopping = True
        self._again.clear()
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._caller.close()

    async def _deliver(self, key: int) -> None:
        """Delivers all that there is for a subscriber.

        What is to be delivered is in memory only while it is its turn to call: between attempts it
        is in the store, so that many webhooks that fail take no memory.
        """
        at = self._delivered.get(key, -1)
        attempts = _Attempts()
        while True:
            self._again.discard(key)
            webhook = await self._find(key)
            if webhook is None:
                self._delivered.pop(key, None)
                return
            at = max(at, webhook.delivered)
            try:
                async with self._calls:
                    page, _ = await self._read(key, at, _PAGE)
                    if not page:
                        return
                    failed = await self._post_some(webhook, page)
                    del page
            except Problem as problem:
                oldest = problem.fields.get("oldest")
                if oldest is None:
                    raise
                _log.warning("a webhook is behind what is kept, and goes on with %d", oldest)
                at = int(oldest) - 1
                continue
            at = self._delivered.get(key, at)
            if failed is not None:
                count = attempts.add(webhook, failed.seq)
                if count < self._settings.attempts and not failed.for_good:
                    if at > webhook.delivered:
                        self._note(key, at)
                    await asyncio.sleep(self._delay(count))
                    continue
                await self._give_up(DeadLetter(key, failed.seq, failed.reason, count, _now()))
                self._delivered[key] = at = failed.seq
            self._note(key, at)

    async def _post_some(
        self, webhook: Webhook, page: Sequence[tuple[int, bytes]]
    ) -> _Refused | None:
        """Posts notifications until one is not taken, or others want their turn.

        Returns:
            The one that was not taken; None if all were that were posted.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + _TURN_SECONDS
        for seq, entry in page:
            try:
                await self._post(webhook, seq, entry)
            except CallFailed as failed:
                self._metrics.failures.inc()
                return _Refused(seq, failed.reason, failed.for_good)
            self._delivered[webhook.key] = seq
            if loop.time() > end:
                break
        return None

    async def _give_up(self, letter: DeadLetter) -> None:
        """Makes a notification a dead letter."""

        def apply(transaction: Transaction) -> None:
            if letter.key in transaction.registry.by_key:  # else it was deleted just now
                notification_rows.add_dead_letter(transaction.connection, letter)

        await self._journal.ask(apply)
        self._metrics.dead_letters.inc()
        _log.warning(
            "a notification was given up after %d attempts: %s", letter.attempts, letter.reason
        )

    async def call(self, webhook: Webhook, seq: int, entry: bytes) -> None:
        """Posts one notification, when it is its turn.

        Raises:
            CallFailed: It was not taken.
        """
        async with self._calls:
            await self._post(webhook, seq, entry)

    async def _post(self, webhook: Webhook, seq: int, entry: bytes) -> None:
        """Posts one notification, signed.

        Raises:
            CallFailed: It was not taken.
        """
        name = f"msg_{webhook.key}_{seq}"
        timestamp = int(time.time())
        body = b'{"subscription":%s,"seq":%d,%s' % (_text(webhook.id), seq, entry[1:])
        headers = {
            "content-type": "application/json",
            "user-agent": "extract-broker",
            "webhook-id": name,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": sign(webhook.secret, name, timestamp, body),
        }
        await self._caller.call(webhook.url, headers, body)
        self._metrics.deliveries.inc()

    def _delay(self, attempts: int) -> float:
        """Seconds before the next attempt: twice as long each time, and never quite the same."""
        settings = self._settings
        longest = min(settings.first_delay * 2.0 ** (attempts - 1), settings.longest_delay)
        return longest * random.uniform(0.75, 1.0)

    def _note(self, key: int, seq: int) -> None:
        """Has it written how far deliveries went; lost by a crash, some are delivered again."""

        def apply(transaction: Transaction) -> Any:
            notification_rows.set_delivered(transaction.connection, [(key, seq)])

        self._journal.submit(Operation(apply, lasting=True))


def _now() -> int:
    return time.time_ns() // 1_000


def _text(value: str) -> bytes:
    from extract.broker.bodies import encode

    return encode(value)
