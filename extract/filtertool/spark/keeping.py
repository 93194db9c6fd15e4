"""What a worker made from a job, and keeps: a worker process lives through many tasks."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final

import pyarrow as pa

from extract.filtertool.filtering import DocumentFilter
from extract.filtertool.job import Job
from extract.filtertool.memory import keep_memory
from extract.filtertool.pieces import piece_filter
from extract.filtertool.records import Division, divide
from extract.filtertool.spark.shares import scheme_of, shares

_JOBS: Final = 8  # jobs whose filters a worker keeps; a share of the queries is one


class Reading(Enum):
    """What a filter reads.

    Attributes:
        DOCUMENTS: Documents as they are.
        PIECES: Pieces of documents that were looked at.
        NEW_PIECES: Pieces that nobody has looked at yet.
    """

    DOCUMENTS = "documents"
    PIECES = "pieces"
    NEW_PIECES = "new pieces"


@dataclass(frozen=True, slots=True)
class Kept:
    """A filter for a job.

    Attributes:
        key: Tells filters apart.
        filter: The filter.
        ids: The ids of its subscribers.
        names: The same, as a column of Arrow.
    """

    key: tuple[str, tuple[int, ...], Reading]
    filter: DocumentFilter[Any]
    ids: tuple[str, ...]
    names: Any


_kept: list[Kept] = []
_divisions: dict[str, Division] = {}
_jobs: dict[str, Job] = {}


def keep(
    key: str, job: Job, some: tuple[int, ...] = (), reading: Reading = Reading.DOCUMENTS
) -> Kept:
    """The filter for a job; made once in each worker.

    Args:
        key: Tells jobs apart.
        job: The job.
        some: Which shares of the queries; empty for all.
        reading: What it is to filter.
    """
    kept = known(key, some, reading)
    if kept is not None:
        return kept
    keep_memory()
    del _kept[: max(0, len(_kept) - _JOBS + 1)]  # their memory is needed now
    gc.unfreeze()
    made: DocumentFilter[Any]
    if some:
        division = divided(key, job)
        every = shares(job.scheme, division)
        job = replace(job, scheme=scheme_of(job.scheme, [every[n] for n in some]))
        if reading is not Reading.DOCUMENTS:
            valid = job.options.assume_valid or reading is Reading.PIECES
            options = replace(job.options, assume_valid=valid)
            made = piece_filter(job.scheme, job.factory, options, division.names)
        else:
            made = job.filter()
    else:
        made = job.filter()
    ids = tuple([one.id for one in made.plan.subscribers])
    _kept.append(Kept((key, some, reading), made, ids, pa.array(ids, pa.string())))
    gc.collect()
    gc.freeze()  # what was just made stays: no need to look at it again and again
    return _kept[-1]


def known(
    key: str, some: tuple[int, ...] = (), reading: Reading = Reading.DOCUMENTS
) -> Kept | None:
    """The filter for a job, if it was made before."""
    return next((one for one in _kept if one.key == (key, some, reading)), None)


def job_of(key: str, load: Callable[[], Job]) -> Job:
    """A job that every worker loads for itself; the last one is kept."""
    if key not in _jobs:
        _jobs.clear()
        _jobs[key] = load()
    return _jobs[key]


def divided(key: str, job: Job) -> Division:
    """Which queries of a job can be evaluated on pieces; found out once in each worker."""
    if key not in _divisions:
        _divisions.clear()
        _divisions[key] = divide(job.scheme)
    return _divisions[key]
