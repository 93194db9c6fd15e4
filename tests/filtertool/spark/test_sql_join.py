"""Joins of Spark SQL: the same rows as from the local engine, with members out of a database."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import extract
from extract.chunktool.input.find import find_inputs
from extract.errors import MatcherError
from extract.filtertool.load_scheme import scheme_for
from extract.filtertool.matchers.sql.stored_subscriptions import StoredSubscriptions
from extract.filtertool.options import Options
from extract.pipeline import run, run_on_spark
from extract.scheme.model import Scheme
from tests.support.spark_runs import rows
from tests.support.stock_subscriptions import (
    DOCUMENTS,
    QUERIES,
    STOCK,
    stock_scheme,
    table_scheme,
)

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
    assert names == [".files", "matches", "rejected", "report.json"]


def test_no_process_has_all_subscriptions(
    spark: SparkSession, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Members that no join decides, and all for a document without values, are tried in parts."""
    assert spark.version
    undecided = {f"u{n}": f"/stock[normalize-space(symbol) = 'S{n}']/price" for n in range(11)}
    namespaces = {"re": "http://exslt.org/regular-expressions"}
    queries = {**QUERIES, **undecided}
    scheme = extract.prepare(STOCK, extract.Subscriptions.of(queries, namespaces))
    scheme.save(database)
    docs = tmp_path / "docs"
    docs.mkdir()
    unread = b"<!DOCTYPE s [<!ENTITY e '<price>9</price>'>]><stock xmlns='u'>&e;</stock>"
    for name, document in [*DOCUMENTS, ("unread", unread)]:
        (docs / f"{name}.xml").write_bytes(document)
    (docs / "many.ndjson").write_text(json.dumps({"document": DOCUMENTS[1][1].decode()}) + "\n")
    found, options = find_inputs([str(docs)]), Options("nodes")
    local = run(scheme, found, tmp_path / "local", options=options, jobs=1)
    monkeypatch.setattr("extract.filtertool.matchers.sql.stored_subscriptions.PART", 12)
    opened = scheme_for("sql", database, "nodes", spark=True)
    sizes: list[int] = []
    scheme_of = StoredSubscriptions.scheme_of

    def watched(stored: StoredSubscriptions, rows: Any, later: bool = True) -> Scheme:
        sizes.append(rows.num_rows)
        return scheme_of(stored, rows, later)

    monkeypatch.setattr(StoredSubscriptions, "scheme_of", watched)
    monkeypatch.setattr(StoredSubscriptions, "everything", None)
    report = run_on_spark(opened, found, tmp_path / "spark", matcher="sql", options=options)
    assert rows(tmp_path / "spark" / "matches") == rows(tmp_path / "local" / "matches")
    assert rows(tmp_path / "spark" / "rejected") == rows(tmp_path / "local" / "rejected")
    assert report.matches == local.matches > 20
    *parts, matching = sizes
    assert parts == [12, 1, 12, 12, 12, 10]
    assert matching == len({row[1] for row in rows(tmp_path / "local" / "matches")})


def test_standard_input_is_read_once(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert spark.version
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(DOCUMENTS[1][1])))
    report = run_on_spark(stock_scheme(), find_inputs(["-"]), tmp_path / "out", matcher="sql")
    assert {row[0] for row in rows(tmp_path / "out" / "matches")} == {"<stdin>"}
    assert report.matches > 0
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == [".files", "matches", "rejected", "report.json"]


def test_tables_of_owners_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    assert spark.version
    url = f"duckdb:{tmp_path / 'subs.duckdb'}"
    table_scheme(url)
    document = tmp_path / "a.xml"
    document.write_bytes(DOCUMENTS[0][1])
    opened = scheme_for("sql", url, "doc", spark=True)
    with pytest.raises(MatcherError, match="which Spark does not have"):
        run_on_spark(opened, find_inputs([str(document)]), tmp_path / "out", matcher="sql")
    assert not (tmp_path / "out").exists()
