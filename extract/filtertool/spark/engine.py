"""``extract run --engine spark``: documents in, a directory of results out, whole or not at all.

A run is a recipe; a step in brackets happens only where the work needs it:

    [survey large documents]  a Spark job    where each of them can be cut
    plan                      the driver     which task gets which documents, pieces and queries
    filter                    a Spark job    tasks write their rows to files
    [repeat]                  a Spark job    documents that have changed since the survey, uncut
    [number rows]             the driver,    nodes of pieces, where several tasks had pieces of one
                              or a Spark job document
    commit                    the driver     files of tasks become files of the results

Workers write rows to files themselves and report only their names to the driver: rows pass neither
through the JVM nor over the network. The files of an attempt that fails, or that another attempt
outruns, are never reported; the driver commits only files of reported attempts, one for each task.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from pyspark import SparkContext

from extract.chunktool.input.find import STDIN, InputFile, SkippedFile
from extract.chunktool.split.divide import divide
from extract.filtertool.job import Job
from extract.filtertool.output.joined import JoinedColumns, joined_columns
from extract.filtertool.output.writers import Format, closed_at_end, open_writer
from extract.filtertool.results.progress import Progress, ProgressStep
from extract.filtertool.results.report import Report, rejected_files, rejected_queries
from extract.filtertool.spark.driver.broadcast import broadcast_job
from extract.filtertool.spark.driver.commit import (
    CommitTarget,
    commit_document,
    commit_tasks,
    parallel_figures,
)
from extract.filtertool.spark.driver.jobs import SparkJobs
from extract.filtertool.spark.driver.number_rows import number_rows
from extract.filtertool.spark.driver.planner import large_documents, plan_tasks
from extract.filtertool.spark.driver.resume import (
    PartNotes,
    finished_before,
    job_digest,
    parts_finished_before,
    tasks_finished_before,
)
from extract.filtertool.spark.worker.document_results import DocumentResults, by_document
from extract.filtertool.spark.worker.query_shares import QueryShare, query_shares
from extract.filtertool.spark.worker.run_task import TaskTarget
from extract.filtertool.spark.worker.survey_document import DocumentSurvey
from extract.filtertool.spark.worker.task_output import FinishedTask
from extract.filtertool.spark.worker.tasks import Task


def run_into_directory(
    context: SparkContext,
    job: Job,
    documents: Sequence[InputFile],
    directory: Path,
    form: Format = "parquet",
    progress: Progress | None = None,
    resume: Path | None = None,
    skipped: Sequence[SkippedFile] = (),
) -> Report:
    """Filters documents on Spark into a directory.

    Args:
        context: Spark.
        job: The scheme, matcher and options.
        documents: The documents; all workers must be able to open them.
        directory: Where the results go; driver and workers must see the same. The caller takes care
            that it gets its name only when this has returned.
        form: In which format to write; each task writes files of its own.
        progress: Told what was done since the last call; from time to time, also if nothing was.
        resume: A directory for what is finished: if this is interrupted, it stays there, and
            another run with the same directory goes on from there.
        skipped: Files that are not read; they are reported as rejected.

    Raises:
        ExtractError: The workers do not see the directory, or Spark gave up.
    """
    report = Report(job.scheme, "spark", job.factory.name, job.options.select)
    started = time.perf_counter()
    ids = job.scheme.directory.ids
    # For what was rejected before any document was read, and for rows that only the driver writes.
    joined = joined_columns(job.scheme, job.options.joined)
    with closed_at_end(open_writer(directory, form, ids, job.options.select, joined)) as writer:
        unread = rejected_files(skipped)
        writer.reject([*rejected_queries(job.scheme), *unread])
        report.add_unread(unread)
        with _attempts(directory, resume) as attempts:
            digest = job_digest(job, form, documents) if resume else ""
            run = _Run(context, job, attempts, form, progress or (lambda _: None), digest)
            run.filter(documents, report)
            target = CommitTarget(attempts, directory, ids, writer, form, job.options.select)
            run.commit(target, report, joined)
    report.seconds["elapsed"] = time.perf_counter() - started
    return report


class _Run:
    """The steps of one run.

    Args:
        context, job, form, progress: As for `run_into_directory`.
        attempts: The directory of the tasks' files.
        digest: The job's digest, if the run can be resumed.
    """

    def __init__(
        self,
        context: SparkContext,
        job: Job,
        attempts: Path,
        form: Format,
        progress: Progress,
        digest: str,
    ) -> None:
        self._job = job
        self._attempts = attempts
        self._form = form
        self._progress = progress
        self._digest = digest
        target = TaskTarget(str(attempts), form, job.options.select, self._digest)
        self._jobs = SparkJobs(context, broadcast_job(context, job), target, progress)
        self._notes: PartNotes = {}
        self._finished: list[FinishedTask] = []

    def filter(self, documents: Sequence[InputFile], report: Report) -> None:
        """Surveys, plans and filters documents; repeats those that have changed meanwhile."""
        started = time.perf_counter()
        documents = self._resumed(with_stdin_as_file(documents, self._attempts), report)
        cores = self._jobs.cores
        large = large_documents(documents, cores) if self._job.options.in_parts else []
        shares, surveys = self._survey(large)
        documents = [_as_surveyed(document, surveys) for document in documents]
        pieces = {name: surveyed.survey for name, surveyed in surveys.items()}
        number = len(self._finished) + 1
        plan = plan_tasks(documents, cores, shares, pieces, number)
        finished = self._run_tasks(plan.tasks, report)
        torn = {done.task.document.name for done in finished if done.output.torn}
        if torn:  # its pieces no longer fit the document, which is filtered as it is now
            again = [document for document in documents if document.name in torn]
            uncut = plan_tasks(again, cores, shares, number=number + len(plan.tasks))
            finished = [done for done in finished if not _is_on(done.task, torn)]
            finished += self._run_tasks(uncut.tasks, report)
        self._finished += finished
        report.seconds.since("job", started)
        report.parallel = parallel_figures(finished, cores, report.seconds["job"])

    def _resumed(self, documents: Sequence[InputFile], report: Report) -> list[InputFile]:
        """Takes over the finished tasks of an interrupted run; returns the remaining documents."""
        if self._digest:
            self._notes = parts_finished_before(self._attempts, self._digest)
            for note in finished_before(self._attempts, self._digest, documents):
                batch = tuple(InputFile(name, size, path) for name, path, size, _ in note.documents)
                task = Task(len(self._finished) + 1, 0, (batch,))
                self._finished.append(FinishedTask(task, note.output))
                report.notes["finished by a run that was interrupted"] += len(batch)
        names = {document.name for task, _ in self._finished for document in task.batches[0]}
        self._progress(ProgressStep(len(names)))
        return [document for document in documents if document.name not in names]

    def _survey(
        self, large: Sequence[InputFile]
    ) -> tuple[Sequence[QueryShare], dict[str, DocumentSurvey]]:
        """Returns the shares of the queries, and the surveys of large documents."""
        if not large:
            return (), {}
        division = divide(self._job.scheme)
        shares = query_shares(self._job.scheme, division)
        return shares, self._jobs.survey(large) if division.forms else {}

    def _run_tasks(self, tasks: Sequence[Task], report: Report) -> list[FinishedTask]:
        """Runs tasks, except for those that an interrupted run has finished."""
        before = tasks_finished_before(tasks, self._notes)
        if before:
            report.notes["parts finished by a run that was interrupted"] += len(before)
        numbers = {done.task.number for done in before}
        left = [task for task in tasks if task.number not in numbers]
        return sorted([*before, *self._jobs.filter(left)], key=lambda done: done.task.number)

    def commit(self, target: CommitTarget, report: Report, joined: JoinedColumns) -> None:
        """Numbers the rows of pieces where that is left to do, and commits all results."""
        started = time.perf_counter()
        select, limits = self._job.options.select, self._job.options.limits
        shared = [
            DocumentResults(tasks, self._attempts, select, limits)
            for tasks in by_document(self._finished).values()
        ]
        numbered = {}
        if select == "nodes" and self._form != "xml":
            run_job = self._jobs.number_rows
            numbered = number_rows(shared, self._attempts, self._form, run_job, joined)
        alone = [one for one in self._finished if not one.task.shares]
        for account in commit_tasks(alone, target):
            report.merge(account)
        for results in shared:
            report.merge(commit_document(results, target, numbered))
        report.seconds.since("commit", started)


def _as_surveyed(document: InputFile, surveys: dict[str, DocumentSurvey]) -> InputFile:
    """Returns a document as tasks read it: unpacked, and with its unpacked size."""
    survey = surveys.get(document.name)
    if survey is None or not survey.survey.pieces:
        return document
    return document._replace(path=survey.path or document.path, size=survey.survey.size)


def _is_on(task: Task, names: set[str]) -> bool:
    return bool(task.shares) and task.document.name in names


@contextlib.contextmanager
def _attempts(directory: Path, resume: Path | None) -> Iterator[Path]:
    """Makes a directory for the tasks' files; after an error it stays if it can be resumed."""
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
    """Removes the files of attempts."""
    with contextlib.suppress(FileNotFoundError):
        # A lost attempt may still be writing: it must not find the directory again.
        gone = Path(tempfile.mkdtemp(".gone", f"{directory.name}.", directory.parent))
        attempts.rename(gone / "attempts")
        shutil.rmtree(gone, ignore_errors=True)


def with_stdin_as_file(documents: Sequence[InputFile], directory: Path) -> list[InputFile]:
    """Returns the documents, with standard input as a file in a directory that workers see."""
    inputs = list(documents)
    for at, document in enumerate(inputs):
        if document.name == STDIN:
            copy = directory / "stdin"
            with copy.open("wb") as file:
                shutil.copyfileobj(getattr(sys.stdin, "buffer", sys.stdin), file)
            size = max(1, copy.stat().st_size)
            inputs[at] = document._replace(name="<stdin>", size=size, path=str(copy))
    return inputs
