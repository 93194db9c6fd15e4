"""A cache of the last filter.

Making a filter takes longer than filtering a small document, and most programs that filter single
documents have one scheme.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from extract.chunktool.input.source import Document
from extract.filtertool.job import Job, JobFilter


@dataclass(frozen=True, slots=True)
class LastFilter:
    """Lends filters, and keeps the last one for the next caller.

    Threads may share the cache: a filter is lent to one at a time, and a second thread gets a
        filter
    of its own.
    """

    _kept: deque[tuple[Job, JobFilter[Document]]] = field(default_factory=lambda: deque(maxlen=1))

    @contextmanager
    def lend(self, job: Job) -> Iterator[JobFilter[Document]]:
        """Lends a filter for a job: the last one if it was made for an equal job, or a new one.

        The filter is cached again unless an exception leaves the block.
        """
        lent = self._last(job) or job.filter()
        yield lent
        self._kept.append((job, lent))

    def _last(self, job: Job) -> JobFilter[Document] | None:
        try:
            made_for, last = self._kept.pop()  # atomic, so that no two threads get it
        except IndexError:
            return None
        return last if _same(made_for, job) else None


def _same(job: Job, other: Job) -> bool:
    """Whether a filter for one job serves another. Schemes are large, so they are not compared."""
    return job is other or (
        job.scheme is other.scheme and job.factory == other.factory and job.options == other.options
    )
