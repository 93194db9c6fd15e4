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
import uuid
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from py4j.protocol import Py4JError
from pyspark import SparkContext, TaskContext
from pyspark.errors import PySparkException

from extract.errors import ExtractError
from extract.filtertool.account import Account
from extract.filtertool.local import Job
from extract.filtertool.matcher import Select
from extract.filtertool.progress import Progress, Step
from extract.filtertool.report import Report, rejected_queries
from extract.filtertool.spark import worker
from extract.filtertool.spark.locations import Listed
from extract.filtertool.spark.parcels import unpack
from extract.filtertool.spark.planning import Task, TaskPlan, plan_tasks
from extract.filtertool.spark.resuming import digest, finished
from extract.filtertool.spark.shares import one_account, shares, weights, worst
from extract.filtertool.spark.shipping import Shipped, ship
from extract.filtertool.spark.watching import ByTask, Finished, watched
from extract.filtertool.writers import Format, Writer, open_writer


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
            tasks = plan_tasks(left, context.defaultParallelism, weights(shares(scheme)))
            shipped = ship(context, job)
            order = _Order(str(attempts), form, job.options.select, which)
            told = progress or (lambda _: None)
            told(Step(len(known)))
            done = _run(context, tasks, shipped, order, told) if tasks.tasks else []
            report.seconds.since("job", before)
            before = time.perf_counter()
            target = _Target(attempts, directory, ids, writer if form == "xml" else None)
            for account in _commit(tasks, done, target):
                report.merge(account)
            for number, earlier in enumerate(before_us, len(tasks.tasks) + 1):
                written = worker.Written(number, earlier.folder, earlier.account)
                target.take(written, earlier.account.matches > 0, earlier.account.rejections > 0)
                report.merge(earlier.account)
                report.notes["finished by a run that was interrupted"] += len(earlier.documents)
            report.seconds.since("commit", before)
    finally:
        writer.close()
    report.seconds["elapsed"] = time.perf_counter() - started
    return report


class _Order(NamedTuple):
    """What workers are told.

    Attributes:
        where: The directory for what they write.
        form: In which format.
        select: What is asked for.
        job: The job's digest, if it may be interrupted and resumed.
    """

    where: str
    form: Format
    select: Select
    job: str


def _run(
    context: SparkContext, plan: TaskPlan, shipped: Shipped, order: _Order, progress: Progress
) -> list[worker.Written]:
    """Runs all tasks; returns what one attempt at each has written."""

    nothing: Finished = {}
    finished = context.accumulator(nothing, ByTask())

    def work(tasks: Iterable[Task]) -> Iterator[worker.Written]:
        current: Any = TaskContext.get()
        for task in tasks:
            started = time.perf_counter()
            kept = worker.keep(shipped.key, shipped.job.value, task.shares)
            made = time.perf_counter() - started
            where, form, select, job = order
            attempt = current.attemptNumber()
            written = worker.write_results(kept, task, where, form, select, attempt, job)
            written.account.seconds.add("compile", made)
            finished.add({task.number: _step(task, written.account)})
            yield written

    count = sum(task.documents for task in plan.tasks)
    group = uuid.uuid4().hex
    what = f"extract: {count:,} documents in {len(plan.tasks):,} tasks"

    def collect() -> list[worker.Written]:
        context.setJobGroup(group, what, interruptOnCancel=True)
        rows = context.parallelize(plan.tasks, max(1, len(plan.tasks))).setName(what)
        return rows.mapPartitions(work).collect()

    try:
        done = watched(collect, finished, progress)
    except (PySparkException, Py4JError) as error:
        hint = "--debug shows all that Spark says; --engine local does without Spark"
        raise ExtractError(f"the Spark job failed: {reason_of(error)}", hint) from error
    if any(written.folder is None for written in done):
        reason = f"Spark's workers do not see the directory {order.where}"
        hint = "name one that is on a file system that all machines share"
        raise ExtractError(reason, hint)
    return done


def _step(task: Task, account: Account) -> Step:
    """What a task adds to what is done; a document that several share counts once."""
    size = account.bytes if task.documents else 0
    return Step(task.documents, size, account.matches, account.rejections)


def reason_of(error: Exception) -> str:
    """The line that matters of what Spark says: what was raised in a worker, or by Spark itself."""
    lines = [line.strip() for line in str(error).splitlines()]
    for at, line in enumerate(lines):
        if line.startswith("Traceback (most recent call last)"):
            raised = next((one for one in lines[at + 1 :] if _is_raised(one)), "")
            if raised:
                return raised
    for line in lines:
        if "SparkException" in line or "Caused by" in line:
            return line.split("SparkException: ")[-1]
    return next(iter(lines), type(error).__name__)


def _is_raised(line: str) -> bool:
    """Whether a line of a traceback is its last.

    >>> [_is_raised(x) for x in ('File "a.py", line 3', "OSError: no space", "x = f(a: 1)")]
    [False, True, False]
    """
    name = line.split(":")[0]
    return name.replace(".", "").isidentifier() and name.endswith(("Error", "Exception", "Exit"))


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


class _Target(NamedTuple):
    """Where results go.

    Attributes:
        attempts: Where tasks have written.
        directory: Where all results are.
        ids: The ids of all subscribers.
        writer: Writes the results, where that cannot be done by many.
    """

    attempts: Path
    directory: Path
    ids: Sequence[str]
    writer: Writer | None

    def take(self, written: worker.Written, matches: bool, rejected: bool) -> None:
        """Takes over what a task has written."""
        assert written.folder is not None
        attempt = self.attempts / written.folder
        if self.writer is not None:
            unpack(attempt, self.writer, self.ids, matches, rejected)
            return
        for kind, wanted in (("matches", matches), ("rejected", rejected)):
            if wanted:
                for file in (attempt / kind).iterdir():
                    name = f"part-{written.number:05d}{file.suffix}"
                    file.rename(self.directory / kind / name)


def _commit(plan: TaskPlan, done: Iterable[worker.Written], target: _Target) -> Iterator[Account]:
    """Puts the results of all tasks together; gives the account of each, or of each document whose
    queries were shared."""
    by_number = {written.number: written for written in done}
    together: dict[str, list[worker.Written]] = {}
    for task in sorted(plan.tasks):
        written = by_number[task.number]
        if task.shares:
            together.setdefault(task.batches[0][0].name, []).append(written)
        else:
            account = written.account
            target.take(written, account.matches > 0, account.rejections > 0)
            yield account
    for parts in together.values():
        accounts = [written.account for written in parts]
        if accounts[worst(accounts)].documents["rejected"]:  # one reason is enough, and no rows
            target.take(parts[worst(accounts)], matches=False, rejected=True)
        else:
            for written in parts:
                target.take(written, written.account.matches > 0, written.account.rejections > 0)
        yield one_account(accounts)
