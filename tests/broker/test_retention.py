"""Retention: what is old or too much goes; a reader behind it gets 410 with the oldest number."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from extract.broker.settings import BrokerSettings
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


def _documents(asked: AskedBroker, after: int) -> list[Any]:
    documents: list[Any] = asked.ask("GET", f"/feeds/f/documents?after={after}").json["documents"]
    return documents
