"""Notes of finished tasks beside their files, so that an interrupted run can be resumed.

A note has the task's documents, their versions, and the job. The driver reads the notes
(`extract.filtertool.spark.driver.resume`).
"""

from __future__ import annotations

import contextlib
import os
import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from extract.chunktool.input.find import InputFile, is_uri
from extract.files import whole_file
from extract.filtertool.spark.worker.task_output import TaskOutput

_NOTE: Final = "finished.pickle"

DocumentVersion = tuple[str, str, int, int]  # name, path, size, time of the last change


@dataclass(frozen=True, slots=True)
class TaskNote:
    """The note of a finished task.

    Attributes:
        job: The digest of its job.
        documents: Its documents as they were when it began.
        output: Its output.
        part: The part of the work on its one document; empty for all of it.
    """

    job: str
    documents: tuple[DocumentVersion, ...]
    output: TaskOutput
    part: str = ""


def document_versions(documents: Iterable[InputFile]) -> tuple[DocumentVersion, ...]:
    """Returns names, paths, sizes and times of documents, which differ if they change."""
    return tuple(map(_version, documents))


def _version(document: InputFile) -> DocumentVersion:
    size, changed = document.size, 0
    if not is_uri(document.name):
        with contextlib.suppress(OSError, ValueError):
            status = os.stat(document.place)
            size, changed = status.st_size, status.st_mtime_ns
    return (document.name, document.path, size, changed)


def write_note(folder: Path, note: TaskNote) -> None:
    """Writes a note beside the files of its task."""
    with whole_file(folder / _NOTE) as file:
        pickle.dump(note, file, pickle.HIGHEST_PROTOCOL)


def read_notes(attempts: Path) -> Iterator[TaskNote]:
    """Yields the notes of all tasks below a directory, which must belong to this user."""
    for path in sorted(attempts.glob(f"*/{_NOTE}")):
        with path.open("rb") as file:
            note: TaskNote = pickle.load(file)
        yield note
