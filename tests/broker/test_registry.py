"""What is known of subscriptions and feeds does not grow with those that were deleted."""

from __future__ import annotations

import json
from pathlib import Path

from extract.broker.journal import Transaction
from extract.broker.registry import Registry
from extract.broker.retention import trim_store
from extract.broker.settings import BrokerSettings
from extract.broker.store.store import BrokerStore
from extract.broker.store.tables import TABLES
from tests.support.broker_server import AskedBroker, served

_STAYS = frozenset({"meta", "past_number", "block", "outcome", "notification", "evidence"})


def _known(asked: AskedBroker) -> dict[str, int]:
    """How much the broker has in memory, by what it is."""
    broker = asked.broker
    registry, catalog = broker.registry, broker.catalog
    return {
        "subscribers": len(registry.subscribers),
        "by_key": len(registry.by_key),
        "numbers": len(registry.numbers),
        "owned": len(registry.owned),
        "feeds": len(registry.feeds),
        "feeds_by_key": len(registry.feeds_by_key),
        "feed_names": len(registry.feed_names),
        "webhooks": len(broker.with_webhook),
        "checks": len(catalog.checks),
    }


def _come_and_go(asked: AskedBroker, number: int) -> None:
    """A feed with subscriptions that get news; then all are deleted, in both ways."""
    feed = f"g{number}"
    asked.put_feed(feed)
    lines = [json.dumps({"id": f"t{number}.{n}", "xpath": f"/a[b > {n}]"}) for n in range(5)]
    hook = {"id": f"h{number}", "xpath": "/no", "webhook": "https://hooks.example/x"}
    body = "\n".join([*lines, json.dumps(hook)])
    assert asked.ask("POST", f"/feeds/{feed}/subscriptions", body).json["created"] == 6
    asked.post("<a><b>9</b></a>", "d", feed)
    assert len(asked.all_notifications(f"t{number}.0", 1)) == 1
    for name in (f"t{number}.0", f"h{number}"):
        assert asked.ask("DELETE", f"/feeds/{feed}/subscriptions/{name}").status == 204
    assert asked.ask("DELETE", f"/feeds/{feed}").status == 204


def test_nothing_stays_of_what_was_deleted(tmp_path: Path) -> None:
    with served(tmp_path, synchronous=False) as asked:
        asked.put_feed("f")
        asked.put("s", xpath="/a", select="doc")
        sizes = []
        for number in range(8):
            _come_and_go(asked, number)
            asked.post("<a/>", f"d{number}")  # behind the end of the feed: the matcher is there now
            asked.all_notifications("s", number + 1)
            sizes.append(_known(asked))
    assert sizes[0]["subscribers"] == sizes[0]["feed_names"] == 1
    assert sizes == [sizes[0]] * 8
    store = BrokerStore.open(str(tmp_path), synchronous=False)
    registry = Registry(store.writer)
    with store.writer.transaction():
        trim_store(Transaction(store.writer, registry, registry.last_time), BrokerSettings(), False)
    rows = {
        table: store.writer.query(f"SELECT COUNT(*) FROM {table}")[0][0]
        for table in TABLES
        if table not in _STAYS
    }
    names = {name for (name,) in store.writer.query("SELECT name FROM meta")}
    store.close()
    assert {table: count for table, count in rows.items() if count} == {
        "feed": 1,
        "subscriber": 1,
        "subscription": 1,
    }
    assert names == {
        *("version", "revision", "next_feed", "next_subscriber"),
        "transactions",
        "store",
    }


def test_numbers_go_on_after_a_restart(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        with served(tmp_path, synchronous=False) as asked:
            asked.put_feed("f")
            asked.put("s", xpath="/a", select="doc")
            asked.put("other", xpath="/a", select="doc")
            asked.post("<a/>", "d")
            assert [one["seq"] for one in asked.all_notifications("s", 1)] == [number]
            assert asked.ask("DELETE", "/feeds/f/subscriptions/s").status == 204
            keys = set(asked.broker.registry.by_key)
    assert keys == {2}
    with served(tmp_path, synchronous=False) as asked:
        assert asked.put("new", xpath="/a").status == 201
        assert max(asked.broker.registry.by_key) == 5  # no key is used twice
