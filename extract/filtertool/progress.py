"""How far a run is: what both engines tell while they work."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from extract.filtertool.processed import Processed


class Step(NamedTuple):
    """What was done since the last step.

    Attributes:
        documents: How many documents.
        bytes: How large they are together.
        matches: How many rows they gave.
        rejected: How many rejections they gave: of documents, or of a query on a document.
    """

    documents: int = 0
    bytes: int = 0
    matches: int = 0
    rejected: int = 0

    @classmethod
    def of(cls, done: Processed) -> Step:
        """What one document adds."""
        return cls(1, done.bytes, len(done.findings), len(done.rejections))


Progress = Callable[[Step], object]
