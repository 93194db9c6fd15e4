"""Tasks of a DataFrame: documents in, rows of all kinds out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from extract.chunktool.input.find import InputFile
from extract.chunktool.input.messages.blocks import Places
from extract.chunktool.input.messages.columns import binary_values, text_values
from extract.chunktool.input.messages.splitting import pieces
from extract.filtertool.batching import BATCH_BYTES
from extract.filtertool.job import Job
from extract.filtertool.spark.worker.documents import filter_batch, filter_files
from extract.filtertool.spark.worker.filter_cache import cached_filter
from extract.filtertool.spark.worker.frame_rows import FrameRows, rows_of
from extract.filtertool.spark.worker.large_document import large_document_rows, task_directory
from extract.filtertool.spark.worker.tasks import Task

_TOGETHER: Final = 4096  # documents: their rows are still in the processor's cache


def task_rows(key: str, job: Job, task: Task, attempt: int = 0) -> Iterator[FrameRows]:
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
        for done in filter_files(cached, batch, attempt):
            yield rows_of(cached, done)


def column_rows(
    key: str,
    job: Job,
    batches: Iterable[Sequence[tuple[str, bytes]]],
    large: int,
    piece_bytes: int,
    attempt: int = 0,
) -> Iterator[FrameRows]:
    """Yields the rows of documents that are in memory.

    Args:
        key, job, attempt: As for `task_rows`.
        batches: The documents with their names, as `column_batches` yields them.
        large: The size in bytes from which documents are cut.
        piece_bytes: The approximate size of the pieces.
    """
    cached = cached_filter(key, job)
    for batch in batches:
        name, content = batch[0]
        if len(batch) == 1 and len(content) >= large and job.options.in_parts:
            with task_directory() as directory:
                path = Path(directory, "document")
                path.write_bytes(content)
                document = InputFile(name or "<bytes>", len(content), str(path))
                task = Task(1, document.size, ((document,),), piece_bytes=piece_bytes)
                yield from large_document_rows(key, job, task, attempt)
            continue
        for done in filter_batch(cached, batch, list, attempt):
            yield rows_of(cached, done)


def column_batches(columns: Iterable[Any], large: int) -> Iterator[list[tuple[str, bytes]]]:
    """Yields the documents of record batches, in batches that are filtered together.

    Args:
        columns: Record batches whose columns are the names, and the documents as binary values.
        large: The size in bytes from which a document has a batch of its own.
    """
    for rows in columns:
        starts, ends, data = binary_values(rows.column(1))
        names = ["" if name is None else name for name in text_values(rows.column(0))]
        for first, end in _ranges(ends - starts, min(large, BATCH_BYTES)):
            some = pieces(data, starts[first:end], ends[first:end])
            yield list(zip(names[first:end], some, strict=True))


def _ranges(sizes: Places, most: int) -> Iterator[tuple[int, int]]:
    """Divides documents into ranges with so many bytes at most, or of one document.

    >>> list(_ranges(np.array([1, 1, 9, 1]), 3))
    [(0, 2), (2, 3), (3, 4)]
    """
    before = np.concatenate([[0], np.cumsum(sizes)])
    first = 0
    while first < len(sizes):
        end = int(np.searchsorted(before, before[first] + most, "right")) - 1
        end = max(first + 1, min(end, first + _TOGETHER))
        yield first, end
        first = end
