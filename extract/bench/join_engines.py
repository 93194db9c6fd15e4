"""The engines of joins next to each other: one process, two, and Spark, on the same files."""

from __future__ import annotations

import importlib.util
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from extract.bench.join_data import rss_items, rss_queries
from extract.chunktool.input.find import search_inputs
from extract.filtertool.joins.inputs import in_order
from extract.join_run import JoinReport, run_joins, run_joins_on_spark
from extract.joins import Joins
from extract.limits import DEFAULTS

_WINDOW = 300


def engine_remarks(queries: int, items: int, spark: bool) -> Sequence[str]:
    """Returns the seconds that each engine takes, on as many cores as there are.

    Args:
        queries: How many queries.
        items: How many documents.
        spark: Whether Spark is to be measured as well, if it is installed.
    """
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "items")
        folder.mkdir()
        for number, item in enumerate(rss_items(items)):
            text = item.replace(b"<item>", f'<item t="{number}">'.encode())
            (folder / f"{number:06}.xml").write_bytes(text)
        files = [("S", one) for one in search_inputs([str(folder)]).documents]
        texts = rss_queries(queries, _WINDOW)
        said = [f"{queries:,} queries, {items:,} items of a feed in files, seconds and rows:"]

        def measure(
            name: str, jobs: int = 1, on_spark: bool = False, since: float | None = None
        ) -> None:
            started = time.perf_counter() if since is None else since
            joins, target = Joins(texts), str(Path(place, name))
            report: JoinReport
            if on_spark:
                report = run_joins_on_spark(joins, files, target, time="/*/@t")
            else:
                ordered = in_order(files, "/*/@t", {}, DEFAULTS)
                report = run_joins(joins, ordered, target, jobs=jobs)
            said.append(f"  {name}: {time.perf_counter() - started:.2f} s, {report.rows:,} rows")

        measure("one process")
        measure("two processes", jobs=2)
        if spark and importlib.util.find_spec("pyspark") is not None:
            from extract.filtertool.spark.session import open_context

            started = time.perf_counter()
            with open_context():
                measure("Spark, its start included", on_spark=True, since=started)
                measure("Spark that has started and done this before", on_spark=True)
        return said
