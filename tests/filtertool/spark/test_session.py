"""The Spark session that the engine makes or is given, and how it is set up."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import extract
from extract import Scheme

pytest.importorskip("pyspark", reason="Spark is not installed")

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_workers_of_a_foreign_session_run_the_python_that_runs_us(
    spark: SparkSession, scheme: Scheme, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from extract.filtertool.spark.session import use_this_python

    monkeypatch.delenv("PYSPARK_PYTHON")  # as in a script that starts Spark itself
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "/nowhere/python3")
    assert extract.spark.run(spark, scheme, str(docs / "0.xml"), select="doc").count() > 0
    monkeypatch.setenv("PYSPARK_PYTHON", "/chosen/python3")  # by the user
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "/chosen/python3")
    use_this_python(spark.sparkContext)
    assert spark.sparkContext.pythonExec == "/chosen/python3"


def test_workers_on_one_machine_do_not_wait_for_packets(spark: SparkSession) -> None:
    from extract.filtertool.spark.session import settings

    name = "spark.python.unix.domain.socket.enabled"
    assert spark.sparkContext.getConf().get(name) == "true"
    assert name not in settings("spark://host:7077")


def test_spark_caches_no_documents_that_were_listed(spark: SparkSession) -> None:
    """Else a stream has up to 250 MB of names that nobody asks for again."""
    jvm: Any = spark.sparkContext._jvm
    cache = jvm.org.apache.spark.sql.execution.datasources.FileStatusCache
    assert "NoopCache" in cache.getOrCreate(spark._jsparkSession).toString()
