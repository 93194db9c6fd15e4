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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from py4j.protocol import Py4JError
from pyspark import Accumulator, SparkContext, TaskContext
from pyspark.errors import PySparkException

from extract.errors import ExtractError
from extract.filtertool.account import Account
from extract.filtertool.local import Job
from extract.filtertool.matcher import Select
from extract.filtertool.progress import Progress, Step
from extract.filtertool.records import divide
from extract.filtertool.report import Report, rejected_queries
from extract.filtertool.spark import planning, worker
from extract.filtertool.spark.committing import Target, commit, parallel
from extract.filtertool.spark.locations import Listed
from extract.filtertool.spark.planning import Task, TaskPlan, large_documents, plan_tasks
from extract.filtertool.spark.resuming import Done, Stamp, digest, finished, finished_parts, stamps
from extract.filtertool.spark.settling import Part, Settlement, settle_anew
from extract.filtertool.spark.shares import shares
from extract.filtertool.spark.shipping import Shipped, ship
from extract.filtertool.spark.watching import ByTask, Finished, watched
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
            order = _Order(str(attempts), form, select, which)
            told = progress or (lambda _: None)
            told(Step(len(known)))
            before_parts = finished_parts(attempts, which) if resume else {}
            crew = _Crew(context, ship(context, job), order, told, before_parts)
            work = _filtered(crew, job, left)
            report.seconds.since("job", before)
            before = time.perf_counter()
            target = Target(attempts, directory, ids, writer, form, select, job.options.limits)
            for account in commit(work, target, crew.settle):
                report.merge(account)
            for number, earlier in enumerate(before_us, len(work) + 1):
                written = worker.Written(number, earlier.folder, earlier.account)
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


def _filtered(crew: _Crew, job: Job, documents: Sequence[Listed]) -> list[Part]:
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


class _Crew:
    """Spark's workers, with a job.

    Args:
        context: Spark.
        shipped: The job.
        order: What workers are told.
        progress: Is told how far they are.
        before: What a run that was interrupted has done of large documents.
    """

    def __init__(
        self,
        context: SparkContext,
        shipped: Shipped,
        order: _Order,
        progress: Progress,
        before: Mapping[tuple[Stamp, str], Done],
    ) -> None:
        self._before = before
        self.known = 0  # parts that were done before
        self.context = context
        self._shipped = shipped
        self._order = order
        self._progress = progress

    def survey(
        self, large: Sequence[Listed], documents: Sequence[Listed]
    ) -> tuple[dict[str, Survey], list[Listed]]:
        """Looks where large documents may be cut; gives the documents as they are to be read."""
        shipped, where, size = self._shipped, self._order.where, planning.PIECE

        def work(some: Iterable[Listed]) -> Iterator[tuple[str, Survey, str]]:
            current: Any = TaskContext.get()
            for one in some:
                if current.attemptNumber() >= worker.SUSPICIOUS:  # it may kill workers
                    yield one.name, Survey(0, ()), ""
                    continue
                job = shipped.job.value
                yield one.name, *worker.survey_document(shipped.key, job, one, where, size)

        done = self._collect(large, work, f"survey of {_many(len(large), 'large document')}")
        surveys = {name: found for name, found, _ in done}
        paths = {name: path for name, found, path in done if path and found.pieces}
        found = [one._replace(path=paths.get(one.name, one.path)) for one in documents]
        sizes = {name: one.size for name, one in surveys.items() if one.pieces}
        return surveys, [one._replace(size=sizes.get(one.name, one.size)) for one in found]

    def run(self, plan: TaskPlan) -> list[Part]:
        """Runs all tasks; gives each with what one attempt at it has written."""
        known = self._known(plan.tasks)
        self.known += len(known)
        left = [task for task in plan.tasks if task.number not in known]
        shipped, order = self._shipped, self._order
        nothing: Finished = {}
        finished = self.context.accumulator(nothing, ByTask())

        def work(tasks: Iterable[Task]) -> Iterator[worker.Written]:
            current: Any = TaskContext.get()
            for task in tasks:
                started = time.perf_counter()
                pieces = bool(task.pieces)
                kept = worker.keep(shipped.key, shipped.job.value, task.shares, pieces)
                made = time.perf_counter() - started
                attempt = current.attemptNumber()
                written = worker.write_results(kept, task, *order[:3], attempt, order.job)
                written.account.seconds.add("compile", made)
                finished.add({task.number: _step(task, written.account)})
                yield written

        count = sum(task.documents for task in left)
        what = f"{_many(count, 'document')} in {_many(len(left), 'task')}"
        done = self._collect(left, work, what, finished) if left else []
        if any(written.folder is None for written in done):
            reason = f"Spark's workers do not see the directory {order.where}"
            hint = "name one that is on a file system that all machines share"
            raise ExtractError(reason, hint)
        by_number = known | {written.number: written for written in done}
        return [Part(task, by_number[task.number]) for task in sorted(plan.tasks)]

    def _known(self, tasks: Iterable[Task]) -> dict[int, worker.Written]:
        """What an earlier run has written for tasks of this one."""
        found = {}
        for task in tasks:
            if task.part and self._before:
                done = self._before.get((stamps(task.batches[0])[0], task.part))
                if done is not None:
                    number, folder, account = task.number, done.folder, done.account
                    found[number] = worker.Written(number, folder, account, done.rows)
        return found

    def settle(self, settlements: Sequence[Settlement]) -> list[tuple[int, str, int]]:
        """Has nodes of pieces written with the numbers that they have in their documents."""
        where, form = self._order.where, self._order.form

        def work(some: Iterable[Settlement]) -> Iterator[tuple[int, str, int]]:
            for one in some:
                yield settle_anew(one, where, form)

        what = f"numbering the nodes of {_many(len(settlements), 'part')}"
        return self._collect(settlements, work, what)

    def _collect(
        self,
        items: Sequence[Any],
        work: Callable[[Iterable[Any]], Iterator[_T]],
        what: str,
        finished: Accumulator[Finished] | None = None,
    ) -> list[_T]:
        """Does work on each item, as a task of its own."""
        context, group = self.context, uuid.uuid4().hex
        if finished is None:
            nothing: Finished = {}
            finished = context.accumulator(nothing, ByTask())

        def collect() -> list[_T]:
            context.setJobGroup(group, f"extract: {what}", interruptOnCancel=True)
            rows = context.parallelize(items, max(1, len(items))).setName(what)
            return rows.mapPartitions(work).collect()

        try:
            return watched(collect, finished, self._progress)
        except (PySparkException, Py4JError) as error:
            hint = "--debug shows all that Spark says; --engine local does without Spark"
            raise ExtractError(f"the Spark job failed: {reason_of(error)}", hint) from error


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


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
