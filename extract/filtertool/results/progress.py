"""The progress of a run, as both engines report it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from extract.filtertool.results.batch_outcome import BatchOutcome, FilterOutcome


class ProgressStep(NamedTuple):
    """The work done since the last step.

    Attributes:
        documents: Number of documents.
        bytes: Size of all of them.
        matches: Number of their rows.
        rejected: Number of their rejections: of documents, or of a query on a document.
    """

    documents: int = 0
    bytes: int = 0
    matches: int = 0
    rejected: int = 0

    @classmethod
    def of(cls, done: FilterOutcome) -> ProgressStep:
        """Makes the step of one document, or of some that were matched together."""
        if isinstance(done, BatchOutcome):
            rejected = len(done.rejections)
            return cls(len(done), int(done.sizes.sum()), len(done.unit), rejected)
        return cls(1, done.bytes, len(done.findings), len(done.rejections))


Progress = Callable[[ProgressStep], object]
