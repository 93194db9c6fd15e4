"""The contract of the store, on SQLite and on PostgreSQL."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from extract.broker.registry import Registry
from extract.broker.store import (
    documents,
    feeds,
    idempotency,
    notifications,
    retained,
    set_aside,
)
from extract.broker.store import joins as join_rows
from extract.broker.store import subscriptions as subs
from extract.broker.store.join_streams import JoinStreams
from extract.broker.store.rows import (
    ArrivedBlock,
    ArrivedDocument,
    BatchMark,
    DeadLetter,
    FeedRow,
    NotificationRow,
    RejectionRow,
    SetAsideRow,
    SubscriberRow,
)
from extract.broker.store.store import BrokerStore, database_of
from extract.broker.store.tables import VERSION, StoreError
from tests.support.postgres_server import PostgresServer


@pytest.fixture(params=["sqlite", "postgresql"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "store")
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.url(schema=f"b {uuid.uuid4().hex[:12]}")


@pytest.fixture
def store(location: str) -> Iterator[BrokerStore]:
    opened = BrokerStore.open(location)
    yield opened
    opened.close()


def _block(position: int, revision: int = 0) -> ArrivedBlock:
    some = [ArrivedDocument("a", None, b"<a/>"), ArrivedDocument("\0\ud83d", 5, b"\xff\0", 2)]
    some = [one._replace(name=one.name.encode("utf-8", "replace").decode()) for one in some]
    return ArrivedBlock(position, 1, revision, 1_000 * position, 2 * position - 1, some)


def test_what_is_committed_is_there_after_opening_again(location: str) -> None:
    store = BrokerStore.open(location)
    with store.writer.transaction():
        feeds.add_feed(store.writer, FeedRow(1, "f", b"{}", 7))
        documents.add_block(store.writer, _block(1))
        subs.add_subscribers(store.writer, [SubscriberRow(1, "s", 1, "me", 0, 0)])
        subs.start_versions(store.writer, 1, 3, [(1, b'{"xpath": "//a"}')])
    store.close()
    again = BrokerStore.open(location)
    with again.reader() as reader:
        assert feeds.all_feeds(reader) == [FeedRow(1, "f", b"{}", 7)]
        assert documents.blocks_after(reader, 0, 10) == [_block(1)]
        assert subs.all_subscribers(reader) == [SubscriberRow(1, "s", 1, "me", 0, 0)]
        assert [one.body for one in subs.versions_at(reader, 3)] == [b'{"xpath": "//a"}']
        assert subs.versions_at(reader, 2) == []
    again.close()


def test_a_transaction_that_fails_leaves_nothing(store: BrokerStore) -> None:
    def fail() -> None:
        with store.writer.transaction():
            documents.add_block(store.writer, _block(1))
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert documents.last_position(store.writer) == 0
    with store.writer.transaction():
        documents.add_block(store.writer, _block(1))
    assert documents.last_position(store.writer) == 1


def test_readers_see_only_what_is_committed(store: BrokerStore) -> None:
    with store.writer.transaction():
        documents.add_block(store.writer, _block(1))
        with store.reader() as reader:
            assert documents.last_position(reader) == 0
    with store.reader() as reader:
        assert documents.last_position(reader) == 1
        assert [one.position for one in documents.blocks_of_feed(reader, 1, 2, 9)] == [1]


def test_a_reader_cannot_write(store: BrokerStore) -> None:
    with store.reader() as reader, pytest.raises(Exception, match=r"(?i)read|attempt"):
        feeds.set_meta(reader, "a", "b")


def test_one_process_writes(location: str) -> None:
    store = BrokerStore.open(location)
    with pytest.raises(StoreError, match="another broker"):
        BrokerStore.open(location)
    program = (
        "import sys; from extract.broker.store.store import BrokerStore; "
        "BrokerStore.open(sys.argv[1])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, location], capture_output=True, text=True, check=False
    )
    assert "another broker" in done.stderr
    store.close()
    BrokerStore.open(location).close()


def test_queries_by_revision(store: BrokerStore) -> None:
    writer = store.writer
    with writer.transaction():
        subs.start_versions(writer, 1, 1, [(1, b"a"), (2, b"b")])
        subs.end_versions(writer, 3, [1])
        subs.start_versions(writer, 1, 3, [(1, b"c")])
    bodies = {
        number: sorted(one.body for one in subs.versions_at(writer, number)) for number in (1, 2, 3)
    }
    assert bodies == {1: [b"a", b"b"], 2: [b"a", b"b"], 3: [b"b", b"c"]}
    after = [(one.since, one.until) for one in subs.versions_after(writer, 2)]
    assert after == [(1, 3), (3, None)]
    with writer.transaction():
        subs.forget_versions(writer, 3)
    assert [one.body for one in subs.versions_at(writer, 2)] == [b"b"]
    assert subs.present_bodies(writer, [1, 2, 3]) == {1: b"c", 2: b"b"}


def test_notifications_and_their_retention(store: BrokerStore) -> None:
    writer = store.writer
    with writer.transaction():
        subs.add_subscribers(writer, [SubscriberRow(1, "s", 1, "me", 0, 0)])
        for position in (1, 2, 3):
            documents.add_block(writer, _block(position))
            row = NotificationRow(1, 2 * position, 2, position, b"[{},{}]")
            notifications.add_notifications(writer, [row])
            outcome = BatchMark(position, 1_000 * position, 2, 2, 100)
            documents.add_outcome(writer, outcome)
        notifications.add_dead_letter(writer, DeadLetter(1, 1, "gone", 3, 9))
    assert notifications.last_number(writer, 1) == 6
    rows = notifications.notifications_after(writer, 1, 2, 10, 1 << 24)
    assert [(one.last, one.amount) for one in rows] == [(4, 2), (6, 2)]
    assert retained.retained_bytes(writer) == 300
    assert retained.oldest_batches(writer, 2, 9) == [(1, 1_000, 100), (2, 2_000, 100)]
    assert retained.oldest_batches(writer, 3, 1) == [(1, 1_000, 100)]
    with writer.transaction():
        retained.trim(writer, 3, 3, {1: 7})
    assert retained.oldest_batches(writer, 9, 9) == [(3, 3_000, 0)]
    assert notifications.floor_of(writer, 1) == (6, 0)
    assert notifications.last_number(writer, 1) == 6
    assert documents.matched_position(writer) == 3
    assert documents.blocks_after(writer, 0, 9) == []
    assert feeds.meta(writer, "next_number.1") == "7"
    assert notifications.dead_letters(writer, 1, 0, 9) == []


def test_the_rest_of_the_tables(store: BrokerStore) -> None:
    writer = store.writer
    with writer.transaction():
        idempotency.remember(writer, ("me", "k", b"\0f", b"[1]", 5))
        notifications.put_webhook(writer, 1, 4, "secret")
        notifications.put_webhook(writer, 1, 9, "other")
        rejection = RejectionRow(1, "d\0", "1", "match", "too\ud800 much", 1, 2, 3)
        notifications.add_rejections(writer, [rejection])
        feeds.put_schema(writer, 1, 1, b"x", 1)
        feeds.add_evidence(writer, 1, [b"<a/>", b"<b/>"])
        join_rows.save_state(writer, 3, 4, b"one")
        join_rows.save_state(writer, 5, 6, b"two")
    assert idempotency.find(writer, "me", "k") == (b"\0f", b"[1]")
    assert idempotency.find(writer, "you", "k") is None
    assert notifications.webhook(writer, 1) == (4, "other")
    (row,) = notifications.rejections(writer, 1, 5)
    assert (row.document, row.line) == ("d\ufffd", 1)
    assert feeds.feed_schemas(writer, 1) == [(1, b"x")]
    assert feeds.evidence(writer, 1) == [b"<a/>", b"<b/>"]
    assert join_rows.last_state(writer) == (5, 6, b"two")
    with writer.transaction():
        assert idempotency.forget(writer, 5, 0, 9) == (0, 0)
    assert idempotency.kept_bytes(writer) == 104
    with writer.transaction():
        assert idempotency.forget(writer, 6, 0, 9) == (1, 104)
    assert idempotency.find(writer, "me", "k") is None


def test_a_backup_is_a_store_while_another_writes(location: str, tmp_path: Path) -> None:
    store = BrokerStore.open(location)
    with store.writer.transaction():
        documents.add_block(store.writer, _block(1))
        feeds.add_evidence(store.writer, 1, [b"<a/>"])
        for since in range(1, 2_100):  # more than one page, of one subscriber
            subs.start_versions(store.writer, 1, since, [(1, b"%d" % since)])
    copy = tmp_path / "copy"
    database_of(location).backup(copy)
    with store.writer.transaction():
        documents.add_block(store.writer, _block(2))
    with pytest.raises(StoreError, match="already"):
        database_of(location).backup(copy)
    store.close()
    restored = BrokerStore.open(str(copy))
    assert documents.blocks_after(restored.writer, 0, 9) == [_block(1)]
    versions = [(one.since, one.body) for one in subs.versions_after(restored.writer, 0)]
    assert versions == [(since, b"%d" % since) for since in range(1, 2_100)]
    with restored.writer.transaction():
        feeds.add_evidence(restored.writer, 1, [b"<b/>"])
    assert feeds.evidence(restored.writer, 1) == [b"<a/>", b"<b/>"]
    restored.close()


def test_a_store_of_a_later_version_is_refused(location: str) -> None:
    store = BrokerStore.open(location)
    with store.writer.transaction():
        feeds.set_meta(store.writer, "version", str(VERSION + 1))
    store.close()
    with pytest.raises(StoreError, match=f"version {VERSION + 1}"):
        BrokerStore.open(location)


def test_an_older_version_is_migrated_step_by_step(
    location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from extract.broker.store import tables

    BrokerStore.open(location).close()
    monkeypatch.setattr(tables, "VERSION", VERSION + 2)
    steps = {
        VERSION: ("CREATE TABLE added (key {key}, more {text})",),
        VERSION + 1: ("ALTER TABLE added ADD COLUMN third {integer}",),
    }
    monkeypatch.setattr(tables, "MIGRATIONS", steps)
    store = BrokerStore.open(location)
    assert store.writer.query("SELECT key, more, third FROM added") == []
    assert feeds.meta(store.writer, "version") == str(VERSION + 2)
    store.close()


def test_a_store_of_version_1_forgets_the_deleted(location: str) -> None:
    store = BrokerStore.open(location)
    writer = store.writer
    with writer.transaction():
        writer.execute("DROP TABLE past_number")
        for later in ("set_aside", "join_streams"):
            writer.execute(f"DROP TABLE {later}")
        writer.execute("ALTER TABLE subscriber ADD COLUMN active INTEGER NOT NULL DEFAULT 1")
        feeds.set_meta(writer, "version", "1")
        feeds.add_feed(writer, FeedRow(1, "f", b"{}", 7))
        rows = [SubscriberRow(key, f"s{key}", 1, "me", 10 * key, 0) for key in (1, 2, 3)]
        subs.add_subscribers(writer, rows)
        writer.execute("UPDATE subscriber SET active = 0 WHERE key > 1")
    store.close()
    again = BrokerStore.open(location)
    registry = Registry(again.writer)
    assert list(registry.subscribers) == ["s1"]
    made = registry.new_subscriber("s3", 1, "me")
    assert (made.key, made.start) == (4, 30)
    assert registry.new_subscriber("elsewhere", 1, "me").start == 0
    again.close()


def test_a_store_of_version_2_gets_the_streams_of_joins(location: str) -> None:
    store = BrokerStore.open(location)
    writer = store.writer
    joined = "f//a->x[b->y] JOIN{y=z, 1} f//c->w[d->z]"
    bodies = {
        1: {"xscl": f"{joined} PUBLISH made"},
        2: {"xscl": joined},
        3: {"xpath": "//a", "metadata": {"xscl": f"{joined} PUBLISH no"}},
        4: {"xscl": "no query any more"},
    }
    with writer.transaction():
        for later in ("set_aside", "join_streams"):
            writer.execute(f"DROP TABLE {later}")
        feeds.set_meta(writer, "version", "2")
        feeds.add_feed(writer, FeedRow(1, "f", b"{}", 7))
        rows = [SubscriberRow(key, f"s{key}", 1, "me", 0, 0) for key in bodies]
        subs.add_subscribers(writer, rows)
        texts = {key: json.dumps(body).encode() for key, body in bodies.items()}
        subs.start_versions(writer, 1, 1, texts.items())
        for key, text in texts.items():  # version 2 had no checksums
            writer.execute("UPDATE subscription SET body = ? WHERE key = ?", (text, key))
    store.close()
    again = BrokerStore.open(location)
    registry = Registry(again.writer)
    assert registry.set_aside == {}
    assert registry.joins == {
        1: JoinStreams(("f",), "made"),
        2: JoinStreams(("f",)),
        4: JoinStreams(("S",)),  # who reads every stream may have it
    }
    again.close()


def test_one_that_was_put_again_since_is_not_set_aside(store: BrokerStore) -> None:
    writer = store.writer
    row = SetAsideRow(1, "it took too long", 9, 2, {1: 30, 7: 4})
    with writer.transaction():
        subs.start_versions(writer, 1, 5, [(1, b"{}")])
        assert not set_aside.set_aside(writer, row, 4)  # matched with the version before
        assert set_aside.set_aside(writer, row, 5)
    assert set_aside.all_set_aside(writer) == {1: row}
    with writer.transaction():
        set_aside.take_back(writer, [1])
    assert set_aside.all_set_aside(writer) == {}


def test_places_that_are_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no store of this kind"):
        BrokerStore.open("mysql://x")
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="cannot be made"):
        BrokerStore.open(str(tmp_path / "file"))
    with pytest.raises(StoreError, match="there is no store"):
        database_of(str(tmp_path / "none")).backup(tmp_path / "copy")
