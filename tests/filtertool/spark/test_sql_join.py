"""Joins of Spark SQL: the same rows as from the local engine, with members out of a database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from extract.chunktool.input.find import find_inputs
from extract.errors import MatcherError
from extract.filtertool.load_scheme import scheme_for
from extract.filtertool.options import Options
from extract.pipeline import run, run_on_spark
from tests.support.databases import execute
from tests.support.spark_runs import rows
from tests.support.stock_subscriptions import DOCUMENTS, stock_scheme, table_scheme

pytest.importorskip("pyspark", reason="Spark is not installed")
pytest.importorskip("duckdb", reason="DuckDB is not installed")

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_the_same_rows_by_a_join_in_spark(
    spark: SparkSession, database: str, tmp_path: Path
) -> None:
    assert spark.version  # the session that the run below finds
    scheme = stock_scheme()
    scheme.save(database)
    docs = tmp_path / "docs"
    docs.mkdir()
    for name, document in DOCUMENTS:
        (docs / f"{name}.xml").write_bytes(document)
    found, options = find_inputs([str(docs)]), Options("nodes")
    local = run(scheme, found, tmp_path / "local", options=options, jobs=1)
    opened = scheme_for("sql", database, "nodes", spark=True)
    report = run_on_spark(opened, found, tmp_path / "spark", matcher="sql", options=options)
    assert rows(tmp_path / "spark" / "matches") == rows(tmp_path / "local" / "matches")
    assert rows(tmp_path / "spark" / "rejected") == rows(tmp_path / "local" / "rejected")
    assert (report.matcher, report.engine) == ("sql", "spark")
    assert report.matches == local.matches > 20
    assert report.to_json()["queries"] == local.to_json()["queries"]
    names = sorted(path.name for path in (tmp_path / "spark").iterdir())
    assert names == ["matches", "rejected", "report.json"]


def test_tables_of_owners_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    assert spark.version
    url = f"duckdb:{tmp_path / 'subs.duckdb'}"
    table_scheme().save(url)
    execute(url, "CREATE TABLE watchlist (symbol TEXT)")
    document = tmp_path / "a.xml"
    document.write_bytes(DOCUMENTS[0][1])
    opened = scheme_for("sql", url, "doc", spark=True)
    with pytest.raises(MatcherError, match="which Spark does not have"):
        run_on_spark(opened, find_inputs([str(document)]), tmp_path / "out", matcher="sql")
    assert not (tmp_path / "out").exists()
