"""Spark against the local engine, and against Spark's own reader of XML."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyarrow import parquet

from extract.bench.experiments.clock import once
from extract.bench.experiments.results import Bar, BarChart, Check, Section
from extract.bench.experiments.subject import Subject
from extract.bench.table import ResultTable
from extract.chunktool.input.find import find_inputs
from extract.errors import ExtractError
from extract.filtertool.job import Job
from extract.filtertool.local import available_cores
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.options import Options
from extract.filtertool.results.report import Report
from extract.filtertool.spark.java import require_spark
from extract.pipeline import count, prepare, run
from extract.subscriptions import Subscriptions

_BYTES: Final = 40_000_000  # of all documents together
_MOST: Final = 1_000  # documents
_READ: Final = 100  # documents for Spark's reader: it takes very long for many small ones
_QUERIES: Final = 2_000
_TURNS: Final = 2


def engines(subject: Subject) -> Section:
    """The same documents with both engines, wall-clock time on all cores."""
    queries = min(len(subject.queries), _QUERIES)
    words = (
        "The same documents from files into a directory of results (numbers of nodes), on all "
        "cores, wall-clock time. Spark is warm: it has started, and each job runs once before it "
        "is measured; starting takes as long as the table says. Spark's own XML reader only counts "
        "the rows of one tag, which is what it is for: it evaluates none of the queries."
    )
    title = "Spark and the local engine"
    with tempfile.TemporaryDirectory(prefix="extract-bench-") as folder:
        place = Path(folder)
        files = _write(subject, place / "documents")
        size = sum(file.stat().st_size for file in files) / 1e6
        job = Job(subject.scheme(queries), load_matcher(), Options("count"))
        rows: list[list[str | int | float]] = []
        bars: list[Bar] = []

        def row(name: str, seconds: float, ours: bool, number: int = len(files)) -> None:
            part = sum(file.stat().st_size for file in files[:number]) / 1e6
            rows.append([name, number, seconds, part / seconds, number / seconds])
            remark = "" if number == len(files) else f"for {number:,} documents only"
            bars.append(Bar(name, (("", seconds),), ours=ours, remark=remark))

        paths = [str(file) for file in files]
        for workers in sorted({1, available_cores()}):
            work = _local(job, paths, place / "local", workers)
            row(f"local, {workers} process{'es' if workers > 1 else ''}", _shortest(work)[0], True)
        remarks: list[str] = []
        checks: list[Check] = []
        try:
            require_spark()
            checks += _on_spark(subject, job, files, place, row, remarks)
        except ExtractError as error:
            remarks.append(f"Spark: not measured, {error}")
    columns = ("engine", "documents", "seconds", "MB/s", "documents/s")
    what = f"{queries:,} queries, {len(files):,} documents, {size:.1f} MB"
    table = ResultTable(what, columns, rows, tuple(remarks))
    return Section(title, words, (BarChart(what, "s", tuple(bars)),), (table,), tuple(checks))


def _write(subject: Subject, folder: Path) -> list[Path]:
    """Enough documents, the same again and again if there are not so many."""
    folder.mkdir()
    originals = subject.documents[:100]
    size = sum(map(len, originals)) / len(originals)
    number = max(4, min(_MOST, int(_BYTES * subject.scale / size)))
    files = []
    for n in range(number):
        files.append(folder / f"{n:05d}.xml")
        files[-1].write_bytes(originals[n % len(originals)])
    return files


def _local(job: Job, paths: Sequence[str], out: Path, workers: int) -> Callable[[], Report]:
    return lambda: run(job.scheme, paths, out, options=job.options, jobs=workers)


def _shortest(work: Callable[[], Any]) -> tuple[float, Any]:
    return min((once(work) for _ in range(_TURNS)), key=lambda one: one[0])


def _on_spark(
    subject: Subject,
    job: Job,
    files: Sequence[Path],
    place: Path,
    row: Callable[..., None],
    remarks: list[str],
) -> list[Check]:
    from extract.filtertool.spark import local_session, run_into_directory

    start, spark = once(lambda: local_session(f"local[{available_cores()}]"))
    try:
        listed = find_inputs([str(files[0].parent)])

        def work() -> Report:
            out = place / "spark"
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir()
            return run_into_directory(spark.sparkContext, job, listed, out)

        work()
        seconds, report = _shortest(work)
        row(f"Spark, {available_cores()} cores", seconds, True)
        remarks.append(f"Spark took {start:.1f} s to start, once.")
        ours, theirs = _rows(place / "local"), _rows(place / "spark")
        same = Check(
            "local and Spark, rows of document, query and number",
            bool(ours.equals(theirs)),
            f"{report.matches:,} matches, {len(ours):,} rows",
        )
        tag = subject.scenario.generator.RECORD
        read = files[:_READ]
        work_of_reader = _reader(spark, read, tag)
        try:
            work_of_reader()
            seconds, number = once(work_of_reader)
        except Exception as error:  # whatever Spark may raise; the others were measured
            reason = str(error).partition("\n")[0]
            remarks.append(f"Spark's XML reader: not measured, {type(error).__name__}: {reason}")
            return [same]
        row(f"Spark's XML reader counts <{tag}>", seconds, False, len(read))
        expected = _elements(subject, tag, read)
        detail = f"{number:,} rows, {expected:,} elements"
        if number != expected:
            detail += "; the reader does not see a row inside of another"
        return [
            same,
            Check(f"Spark's XML reader, elements {tag}", number == expected, detail, False),
        ]
    finally:
        spark.stop()


def _reader(spark: Any, files: Sequence[Path], tag: str) -> Callable[[], int]:
    def work() -> int:
        paths = [str(file) for file in files]
        frame = spark.read.format("xml").option("rowTag", tag).load(paths)
        return int(frame.count())

    return work


def _rows(folder: Path) -> pa.Table:
    table = parquet.read_table(folder / "matches")
    return table.sort_by([("document", "ascending"), ("query", "ascending")]).combine_chunks()


def _elements(subject: Subject, tag: str, files: Sequence[Path]) -> int:
    """How many there are, by our own count."""
    queries = Subscriptions.of({"tag": f"//{tag}"}, subject.scenario.generator.NAMESPACES)
    scheme = prepare(subject.schema, queries, 1)
    numbers: dict[bytes, int] = {}
    total = 0
    for file in files:
        data = file.read_bytes()
        if data not in numbers:
            numbers[data] = sum(n for _, _, n in count(scheme, data))
        total += numbers[data]
    return total
