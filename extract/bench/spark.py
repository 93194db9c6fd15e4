"""``extract bench spark``: the Spark engine, next to Spark's own reader of XML.

All sessions are warm: Spark has started, and each job runs once before it is measured. What is
compared runs in turns, so that what else happens on the machine falls on both alike. The JVM has
its usual settings, for Spark's own reader runs there.
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from extract.bench.table import ResultTable
from extract.chunktool.input.find import find_inputs
from extract.filtertool.job import Job
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.options import Options
from extract.filtertool.spark.java import require_spark
from extract.preptool.prepare import prepare
from extract.scenarios import Scenario, scenario

_QUERIES = 2_000
_TURNS = 5
_DIFFERENT = 4  # documents that are generated; the others are copies
_SMALL = range(2_000, 30_000, 1_000)  # sizes of small documents
_JVM = {"spark.driver.extraJavaOptions": "-XX:-UsePerfData"}

Row = list[str | int | float]


def run(data: Path | None, scale: float = 1.0) -> ResultTable:
    """Counts of 2,000 queries: many documents, small ones, and one that is large."""
    require_spark()
    university = scenario("university")
    with tempfile.TemporaryDirectory(prefix="extract-bench-") as folder:
        top = Path(folder)
        usual = _write(top / "usual", university, max(2, int(32 * scale)), [5_000_000])
        small = _write(top / "small", university, max(20, int(20_000 * scale)), _SMALL)
        split = _write(top / "split", university, 100, [max(20_000, int(5_000_000 * scale))])
        large = _join(top / "large", split)
        rows, remarks = _measure(university, top, usual, small, split, large)
    columns = ("what", "MB", "seconds", "MB/s", "documents/s", "figure", "goal")
    return ResultTable(f"Spark, {_QUERIES:,} queries, counts", columns, rows, remarks)


def _measure(
    university: Scenario, top: Path, usual: Path, small: Path, split: Path, large: Path
) -> tuple[list[Row], tuple[str, ...]]:
    from extract.filtertool.spark.driver.job_progress import in_thread

    scheme = prepare(university.schema(), university.queries(_QUERIES), 4)
    job = Job(scheme, load_matcher(), Options("count"))

    def alone() -> float:
        with _session("local[1]") as spark:
            ((seconds, _),) = _turns([lambda: _run(spark, job, usual, top)], _TURNS)
            return seconds

    begun = time.perf_counter()
    with _session("local[2]"):
        started = time.perf_counter() - begun
    one = alone()
    with _session("local[2]") as spark:

        def ours(documents: Path) -> Callable[[], Any]:
            return lambda: _run(spark, job, documents, top)

        def tags(documents: Path) -> int:
            reader = spark.read.format("xml").option("rowTag", "student")
            return in_thread(lambda: int(reader.load(f"{documents}/*.xml").count()))

        # Early and late: Java goes on compiling for some time.
        (two, _), (theirs, _) = _turns([ours(usual), lambda: tags(usual)], 2)
        ((many, report),) = _turns([ours(small)], _TURNS)
        outside = 1 - report.seconds["tasks"] / (2 * many)
        (apart, _), (whole, report) = _turns([ours(split), ours(large)], 2)
        two = min(two, _turns([ours(usual)], _TURNS)[0][0])
        theirs = min(theirs, _turns([lambda: tags(usual)], 1)[0][0])
        workers = spark.sparkContext.parallelize(range(16), 16)
        peaks = in_thread(lambda: workers.map(_peak).collect())
    one = min(one, alone())
    rows = [
        _row("documents of 5 MB, 2 cores", usual, two, theirs / two, ">= 10 x theirs"),
        _row("  Spark's XML reader counts <student>", usual, theirs),
        _row("small documents, 2 cores", small, many, outside, "<= 0.2 outside"),
        _row("100 documents", split, apart),
        _row("  the same as one document", large, whole, whole / apart, "<= 1.3 x"),
        _row("documents of 5 MB, 1 core", usual, one, one / two, ">= 1.7 x two"),
        ["largest worker, MB", "", "", "", "", max(peaks) / 1e6, "< 1,000"],
    ]
    remarks = (
        "figure: how many times longer theirs takes; part of the time that is not our code or",
        "reading; one document against many; one core against two.",
        f"Spark took {started:.1f} s to start, which is not in the seconds.",
        f"One document: {report.parallel['tasks']} tasks, gain {report.parallel['gain']} of 2.",
    )
    return rows, remarks


@contextmanager
def _session(master: str) -> Iterator[Any]:
    from extract.filtertool.spark import local_session
    from extract.filtertool.spark.driver.job_progress import in_thread

    spark = in_thread(lambda: local_session(master, conf=_JVM))
    try:
        yield spark
    finally:
        spark.stop()


def _run(spark: Any, job: Job, documents: Path, top: Path) -> Any:
    from extract.filtertool.spark import run_into_directory

    with tempfile.TemporaryDirectory(dir=top) as out:
        return run_into_directory(spark.sparkContext, job, find_inputs([str(documents)]), Path(out))


def _turns(works: Sequence[Callable[[], Any]], turns: int) -> list[tuple[float, Any]]:
    """For each work the shortest time of several, and what came out; they take turns, and each is
    done once before."""
    for work in works:
        work()
    found: list[list[tuple[float, Any]]] = [[] for _ in works]
    for _ in range(turns):
        for number, work in enumerate(works):
            started = time.perf_counter()
            result = work()
            found[number].append((time.perf_counter() - started, result))
    return [min(each, key=lambda one: one[0]) for each in found]


def _peak(_: int) -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _row(
    what: str, documents: Path, seconds: float, figure: float | str = "", goal: str = ""
) -> Row:
    files = list(documents.glob("*.xml"))
    megabytes = sum(file.stat().st_size for file in files) / 1e6
    return [what, megabytes, seconds, megabytes / seconds, len(files) / seconds, figure, goal]


def _write(folder: Path, university: Scenario, count: int, sizes: Sequence[int]) -> Path:
    folder.mkdir()
    many = max(_DIFFERENT, len(sizes))
    different = [
        b"".join(university.document(sizes[n % len(sizes)], seed=n))
        for n in range(min(count, many))
    ]
    for n in range(count):
        (folder / f"{n:05d}.xml").write_bytes(different[n % len(different)])
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
