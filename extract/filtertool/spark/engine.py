"""``extract run --engine spark``: documents in, a directory of results out, whole or not at all.

Workers write their rows to files themselves and tell the driver only which: rows pass neither
through the JVM nor over the network. An attempt that fails or is beaten by another leaves files
that nobody hears of; the driver takes only those of the attempts whose result it got, one for each
task.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from pyspark import SparkContext

from extract.filtertool.job import Job
from extract.filtertool.progress import Progress, ProgressStep
from extract.filtertool.records import divide
from extract.filtertool.report import Report, rejected_queries
from extract.filtertool.spark.committing import Target, commit, parallel
from extract.filtertool.spark.crew import Crew, Order
from extract.filtertool.spark.locations import Listed
from extract.filtertool.spark.planning import large_documents, plan_tasks
from extract.filtertool.spark.resuming import digest, finished, finished_parts
from extract.filtertool.spark.settling import Part
from extract.filtertool.spark.shares import shares
from extract.filtertool.spark.shipping import ship
from extract.filtertool.spark.worker import Written
from extract.filtertool.survey import Survey
from extract.filtertool.writers import Format, open_writer

_T = TypeVar("_T")


def run_into_directory(
    context: SparkContext,
    job: Job,
    documents: Sequence[Listed],
    directory: Path,
    form: Format = "parquet",
    progress: Progress | None = None,
    resume: Path | None = None,
) -> Report:
    """Filters documents on Spark into a directory.

    Args:
        context: Spark.
        job: What to do.
        documents: The documents; all workers must be able to open them.
        directory: Where the results go; driver and workers must see the same. The caller takes care
            that it gets its name only when this has returned.
        form: In which format to write; each task writes files of its own.
        progress: Told what was done since the last call; from time to time, also if nothing was.
        resume: A directory for what is finished: if this is interrupted, it stays there, and
            another run with the same directory goes on from there.

    Raises:
        ExtractError: The workers do not see the directory, or Spark gave up.
    """
    scheme, select = job.scheme, job.options.select
    report = Report(scheme, "spark", job.factory.name, select)
    started = time.perf_counter()
    ids = [one.id for one in scheme.subscribers]
    # What was rejected before any document was read; and where rows can only be written by one.
    writer = open_writer(directory, form, ids, select)
    try:
        writer.reject(rejected_queries(scheme))
        with _attempts(directory, resume) as attempts:
            before = time.perf_counter()
            which = digest(job, form) if resume else ""
            before_us = list(finished(attempts, which, documents)) if resume else []
            known = {stamp[0] for done in before_us for stamp in done.documents}
            left = [one for one in _spooled(documents, attempts) if one.name not in known]
            order = Order(str(attempts), form, select, which)
            told = progress or (lambda _: None)
            told(ProgressStep(len(known)))
            before_parts = finished_parts(attempts, which) if resume else {}
            crew = Crew(context, ship(context, job), order, told, before_parts)
            work = _filtered(crew, job, left)
            report.seconds.since("job", before)
            before = time.perf_counter()
            target = Target(attempts, directory, ids, writer, form, select, job.options.limits)
            for account in commit(work, target, crew.settle):
                report.merge(account)
            for number, earlier in enumerate(before_us, len(work) + 1):
                written = Written(number, earlier.folder, earlier.account)
                target.take(written, earlier.account.matches > 0, earlier.account.rejections > 0)
                report.merge(earlier.account)
                report.notes["finished by a run that was interrupted"] += len(earlier.documents)
            if crew.known:
                report.notes["parts finished by a run that was interrupted"] += crew.known
            report.seconds.since("commit", before)
            report.parallel = parallel(work, context.defaultParallelism, report.seconds["job"])
    finally:
        writer.close()
    report.seconds["elapsed"] = time.perf_counter() - started
    return report


def _filtered(crew: Crew, job: Job, documents: Sequence[Listed]) -> list[Part]:
    """Filters documents: gives every task that counts, with what it has written."""
    cores = crew.context.defaultParallelism
    large = large_documents(documents, cores)
    division = divide(job.scheme) if large else None
    every = shares(job.scheme, division) if large else ()
    surveys: dict[str, Survey] = {}
    if division is not None and division.queries:
        surveys, documents = crew.survey(large, documents)
    plan = plan_tasks(documents, cores, every, surveys)
    found = crew.run(plan)
    torn = {one.task.batches[0][0].name for one in found if one.written.torn}
    if torn:  # pieces that do not fit their document any more: it is filtered as it is now
        again = [one for one in documents if one.name in torn]
        found = [one for one in found if one.task.batches[0][0].name not in torn]
        found += crew.run(plan_tasks(again, cores, every, number=len(plan.tasks) + 1))
    return found


@contextlib.contextmanager
def _attempts(directory: Path, resume: Path | None) -> Iterator[Path]:
    """A directory for what tasks write, beside the results; it stays if it is there to resume."""
    attempts = resume or directory / "_attempts"
    attempts.mkdir(mode=0o700, exist_ok=resume is not None)
    ended = resume is None
    try:
        yield attempts
        ended = True
    finally:
        if ended:
            _remove(attempts, directory)


def _remove(attempts: Path, directory: Path) -> None:
    """Removes what is left of attempts."""
    with contextlib.suppress(FileNotFoundError):
        # An attempt that lost may still be writing: it must not find the directory again.
        gone = Path(tempfile.mkdtemp(".gone", f"{directory.name}.", directory.parent))
        attempts.rename(gone / "attempts")
        shutil.rmtree(gone, ignore_errors=True)


def _spooled(documents: Sequence[Listed], attempts: Path) -> list[Listed]:
    """The documents, with standard input as a file that workers can open."""
    found = list(documents)
    for at, one in enumerate(found):
        if one.name == "-":
            copy = attempts / "stdin"
            with copy.open("wb") as file:
                shutil.copyfileobj(getattr(sys.stdin, "buffer", sys.stdin), file)
            found[at] = Listed("<stdin>", max(1, copy.stat().st_size), str(copy))
    return found
