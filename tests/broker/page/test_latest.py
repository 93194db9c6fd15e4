"""The latest of everything that one may see, from the store."""

from __future__ import annotations

import json
from pathlib import Path

from extract.broker.page.latest import latest_dead_letters, latest_notifications
from extract.broker.store import notifications as notification_rows
from extract.broker.store import subscriptions as subscription_rows
from extract.broker.store.rows import DeadLetter, NotificationRow
from extract.broker.store.store import BrokerStore


def test_dead_letters_come_with_their_webhooks_the_newest_first(tmp_path: Path) -> None:
    store = BrokerStore.open(str(tmp_path / "store"), synchronous=False)
    try:
        writer = store.writer
        with writer.transaction():
            body = json.dumps({"xpath": "//a", "webhook": "https://hooks.example/a"}).encode()
            subscription_rows.start_versions(writer, 1, 1, [(1, body)])
            for key, seq in ((1, 4), (2, 9), (1, 5)):
                letter = DeadLetter(key, seq, "503 eight times", 8, 1_000_000 * seq)
                notification_rows.add_dead_letter(writer, letter)
        with store.reader() as connection:
            found = latest_dead_letters(connection, {1: "mine"}, 10)
            assert latest_dead_letters(connection, {}, 10) == []
        assert [(one.subscription, one.seq, one.webhook) for one in found] == [
            ("mine", 5, "https://hooks.example/a"),
            ("mine", 4, "https://hooks.example/a"),
        ]
        assert found[0].reason == "503 eight times"
    finally:
        store.close()


def test_the_latest_notifications_end_with_the_newest(tmp_path: Path) -> None:
    store = BrokerStore.open(str(tmp_path / "store"), synchronous=False)
    try:
        writer = store.writer
        rows = []
        for position in range(1, 6):
            names = [f"{position}-{place}" for place in (1, 2)]
            data = [
                {"feed": "f", "document": one, "time": "t", "matches": [{}] * 9} for one in names
            ]
            rows.append(NotificationRow(1, 2 * position, 2, position, json.dumps(data).encode()))
        rows.append(NotificationRow(2, 1, 1, 6, b'[{"feed": "f", "document": "not mine"}]'))
        with writer.transaction():
            notification_rows.add_notifications(writer, rows)
        with store.reader() as connection:
            found = latest_notifications(connection, {1: "a"}, 3)
        assert [(one.seq, one.document) for one in found] == [(8, "4-2"), (9, "5-1"), (10, "5-2")]
        assert all(len(one.matches) == 3 for one in found if isinstance(one.matches, list))
    finally:
        store.close()
