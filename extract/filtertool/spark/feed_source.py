"""Documents out of a broker's feed, batch by batch: Spark records up to which number.

Spark's rows are ranges of numbers, and no documents: the driver fetches those of a range and writes
them into one file, which the workers share. A range is the same in a repetition of its batch.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader
from pyspark.sql.types import StructType

from extract.chunktool.input.find import InputFile
from extract.chunktool.input.messages.form import MessageForm, Messages
from extract.client.address import divided
from extract.client.client import Client
from extract.errors import BrokerError

try:
    from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
except ImportError:  # before Spark 4.2, which then takes everything as one batch

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]
        """What Spark asks for a stream that ends."""


_FORMAT: Final = "extract-feed"
_COLUMNS: Final = pa.schema([("name", pa.string()), ("document", pa.binary())])
_FORM: Final = MessageForm("parquet")
_GROUP_BYTES: Final = 8 << 20  # of documents that are written at once


class FeedSource(DataSource):
    """Ranges of a feed's numbers. Options: ``url`` of the feed, ``most`` documents of a batch."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return _FORMAT

    def schema(self) -> str:
        """Returns the columns: a range is behind one number, up to another."""
        return "after bigint, last bigint"

    def simpleStreamReader(self, schema: StructType) -> FeedReader:
        """Returns the reader."""
        return FeedReader(self.options["url"], int(self.options["most"]))


class FeedReader(SimpleDataSourceStreamReader, SupportsTriggerAvailableNow):
    """Says which documents are the next.

    Args:
        url: Of the feed.
        most: Documents of a batch.
    """

    def __init__(self, url: str, most: int) -> None:
        self._url, self._feed = divided(url)
        self._most = most
        self._until: int | None = None

    def initialOffset(self) -> dict[str, int]:
        """A new stream begins with the oldest document that is kept."""
        with Client(self._url) as client:
            first = next(iter(client.documents(self._feed)), None)
            return {"number": client.feed(self._feed).documents if not first else first.number - 1}

    def prepareForTriggerAvailableNow(self) -> None:
        """Later documents are not for a stream that ends."""
        with Client(self._url) as client:
            self._until = client.feed(self._feed).documents

    def read(self, start: dict[str, int]) -> tuple[Iterator[Any], dict[str, int]]:
        """The next range."""
        with Client(self._url) as client:
            present = client.feed(self._feed).documents
        if self._until is not None:
            present = min(present, self._until)
        end = max(start["number"], min(present, start["number"] + self._most))
        return self.readBetweenOffsets(start, {"number": end}), {"number": end}

    def readBetweenOffsets(self, start: dict[str, int], end: dict[str, int]) -> Iterator[Any]:
        """A range that was read before."""
        after, last = start["number"], end["number"]
        return iter([(after, last)] if last > after else [])


class FeedArrivals:
    """Documents of a feed as inputs of a batch.

    Args:
        url: Of the feed.
        most: Documents of a batch.
        spool: Where the file of a batch is while it is filtered; workers and driver must see it.
    """

    def __init__(self, url: str, most: int, spool: Path) -> None:
        self._url, self._feed = divided(url)
        self._address = url
        self._most = most
        self._spool = spool

    def frame(self, spark: SparkSession) -> DataFrame:
        """Returns the ranges as a stream.

        Raises:
            BrokerError: The broker does not answer, or has no such feed.
        """
        with Client(self._url) as client:
            client.feed(self._feed)  # before a stream begins that would fail
        spark.dataSource.register(FeedSource)
        reader = spark.readStream.format(_FORMAT)
        return reader.option("url", self._address).option("most", self._most).load()

    @contextmanager
    def inputs(self, batch: DataFrame) -> Iterator[list[InputFile]]:
        """The documents of a batch, for as long as they are filtered.

        Raises:
            BrokerError: The broker no longer keeps them, or does not answer.
        """
        self._spool.mkdir(parents=True, exist_ok=True)
        file = self._spool / "documents.parquet"
        try:
            with Client(self._url) as client, pq.ParquetWriter(file, _COLUMNS) as writer:
                for row in sorted(batch.collect()):
                    _fetch(client, self._feed, row["after"], row["last"], writer)
            yield [InputFile(str(file), os.stat(file).st_size, messages=Messages(_FORM))]
        finally:
            file.unlink(missing_ok=True)


def _fetch(client: Client, feed: str, after: int, last: int, writer: pq.ParquetWriter) -> None:
    """Writes the documents of a range, some megabytes at a time."""
    names: list[str] = []
    contents: list[bytes] = []
    size = count = 0
    for one in client.documents(feed, after, last):
        count += 1
        names.append(one.name or f"{feed}#{one.number}")
        contents.append(one.content)
        size += len(one.content)
        if size >= _GROUP_BYTES:
            writer.write_table(pa.table([names, contents], schema=_COLUMNS))
            names, contents, size = [], [], 0
    if names:
        writer.write_table(pa.table([names, contents], schema=_COLUMNS))
    if count != last - after:  # numbers have no gaps
        reason = f"of documents {after + 1} to {last} of {feed} {last - after - count} are gone"
        raise BrokerError(reason, "keep them longer (--retain-hours), or begin anew elsewhere")
