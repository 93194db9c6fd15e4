"""Documents that lead to very many notifications: told in parts, in order, memory bounded."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from extract.broker import batches
from extract.broker.batches import MatchedBatch
from extract.broker.outcomes import outcome_operation
from extract.broker.pending import UnwrittenNotifications
from tests.support.broker_server import served


def test_parts_of_a_batch_are_told_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "PART_BYTES", 500)
    monkeypatch.setattr(batches, "SLICE_NOTIFICATIONS", 20)
    names = [f"d{number}" for number in range(300)]
    with served(tmp_path) as asked:
        asked.put_feed("f")
        for name in ("one", "two", "three"):
            asked.put(name, xpath="/a", select="doc")
        asked.post_lines([(name, "<a/>") for name in names])
        for name in ("one", "two", "three"):
            rows = asked.all_notifications(name, 300)
            assert [row["seq"] for row in rows] == list(range(1, 301))
            assert [row["document"] for row in rows] == names
    with served(tmp_path) as asked:  # nothing is told again
        with asked.broker.store.reader() as connection:  # the mark comes after the last part
            (mark,) = connection.query("SELECT documents, notifications FROM outcome")
            assert mark == (300, 900)
        assert asked.post("<a/>", "last").status == 202
        (row,) = asked.notifications("one", 300)
        assert (row["seq"], row["document"]) == (301, "last")


def test_documents_whose_last_part_was_not_written_are_told_again(tmp_path: Path) -> None:
    """At least once: the mark comes with the last part."""
    with served(tmp_path) as asked:
        asked.put_feed("f")
        asked.put("one", xpath="/a", select="doc")
        broker = asked.broker
        broker.matcher.stop()  # as if it were killed between two parts
        assert asked.post("<a/>", "d").status == 202
        part = MatchedBatch(1, told={1: [b'{"document":"d"}']}, is_part=True)
        broker.journal.submit(outcome_operation(part, (), lambda batch, keys: None))
        assert asked.ask("GET", "/feeds/f/subscriptions/one").status == 200
    with served(tmp_path) as asked:
        rows = asked.all_notifications("one", 2)
        assert [(row["seq"], row["document"]) for row in rows] == [(1, "d"), (2, "d")]


def test_the_matcher_waits_until_notifications_are_written() -> None:
    unwritten = UnwrittenNotifications(10)
    unwritten.add(100)  # the first always has room
    waiting = threading.Thread(target=unwritten.add, args=(1,))
    waiting.start()
    unwritten.remove(100)
    waiting.join(20)
    assert not waiting.is_alive()
    unwritten.add(9)
    ended = threading.Thread(target=unwritten.add, args=(1,))
    ended.start()
    unwritten.end()
    ended.join(20)
    assert not ended.is_alive()
