"""One large document in one task, piece by piece, so that memory does not grow with the document.

For DataFrames, where tasks cannot hear of each other: a task has some shares of the queries, or all
of them, on all pieces of the document, and so can number nodes, and hold queries to their limits,
alone. What was found on pieces waits in files of the task's own until the last piece is done.

All tasks on a document look at it first, with the whole scheme, and so agree on what to do:

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
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from extract.filtertool.findings import Findings
from extract.filtertool.guard import guarded
from extract.filtertool.job import Job
from extract.filtertool.outcome import DocumentOutcome, Rejection
from extract.filtertool.spark.isolation import SUSPICIOUS, Died, apart
from extract.filtertool.spark.keeping import Kept, Reading, divided, keep
from extract.filtertool.spark.locations import Listed, facts
from extract.filtertool.spark.planning import Task
from extract.filtertool.spark.reading import (
    BATCH_BYTES,
    Seen,
    batches,
    filtered,
    located,
    survey_document,
)
from extract.filtertool.spark.rows import Accounted, Told, told
from extract.filtertool.spark.settling import Part, Pieced, settled
from extract.filtertool.spark.shares import shares
from extract.filtertool.spark.worker import write_results
from extract.filtertool.survey import Survey
from extract.limits import Limits

_CHANGED: Final = "the document has changed since the DataFrame was made"


def told_of_task(key: str, job: Job, task: Task, attempt: int = 0) -> Iterator[Told]:
    """All that is to be told of the documents of a task.

    Args:
        key: Tells jobs apart.
        job: The job.
        task: The documents; if there is one and it is to be cut, which shares of the queries.
        attempt: How often it was tried before.
    """
    if task.cut:
        yield from _large(key, job, task, attempt)
        return
    kept = keep(key, job)
    for batch in task.batches:
        for done in filtered(kept, batch, located, attempt):
            yield told(kept, done)


def told_of_column(
    key: str,
    job: Job,
    documents: Iterable[tuple[str, memoryview]],
    large: int,
    cut: int,
    attempt: int = 0,
) -> Iterator[Told]:
    """All that is to be told of documents that are in memory.

    Args:
        key, job, attempt: As for `told_of_task`.
        documents: The documents, as bytes.
        large: From how many bytes on they are cut.
        cut: Into pieces of about how many bytes.
    """
    kept = keep(key, job)
    for batch in batches(documents, min(large, BATCH_BYTES)):
        name, content = batch[0]
        if len(batch) == 1 and len(content) >= large:
            with tempfile.TemporaryDirectory(prefix="extract-", dir=_room()) as place:
                path = Path(place, "document")
                path.write_bytes(content)
                listed = Listed(name or "<bytes>", len(content), str(path))
                task = Task(1, listed.size, ((listed,),), cut=cut)
                yield from _large(key, job, task, attempt)
            continue
        small = [(name, bytes(content)) for name, content in batch]
        for done in filtered(kept, small, list, attempt):
            yield told(kept, done)


def _large(key: str, job: Job, task: Task, attempt: int) -> Iterator[Told]:
    ((listed,),) = task.batches
    with tempfile.TemporaryDirectory(prefix="extract-", dir=_room()) as place:
        seen = Seen(Survey(0, ()))
        if task.shares or divided(key, job).queries:
            seen = _seen(key, job, listed, place, task.cut, attempt)
        if seen.survey.conforming:
            here = listed._replace(path=seen.path or listed.path)
            yield from _Conforming(key, job, task, here, seen.survey, place, attempt).told()
        elif task.shares and (seen.unread or _changed(task)):
            yield _unshared(key, job, task, seen.unread or _CHANGED)
        elif task.first:
            yield from _as_it_is(key, job, listed, attempt)


def _seen(key: str, job: Job, listed: Listed, place: str, size: int, attempt: int) -> Seen:
    """What is known of a document. A look that kills the process says that nothing is."""

    def look(one: Listed) -> Seen:
        return survey_document(key, job, one, place, size)

    limits = job.options.limits
    if attempt < SUSPICIOUS:
        with guarded(limits):
            return look(listed)
    (found,) = apart([listed], look, limits)
    return Seen(Survey(0, ())) if isinstance(found, Died) else found


def _changed(task: Task) -> bool:
    ((listed,),) = task.batches
    return task.seen is not None and facts(listed) != task.seen


def _unshared(key: str, job: Job, task: Task, reason: str) -> Told:
    """What is told where tasks may not agree on what the document is.

    The first says that the document is rejected, the others say it of their queries: whatever the
    first has seen, nothing is silently missing.
    """
    ((listed,),) = task.batches
    why = Rejection(listed.name, None, "chunk", reason)
    if task.first:
        account = Accounted("rejected", 0, 0)
        return Told(listed.name, None, Findings.none(), [why], account)
    ids = keep(key, job, task.shares).ids
    every = [why._replace(query=one) for one in ids]
    return Told(listed.name, None, Findings.none(), every, Accounted(None, None, 0))


def _room() -> str | None:
    """Where Spark has room for files of a task; None if it does not say."""
    places = [one for one in os.environ.get("SPARK_LOCAL_DIRS", "").split(",") if one]
    return next((one for one in places if os.path.isdir(one)), None)


def _as_it_is(key: str, job: Job, listed: Listed, attempt: int) -> Iterator[Told]:
    kept = keep(key, job)
    for done in filtered(kept, [listed], located, attempt):
        yield told(kept, done)


class _Conforming:
    """A document that keeps to the schema.

    Args:
        key, job, task, attempt: As for `told_of_task`.
        listed: The document as it is to be read.
        known: What is known of it.
        place: Where there is room for files.
    """

    def __init__(
        self,
        key: str,
        job: Job,
        task: Task,
        listed: Listed,
        known: Survey,
        place: str,
        attempt: int,
    ) -> None:
        self._key = key
        self._job = job
        self._task = task
        self._listed = listed
        self._known = known
        self._place = Path(place)
        self._attempt = attempt

    def told(self) -> Iterator[Told]:
        """All that is to be told; nothing before it is known what became of the document."""
        every = shares(self._job.scheme, divided(self._key, self._job))
        ours = self._task.shares or tuple(range(len(every)))
        cut = tuple([n for n in ours if self._known.pieces and every[n].records])
        rest = tuple([n for n in ours if n not in cut and not every[n].idle])
        part = self._on_pieces(cut) if cut else None
        if part is not None and part.written.torn:  # as it is now, it is another document
            if not self._task.shares:
                yield from _as_it_is(self._key, self._job, self._listed, self._attempt)
                return
            part, rest = None, (*cut, *rest)
        kept, done = self._in_one_go(rest) if rest else (None, None)
        if _changed(self._task):
            yield _unshared(self._key, self._job, self._task, _CHANGED)
            return
        if kept and done and done.fate == "rejected" and not self._task.shares:
            yield told(kept, done)
            return
        rows, rejections = 0, list[Rejection]()
        if part is not None:
            pieced = Pieced(self._listed.name, [part], self._place, self._limits)
            rejections += pieced.rejections()
            names = keep(self._key, self._job, cut, Reading.PIECES)
            for findings in self._settled(pieced, names.ids):
                rows += len(findings)
                yield Told(self._listed.name, names.names, findings)
        if kept and done:
            rejections += _of_queries(done, kept.ids)
            rows += len(done.findings)
            yield Told(self._listed.name, kept.names, done.findings)
        account = Accounted(None, None, rows)
        if self._task.first:
            account = Accounted("conforming", self._known.size, rows)
        yield Told(self._listed.name, None, Findings.none(), rejections, account)

    @property
    def _limits(self) -> Limits | None:
        return self._job.options.limits if self._job.options.select == "nodes" else None

    def _on_pieces(self, some: tuple[int, ...]) -> Part:
        """Evaluates shares of the queries on pieces, into files."""
        kept = keep(self._key, self._job, some, Reading.PIECES)
        task = self._task._replace(
            batches=((self._listed,),), shares=some, pieces=self._known.pieces
        )
        select, place = self._job.options.select, str(self._place)
        return Part(task, write_results(kept, task, place, "parquet", select, self._attempt))

    def _settled(self, pieced: Pieced, ids: Sequence[str]) -> Iterator[Findings]:
        select = self._job.options.select
        if select != "nodes":
            yield from pieced.numbers(ids, select)
            return
        for one in pieced.settlements():
            yield from settled(one, self._place)

    def _in_one_go(self, some: tuple[int, ...]) -> tuple[Kept, DocumentOutcome]:
        """Evaluates shares of the queries on what they look at of the document."""
        kept = keep(self._key, self._job, some)
        (done,) = filtered(kept, [self._listed], located, self._attempt)
        return kept, done


def _of_queries(done: DocumentOutcome, ids: Sequence[str]) -> list[Rejection]:
    """What was rejected. A document that others may get rows of is rejected query by query."""
    if done.fate != "rejected":
        return list(done.rejections)
    (why,) = done.rejections
    return [why._replace(query=one) for one in ids]
