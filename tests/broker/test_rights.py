"""Whose subscriptions are told nothing, for want of a right: no query is read for it."""

from __future__ import annotations

from pathlib import Path

from extract.broker.registry import Registry
from extract.broker.rights import barred_among
from extract.broker.security.tokens import TokenFile
from extract.broker.store import feeds, join_streams
from extract.broker.store import subscriptions as subs
from extract.broker.store.join_streams import JoinStreams
from extract.broker.store.rows import FeedRow, SubscriberRow
from extract.broker.store.store import BrokerStore


def test_all_subscriptions_from_what_is_in_memory(tmp_path: Path) -> None:
    store = BrokerStore.open(str(tmp_path / "store"), synchronous=False)
    writer = store.writer
    owners = {key: ("ann" if key % 2 else "bob") for key in range(1, 301)} | {
        301: "eve",
        302: "ann",
        303: "bob",
        304: "bob",
    }
    joins = {
        300: JoinStreams(("f", "g")),
        302: JoinStreams(("f", "g")),
        303: JoinStreams(("f",), "g"),
        304: JoinStreams(("S",)),
    }
    with writer.transaction():
        for key, name in ((1, "f"), (2, "g")):
            feeds.add_feed(writer, FeedRow(key, name, b"{}", 7))
        rows = [SubscriberRow(key, f"s{key}", 1, owner, 0, 0) for key, owner in owners.items()]
        subs.add_subscribers(writer, rows)
        join_streams.put_joins(writer, joins)
    (tmp_path / "tokens").write_text(
        "ann token-of-ann-0000001 subscribe f\nbob token-of-bob-0000001 subscribe f,g\n"
    )
    (tmp_path / "tokens").chmod(0o600)
    registry = Registry(writer)
    store.close()
    tokens = TokenFile.load(tmp_path / "tokens")
    # No such client; and those who may not read all that is joined, publish, or read every stream.
    assert barred_among(registry, tokens, registry.by_key.values()) == {301, 302, 303, 304}
