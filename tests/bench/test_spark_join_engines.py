"""The engines that `extract bench joins` measures give the same rows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from extract.bench.join_engines import engine_remarks

pytest.importorskip("pyspark", reason="Spark is not installed")

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_all_engines_have_the_same_rows(spark: SparkSession) -> None:
    title, *figures = engine_remarks([(200, 40)], spark=True)
    assert title == "200 queries, 40 items of a feed, seconds and rows:"
    assert [one.split(":")[0].strip() for one in figures] == [
        "one process",
        "two processes",
        "Spark, its start included",
        "Spark, once more",
        "a stream of Spark, in 2 batches",
    ]
    [rows] = {re.search(r"([0-9,]+) rows$", one)[1] for one in figures}  # type: ignore[index]
    assert int(rows) > 0
    assert not spark.sparkContext._jsc.sc().isStopped()
