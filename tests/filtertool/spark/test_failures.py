"""What clusters do to a run: tasks that die, documents that kill or vanish, interruptions."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from extract import Scheme
from extract.errors import ExtractError
from extract.filtertool.job import Job
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.options import Options
from tests.support.spark_documents import write_poison
from tests.support.spark_faults import FaultyFactory
from tests.support.spark_runs import check_account, rows, run_spark

pytest.importorskip("pyspark", reason="Spark is not installed")

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from extract.filtertool.results.report import Report


@pytest.mark.parametrize(
    ("fault", "message"),
    [("raise", "RuntimeError: a fault that was asked for"), ("full", "File too large")],
)
def test_nothing_is_there_when_spark_gives_up(
    spark: SparkSession, scheme: Scheme, docs: Path, tmp_path: Path, fault: Any, message: str
) -> None:
    faulty = FaultyFactory(fault, str(tmp_path / "marker"), again=True)
    with pytest.raises((ExtractError, OSError), match=message):
        run_spark(spark, scheme, docs, factory=faulty)
    assert {path.name for path in tmp_path.iterdir()} <= {"docs", "marker"}


@pytest.mark.parametrize("large", [False, True])
def test_a_run_that_was_interrupted_goes_on(
    spark: SparkSession,
    scheme: Scheme,
    docs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    large: bool,
) -> None:
    from extract.chunktool.input.find import find_inputs
    from extract.filtertool.spark.driver import planner
    from extract.filtertool.spark.engine import run_into_directory

    monkeypatch.setattr(planner, "LEAST", 1)  # several tasks
    if large:
        request.getfixturevalue("all_large")
    (docs / "9.xml").write_bytes(b"<db><student><name>POISON</name></student></db>")
    wanted = run_spark(spark, scheme, docs, factory=load_matcher("lxml"))
    (tmp_path / "out").rename(tmp_path / "wanted")

    def run(turn: str, again: bool) -> Report:
        faulty = FaultyFactory("raise", str(tmp_path / "marker"), b"POISON", again)
        out = tmp_path / turn
        out.mkdir()
        job = Job(scheme, faulty, Options())
        resume = tmp_path / "unfinished"
        return run_into_directory(
            spark.sparkContext, job, find_inputs([str(docs)]), out, resume=resume
        )

    with pytest.raises(ExtractError):
        run("first", again=True)
    done = list((tmp_path / "unfinished").glob("*/finished.pickle"))
    assert done
    (docs / "0.xml").write_bytes((docs / "0.xml").read_bytes() + b"\n")  # it has changed since
    report = run("second", again=False)
    kept = report.notes.pop(f"{'parts ' if large else ''}finished by a run that was interrupted")
    assert 0 < kept < report.parallel["tasks"] if large else report.documents["seen"]
    assert (report.documents, report.matches) == (wanted.documents, wanted.matches)
    assert report.bytes == wanted.bytes + 1
    check_account(report, tmp_path / "second")
    for kind in ("matches", "rejected"):
        assert rows(tmp_path / "second" / kind) == rows(tmp_path / "wanted" / kind)
    assert not (tmp_path / "unfinished").exists()


def test_attempts_do_not_get_in_each_others_way(scheme: Scheme, docs: Path, tmp_path: Path) -> None:
    """As when Spark starts a slow task a second time elsewhere, and takes what comes first."""
    from extract.chunktool.input.find import find_inputs
    from extract.filtertool.spark.driver.planner import plan_tasks
    from extract.filtertool.spark.worker.filter_cache import cached_filter
    from extract.filtertool.spark.worker.run_task import TaskTarget, run_task

    (tmp_path / "attempts").mkdir()
    (task,) = plan_tasks(find_inputs([str(docs)]), 1).tasks
    kept = cached_filter("attempts", Job(scheme, load_matcher(), Options()))
    where = str(tmp_path / "attempts")
    target = TaskTarget(where, "parquet", "nodes")
    first, second = (run_task(kept, task, target) for _ in range(2))
    assert first.folder is not None
    assert second.folder is not None
    assert first.account.matches == second.account.matches
    found = [rows(Path(where, folder, "matches")) for folder in (first.folder, second.folder)]
    assert found[0] == found[1]
    shutil.rmtree(where)
    late = run_task(kept, task, target)
    assert late.folder is None  # it leaves nothing behind
    assert not Path(where).exists()


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["kill", "raise"])
def test_a_task_that_dies_is_tried_again(
    spark: SparkSession, scheme: Scheme, docs: Path, fault: Any, tmp_path: Path
) -> None:
    run_spark(spark, scheme, docs)
    wanted = rows(tmp_path / "out" / "matches")
    faulty = FaultyFactory(fault, str(tmp_path / "marker"))
    report = run_spark(spark, scheme, docs, factory=faulty)
    assert (tmp_path / "marker").exists()
    assert rows(tmp_path / "out" / "matches") == wanted
    check_account(report, tmp_path / "out")


@pytest.mark.slow
def test_a_document_that_kills_is_rejected_alone(
    spark: SparkSession, scheme: Scheme, docs: Path, tmp_path: Path
) -> None:
    (docs / "poison.xml").write_bytes(b"<db><student><name>POISON</name></student></db>")
    faulty = FaultyFactory("kill", str(tmp_path / "marker"), b"POISON", again=True)
    report = run_spark(spark, scheme, docs, factory=faulty)
    assert report.documents["rejected"] == 3
    rejected = [row for row in rows(tmp_path / "out" / "rejected") if row[0]]
    assert str(docs / "poison.xml") in {row[0] for row in rejected}
    check_account(report, tmp_path / "out")
    (docs / "poison.xml").unlink()
    found = rows(tmp_path / "out" / "matches")
    run_spark(spark, scheme, docs)
    assert found == rows(tmp_path / "out" / "matches")


@pytest.mark.slow
@pytest.mark.usefixtures("all_large")
def test_a_piece_that_kills_is_rejected_with_its_document(
    spark: SparkSession, scheme: Scheme, docs: Path, tmp_path: Path
) -> None:
    write_poison(docs / "1.xml")
    faulty = FaultyFactory("kill", str(tmp_path / "marker"), b"POISON", again=True)
    report = run_spark(spark, scheme, docs, factory=faulty)
    assert (tmp_path / "marker").exists()
    rejected = {row[0]: row[3] for row in rows(tmp_path / "out" / "rejected") if row[0]}
    assert len(rejected) == report.documents["rejected"] == 3
    assert "was killed" in rejected[str(docs / "1.xml")]
    check_account(report, tmp_path / "out")
    found = rows(tmp_path / "out" / "matches")
    (docs / "1.xml").unlink()
    run_spark(spark, scheme, docs)
    assert found == rows(tmp_path / "out" / "matches")


def test_a_document_that_is_gone_or_cannot_be_read(
    spark: SparkSession, scheme: Scheme, docs: Path, tmp_path: Path
) -> None:
    from extract.chunktool.input.find import find_inputs
    from extract.filtertool.spark.engine import run_into_directory

    listed = find_inputs([str(docs), f"file://{docs}/3.xml"])
    (docs / "1.xml").unlink()  # after it was found, before a worker opens it
    (docs / "2.xml").unlink()
    (docs / "2.xml").mkdir()
    (docs / "3.xml").unlink()
    out = tmp_path / "out"
    out.mkdir()
    job = Job(scheme, load_matcher(), Options())
    report = run_into_directory(spark.sparkContext, job, listed, out)
    assert report.documents["seen"] == len(listed) == 9
    reasons = {row[0]: row[3] for row in rows(out / "rejected") if row[0]}
    for name in (docs / "1.xml", docs / "2.xml", docs / "3.xml", f"file://{docs}/3.xml"):
        assert "cannot be" in reasons[str(name)]
    assert report.documents["rejected"] == 6
    check_account(report, out)
