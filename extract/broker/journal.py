"""The one thread that writes: what waits is written in one transaction, with one sync.

Operations are applied in the order in which they came, so a document is matched with exactly those
subscriptions that were answered before it came. While a transaction is being synced, the next
operations gather; the more clients there are, the more share a sync.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from extract.broker.problems import Problem
from extract.broker.registry import Registry
from extract.broker.store.database import Connection
from extract.broker.store.rows import ArrivedBlock
from extract.broker.store.store import BrokerStore
from extract.broker.store.tables import DamagedStore, StoreError
from extract.broker.submissions import Submission, write_submissions
from extract.broker.times import now_us

_log: Final = logging.getLogger("extract.broker.journal")
_ROUND_BYTES: Final = 32 << 20  # of documents in one transaction
_COMPANY: Final = 4  # operations of a transaction that were not alone
_GATHER_SECONDS: Final = 0.001
_AGAIN_SECONDS: Final = 1.0  # until what must not get lost is tried again


@dataclass(frozen=True, slots=True)
class SubscriptionChange:
    """A subscription whose query begins, changes or ends.

    Attributes:
        feed: The key of the feed.
        key: Of the subscriber.
        body: The subscription as JSON; None if it ends.
        revision: Of the subscriptions, with it.
    """

    feed: int
    key: int
    body: bytes | None
    revision: int


@dataclass(frozen=True, slots=True)
class FeedEnd:
    """A feed that is gone; its subscriptions ended before."""

    feed: int


@dataclass(frozen=True, slots=True)
class JoinRights:
    """All joins that there are, after rights have changed.

    Attributes:
        joins: Their subscriptions as JSON, by the keys of the subscribers.
        barred: Subscribers whose joins are not asked, for want of a right.
    """

    joins: Mapping[int, bytes]
    barred: Collection[int]


Event = ArrivedBlock | SubscriptionChange | FeedEnd | JoinRights


@dataclass(slots=True)
class Transaction:
    """What an operation works with.

    Attributes:
        connection: To the store, inside of a transaction.
        registry: What is known in memory; changed together with the store.
        now: The time of the transaction, in microseconds since 1970.
        events: What the matcher hears when it is committed.
        afterwards: Called when it is committed.
    """

    connection: Connection
    registry: Registry
    now: int
    events: list[Event] = field(default_factory=list)
    afterwards: list[Callable[[], None]] = field(default_factory=list)


@dataclass(slots=True)
class Operation:
    """A change of the store.

    Attributes:
        apply: Makes the change and returns the answer; raises `Problem` before it changes anything.
        reply: Who waits for the answer.
        lasting: Whether it is tried again until it is written, before all later ones that last.
    """

    apply: Callable[[Transaction], Any]
    reply: asyncio.Future[Any] | None = None
    lasting: bool = False
    outcome: Any = None


class Journal:
    """Writes operations in the order in which they come.

    Args:
        store: The store.
        registry: What is known in memory.
        heard: Called with the events of each transaction, in the thread that writes.
        settled: Called with the submissions of each transaction, written or not.
        observe: Called with how long a transaction took, in seconds, and its operations.
    """

    def __init__(
        self,
        store: BrokerStore,
        registry: Registry,
        heard: Callable[[list[Event]], None],
        settled: Callable[[list[Submission]], None] = lambda submissions: None,
        observe: Callable[[float, int], None] = lambda seconds, operations: None,
    ) -> None:
        self._settled = settled
        self._store = store
        self._registry = registry
        self._heard = heard
        self._observe = observe
        self._waiting: list[Operation | Submission] = []
        self._condition = threading.Condition()
        self._stopping = False
        self._expected = 0  # operations, as many as the last time
        self._last_seconds = 0.0  # that their transaction took
        self._dropped = False  # an operation that lasts was left to the next start
        self._is_stale = False  # what is known in memory has changes that were not written
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
        self.failure: BaseException | None = None

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Writes what waits, then ends."""
        with self._condition:
            self._stopping = True
            self._condition.notify()
        self._thread.join()

    def __len__(self) -> int:
        return len(self._waiting)

    def submit(self, one: Operation | Submission) -> None:
        """Has an operation written; its reply gets the answer when it is on disk.

        Raises:
            Problem: The broker stops.
        """
        with self._condition:
            if self._stopping and not _lasts(one):
                raise Problem(503, "the broker is stopping", retry_after=5)
            self._waiting.append(one)
            if len(self._waiting) in (1, self._expected):
                self._condition.notify()

    async def ask(self, apply: Callable[[Transaction], Any]) -> Any:
        """Makes a change and returns its answer when it is on disk."""
        reply = asyncio.get_running_loop().create_future()
        self.submit(Operation(apply, reply))
        return await reply

    def _run(self) -> None:
        while True:
            with self._condition:
                while not self._waiting and not self._stopping:
                    self._condition.wait()
                if not self._waiting:
                    return
                self._gather()
                taken = self._take()
            begun = time.perf_counter()
            if len(taken) > 1 and not self._dropped and self._write(taken):
                self.failure = None
            else:
                self._write_each(taken)
            self._expected, self._last_seconds = len(taken), time.perf_counter() - begun

    def _gather(self) -> None:
        """Waits a moment for those who are about to send again, if the last ones were many.

        A sync costs as much processor time as dozens of requests do. Those who were answered just
        now send again within a moment; who waits for them, no longer than a commit takes, syncs
        less often, and answers more. A client that is alone does not wait.
        """
        if self._expected < _COMPANY or self._stopping:
            return
        end = time.perf_counter() + min(self._last_seconds, _GATHER_SECONDS)
        while len(self._waiting) < self._expected and not self._stopping:
            left = end - time.perf_counter()
            if left <= 0:
                return
            self._condition.wait(left)

    def _take(self) -> list[Operation | Submission]:
        """What waits, up to a size."""
        total = 0
        for count, one in enumerate(self._waiting):
            total += one.size if isinstance(one, Submission) else 0
            if total > _ROUND_BYTES and count:
                taken, self._waiting = self._waiting[:count], self._waiting[count:]
                return taken
        taken, self._waiting = self._waiting, []
        return taken

    def _write(self, taken: list[Operation | Submission]) -> bool:
        """Writes operations, all or none; returns whether they are written."""
        begun = time.perf_counter()
        try:
            if self._store.damage is not None:
                raise self._store.damage
            if self._is_stale:
                self._read_again()
            now = max(now_us(), self._registry.last_time + 1)  # times rise, whatever clocks do
            transaction = Transaction(self._store.writer, self._registry, now)
            with self._store.writer.transaction():
                self._apply(taken, transaction)
        except Exception as error:
            if isinstance(error, DamagedStore):
                self._store.damage = error
            self._forget(taken)
            if len(taken) == 1:
                told = None if isinstance(error, StoreError) else error
                _log.error("a transaction failed: %s", error, exc_info=told)
                self.failure = error
            return False
        self._observe(time.perf_counter() - begun, len(taken))
        if transaction.events:
            self._heard(transaction.events)
        for call in transaction.afterwards:
            call()
        self._settle(taken)
        return True

    def _write_each(self, taken: list[Operation | Submission]) -> None:
        """Writes operations one by one, so that no other has to pay for the one that fails.

        Those that last keep their order: behind one that is not written, they wait.
        """
        left: list[Operation | Submission] = []
        are_written = True
        for one in taken:
            if _lasts(one) and (left or self._dropped):
                left.append(one)
            elif not self._write([one]):
                are_written = False
                if _lasts(one):
                    left.append(one)
                else:
                    damage = self._store.damage
                    reason = "the store cannot be written now" if damage is None else damage.reason
                    one.outcome = Problem(503, reason, retry_after=5)
                    self._settle([one])
        if are_written:
            self.failure = None
        if not left:
            return
        with self._condition:
            if self._stopping:
                self._dropped = True  # with what follows: the next start does all of it again
            else:
                self._waiting[:0] = left
                self._condition.wait(_AGAIN_SECONDS)

    def _apply(self, taken: list[Operation | Submission], transaction: Transaction) -> None:
        documents: list[Submission] = []
        for one in taken:
            if isinstance(one, Submission):
                documents.append(one)
                continue
            if documents:
                transaction.events += write_submissions(documents, transaction)
                documents = []
            try:
                one.outcome = one.apply(transaction)
            except Problem as problem:
                one.outcome = problem
        if documents:
            transaction.events += write_submissions(documents, transaction)

    def _forget(self, taken: list[Operation | Submission]) -> None:
        """Nothing was written: what is known in memory is read again, before the next one."""
        self._is_stale = True
        try:
            self._read_again()
        except Exception as error:
            _log.error("the store cannot be read: %s", error)
        for one in taken:
            if isinstance(one, Submission):
                one.written = one.written_bytes = 0

    def _read_again(self) -> None:
        self._registry.load()
        self._is_stale = False

    def _settle(self, taken: list[Operation | Submission]) -> None:
        submissions = [one for one in taken if isinstance(one, Submission)]
        if submissions:
            self._settled(submissions)
        _answer_all(taken)


def _lasts(one: Operation | Submission) -> bool:
    return isinstance(one, Operation) and one.lasting


def _answer_all(taken: list[Operation | Submission]) -> None:
    """Gives the answers to those who wait, with one call for each event loop."""
    loops: dict[asyncio.AbstractEventLoop, list[Operation | Submission]] = {}
    for one in taken:
        if one.reply is not None:
            loops.setdefault(one.reply.get_loop(), []).append(one)
    for loop, some in loops.items():
        try:
            loop.call_soon_threadsafe(_answer, some)
        except RuntimeError:  # the loop is closed: nobody waits any more
            _log.debug("%d answers came after the end", len(some))


def _answer(taken: list[Operation | Submission]) -> None:
    for one in taken:
        reply = one.reply
        if reply is None or reply.done():  # the client has gone
            continue
        if isinstance(one.outcome, Exception):
            reply.set_exception(one.outcome)
        else:
            reply.set_result(one.outcome)
