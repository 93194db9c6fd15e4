"""The outcome of many documents together, where rows are only which queries match, or how often."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np

from extract.filtertool.results.findings import Findings
from extract.filtertool.results.outcome import DocumentOutcome, Rejection
from extract.filtertool.results.owners import Indices, Longs
from extract.filtertool.results.seconds import Seconds

_NOTHING: Final = Findings.none()


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """The outcome of documents that conform and were matched together.

    There is nothing for each document but its name and size: a million messages are a few columns.

    Attributes:
        names: The documents' names.
        sizes: Their bytes.
        unit: For each row the number of its document here; ascending.
        subscriber: For each row the subscriber; ascending for each document.
        count: For each row the number of nodes; empty where only matching queries were asked for.
        seconds: Time by stage, for all together.
        others: What others than the push engine did on them: for each document an outcome, whose
            rows are in the columns above; none if nothing was left for others.
        worker: The process that filtered them.
        figures: What the matchers of this process report of their work so far.
        failed: By the number of a document here, queries that could not be evaluated on it; those
            in `others` apart.
    """

    names: Sequence[str]
    sizes: Longs
    unit: Indices
    subscriber: Indices
    count: Longs
    seconds: Seconds = field(default_factory=Seconds)
    others: Sequence[DocumentOutcome] = ()
    worker: int = 0
    figures: Mapping[str, float] = field(default_factory=dict)
    failed: Mapping[int, tuple[Rejection, ...]] = field(default_factory=dict)

    @property
    def rejections(self) -> tuple[Rejection, ...]:
        """Queries that could not be evaluated on some of them."""
        if not self.failed and not self.others:
            return ()
        return tuple([one for done in self.outcomes() for one in done.rejections])

    @property
    def error(self) -> None:
        """None: documents that are rejected are not among these."""
        return None

    def __len__(self) -> int:
        """The number of documents."""
        return len(self.names)

    def each(self) -> Iterator[tuple[str, Findings]]:
        """Yields the name and the rows of each document."""
        none = _NOTHING
        ends = [0, len(self.unit)]
        if len(self.names) != 1:
            ends = np.searchsorted(self.unit, np.arange(len(self.names) + 1)).tolist()
        for number, name in enumerate(self.names):
            rows = slice(ends[number], ends[number + 1])
            who = self.subscriber[rows]
            count = self.count[rows] if len(self.count) else np.ones(len(who), np.int64)
            yield name, Findings(who, count, none.node, none.ordinal, none.described)

    def outcomes(self) -> Iterator[DocumentOutcome]:
        """Yields the outcome of each document."""
        for number, (name, findings) in enumerate(self.each()):
            rejections = self.failed.get(number, ())
            if self.others:
                rejections += self.others[number].rejections
            yield DocumentOutcome(name, "conforming", findings, rejections, scanner="kernel")


FilterOutcome: TypeAlias = DocumentOutcome | BatchOutcome


def document_outcomes(outcomes: Iterable[FilterOutcome]) -> Iterator[DocumentOutcome]:
    """Yields the outcome of each document, also of those that were matched together."""
    for done in outcomes:
        if isinstance(done, BatchOutcome):
            yield from done.outcomes()
        else:
            yield done
