"""The engines of joins next to each other: one process, two, Spark, and a stream of Spark."""

from __future__ import annotations

import importlib.util
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from extract.bench.join_data import rss_items, rss_queries
from extract.chunktool.input.find import search_inputs
from extract.filtertool.joins.inputs import in_order
from extract.join_run import run_joins, run_joins_on_spark
from extract.joins import Joins
from extract.limits import DEFAULTS

_WINDOW = 300
_BATCHES = 2
_SHARES = 4  # of the join values, in a stream
_TIME = "/*/@t"


def engine_remarks(sizes: Iterable[tuple[int, int]], spark: bool) -> Sequence[str]:
    """Returns the seconds that each engine takes, on as many cores as there are.

    Args:
        sizes: How many queries, and how many documents.
        spark: Whether Spark is to be measured as well, if it is installed.
    """
    said: list[str] = []
    spark = spark and importlib.util.find_spec("pyspark") is not None
    with tempfile.TemporaryDirectory() as place, ExitStack() as opened:
        for number, (queries, items) in enumerate(sizes):
            feed = _Feed(Path(place, str(number)), queries, items)
            said.append(f"{queries:,} queries, {items:,} items of a feed, seconds and rows:")
            said.append(_timed("one process", partial(feed.in_processes, 1)))
            said.append(_timed("two processes", partial(feed.in_processes, 2)))
            if spark:
                name = "Spark that has started" if number else "Spark, its start included"
                said.append(_timed(name, partial(feed.on_spark, opened)))
                said.append(_timed("Spark, once more", partial(feed.on_spark, opened)))
                name = f"a stream of Spark, in {_BATCHES} batches"
                said.append(_timed(name, partial(feed.as_stream, opened)))
    return said


def _timed(name: str, rows: Callable[[], int]) -> str:
    started = time.perf_counter()
    count = rows()
    return f"  {name}: {time.perf_counter() - started:.2f} s, {count:,} rows"


class _Feed:
    """Items of a feed in files, and queries over them; each method returns how many rows there are.

    Args:
        place: Where files go.
        queries: How many queries.
        items: How many items.
    """

    def __init__(self, place: Path, queries: int, items: int) -> None:
        self._place = place
        self._texts = rss_queries(queries, _WINDOW)
        self._items = [
            item.replace(b"<item>", f'<item t="{number}">'.encode())
            for number, item in enumerate(rss_items(items))
        ]
        folder = place / "items"
        folder.mkdir(parents=True)
        for number, item in enumerate(self._items):
            (folder / f"{number:06}.xml").write_bytes(item)
        self._files = [("S", one) for one in search_inputs([str(folder)]).documents]

    def in_processes(self, jobs: int) -> int:
        """Joins in this process, or in several."""
        ordered = in_order(self._files, _TIME, {}, DEFAULTS)
        return run_joins(Joins(self._texts), ordered, self._place / "local", jobs=jobs).rows

    def on_spark(self, opened: ExitStack) -> int:
        """Joins on Spark, which runs until ``opened`` is closed."""
        _session(opened)
        joins, target = Joins(self._texts), self._place / "spark"
        return run_joins_on_spark(joins, self._files, target, time=_TIME).rows

    def as_stream(self, opened: ExitStack) -> int:
        """Joins a stream of Spark, from files of documents to files of rows."""
        from extract.filtertool.spark.joins import join

        spark = _session(opened).newSession()  # whose settings are its own
        spark.conf.set("spark.sql.shuffle.partitions", str(_SHARES))
        source, size = str(self._place / "batches"), -(-len(self._items) // _BATCHES)
        documents = [("S", str(n), item, str(n)) for n, item in enumerate(self._items)]
        schema = "stream string, name string, content binary, time string"
        for start in range(0, len(documents), size):
            batch = spark.createDataFrame(documents[start : start + size], schema).coalesce(1)
            batch.write.mode("append").parquet(source)
        arriving = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(source)
        rows = join(spark, Joins(self._texts), arriving, shares=_SHARES)
        checkpoint, target = str(self._place / "checkpoint"), str(self._place / "rows")
        writer = rows.writeStream.option("checkpointLocation", checkpoint).format("parquet")
        writer.trigger(availableNow=True).start(target).awaitTermination()
        return int(spark.read.parquet(target).count())


def _session(opened: ExitStack) -> Any:
    from extract.filtertool.spark.session import local_session, open_context

    opened.enter_context(open_context())
    return local_session()
