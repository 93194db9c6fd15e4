"""``extract bench spark``: the Spark engine, next to Spark's own reader of XML.

All sessions are warm: Spark has started, and each job runs once before it is measured.
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from extract.bench.table import Table
from extract.filtertool.filtering import Options
from extract.filtertool.local import Job
from extract.filtertool.registry import load_matcher
from extract.filtertool.spark.java import require_spark
from extract.filtertool.spark.locations import find
from extract.preptool.prepare import prepare
from extract.scenarios import Scenario, scenario

_QUERIES = 2_000
_TURNS = 3
_DIFFERENT = 4  # documents that are generated; the others are copies


def run(data: Path | None, scale: float = 1.0) -> Table:
    """Counts of 2,000 queries: many documents, small ones, and one that is large."""
    require_spark()
    university = scenario("university")
    with tempfile.TemporaryDirectory(prefix="extract-bench-") as folder:
        top = Path(folder)
        usual = _write(top / "usual", university, max(2, int(32 * scale)), 5_000_000)
        small = _write(top / "small", university, max(20, int(20_000 * scale)), 16_000)
        split = _write(top / "split", university, 100, max(20_000, int(5_000_000 * scale)))
        large = _join(top / "large", split)
        rows, remarks = _measure(university, top, usual, small, split, large)
    columns = ("what", "MB", "seconds", "MB/s", "documents/s", "ratio", "goal")
    return Table(f"Spark, {_QUERIES:,} queries, counts", columns, rows, remarks)


Row = list[str | int | float]


def _measure(
    university: Scenario, top: Path, usual: Path, small: Path, split: Path, large: Path
) -> tuple[list[Row], tuple[str, ...]]:
    scheme = prepare(university.schema(), university.queries(_QUERIES), 4)
    job = Job(scheme, load_matcher(), Options("count"))
    rows: list[Row] = []
    with _session("local[2]") as spark:
        ours = _best(lambda: _run(spark, job, usual, top))[0]
        rows.append(_row("documents of 5 MB, 2 cores", usual, ours))

        def tags() -> int:
            frame = spark.read.format("xml").option("rowTag", "student").load(f"{usual}/*.xml")
            return int(frame.count())

        theirs = _best(tags, 1)[0]
        rows.append(_row("  Spark's XML reader counts <student>", usual, theirs))
        rows[0][5:] = [theirs / ours, ">= 10"]
        many, report = _best(lambda: _run(spark, job, small, top))
        outside = 1 - report.seconds["tasks"] / (2 * report.seconds["elapsed"])
        rows.append([*_row("small documents, 2 cores", small, many)[:5], outside, "<= 0.2 outside"])
        apart = _best(lambda: _run(spark, job, split, top), 2)[0]
        rows.append(_row("100 documents", split, apart))
        whole = _best(lambda: _run(spark, job, large, top), 2)[0]
        rows.append(
            [*_row("  the same as one document", large, whole)[:5], whole / apart, "<= 1.3"]
        )
        peak = max(spark.sparkContext.parallelize(range(16), 16).map(_peak).collect())
    with _session("local[1]") as spark:
        alone = _best(lambda: _run(spark, job, usual, top))[0]
        rows.append([*_row("documents of 5 MB, 1 core", usual, alone)[:5], alone / ours, ">= 1.7"])
    remarks = (
        "ratio: their time by ours; part outside of tasks; one document by many; 1 core by 2.",
        f"The largest worker had {peak / 1e6:,.0f} MB; the goal is less than 1,000.",
    )
    return rows, remarks


@contextmanager
def _session(master: str) -> Iterator[Any]:
    from extract.filtertool.spark import local_session

    spark = local_session(master)
    try:
        yield spark
    finally:
        spark.stop()


def _run(spark: Any, job: Job, documents: Path, top: Path) -> Any:
    from extract.filtertool.spark import run_into_directory

    with tempfile.TemporaryDirectory(dir=top) as out:
        return run_into_directory(spark.sparkContext, job, find([str(documents)]), Path(out))


def _best(work: Callable[[], Any], turns: int = _TURNS) -> tuple[float, Any]:
    """The shortest time of several, after one that does not count; and what came out."""
    work()
    found = []
    for _ in range(turns):
        started = time.perf_counter()
        result = work()
        found.append((time.perf_counter() - started, result))
    return min(found, key=lambda one: one[0])


def _peak(_: int) -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _row(what: str, documents: Path, seconds: float) -> Row:
    files = list(documents.glob("*.xml"))
    megabytes = sum(file.stat().st_size for file in files) / 1e6
    return [what, megabytes, seconds, megabytes / seconds, len(files) / seconds, "", ""]


def _write(folder: Path, university: Scenario, count: int, size: int) -> Path:
    folder.mkdir()
    different = [b"".join(university.document(size, seed=n)) for n in range(_DIFFERENT)]
    for n in range(count):
        (folder / f"{n:05d}.xml").write_bytes(different[n % _DIFFERENT])
    return folder


def _join(folder: Path, documents: Path) -> Path:
    """All documents of a folder as one: the records of all within one root."""
    folder.mkdir()
    with (folder / "large.xml").open("wb") as target:
        target.write(b"<db>")
        for file in sorted(documents.glob("*.xml")):
            data = file.read_bytes()
            target.write(data[data.index(b">", data.index(b"<db")) + 1 : data.rindex(b"</db")])
        target.write(b"</db>")
    return folder
