"""A stream out of a broker's feed and into another: each document once, also after a crash."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import extract
from extract.errors import BrokerError
from extract.pipeline import prepare
from extract.subscriptions import Subscriptions
from tests.support.running_broker import running_broker

pytest.importorskip("pyspark", reason="Spark is not installed")

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LATIN = "<?xml version='1.0' encoding='iso-8859-1'?><a><b>\u00e9</b></a>".encode("iso-8859-1")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_broker(tmp_path_factory.mktemp("fed") / "store") as address:
        yield address


@pytest.fixture(scope="module")
def client(url: str) -> Iterator[extract.Client]:
    with extract.Client(url) as opened:
        yield opened


def forget_last_batch(checkpoint: Path) -> int:
    """Removes Spark's note that its last batch is done; returns the batch's number."""
    notes = [note for note in (checkpoint / "commits").iterdir() if note.name.isdecimal()]
    last = max(int(note.name) for note in notes)
    for note in (checkpoint / "commits").glob(f"*{last}*"):
        note.unlink()
    return last


def test_from_one_feed_into_another(
    spark: SparkSession, url: str, client: extract.Client, tmp_path: Path
) -> None:
    file, checkpoint = tmp_path / "scheme.json", tmp_path / "checkpoint"
    prepare(None, Subscriptions.of({"b": "//b", "big": "/a[b > 5]"})).save(file)
    for name in ("orders", "found"):
        client.put_feed(name, schema="none")
    client.add("found", {"told": "/match[@query = 'b']/node"})

    def streamed() -> list[tuple[int, str, str]]:
        query = extract.spark.stream(
            spark,
            file,
            f"{url}/feeds/orders",
            f"{url}/feeds/found",
            checkpoint,
            most=2,
            seconds=None,
        )
        query.awaitTermination()
        return [(one.number, one.name, one.content.decode()) for one in client.documents("found")]

    documents: list[tuple[str, Any]] = [
        ("d1", b"<a><b>1</b><b>9</b></a>"),
        ("d2", b"<a><c/></a>"),
        ("d3", LATIN),
    ]
    assert all(one.accepted for one in client.publish_all("orders", documents))
    first = streamed()
    assert [name for _, name, _ in first] == ["d1", "d1", "d3"]
    texts = {text for _, _, text in first}
    nodes = [
        f'<node node="element" name="b" path="/a[1]/b[{n}]" start="{start}" end="{start + 8}">'
        f"&lt;b&gt;{value}&lt;/b&gt;</node>"
        for n, start, value in ((1, 3, 1), (2, 11, 9))
    ]
    assert f'<match document="d1" query="b" count="2">{"".join(nodes)}</match>' in texts
    assert any('query="big"' in text for text in texts)
    assert any("\u00e9" in text for text in texts)
    told = client.notifications("told", wait=10)
    assert told[0].document == "d1"

    # As after a crash between what was published and Spark's own note: the batch is repeated. Then
    # the stream goes on behind the last number.
    forget_last_batch(checkpoint)
    client.publish("orders", b"<a><b>2</b></a>", "d4")
    second = streamed()
    assert second[: len(first)] == first
    assert [name for _, name, _ in second[len(first) :]] == ["d4"]

    # And where even the results of the batch are gone.
    last = forget_last_batch(checkpoint)
    shutil.rmtree(checkpoint / "extract-results" / f"{last:08d}")
    assert streamed() == second
    assert not list((checkpoint / "extract-fetched").iterdir())


def test_into_a_directory(
    spark: SparkSession, url: str, client: extract.Client, tmp_path: Path
) -> None:
    prepare(None, Subscriptions.of({"b": "//b"})).save(tmp_path / "scheme.json")
    client.put_feed("many", schema="none")
    some = [(f"m{n}", b"<a><b>%d</b></a>" % n) for n in range(250)]
    list(client.publish_all("many", some))
    extract.spark.stream(
        spark,
        tmp_path / "scheme.json",
        f"{url}/feeds/many",
        tmp_path / "out",
        tmp_path / "checkpoint",
        form="jsonl",
        most=100,
        seconds=None,
    ).awaitTermination()
    folders = sorted((tmp_path / "out").iterdir())
    assert len(folders) == 3
    lines = [
        json.loads(line)
        for folder in folders
        for part in (folder / "matches").iterdir()
        for line in part.read_text().splitlines()
    ]
    assert Counter(line["document"] for line in lines) == Counter(name for name, _ in some)


def test_a_feed_that_is_not_there(spark: SparkSession, url: str, tmp_path: Path) -> None:
    prepare(None, Subscriptions.of({"b": "//b"})).save(tmp_path / "scheme.json")
    here, nope = str(tmp_path / "some"), f"{url}/feeds/nope"
    for documents, directory in ((nope, here), (here, nope)):
        with pytest.raises(BrokerError, match="no such feed"):
            extract.spark.stream(
                spark, tmp_path / "scheme.json", documents, directory, tmp_path / "c", seconds=None
            )


def test_ranges_of_numbers(url: str, client: extract.Client) -> None:
    """What Spark asks the source, and where it begins."""
    from extract.filtertool.spark.feed_source import FeedReader

    client.put_feed("ranges", schema="none")
    list(client.publish_all("ranges", [("", b"<a/>")] * 5))
    reader = FeedReader(f"{url}/feeds/ranges", 2)
    assert reader.initialOffset() == {"number": 0}
    rows, end = reader.read({"number": 0})
    assert (list(rows), end) == ([(0, 2)], {"number": 2})
    reader.prepareForTriggerAvailableNow()
    client.publish("ranges", b"<a/>")
    rows, end = reader.read({"number": 4})
    assert (list(rows), end) == ([(4, 5)], {"number": 5})
    rows, end = reader.read(end)
    assert (list(rows), end) == ([], {"number": 5})
