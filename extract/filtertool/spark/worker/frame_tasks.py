"""Tasks of a DataFrame: documents in, rows of all kinds out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from extract.chunktool.input.find import InputFile
from extract.filtertool.batching import BATCH_BYTES, batches
from extract.filtertool.job import Job
from extract.filtertool.spark.worker.documents import filter_batch, open_documents
from extract.filtertool.spark.worker.filter_cache import cached_filter
from extract.filtertool.spark.worker.frame_rows import DocumentRows
from extract.filtertool.spark.worker.large_document import large_document_rows, task_directory
from extract.filtertool.spark.worker.tasks import Task


def task_rows(key: str, job: Job, task: Task, attempt: int = 0) -> Iterator[DocumentRows]:
    """Yields the rows of the documents of a task.

    Args:
        key: Identifies the job.
        job: The job.
        task: The documents; or one document to cut, and the shares of the queries.
        attempt: The number of earlier attempts.
    """
    if task.piece_bytes:
        yield from large_document_rows(key, job, task, attempt)
        return
    cached = cached_filter(key, job)
    for batch in task.batches:
        for done in filter_batch(cached, batch, open_documents, attempt):
            yield DocumentRows.of(cached, done)


def column_rows(
    key: str,
    job: Job,
    documents: Iterable[tuple[str, memoryview]],
    large: int,
    piece_bytes: int,
    attempt: int = 0,
) -> Iterator[DocumentRows]:
    """Yields the rows of documents that are in memory.

    Args:
        key, job, attempt: As for `task_rows`.
        documents: The documents, as bytes.
        large: The size in bytes from which documents are cut.
        piece_bytes: The approximate size of the pieces.
    """
    cached = cached_filter(key, job)
    for batch in batches(documents, lambda document: len(document[1]), min(large, BATCH_BYTES)):
        name, content = batch[0]
        if len(batch) == 1 and len(content) >= large:
            with task_directory() as directory:
                path = Path(directory, "document")
                path.write_bytes(content)
                document = InputFile(name or "<bytes>", len(content), str(path))
                task = Task(1, document.size, ((document,),), piece_bytes=piece_bytes)
                yield from large_document_rows(key, job, task, attempt)
            continue
        small = [(name, bytes(content)) for name, content in batch]
        for done in filter_batch(cached, small, list, attempt):
            yield DocumentRows.of(cached, done)
