"""Files of many messages on Spark: the same rows as here, every message once, shared by tasks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import extract
from extract.chunktool.input.find import search_inputs
from extract.chunktool.input.messages import xml_file
from extract.chunktool.input.messages.form import MessageOptions
from extract.filtertool.job import Job
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.options import Options
from extract.filtertool.spark.driver import planner
from extract.filtertool.spark.driver.planner import plan_tasks
from extract.filtertool.spark.driver.resume import job_digest
from extract.filtertool.spark.worker.frame_rows import match_rows
from extract.filtertool.spark.worker.frame_tasks import column_batches, task_rows
from extract.scheme.model import Scheme
from extract.subscriptions import Subscriptions

pytest.importorskip("pyspark", reason="Spark is not installed")

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MESSAGES = [f"<q><price>{n}</price></q>" for n in range(400)]
XML = MessageOptions(kind="xml")


@pytest.fixture(scope="module")
def prices() -> Scheme:
    queries = {"dear": "/q[price > 390]", "one": "/q[price = '7']"}
    return extract.prepare(Subscriptions.of(queries), chunks=1)


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even small files are shared by tasks."""
    monkeypatch.setattr(planner, "WORTH_SHARING", 1_000)
    monkeypatch.setattr(xml_file, "BLOCK_BYTES", 500)


def wanted(name: str) -> list[tuple[str, str]]:
    numbers = [(7, "one"), *[(n, "dear") for n in range(391, 400)]]
    return [(f"{name}#{n}", query) for n, query in numbers]


@pytest.mark.usefixtures("shared")
def test_tasks_share_the_messages_of_a_file(prices: Scheme, tmp_path: Path) -> None:
    path = tmp_path / "all.xml"
    path.write_text("".join(MESSAGES))
    (tmp_path / "one.xml").write_text(MESSAGES[7])
    files = search_inputs([str(path), str(tmp_path / "one.xml")], XML).documents
    tasks = plan_tasks(files, 3).tasks
    assert sorted(task.summary for task in tasks) == [
        "XML documents one after the other",
        *[f"XML documents one after the other, share {n} of 3" for n in (1, 2, 3)],
    ]
    assert sum(task.documents for task in tasks) == 2
    assert len({task.part for task in tasks}) == 4
    job = Job(prices, load_matcher("auto"), Options("doc"))
    rows = [
        [
            tuple(row.values())
            for batch in match_rows(task_rows("shares", job, task), "doc")
            for row in batch.to_pylist()
        ]
        for task in tasks
    ]
    assert sorted(row for some in rows for row in some) == sorted(
        [*wanted(str(path)), (f"{tmp_path / 'one.xml'}#0", "one")]
    )
    assert sum(map(bool, rows)) > 2  # the work was shared


def test_how_messages_are_told_apart_makes_another_job(prices: Scheme, tmp_path: Path) -> None:
    path = tmp_path / "all.xml"
    path.write_text("<a/>")
    job = Job(prices, load_matcher("auto"), Options("doc"))
    forms = [MessageOptions(), XML, MessageOptions(records="a"), MessageOptions(records="b")]
    found = [search_inputs([str(path)], form).documents for form in forms]
    assert len({job_digest(job, "parquet", files) for files in found}) == 4


def test_batches_of_a_column() -> None:
    contents = [b"<a/>", None, b"", 50 * b"x", b"<b/>"]
    names = ["1", "2", None, "4", "5"]
    rows = pa.RecordBatch.from_arrays(
        [pa.array(names), pa.array(contents, pa.binary())], ["id", "content"]
    )
    found = list(column_batches([rows.slice(0, 2), rows.slice(2)], 20))
    assert found == [
        [("1", b"<a/>"), ("2", b"")],
        [("", b"")],
        [("4", 50 * b"x")],
        [("5", b"<b/>")],
    ]


@pytest.mark.usefixtures("shared")
def test_a_run_and_a_frame_have_the_rows_of_every_message(
    spark: SparkSession, prices: Scheme, tmp_path: Path
) -> None:
    from extract.filtertool.spark.engine import run_into_directory

    path, lines = tmp_path / "all.xml", tmp_path / "all.jsonl"
    path.write_text("".join([*MESSAGES, "<q><price>"]))
    lines.write_text("".join(json.dumps({"document": one}) + "\n" for one in MESSAGES))
    known = extract.spark.MessageOptions(kind=None, records=None)
    assert known.form_of("all.xml") is None
    frame = extract.spark.run(spark, prices, str(path), "doc", messages=XML)
    assert frame.rdd.getNumPartitions() > 1
    assert sorted(map(tuple, frame.collect())) == sorted(wanted(str(path)))
    everything = extract.spark.results(spark, prices, str(lines), "doc")
    kinds = [row["kind"] for row in everything.collect()]
    assert (kinds.count("match"), kinds.count("account")) == (10, len(MESSAGES))

    job = Job(prices, load_matcher("auto"), Options("doc"))
    files = search_inputs([str(path)], XML).documents
    directory = tmp_path / "out"
    directory.mkdir()
    report = run_into_directory(spark.sparkContext, job, files, directory, "jsonl")
    assert report.documents["seen"] == len(MESSAGES) + 1
    assert report.documents["rejected"] == 1
    found = [
        tuple(json.loads(line).values())
        for file in (directory / "matches").iterdir()
        for line in file.read_text().splitlines()
    ]
    assert sorted(found) == sorted(wanted(str(path)))


def test_only_matches_come_back_where_nothing_else_is_asked_for(
    spark: SparkSession, prices: Scheme
) -> None:
    frame = spark.createDataFrame(
        [(str(n), one) for n, one in enumerate(MESSAGES)], "id string, xml string"
    )
    found = extract.spark.match(frame, prices, content="xml", id="id", select="doc")
    assert found.columns == ["document", "query"]
    rows = sorted((f"x#{row['document']}", row["query"]) for row in found.collect())
    assert rows == sorted(wanted("x"))
    tagged = extract.spark.match(frame, prices, "xml", "id", "doc", tagged=True)
    assert tagged.where("fate = 'conforming'").count() == len(MESSAGES)
