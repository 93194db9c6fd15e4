"""Large documents in DataFrames: cut by the task, queries shared by tasks, the same rows."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

import extract
from extract import Scheme
from extract.chunktool.input.find import find_inputs
from extract.chunktool.scan.driver import kernel_available
from extract.filtertool.job import Job
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.options import Options
from extract.filtertool.processes.isolation import SUSPICIOUS
from extract.filtertool.spark.driver import planner
from extract.filtertool.spark.driver.planner import plan_frame, plan_tasks
from extract.filtertool.spark.worker.frame_rows import DocumentRows, FrameRows, tagged_rows
from extract.filtertool.spark.worker.frame_tasks import column_rows, task_rows
from extract.filtertool.spark.worker.tasks import Task
from extract.limits import Limits
from extract.scenarios import scenario
from tests.support.spark_documents import write_poison
from tests.support.spark_faults import FaultyFactory

pytest.importorskip("pyspark", reason="Spark is not installed")
if not kernel_available():
    pytest.skip("pieces need the kernel", allow_module_level=True)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Row = dict[str, Any]
MANY = 64  # cores: every document is worth some tasks


@pytest.fixture(autouse=True)
def all_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every document is a large one, and is cut into pieces of some records."""
    monkeypatch.setattr(planner, "LARGE", 1)
    monkeypatch.setattr(planner, "PIECE", 1_000)


def job(scheme: Scheme, select: Select = "nodes", limits: Limits | None = None) -> Job:
    return Job(scheme, load_matcher(), Options(select, limits=limits or Limits()))


def task_results(job: Job, tasks: Sequence[Task], attempt: int = 0) -> Iterator[FrameRows]:
    key = uuid4().hex
    for task in tasks:
        yield from task_rows(key, job, task, attempt)


def rows(job: Job, tasks: Sequence[Task], attempt: int = 0) -> list[Row]:
    every = tagged_rows(task_results(job, tasks, attempt), job.options.select)
    return [row for batch in every for row in batch.to_pylist()]


def by_kind(found: Sequence[Row]) -> dict[str, Any]:
    """Rows as they are the same however documents were shared: accounts added up."""
    kinds: dict[str, Any] = {"match": [], "rejected": [], "rows": Counter(), "fates": []}
    for row in found:
        if row["kind"] == "account":
            kinds["rows"][row["document"]] += row["rows"]
            if row["fate"] is not None:
                kinds["fates"].append((row["document"], row["fate"], row["bytes"]))
        else:
            kinds[row["kind"]].append(repr(row))
    return {kind: sorted(some.items() if kind == "rows" else some) for kind, some in kinds.items()}


@pytest.mark.parametrize("select", ["nodes", "count", "doc"])
def test_the_same_rows_in_pieces(scheme: Scheme, docs: Path, select: Select) -> None:
    listed = find_inputs([str(docs)])
    wanted = by_kind(rows(job(scheme, select), plan_tasks(listed, 1).tasks))
    assert {fate for _, fate, _ in wanted["fates"]} == {"conforming", "nonconforming", "rejected"}
    alone, shared = (plan_frame(listed, cores, scheme).tasks for cores in (1, MANY))
    assert len(alone) == len(listed) < len(shared)
    for tasks in (alone, shared):
        assert by_kind(rows(job(scheme, select), tasks)) == wanted


def test_the_rows_of_a_document_come_piece_by_piece(scheme: Scheme, docs: Path) -> None:
    (task,) = plan_frame(find_inputs([str(docs / "0.xml")]), 1, scheme).tasks
    parts = [one for one in task_results(job(scheme), [task]) if isinstance(one, DocumentRows)]
    found = [len(one.findings) for one in parts if len(one.findings)]
    assert len(found) > (docs / "0.xml").stat().st_size // 2_000
    assert max(found) < sum(found) / 2


@pytest.mark.parametrize("limits", [Limits(query_rows=8), Limits(query_bytes=2_000)])
def test_limits_hold_for_the_document(scheme: Scheme, docs: Path, limits: Limits) -> None:
    listed = find_inputs([str(docs / "1.xml")])
    limited = job(scheme, limits=limits)
    wanted = by_kind(rows(limited, plan_tasks(listed, 1).tasks))
    assert wanted["rejected"]
    assert wanted["match"]
    assert by_kind(rows(limited, plan_frame(listed, 1, scheme).tasks)) == wanted


@pytest.mark.parametrize("change", ["gone", "other", "odd"])
def test_a_document_that_changes_is_never_silently_missing(
    scheme: Scheme, docs: Path, change: str
) -> None:
    """One task sees it as it was planned for, and another does not."""
    listed = find_inputs([str(docs / "0.xml")])
    tasks = sorted(plan_frame(listed, 2, scheme).tasks, key=lambda task: not task.first)
    assert [task.first for task in tasks] == [True, False]
    whole = job(scheme, "count")
    wanted = {row["query"] for row in rows(whole, plan_tasks(listed, 1).tasks) if row["query"]}
    before = [row for row in rows(whole, tasks[:1]) if row["query"]]
    if change == "gone":
        (docs / "0.xml").unlink()
    else:
        shutil.copy(docs / f"{'1' if change == 'other' else 'odd'}.xml", docs / "0.xml")
    after = rows(whole, tasks)
    assert not [row for row in after if row["kind"] == "match"]
    assert [row["fate"] for row in after if row["kind"] == "account"] == ["rejected", None]
    rejected = {row["query"] for row in after if row["kind"] == "rejected"}
    assert None in rejected  # the document, and the queries of the second task
    assert {row["query"] for row in before} | rejected >= wanted
    # The rows of a task that has a document for itself are those of the document as it is.
    alone = plan_frame(listed, 1, scheme).tasks
    assert by_kind(rows(whole, alone)) == by_kind(rows(whole, plan_tasks(listed, 1).tasks))


@pytest.mark.parametrize("cores", [1, 2])
def test_a_piece_that_kills(scheme: Scheme, docs: Path, tmp_path: Path, cores: int) -> None:
    """Found out by the third attempt, which gives every piece a process of its own."""
    write_poison(docs / "1.xml")
    listed = find_inputs([str(docs / "1.xml")])
    faulty = FaultyFactory("kill", str(tmp_path / "marker"), b"POISON", again=True)
    killed = Job(scheme, faulty, Options("count"))
    found = rows(killed, plan_frame(listed, cores, scheme).tasks, attempt=SUSPICIOUS)
    assert (tmp_path / "marker").exists()
    rejected = {row["query"] for row in found if row["kind"] == "rejected"}
    assert all("was killed" in row["reason"] for row in found if row["kind"] == "rejected")
    matches = {row["query"]: row["count"] for row in found if row["kind"] == "match"}
    if cores == 1:
        assert (rejected, matches) == ({None}, {})
        return
    # Tasks cannot hear of each other: only the queries of those that died are rejected.
    assert rejected
    assert None not in rejected
    assert rejected.isdisjoint(matches)
    wanted = {query: n for _, query, n in extract.count(scheme, docs / "1.xml")}
    assert matches.items() <= wanted.items()
    assert wanted.keys() <= rejected | matches.keys()


def test_large_documents_of_a_column(scheme: Scheme, docs: Path) -> None:
    paths = sorted(path for path in docs.rglob("*.xml*"))
    contents = [[(str(path), path.read_bytes())] for path in paths]
    found = [
        row
        for batch in tagged_rows(column_rows(uuid4().hex, job(scheme), contents, 1, 1_000), "nodes")
        for row in batch.to_pylist()
    ]
    assert by_kind(found) == by_kind(
        rows(job(scheme), plan_tasks(find_inputs([str(docs)]), 1).tasks)
    )


def test_frames_cut_large_documents(spark: SparkSession, scheme: Scheme, docs: Path) -> None:
    path = str(docs / "0.xml")
    wanted = sorted(
        (m.query, m.start, m.ordinal, m.path, m.value) for m in extract.match(scheme, path)
    )

    def check(frame: DataFrame) -> None:
        columns = frame.where("kind = 'match'").select("query", "start", "ordinal", "path", "value")
        assert sorted(map(tuple, columns.collect()), key=repr) == sorted(wanted, key=repr)

    frame = extract.spark.results(spark, scheme, path)
    assert frame.rdd.getNumPartitions() == 2
    check(frame)
    column = spark.read.format("binaryFile").load(path)
    check(extract.spark.match(column, scheme, tagged=True))


def test_a_table_cuts_large_documents(spark: SparkSession, scheme: Scheme, tmp_path: Path) -> None:
    """Spark plans it in a process of its own, where a large document is one of four megabytes."""
    scheme.save(tmp_path / "scheme.json")
    document = tmp_path / "large.xml"
    document.write_bytes(b"".join(scenario("university").document(5_000_000, seed=1)))
    spark.dataSource.register(extract.spark.ExtractSource)
    reader = spark.read.format("extract").option("scheme", str(tmp_path / "scheme.json"))
    frame = reader.option("select", "count").load(str(document))
    assert frame.rdd.getNumPartitions() > 2
    fewer = reader.option("cores", "2").load(str(document))
    assert fewer.rdd.getNumPartitions() == 2
    found = {(row["query"], row["count"]) for row in frame.collect()}
    assert found == {(query, n) for _, query, n in extract.count(scheme, document)}
