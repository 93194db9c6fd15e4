"""Caches of a worker process, which lives through many tasks: filters, jobs, divisions."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from extract.chunktool.split.divide import Division, divide
from extract.filtertool.job import Job, JobFilter
from extract.filtertool.output.arrow import SubscriberColumn, id_column, subscriber_columns
from extract.filtertool.output.joined import JoinedColumns, joined_columns
from extract.filtertool.pieces import piece_filter
from extract.filtertool.processes.memory import keep_memory
from extract.filtertool.spark.worker.query_shares import query_shares, scheme_of_shares
from extract.filtertool.spark.worker.tasks import TaskInput
from extract.filtertool.spark.worker.without_pandas import leave_pandas_out
from extract.subscriptions.columns import TextColumn

_FILTERS: Final = 8  # cached filters; shares of the queries have filters of their own


@dataclass(frozen=True, slots=True)
class CachedFilter:
    """A filter for a job.

    Attributes:
        key: Identifies the filter.
        filter: The filter.
        ids: The ids of its subscribers.
        id_column: The same, as a column of Arrow.
        joined: The columns of metadata that rows get.
        columns: The same for these subscribers, as columns of Arrow.
    """

    key: tuple[str, tuple[int, ...], TaskInput]
    filter: JobFilter[Any]
    ids: TextColumn
    id_column: Any
    joined: JoinedColumns
    columns: Sequence[SubscriberColumn]


_filters: list[CachedFilter] = []
_divisions: dict[str, Division] = {}
_jobs: dict[str, Job] = {}


def cached_filter(
    key: str, job: Job, shares: tuple[int, ...] = (), reads: TaskInput = TaskInput.DOCUMENTS
) -> CachedFilter:
    """Returns the filter for a job; each worker makes it once.

    Args:
        key: Identifies the job.
        job: The job.
        shares: The shares of the queries; empty for all.
        reads: The kind of input.
    """
    for cached in _filters:
        if cached.key == (key, shares, reads):
            return cached
    keep_memory()
    leave_pandas_out()
    del _filters[: max(0, len(_filters) - _FILTERS + 1)]  # their memory is needed now
    gc.unfreeze()
    made = _make_filter(key, job, shares, reads)
    ids = made.ids
    joined = joined_columns(job.scheme, job.options.joined)
    _filters.append(
        CachedFilter(
            (key, shares, reads),
            made,
            ids,
            id_column(ids),
            joined,
            subscriber_columns(joined, ids),
        )
    )
    gc.collect()
    gc.freeze()  # the filter stays: the garbage collector need not visit it
    return _filters[-1]


def _make_filter(key: str, job: Job, shares: tuple[int, ...], reads: TaskInput) -> JobFilter[Any]:
    if not shares:
        return job.filter()
    division = cached_division(key, job)
    all_shares = query_shares(job.scheme, division)
    job = replace(job, scheme=scheme_of_shares(job.scheme, [all_shares[n] for n in shares]))
    if reads is TaskInput.DOCUMENTS:
        return job.filter()
    valid = job.options.assume_valid or reads is TaskInput.CHECKED_PIECES
    options = replace(job.options, assume_valid=valid)
    return piece_filter(job.scheme, job.factory, options, division.names)


def cached_job(key: str, load: Callable[[], Job]) -> Job:
    """Returns a job that every worker loads for itself; the last one is cached."""
    if key not in _jobs:
        _jobs.clear()
        _jobs[key] = load()
    return _jobs[key]


def cached_division(key: str, job: Job) -> Division:
    """Returns the division of a job's queries; computed once in each worker."""
    if key not in _divisions:
        _divisions.clear()
        _divisions[key] = divide(job.scheme)
    return _divisions[key]
