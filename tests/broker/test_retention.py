"""Retention: what is old or too much goes; a reader behind it gets 410 with the oldest number."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from extract.broker.journal import Operation, Transaction
from extract.broker.retention import trim_store
from extract.broker.settings import BrokerLimits, BrokerSettings
from extract.broker.store import idempotency, retained
from tests.support.broker_server import AskedBroker, served


def _trimmed(asked: AskedBroker) -> int:
    """The first number that is kept, when some are gone."""
    while True:
        answer = asked.ask("GET", "/subscriptions/s/notifications?after=0")
        if answer.status == 410:
            oldest: int = answer.json["oldest"]
            return oldest
        time.sleep(0.02)


def test_what_is_old_goes_and_numbers_are_never_used_again(tmp_path: Path) -> None:
    with served(tmp_path) as asked:
        asked.put_feed("f")
        asked.put("s", xpath="/a", select="doc")
        for number in range(4):
            asked.post("<a/>", f"d{number}")
        asked.all_notifications("s", 4)
    short = BrokerSettings(retain_seconds=0.001)
    with served(tmp_path, short) as asked:
        assert _trimmed(asked) == 5
        assert asked.notifications("s", after=4, wait=0) == []
        assert asked.ask("GET", "/feeds/f/documents").json["documents"] == []
        gone = asked.ask("GET", "/feeds/f/documents?after=1")
        assert (gone.status, gone.json["oldest"]) == (410, 5)
        assert asked.ask("GET", "/feeds/f/documents?after=4").json["documents"] == []
    with served(tmp_path) as asked:
        receipt = asked.post("<a/>", "new").json
        assert receipt["number"] == 5
        (row,) = asked.notifications("s", after=4)
        assert (row["seq"], row["document"]) == (5, "new")


def test_what_is_too_much_goes(tmp_path: Path) -> None:
    with served(tmp_path) as asked:
        asked.put_feed("f")
        asked.put("s", xpath="/a", select="doc")
        for number in range(4):
            asked.post("<a>" + "x" * 1_000 + "</a>", f"d{number}")
            asked.all_notifications("s", number + 1)
    with served(tmp_path, BrokerSettings(retain_bytes=2_900)) as asked:
        oldest = _trimmed(asked)
        assert oldest == 3
        rows = asked.notifications("s", after=oldest - 1, wait=0)
        assert [one["document"] for one in rows] == ["d2", "d3"]
        assert [one["name"] for one in _documents(asked, 0)] == ["d2", "d3"]
        gone = asked.ask("GET", "/feeds/f/documents?after=1")
        assert (gone.status, gone.json["oldest"]) == (410, 3)
        assert [one["number"] for one in _documents(asked, 2)] == [3, 4]


def test_what_is_kept_is_counted_without_looking_at_all_of_it(tmp_path: Path) -> None:
    for round_ in range(2):
        with served(tmp_path, BrokerSettings(retain_bytes=2_900)) as asked:
            asked.put_feed("f")
            asked.put("s", xpath="/a", select="doc")
            for number in range(4 * round_, 4 * round_ + 4):
                asked.post("<a>" + "x" * 1_000 + "</a>")
                assert len(asked.notifications("s", after=number)) == 1
            counted, summed = _kept(asked)
            assert counted == summed > 0


def _kept(asked: AskedBroker) -> tuple[int, int]:
    """Bytes that are kept, as they are counted and as they are in the store."""
    answers: list[tuple[int, int]] = []
    done = threading.Event()

    def apply(transaction: Transaction) -> None:
        counted = transaction.registry.retained_bytes
        answers.append((counted, retained.retained_bytes(transaction.connection)))
        transaction.afterwards.append(done.set)

    asked.broker.journal.submit(Operation(apply))
    assert done.wait(20)
    return answers[0]


def _documents(asked: AskedBroker, after: int) -> list[Any]:
    documents: list[Any] = asked.ask("GET", f"/feeds/f/documents?after={after}").json["documents"]
    return documents


def test_answers_for_repeated_requests_have_a_bound(tmp_path: Path) -> None:
    """The oldest are forgotten first; a repetition of one that is kept is still harmless."""
    limits = BrokerLimits(idempotency_bytes=5_000)
    with served(tmp_path, BrokerSettings(limits=limits)) as asked:
        asked.put_feed("f")
        registry = asked.broker.registry
        for number in range(60):
            one = asked.post_lines([("d", "<a/>")], Idempotency_Key=f"k{number}")
            assert one.json["accepted"] == 1
        asked.broker.journal.submit(
            Operation(lambda transaction: trim_store(transaction, asked.broker.settings, False))
        )
        first = asked.ask("PUT", "/feeds/g", {})  # behind it
        assert first.status == 201
        assert 0 < registry.idempotency_bytes <= 5_000
        again = asked.post_lines([("d", "<a/>")], Idempotency_Key="k59").json
        assert again["results"][0]["number"] == 60
        forgotten = asked.post_lines([("d", "<a/>")], Idempotency_Key="k0").json
        assert forgotten["results"][0]["number"] == 61
        kept = asked.broker.store.read(idempotency.kept_bytes)
        assert registry.idempotency_bytes == kept


def test_trimming_goes_on_after_a_transaction_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task ended at the first failure, such as a full disk, until the broker was restarted."""
    fails, failed, trimmed = threading.Event(), threading.Event(), threading.Event()

    def trim(*args: Any) -> bool:
        if fails.is_set() and not failed.is_set():
            failed.set()
            raise OSError(28, "No space left on device")
        if failed.is_set():
            trimmed.set()
        return False

    monkeypatch.setattr("extract.broker.broker.trim_store", trim)
    monkeypatch.setattr("extract.broker.broker.TRIM_SECONDS", 0.001)
    with served(tmp_path, synchronous=False):
        fails.set()
        assert trimmed.wait(30)
