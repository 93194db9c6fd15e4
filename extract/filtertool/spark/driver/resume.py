"""Resumes an interrupted run: the files of its finished tasks are still good.

A finished task leaves a note beside its files (`extract.filtertool.spark.worker.checkpoint`). A
later run reuses the results of the same job for documents that have not changed since.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from extract.chunktool.input.find import InputFile
from extract.errors import ExtractError
from extract.filtertool.job import Job
from extract.filtertool.spark.worker.checkpoint import (
    DocumentVersion,
    TaskNote,
    document_versions,
    read_notes,
)
from extract.filtertool.spark.worker.task_output import FinishedTask
from extract.filtertool.spark.worker.tasks import Task
from extract.scheme.writer import scheme_digest

PartNotes = Mapping[tuple[DocumentVersion, str], TaskNote]


def job_digest(job: Job, form: str, documents: Iterable[InputFile] = ()) -> str:
    """Returns a digest that jobs share if they give the same results for the same documents.

    Args:
        job: The job.
        form: The format of the results.
        documents: The documents; what counts of them is how their messages are told apart.
    """
    digest = hashlib.sha256(scheme_digest(job.scheme).encode())
    digest.update(repr((job.factory.name, job.options, form)).encode())
    forms = {repr(one.messages) for one in documents if one.messages is not None}
    if forms:
        digest.update(repr(sorted(forms)).encode())
    return digest.hexdigest()


def finished_before(attempts: Path, job: str, documents: Iterable[InputFile]) -> Iterator[TaskNote]:
    """Yields the finished tasks of earlier runs whose results are still good, no document twice.

    Args:
        attempts: The directory of the tasks' files.
        job: The job's digest.
        documents: The documents of this run.

    Raises:
        ExtractError: Other users can write to the directory.
    """
    remaining = {document.name: document for document in documents}
    for note in _notes(attempts, job):
        names = [version[0] for version in note.documents]
        if note.part or not all(name in remaining for name in names):
            continue
        if document_versions(remaining[name] for name in names) == note.documents:
            for name in names:
                del remaining[name]
            yield note


def parts_finished_before(attempts: Path, job: str) -> PartNotes:
    """Returns the notes of tasks on large documents, by document and part.

    Raises:
        ExtractError: Other users can write to the directory.
    """
    return {(note.documents[0], note.part): note for note in _notes(attempts, job) if note.part}


def tasks_finished_before(tasks: Sequence[Task], notes: PartNotes) -> list[FinishedTask]:
    """Returns the tasks that an earlier run has finished, with their output."""
    finished = []
    for task in tasks:
        if task.part and notes:
            (version,) = document_versions([task.document])
            note = notes.get((version, task.part))
            if note is not None:
                finished.append(FinishedTask(task, note.output))
    return finished


def _notes(attempts: Path, job: str) -> Iterator[TaskNote]:
    _check_ours(attempts)
    return (note for note in read_notes(attempts) if note.job == job)


def _check_ours(attempts: Path) -> None:
    """Checks that no other user can write notes: reading one unpickles it, which may run code.

    Raises:
        ExtractError: The directory belongs to another user, or others may write to it.
    """
    status = os.lstat(attempts)
    own = not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
    if not (stat.S_ISDIR(status.st_mode) and own and not status.st_mode & 0o022):
        reason = f"{attempts} is not a directory that only we can write to"
        raise ExtractError(reason, "remove it: there is nothing in it to resume from")
