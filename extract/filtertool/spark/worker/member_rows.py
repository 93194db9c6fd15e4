"""Which members of a part of the subscriptions have rows, found in a Spark worker."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from extract.chunktool.input.find import InputFile
from extract.filtertool.job import Job
from extract.filtertool.results.batch_outcome import FilterOutcome
from extract.filtertool.results.outcome import DocumentOutcome
from extract.filtertool.spark.worker.documents import filter_files
from extract.filtertool.spark.worker.filter_cache import cached_filter


def members_with_rows(
    key: str, job: Job, files: Sequence[InputFile], attempt: int = 0
) -> list[int]:
    """The numbers of a job's subscribers that have rows, ascending; rejections are rows, too.

    Args:
        key: Identifies the job.
        job: The part of the subscriptions, and how to filter.
        files: Files of one document each, or of many.
        attempt: As for `filter_files`.
    """
    cached = cached_filter(key, job)
    found: set[int] = set()
    failed: set[str | None] = set()
    for batch in _batches(files):
        for done in filter_files(cached, batch, attempt):
            found.update(np.unique(_subscribers(done)).tolist())
            failed.update([one.query for one in done.rejections])
    if failed:
        found.update([number for number, name in enumerate(cached.ids) if name in failed])
    return sorted(found)


def _batches(files: Sequence[InputFile]) -> Iterable[Sequence[InputFile]]:
    plain = [file for file in files if file.messages is None]
    if plain:
        yield plain
    for file in files:
        if file.messages is not None:
            yield [file]


def _subscribers(done: FilterOutcome) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    if isinstance(done, DocumentOutcome):
        return done.findings.subscriber
    return done.subscriber
