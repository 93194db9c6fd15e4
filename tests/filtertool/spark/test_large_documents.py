"""Large documents on Spark: pieces and queries are shared by tasks, with the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from extract import Scheme
from extract.filtertool.job import Job
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.options import Options
from extract.filtertool.output.writers import Format, open_writer
from extract.limits import Limits
from extract.pipeline import run as run_pipeline
from tests.support.spark_runs import check_account, rows, run_spark

pytest.importorskip("pyspark", reason="Spark is not installed")

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize(
    ("select", "form", "many_pieces"),
    [
        ("nodes", "parquet", False),
        ("nodes", "parquet", True),
        ("nodes", "xml", False),
        ("count", "jsonl", False),
        ("count", "jsonl", True),
        ("doc", "parquet", False),
    ],
)
def test_large_documents_are_shared_by_tasks(
    spark: SparkSession,
    scheme: Scheme,
    docs: Path,
    select: Select,
    form: Format,
    many_pieces: bool,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out, there = docs.parent / "out", docs.parent / "unshared"
    before, name, after = (docs / "1.xml").read_bytes().rpartition(b"<name>")
    (docs / "90.xml").write_bytes(before + name + b"<zzz/>" + after)
    (docs / "91.xml").write_bytes(before + name + b"</nam>" + after)
    wanted = run_spark(spark, scheme, docs, select, form)
    out.rename(there)
    request.getfixturevalue("all_large")
    often = 0 if many_pieces else 1_000
    monkeypatch.setattr("extract.filtertool.spark.driver.planner.PIECES_A_TASK", often)
    report = run_spark(spark, scheme, docs, select, form)
    assert report.parallel["tasks"] > 10
    names = set(report.parallel["chunks_of_large_documents"])
    # Some documents cannot be cut; their queries are shared all the same.
    assert many_pieces == any(name.count("+") == 3 for name in names)
    assert many_pieces or {"1", "2", "3", "rest"} <= names
    assert (report.documents, report.matches) == (wanted.documents, wanted.matches)
    assert (report.bytes, report.notes) == (wanted.bytes, wanted.notes)
    assert sorted(report.examples) == sorted(wanted.examples)
    if form == "xml":
        for file in sorted(there.rglob("*.xml")):
            lines = [
                sorted(
                    Path(str(file).replace(str(there), str(each))).read_bytes().split(b"<match ")
                )
                for each in (out, there)
            ]
            assert lines[0] == lines[1]
        return
    check_account(report, out)
    for kind in ("matches", "rejected"):
        assert rows(out / kind) == rows(there / kind)


@pytest.mark.usefixtures("all_large")
@pytest.mark.parametrize(
    ("quick", "reads"), [(False, "checked pieces"), (True, "unchecked pieces")]
)
def test_pieces_are_checked_if_the_survey_has_not(
    scheme: Scheme, docs: Path, tmp_path: Path, quick: bool, reads: str
) -> None:
    from extract.chunktool.input.find import find_inputs
    from extract.chunktool.split.divide import divide
    from extract.filtertool.spark.driver.planner import plan_tasks
    from extract.filtertool.spark.worker.filter_cache import cached_filter
    from extract.filtertool.spark.worker.query_shares import query_shares
    from extract.filtertool.spark.worker.survey_document import survey_document

    job, key, listed = (
        Job(scheme, load_matcher(), Options()),
        uuid4().hex,
        find_inputs([str(docs / "1.xml")]),
    )
    seen = survey_document(key, job, listed[0], str(tmp_path), 500, quick).survey
    assert seen.checked != quick
    plan = plan_tasks(listed, 2, query_shares(scheme, divide(scheme)), {listed[0].name: seen})
    cut = [task for task in plan.tasks if task.pieces]
    assert {task.input.value for task in cut} == {reads}
    assert not quick or {one for task in cut for one in task.pieces} == set(seen.pieces)
    kept = cached_filter(key, job, cut[0].shares, cut[0].input)
    assert kept.filter.options.assume_valid != quick


@pytest.mark.usefixtures("all_large")
@pytest.mark.parametrize("change", ["truncated", "gone"])
def test_a_large_document_that_changes_between_two_looks(
    spark: SparkSession,
    scheme: Scheme,
    docs: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: str,
) -> None:
    from extract.filtertool.spark.driver.jobs import SparkJobs

    look = SparkJobs.survey

    def survey(jobs: SparkJobs, *args: Any) -> Any:
        found = look(jobs, *args)
        if change == "gone":
            (docs / "1.xml").unlink()
        else:
            (docs / "1.xml").write_bytes((docs / "2.xml").read_bytes()[:-400] + b"</db>")
        return found

    monkeypatch.setattr(SparkJobs, "survey", survey)
    report = run_spark(spark, scheme, docs, "count")
    assert report.documents["seen"] == 8
    reasons = {row[0]: row[3] for row in rows(docs.parent / "out" / "rejected") if row[0]}
    if change == "gone":
        assert "cannot be opened" in reasons[str(docs / "1.xml")]
    check_account(report, docs.parent / "out")
    found = rows(docs.parent / "out" / "matches")
    paths = [str(path) for path in sorted(docs.rglob("*.xml*"))]
    there = docs.parent / "local"
    run_pipeline(scheme, paths, there, options=Options("count"), jobs=1)
    assert found == rows(there / "matches")


@pytest.mark.usefixtures("all_large")
@pytest.mark.parametrize("numbered_by", ["tasks", "driver", "job"])
def test_a_query_may_select_as_much_of_all_pieces_as_of_a_document(
    scheme: Scheme,
    docs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    numbered_by: str,
) -> None:
    from extract.chunktool.input.find import find_inputs
    from extract.chunktool.split.divide import divide
    from extract.filtertool.spark.driver import number_rows, planner
    from extract.filtertool.spark.driver.commit import CommitTarget, commit_document
    from extract.filtertool.spark.worker.document_results import DocumentResults
    from extract.filtertool.spark.worker.filter_cache import cached_filter
    from extract.filtertool.spark.worker.query_shares import query_shares
    from extract.filtertool.spark.worker.row_numbers import (
        NumberedRows,
        UnnumberedRows,
        write_numbered,
    )
    from extract.filtertool.spark.worker.run_task import TaskTarget, run_task
    from extract.filtertool.spark.worker.survey_document import survey_document
    from extract.filtertool.spark.worker.task_output import FinishedTask

    if numbered_by == "tasks":
        monkeypatch.setattr(planner, "LEAST", 1 << 20)  # a task has all pieces of its share
    elif numbered_by == "job":
        monkeypatch.setattr(number_rows, "IN_DRIVER", 0)
    limits = Limits(query_rows=8)
    job = Job(scheme, load_matcher(), Options(limits=limits))
    attempts, out, key = tmp_path / "attempts", tmp_path / "out", uuid4().hex
    attempts.mkdir()
    out.mkdir()
    listed = find_inputs([str(docs / "1.xml")])
    survey = survey_document(key, job, listed[0], str(attempts), 500).survey
    assert len(survey.pieces) > 5
    every = query_shares(scheme, divide(scheme))
    target = TaskTarget(str(attempts), "jsonl", "nodes")
    finished = []
    for task in sorted(planner.plan_tasks(listed, 2, every, {listed[0].name: survey}).tasks):
        cached = cached_filter(key, job, task.shares, task.input)
        finished.append(FinishedTask(task, run_task(cached, task, target)))
    jobs: list[int] = []

    def run_job(some: Sequence[UnnumberedRows], form: Format) -> dict[int, NumberedRows]:
        jobs.append(len(some))
        return {one.number: write_numbered(one, attempts, form) for one in some}

    results = DocumentResults(finished, attempts, "nodes", limits)
    numbered = number_rows.number_rows([results], attempts, "jsonl", run_job)
    assert bool(jobs) == (numbered_by == "job")
    ids = [one.id for one in scheme.subscribers]
    writer = open_writer(out, "jsonl", ids, "nodes")
    where = CommitTarget(attempts, out, ids, writer, "jsonl", "nodes")
    account = commit_document(results, where, numbered)
    writer.close()
    there = tmp_path / "local"
    paths = [one.name for one in listed]
    local = run_pipeline(scheme, paths, there, options=job.options, form="jsonl", jobs=1)
    assert account.failing_queries == local.failing_queries != set()
    assert account.matches == local.matches
    for kind in ("matches", "rejected"):
        # What was rejected before any document was read is written elsewhere.
        assert rows(out / kind) == [r for r in rows(there / kind) if r[0]]
