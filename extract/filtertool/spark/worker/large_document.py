"""One large document in one task of a DataFrame, piece by piece, in bounded memory.

Tasks of a DataFrame cannot communicate: a task has some shares of the queries, or all of them, on
    all
pieces of the document, and so can number nodes, and enforce the limits of queries, alone. The steps
are those of the engine (`extract.filtertool.spark.engine`): survey the document, run tasks on
pieces and on the whole document, repeat those whose pieces no longer fit, and join the results
(`document_results`). Findings wait in files of the task until the last piece is done.

All tasks on a document survey it first, with the whole scheme, and so agree on what to do:

==========================  ========================================================================
the document                a task
==========================  ========================================================================
keeps to the schema,        evaluates on pieces those of its queries that can be, and the others on
and can be cut              what they look at of the document
keeps to the schema         evaluates its queries on what they look at of the document
is not the one that was     rejects it: the first task the document, others their queries
planned for, or not there
anything else               evaluates all queries, if it is the first; else nothing
==========================  ========================================================================
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from extract.chunktool.input.find import InputFile
from extract.chunktool.input.remote import file_version
from extract.chunktool.split.survey import Survey
from extract.filtertool.job import Job
from extract.filtertool.processes.guard import guarded
from extract.filtertool.processes.isolation import SUSPICIOUS, each_in_child
from extract.filtertool.processes.workers import ChildExit
from extract.filtertool.results.findings import Findings
from extract.filtertool.results.outcome import Rejection
from extract.filtertool.spark.worker.document_results import DocumentResults, PieceResults
from extract.filtertool.spark.worker.documents import filter_batch, open_documents
from extract.filtertool.spark.worker.filter_cache import (
    CachedFilter,
    cached_division,
    cached_filter,
)
from extract.filtertool.spark.worker.findings_file import FindingsFile
from extract.filtertool.spark.worker.frame_rows import (
    AccountRow,
    DocumentRows,
    FrameRows,
    rows_of,
)
from extract.filtertool.spark.worker.query_shares import query_shares, shares_by_input
from extract.filtertool.spark.worker.row_numbers import numbered_findings
from extract.filtertool.spark.worker.run_task import TaskTarget, run_task
from extract.filtertool.spark.worker.survey_document import DocumentSurvey, survey_document
from extract.filtertool.spark.worker.task_output import FinishedTask
from extract.filtertool.spark.worker.tasks import Task

_CHANGED: Final = "the document has changed since the DataFrame was made"


def large_document_rows(key: str, job: Job, task: Task, attempt: int) -> Iterator[FrameRows]:
    """Yields the rows of a task that cuts its one document.

    key: Identifies the job.
        key: Tells jobs apart.
        task: The document, and the shares of the queries.
        task: The document, and which shares of the queries.
        attempt: The number of earlier attempts.
    """
    with task_directory() as directory:
        survey, path, unreadable = DocumentSurvey()
        if task.shares or cached_division(key, job).forms:
            survey, path, unreadable = _survey(key, job, task, directory, attempt)
        if survey.conforming:
            document = task.document._replace(path=path or task.document.path)
            large = _LargeDocument(key, job, task, document, survey, directory, attempt)
            yield from large.rows()
        elif task.shares and (unreadable or _has_changed(task)):
            yield _rejected_share(key, job, task, unreadable or _CHANGED)
        elif task.first:
            yield from _rows_of_whole(key, job, task.document, attempt)


def task_directory() -> tempfile.TemporaryDirectory[str]:
    """Makes a directory for files of a task, in Spark's local directories if they are set."""
    places = [place for place in os.environ.get("SPARK_LOCAL_DIRS", "").split(",") if place]
    room = next((place for place in places if os.path.isdir(place)), None)
    return tempfile.TemporaryDirectory(prefix="extract-", dir=room)


def _survey(key: str, job: Job, task: Task, directory: str, attempt: int) -> DocumentSurvey:
    """Surveys the document. A survey that kills its process returns an empty result."""

    def survey(document: InputFile) -> DocumentSurvey:
        return survey_document(key, job, document, directory, task.piece_bytes)

    limits = job.options.limits
    if attempt < SUSPICIOUS:
        with guarded(limits):
            return survey(task.document)
    (answer,) = each_in_child([task.document], survey, limits)
    return DocumentSurvey() if isinstance(answer, ChildExit) else answer


def _has_changed(task: Task) -> bool:
    return task.version is not None and file_version(task.document) != task.version


def _rejected_share(key: str, job: Job, task: Task, reason: str) -> DocumentRows:
    """Returns the rows of a task that may not see the same document as the other tasks.

    The first task rejects the document, the others reject their queries: whatever the first task
        has
    seen, nothing is silently missing.
    """
    name = task.document.name
    why = Rejection(name, None, "chunk", reason)
    if task.first:
        return DocumentRows(name, None, Findings.none(), [why], AccountRow("rejected", 0, 0))
    ids = cached_filter(key, job, task.shares).ids
    rejections = [why._replace(query=id_) for id_ in ids]
    return DocumentRows(name, None, Findings.none(), rejections, AccountRow(None, None, 0))


def _rows_of_whole(key: str, job: Job, document: InputFile, attempt: int) -> Iterator[FrameRows]:
    """Evaluates all queries on the whole document."""
    cached = cached_filter(key, job)
    for done in filter_batch(cached, [document], open_documents, attempt):
        yield rows_of(cached, done)


class _LargeDocument:
    """A document that keeps to the schema.

    Args:
        key, job, task, attempt: As for `large_document_rows`.
        document: The document to read, unpacked.
        survey: Its survey.
        directory: A directory for files.
    """

    def __init__(
        self,
        key: str,
        job: Job,
        task: Task,
        document: InputFile,
        survey: Survey,
        directory: str,
        attempt: int,
    ) -> None:
        self._key = key
        self._job = job
        self._task = task
        self._document = document
        self._survey = survey
        self._directory = directory
        self._attempt = attempt

    def rows(self) -> Iterator[FrameRows]:
        """Yields all rows, after the fate of the document is known."""
        finished = [self._run(task) for task in self._tasks(self._survey)]
        if any(done.output.torn for done in finished):  # the document has changed
            if not self._task.shares:
                yield from _rows_of_whole(self._key, self._job, self._document, self._attempt)
                return
            finished = [self._run(task) for task in self._tasks(Survey(0, ()))]
        if _has_changed(self._task):
            yield _rejected_share(self._key, self._job, self._task, _CHANGED)
            return
        yield from self._joined(finished)

    def _tasks(self, survey: Survey) -> list[Task]:
        """Returns a task on all pieces, and one on the whole document, as far as needed."""
        shares = query_shares(self._job.scheme, cached_division(self._key, self._job))
        which = self._task.shares or range(len(shares))
        on_pieces, on_document = shares_by_input(shares, which, survey)
        task = self._task._replace(batches=((self._document,),))
        tasks = []
        if on_pieces:
            tasks.append(task._replace(shares=on_pieces, pieces=survey.pieces))
        if on_document:
            tasks.append(task._replace(shares=on_document))
        return tasks

    def _run(self, task: Task) -> FinishedTask:
        target = TaskTarget(self._directory, None, self._job.options.select)
        return FinishedTask(task, run_task(self._filter(task), task, target, self._attempt))

    def _filter(self, task: Task) -> CachedFilter:
        return cached_filter(self._key, self._job, task.shares, task.input)

    def _joined(self, finished: Sequence[FinishedTask]) -> Iterator[DocumentRows]:
        name, options = self._document.name, self._job.options
        place = Path(self._directory)
        rows, rejections = 0, list[Rejection]()
        if finished:
            results = DocumentResults(finished, place, options.select, options.limits)
            if results.rejecting is not None and not self._task.shares:
                yield self._rejected(results.rejecting)
                return
            for cached, findings in self._findings(results):
                rows += len(findings)
                yield DocumentRows(name, cached.id_column, findings, columns=cached.columns)
            if results.pieces is not None:
                rejections += results.pieces.rejections()
            for done in results.whole:
                rejections += self._by_query(done)
        account = AccountRow(None, None, rows)
        if self._task.first:
            account = AccountRow("conforming", self._survey.size, rows)
        yield DocumentRows(name, None, Findings.none(), rejections, account)

    def _findings(self, results: DocumentResults) -> Iterator[tuple[CachedFilter, Findings]]:
        if results.pieces is not None:
            cached = self._filter(results.pieces.tasks[0].task)
            for findings in self._of_pieces(results.pieces, cached.ids):
                yield cached, findings
        for done in results.whole:
            cached = self._filter(done.task)
            for _, findings in self._file(done).findings():
                yield cached, findings

    def _of_pieces(self, pieces: PieceResults, ids: Sequence[str]) -> Iterator[Findings]:
        if self._job.options.select != "nodes":
            yield from pieces.counts(ids)
            return
        for rows in pieces.unnumbered():
            yield from numbered_findings(rows, Path(self._directory))

    def _rejected(self, done: FinishedTask) -> DocumentRows:
        account = AccountRow("rejected", done.output.account.bytes, 0)
        rejections = self._file(done).rejections()
        return DocumentRows(self._document.name, None, Findings.none(), rejections, account)

    def _by_query(self, done: FinishedTask) -> list[Rejection]:
        """Returns the rejections of a task. A document of which other tasks may have rows is
        rejected query by query."""
        rejections = self._file(done).rejections()
        if not done.output.account.documents["rejected"]:
            return rejections
        (why,) = rejections
        return [why._replace(query=query) for query in self._filter(done.task).ids]

    def _file(self, done: FinishedTask) -> FindingsFile:
        assert done.output.folder is not None
        return FindingsFile(Path(self._directory, done.output.folder))
