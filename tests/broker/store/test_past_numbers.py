"""The last numbers of subscriptions that are gone."""

from __future__ import annotations

from pathlib import Path

from extract.broker.store import past_numbers
from extract.broker.store.past_numbers import bucket_of
from extract.broker.store.store import BrokerStore


def test_a_bucket_keeps_the_highest_number(tmp_path: Path) -> None:
    store = BrokerStore.open(str(tmp_path), synchronous=False)
    with store.writer.transaction():
        past_numbers.raise_past(store.writer, [("a", 5), ("b", 0), ("a", 3)])
        past_numbers.raise_past(store.writer, [("a", 4), ("é\ud800", 7)])
    assert past_numbers.past_numbers(store.writer) == {bucket_of("a"): 5, bucket_of("é\ud800"): 7}
    store.close()


def test_many_ids_share_few_buckets() -> None:
    buckets = {bucket_of(f"id{number}") for number in range(20_000)}
    assert len(buckets) <= 4_096
    assert max(buckets) < 4_096
