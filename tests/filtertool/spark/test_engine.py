"""The Spark engine writes the same rows and the same report as the local engine.

Spark takes long to start: all tests share one session, and few of them run a job.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from extract import Scheme
from extract.errors import DocumentError
from extract.filtertool.job import Job
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.options import Options
from extract.filtertool.output.writers import Format
from extract.filtertool.results.progress import ProgressStep
from extract.pipeline import run as run_pipeline
from tests.support.spark_runs import check_account, rows, run_spark

pytest.importorskip("pyspark", reason="Spark is not installed")

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize(
    ("select", "form"),
    [("nodes", "parquet"), ("count", "jsonl"), ("doc", "parquet"), ("nodes", "xml")],
)
def test_the_same_as_without_spark(
    spark: SparkSession, scheme: Scheme, docs: Path, select: Select, form: Format
) -> None:
    report = run_spark(spark, scheme, docs, select, form)
    options = Options(select, standalone=form == "xml")
    paths = [str(path) for path in sorted(docs.rglob("*.xml*"))]
    there = docs.parent / "local"
    local = run_pipeline(scheme, paths, there, options=options, form=form, jobs=1)
    out = docs.parent / "out"
    assert local.documents == report.documents
    assert report.documents["rejected"] == 2
    assert report.documents["nonconforming"] == 1
    assert (local.matches, local.bytes, local.notes) == (
        report.matches,
        report.bytes,
        report.notes,
    )
    assert sorted(local.examples) == sorted(report.examples)
    assert set(local.figures()) == set(report.figures())
    assert {"chunk", "job", "elapsed"} <= set(report.seconds)
    assert sorted(path.name for path in out.iterdir()) == [
        ".files",
        "matches",
        "rejected",
        "report.json",
    ]
    if form == "xml":
        names = sorted(path.name for path in (out / "matches").iterdir())
        assert names == sorted(path.name for path in (there / "matches").iterdir())
        for name in names:
            lines = [
                sorted((each / "matches" / name).read_bytes().split(b"</match>"))
                for each in (out, there)
            ]
            assert lines[0] == lines[1]
        return
    for kind in ("matches", "rejected"):
        assert rows(out / kind) == rows(there / kind)
    check_account(report, out)


@pytest.mark.parametrize("shared", [False, True])
def test_progress_adds_up_to_what_the_report_says(
    spark: SparkSession, scheme: Scheme, docs: Path, shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from extract.filtertool.spark.driver import planner

    if shared:
        monkeypatch.setattr(planner, "LARGE", 1)
        monkeypatch.setattr(planner, "LEAST", 1)
    steps: list[ProgressStep] = []
    report = run_spark(spark, scheme, docs, progress=steps.append)
    told = ProgressStep(*map(sum, zip(*steps, strict=True)))
    assert (told.documents, told.bytes) == (report.documents["seen"], report.bytes)
    assert told.matches == report.matches
    assert shared or told.rejected == report.rejections  # shares may each reject a document


def test_the_driver_frees_accumulators_after_a_run(
    spark: SparkSession, scheme: Scheme, docs: Path
) -> None:
    from pyspark import accumulators

    before = set(accumulators._accumulatorRegistry)
    run_spark(spark, scheme, docs)
    assert set(accumulators._accumulatorRegistry) == before


@pytest.mark.parametrize(
    ("sizes", "select", "wanted"),
    [
        ("small", "nodes", ["filter"]),
        ("alone", "nodes", ["survey", "filter"]),
        ("split", "nodes", ["survey", "filter", "number_rows"]),
        ("split", "count", ["survey", "filter"]),
    ],
)
def test_a_run_has_the_spark_jobs_that_it_needs(
    spark: SparkSession,
    scheme: Scheme,
    docs: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    sizes: str,
    select: Select,
    wanted: list[str],
) -> None:
    from extract.chunktool.input.find import find_inputs
    from extract.filtertool.spark.driver import explain, number_rows, planner
    from extract.filtertool.spark.driver.jobs import SparkJobs

    called: list[str] = []

    def watch(name: str) -> None:
        method = getattr(SparkJobs, name)

        def watched(jobs: SparkJobs, *args: Any) -> Any:
            called.append(name)
            return method(jobs, *args)

        monkeypatch.setattr(SparkJobs, name, watched)

    for name in ("survey", "filter", "number_rows"):
        watch(name)
    monkeypatch.setattr(number_rows, "IN_DRIVER", 0)
    if sizes != "small":
        request.getfixturevalue("all_large")
        monkeypatch.setattr(planner, "LEAST", 1 if sizes == "split" else 1 << 20)
        for file in [*docs.glob("[!1]*.xml"), *docs.rglob("*.gz")]:
            file.unlink()
    plan = planner.expected_plan(scheme, find_inputs([str(docs)]), 2)
    assert len(explain.expected_jobs(plan, select, "parquet")) == len(wanted)
    report = run_spark(spark, scheme, docs, select)
    assert called == wanted
    check_account(report, docs.parent / "out")
    there, paths = docs.parent / "local", [str(path) for path in sorted(docs.rglob("*.xml*"))]
    run_pipeline(scheme, paths, there, options=Options(select), jobs=1)
    for kind in ("matches", "rejected"):
        assert rows(docs.parent / "out" / kind) == rows(there / kind)


def test_a_scheme_is_shipped_once(spark: SparkSession, scheme: Scheme) -> None:
    from extract.filtertool.spark.driver.broadcast import broadcast_job
    from extract.filtertool.spark.worker.filter_cache import cached_filter

    context = spark.sparkContext
    first = broadcast_job(context, Job(scheme, load_matcher("lxml"), Options("doc")))
    again = broadcast_job(context, Job(scheme, load_matcher("lxml"), Options("doc")))
    other = broadcast_job(context, Job(scheme, load_matcher("lxml"), Options("count")))
    assert first is again
    assert other.key != first.key
    job = Job(scheme, load_matcher("lxml"), Options("doc"))
    assert cached_filter("a key", job) is cached_filter("a key", job)


def test_a_relative_name_leads_to_the_same_from_everywhere(
    docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers of a cluster run elsewhere than the command."""
    from extract.chunktool.input.find import find_inputs
    from extract.filtertool.spark.worker.documents import open_documents

    monkeypatch.chdir(docs)
    listed = find_inputs(["0.xml", "deep"])
    assert [one.name for one in listed] == ["0.xml", "deep/9.xml.gz"]
    monkeypatch.chdir(docs.parent)
    assert open_documents(listed)[0] == ("0.xml", (docs / "0.xml").read_bytes())


def test_a_uri_that_leads_nowhere(tmp_path: Path) -> None:
    from extract.chunktool.input.find import find_inputs

    for name in (f"file://{tmp_path}/none", f"file://{tmp_path}", "nosuch://bucket/a.xml"):
        with pytest.raises(DocumentError):
            find_inputs([name])
    (tmp_path / "a.xml").touch()
    (tmp_path / "b.nitf").touch()
    assert [one.name for one in find_inputs([f"file://{tmp_path}"])] == [f"file://{tmp_path}/a.xml"]
    assert [one.name for one in find_inputs([f"file://{tmp_path}/*.nitf"])] == [
        f"file://{tmp_path}/b.nitf"
    ]


def test_the_pages_of_spark_describe_the_job(
    spark: SparkSession, scheme: Scheme, docs: Path
) -> None:
    run_spark(spark, scheme, docs, "count")
    context: Any = spark.sparkContext
    jobs = context._jsc.sc().statusStore().jobsList(None)  # what Spark's pages show
    assert jobs.apply(0).description().get() == "extract: 8 documents in 1 task"
