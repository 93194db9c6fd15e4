"""The account of documents: numbers that can be added, for a task or a whole run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from extract.filtertool.results.batch_outcome import BatchOutcome, FilterOutcome
from extract.filtertool.results.outcome import DocumentOutcome, Rejection
from extract.filtertool.results.seconds import Seconds

_NOTES: Final = 50  # different reasons that are listed
EXAMPLES: Final = 20  # rejections that are listed; all are in the results


@dataclass
class Account:
    """The account of some documents.

    Every document that was seen was processed or rejected. Of those that were processed,
    ``conforming`` were matched by the push engine or cut into chunks, and ``whole`` were evaluated
    as they are. ``nonconforming`` break the schema: they are among the ``whole``, or among the
    rejected.

    Attributes:
        documents: Number of documents by fate.
        matches: Number of rows.
        bytes: Size of all documents.
        rejected_evaluations: How often a query could not be evaluated on a document.
        failing_queries: The ids of those queries.
        scanners: Number of documents by scanner.
        notes: Why documents went another way than most.
        violations: Number of documents by the first edge at which they break the schema.
        examples: The first rejections, as text.
        seconds: Time by stage; of several processes, added up.
        answer_seconds: By chunk the shortest and the longest time, from the moment that a document
            was opened until the answers of the chunk were ready.
        workers: By process, what its matchers report of their work.
    """

    documents: Counter[str] = field(default_factory=Counter)
    matches: int = 0
    bytes: int = 0
    rejected_evaluations: int = 0
    failing_queries: set[str] = field(default_factory=set)
    scanners: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    violations: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)
    seconds: Seconds = field(default_factory=Seconds)
    answer_seconds: dict[str, tuple[float, float]] = field(default_factory=dict)
    workers: dict[int, Mapping[str, float]] = field(default_factory=dict)

    def add(self, done: FilterOutcome) -> None:
        """Adds one document, or documents that were matched together."""
        if isinstance(done, BatchOutcome):
            self._add_batch(done)
        else:
            self._add_one(done)
        if done.figures:
            self.workers[done.worker] = done.figures

    def _add_batch(self, done: BatchOutcome) -> None:
        count = len(done)
        self.documents.update(seen=count, processed=count, conforming=count)
        self.matches += len(done.unit)
        self.bytes += int(done.sizes.sum())
        self.scanners["kernel"] += count
        self.seconds.update_by(done.seconds)
        self._add_failing(done.rejections)
        for other in done.others:
            _count_some(self.notes, Counter(other.notes))
            self.seconds.update_by(other.seconds)
            self.add_answer_seconds({chunk: (n, n) for chunk, n in other.answer_seconds.items()})
            if other.rejections and len(self.examples) < EXAMPLES:
                self.examples.append(_in_words(other))

    def _add_failing(self, rejections: Iterable[Rejection]) -> None:
        """Counts queries that could not be evaluated on some document."""
        pairs = {(one.document, one.query) for one in rejections if one.query is not None}
        self.rejected_evaluations += len(pairs)
        self.failing_queries |= {query for _, query in pairs}

    def _add_one(self, done: DocumentOutcome) -> None:
        rejected = done.fate == "rejected"
        self.documents["seen"] += 1
        self.documents["rejected" if rejected else "processed"] += 1
        if not rejected:
            self.documents["conforming" if done.fate == "conforming" else "whole"] += 1
            self._add_failing(done.rejections)
        self.documents["nonconforming"] += done.nonconforming
        self.matches += len(done.findings)
        self.bytes += done.bytes
        if done.scanner:
            self.scanners[done.scanner] += 1
        _count_some(self.notes, Counter(done.notes))
        if done.nonconforming:
            edge = done.error.reason if done.error is not None else "".join(done.notes[:1])
            _count_some(self.violations, Counter([edge]))
        if done.rejections and len(self.examples) < EXAMPLES:
            self.examples.append(_in_words(done))
        self.seconds.update_by(done.seconds)
        self.add_answer_seconds({chunk: (n, n) for chunk, n in done.answer_seconds.items()})

    def add_unread(self, rejections: Iterable[Rejection]) -> None:
        """Adds documents that were rejected before they were opened."""
        for one in rejections:
            self.documents["seen"] += 1
            self.documents["rejected"] += 1
            if len(self.examples) < EXAMPLES:
                self.examples.append(f"{one.document}: {one.reason}")

    def merge(self, other: Account) -> None:
        """Adds the account of other documents."""
        self.documents += other.documents
        self.matches += other.matches
        self.bytes += other.bytes
        self.rejected_evaluations += other.rejected_evaluations
        self.failing_queries |= other.failing_queries
        self.scanners += other.scanners
        _count_some(self.notes, other.notes)
        _count_some(self.violations, other.violations)
        self.examples += other.examples[: EXAMPLES - len(self.examples)]
        self.seconds.update_by(other.seconds)
        self.add_answer_seconds(other.answer_seconds)
        self.workers = {0: added([self.figures(), other.figures()])}

    def figures(self) -> dict[str, float]:
        """Returns what the matchers of all processes report, added up."""
        return added(self.workers.values())

    @property
    def none_conforms(self) -> bool:
        """Whether there are documents that break the schema, and none that keeps it."""
        breaking = self.documents["nonconforming"]
        return 0 < breaking >= self.documents["whole"] and not self.documents["conforming"]

    @property
    def rejections(self) -> int:
        """The number of rows in ``rejected``."""
        return self.documents["rejected"] + self.rejected_evaluations

    def add_answer_seconds(self, times: Mapping[str, tuple[float, float]]) -> None:
        """Takes account of when chunks were ready: by chunk the shortest and the longest time."""
        for chunk, (first, last) in times.items():
            shortest, longest = self.answer_seconds.get(chunk, (first, last))
            self.answer_seconds[chunk] = (min(first, shortest), max(last, longest))


class PresentFigures(Mapping[str, float]):
    """Figures of this process as they are when somebody first looks at them.

    Few callers do, and to add them up takes longer than to match a small document. Another process
    gets a dictionary.

    Args:
        source: Returns the figures.
    """

    __slots__ = ("_figures", "_source")

    def __init__(self, source: Callable[[], Mapping[str, float]]) -> None:
        self._source = source
        self._figures: dict[str, float] | None = None

    def _now(self) -> dict[str, float]:
        if self._figures is None:
            self._figures = dict(self._source())
        return self._figures

    def __getitem__(self, name: str) -> float:
        return self._now()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._now())

    def __len__(self) -> int:
        return len(self._now())

    def __reduce__(self) -> tuple[type[dict[str, float]], tuple[dict[str, float]]]:
        return dict, (self._now(),)


def added(all_figures: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Adds the figures of several processes, which all have the same questions.

    >>> added([{"lxml_questions": 5, "units": 2}, {"lxml_questions": 5, "units": 3}])
    {'lxml_questions': 5, 'units': 5}
    """
    total: dict[str, float] = {}
    for figures in all_figures:
        for name, number in figures.items():
            before = total.get(name, 0)
            total[name] = max(before, number) if name.endswith("_questions") else before + number
    return dict(sorted(total.items()))


def _count_some(listed: Counter[str], reasons: Mapping[str, int]) -> None:
    """Adds numbers by reason; beyond `_NOTES` different ones, to one that stands for the others."""
    for reason, count in reasons.items():
        is_listed = reason in listed or len(listed) < _NOTES
        listed[reason if is_listed else "other reasons"] += count


def _in_words(done: DocumentOutcome) -> str:
    if done.error is not None:
        return str(done.error)
    first = done.rejections[0]
    return f"{done.document}: query {first.query!r}: {first.reason}"
