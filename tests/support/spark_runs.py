"""Runs the Spark engine for tests, and reads what it has written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyarrow import parquet

from extract import Scheme
from extract.filtertool.job import Job
from extract.filtertool.matchers.protocol import MatcherFactory, Select
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.options import Options
from extract.filtertool.output.directory import result_directory
from extract.filtertool.output.writers import Format
from extract.filtertool.results.progress import Progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from extract.filtertool.results.report import Report


def run_spark(
    spark: SparkSession,
    scheme: Scheme,
    docs: Path,
    select: Select = "nodes",
    form: Format = "parquet",
    factory: MatcherFactory | None = None,
    progress: Progress | None = None,
) -> Report:
    """Runs the Spark engine into ``docs/../out``."""
    from extract.chunktool.input.find import find_inputs
    from extract.filtertool.spark.engine import run_into_directory

    job = Job(scheme, factory or load_matcher(), Options(select, standalone=form == "xml"))
    with result_directory(docs.parent / "out") as partial:
        found = find_inputs([str(docs)])
        report = run_into_directory(spark.sparkContext, job, found, partial, form, progress)
        (partial / "report.json").write_text(json.dumps(report.to_json()))
    return report


def rows(folder: Path) -> list[tuple[Any, ...]]:
    """All rows of a folder, sorted."""
    if any(folder.glob("*.parquet")):
        found = parquet.read_table(folder).to_pylist()
    else:
        texts = [file.read_text(encoding="utf-8") for file in folder.glob("*.jsonl")]
        found = [json.loads(line) for line in "".join(texts).splitlines()]
    return sorted((tuple(row.values()) for row in found), key=repr)


def check_account(report: Report, out: Path) -> None:
    """The numbers of the report are those of the rows."""
    documents = report.documents
    assert documents["seen"] == documents["processed"] + documents["rejected"]
    assert documents["processed"] == documents["conforming"] + documents["whole"]
    assert report.matches == len(rows(out / "matches"))
    prepared = len(report.scheme.rejected)
    assert prepared + report.rejections == len(rows(out / "rejected"))
