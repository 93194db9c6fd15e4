"""The last filter, kept for the next document.

A filter takes longer to make than a small document to filter, and most programs that filter single
documents have one scheme.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from extract.chunktool.input.source import Document
from extract.filtertool.document_filter import DocumentFilter
from extract.filtertool.job import Job


@dataclass(frozen=True, slots=True)
class LastFilter:
    """Lends filters, and keeps the last one that was given back.

    Threads may share it: a filter is lent to one at a time, and a second one gets a filter of its
    own.
    """

    _kept: deque[tuple[Job, DocumentFilter[Document]]] = field(
        default_factory=lambda: deque(maxlen=1)
    )

    @contextmanager
    def lend(self, job: Job) -> Iterator[DocumentFilter[Document]]:
        """Lends a filter for a job: the last one if it was made for the same, or a new one.

        It is kept for the next unless an exception leaves the block.
        """
        lent = self._last(job) or job.filter()
        yield lent
        self._kept.append((job, lent))

    def _last(self, job: Job) -> DocumentFilter[Document] | None:
        try:
            made_for, kept = self._kept.pop()  # in one step, so that no two threads have it
        except IndexError:
            return None
        return kept if _same(made_for, job) else None


def _same(one: Job, other: Job) -> bool:
    """Whether a filter of one job serves another. Schemes are large, so they are not compared."""
    return (
        one.scheme is other.scheme and one.factory == other.factory and one.options == other.options
    )
