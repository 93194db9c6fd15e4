"""The thread that writes: one order for all, one sync for many, failures that stay alone."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from extract.broker.journal import Journal, Operation, Transaction
from extract.broker.problems import Problem
from extract.broker.registry import Registry
from extract.broker.store import feeds
from extract.broker.store.store import BrokerStore


def _journal(store: BrokerStore, sizes: list[int]) -> Journal:
    registry = Registry(store.writer)
    return Journal(
        store, registry, lambda events: None, observe=lambda seconds, count: sizes.append(count)
    )


def _note(name: str) -> Any:
    def apply(transaction: Transaction) -> str:
        feeds.set_meta(transaction.connection, name, "there")
        return name

    return apply


def _fail(transaction: Transaction) -> None:
    feeds.set_meta(transaction.connection, "half", "there")
    raise KeyError("a fault")


def _refuse(transaction: Transaction) -> None:
    raise Problem(409, "taken")


def test_operations_that_wait_share_a_transaction(tmp_path: Path) -> None:
    sizes: list[int] = []
    store = BrokerStore.open(str(tmp_path))
    journal = _journal(store, sizes)

    async def ask() -> list[Any]:
        waiting = [asyncio.ensure_future(journal.ask(_note(f"n{number}"))) for number in range(20)]
        await asyncio.sleep(0)  # all are submitted; then the thread starts
        journal.start()
        return await asyncio.gather(*waiting)

    assert asyncio.run(ask()) == [f"n{number}" for number in range(20)]
    assert sizes == [20]
    journal.stop()
    store.close()


def test_one_that_fails_leaves_nothing_and_hurts_no_other(tmp_path: Path) -> None:
    store = BrokerStore.open(str(tmp_path))
    journal = _journal(store, [])

    async def ask() -> list[Any]:
        operations = [_note("a"), _fail, _refuse, _note("b")]
        waiting = [asyncio.ensure_future(journal.ask(one)) for one in operations]
        await asyncio.sleep(0)
        journal.start()
        return await asyncio.gather(*waiting, return_exceptions=True)

    first, failed, refused, last = asyncio.run(ask())
    assert (first, last) == ("a", "b")
    assert (failed.status, refused.status) == (503, 409)
    with store.reader() as reader:
        assert feeds.meta(reader, "half") == ""
        assert feeds.meta(reader, "b") == "there"
    journal.stop()
    store.close()


def test_what_must_not_get_lost_is_tried_again(tmp_path: Path) -> None:
    store = BrokerStore.open(str(tmp_path))
    journal = _journal(store, [])
    done = threading.Event()
    attempts: list[int] = []

    def apply(transaction: Transaction) -> None:
        attempts.append(1)
        if len(attempts) < 2:
            raise OSError("no room")
        transaction.afterwards.append(done.set)

    journal.submit(Operation(apply, lasting=True))
    journal.start()
    assert done.wait(20)
    assert journal.failure is None
    journal.stop()
    with pytest.raises(Problem, match="stopping"):
        journal.submit(Operation(_note("late")))
    store.close()


def test_what_must_not_get_lost_keeps_its_order_while_the_store_fails(tmp_path: Path) -> None:
    store = BrokerStore.open(str(tmp_path))
    journal = _journal(store, [])
    done = threading.Event()
    written: list[int] = []
    failures = {1: 2, 2: 1}  # how often each operation fails: in company, and alone

    def operation(number: int) -> Operation:
        def apply(transaction: Transaction) -> None:
            if failures.get(number):
                failures[number] -= 1
                raise OSError("no room")
            transaction.afterwards.append(lambda: written.append(number))
            if number == 3:
                transaction.afterwards.append(done.set)

        return Operation(apply, lasting=True)

    for number in (1, 2, 3):
        journal.submit(operation(number))
    journal.start()
    assert done.wait(20)
    assert written == [1, 2, 3]
    journal.stop()
    store.close()


def test_nothing_that_lasts_is_written_behind_what_an_end_has_left(tmp_path: Path) -> None:
    """Else the mark "matched up to here" would pass a batch that was never written."""
    store = BrokerStore.open(str(tmp_path))
    journal = _journal(store, [])
    journal.submit(Operation(_fail, lasting=True))
    journal.submit(Operation(_note("behind"), lasting=True))
    journal.submit(Operation(_note("other")))
    ending = threading.Thread(target=journal.stop)
    journal.start()
    ending.start()
    ending.join(20)
    assert not ending.is_alive()
    with store.reader() as reader:
        assert feeds.meta(reader, "behind") == ""
        assert feeds.meta(reader, "other") == "there"
    store.close()
