"""Chooses, question by question, what answers pairs that the push engine leaves open.

libxml2 looks at a document once for each query, columns once for each question, however many
queries that stands for; but columns cost something for every document and question. So questions
that take libxml2 long move to columns, the others stay with it. What they take is measured while
documents are filtered, and looked at again after 2, 4, 8, ... documents.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain, pairwise
from typing import Final

import numpy as np

from extract.chunktool.scan.node_table import NodeTable
from extract.filtertool.matchers.answer_collector import Collector
from extract.filtertool.matchers.column_prices import COLUMNS
from extract.filtertool.matchers.lxml.matcher import LxmlFactory
from extract.filtertool.matchers.protocol import Matcher, Question, Select, Unit, build_matcher
from extract.filtertool.results.owners import Indices, Longs
from extract.limits import Limits

_NEW: Final = 0.3  # how much the last measurement counts
_WORTH: Final = 1.3  # how much cheaper columns must be for questions to move there


class OpenQuestion:
    """A question that the engine leaves open on some documents.

    Args:
        question: The question.
        numbers: The numbers of its queries.

    Attributes:
        question, numbers: As given.
        rate: Seconds that libxml2 takes for one query and byte; 0 as long as it is not known.
        demand: Seconds that libxml2 takes, or would take, for all documents so far.
        columnar: Whether columns can answer it.
    """

    __slots__ = ("columnar", "demand", "numbers", "question", "rate")

    def __init__(self, question: Question, numbers: Indices) -> None:
        self.question = question
        self.numbers = numbers
        self.rate = 0.0
        self.demand = 0.0
        self.columnar = True

    def learn(self, seconds: float, size: int) -> None:
        """Takes note of what libxml2 took for one query on a document."""
        rate = seconds / max(1, size)
        # The first one compiles; and something else may have run meanwhile.
        self.rate = (
            rate if not self.rate else self.rate + _NEW * (min(rate, 4 * self.rate) - self.rate)
        )


class OpenColumns:
    """Moves questions to columns where that is cheaper; make one for each set of queries.

    Args:
        namespaces: Prefix to namespace URI.
        select: What to select.
        limits: The time and memory of a question that may take very long.

    Attributes:
        pairs: How many pairs of query and document columns have answered.
    """

    def __init__(self, namespaces: Mapping[str, str], select: Select, limits: Limits) -> None:
        self.pairs = 0
        self._namespaces = namespaces
        self._select = select
        self._limits = limits
        self._every: dict[int, OpenQuestion] = {}
        self._documents = 0
        self._bytes = 0
        self._next = 2  # after how many documents to look again
        self._factor = 1.0  # what columns take, in units of their prices
        self._chosen: frozenset[int] = frozenset()
        self._matcher: Matcher | None = None
        # The numbers of our queries, and for each of the matcher's where its own begin: equal ones
        # without constants are one query of the matcher.
        self._numbers: Indices = np.empty(0, np.int32)
        self._begins: Longs = np.zeros(1, np.int64)

    @property
    def are_used(self) -> bool:
        """Whether columns answer some questions."""
        return self._matcher is not None

    def forget(self) -> None:
        """Takes note that there are other queries now."""
        self._every.clear()
        self._chosen, self._matcher = frozenset(), None
        self._documents = self._bytes = 0
        self._next = 2

    def divide(
        self, asked: Iterable[tuple[int, OpenQuestion]], size: int
    ) -> tuple[list[int], list[int]]:
        """Divides the queries that are asked on a document: those for columns, and the others.

        Args:
            asked: The number of each query, and its question.
            size: The bytes of the document.
        """
        chosen, rest, seconds = [], [], 0.0
        for number, one in asked:
            key = id(one)
            if key not in self._every:
                self._every[key] = one
            spent = one.rate * size
            one.demand += spent
            if key in self._chosen:
                chosen.append(number)
                seconds += spent
            else:
                rest.append(number)
        self._documents += 1
        self._bytes += size
        if seconds <= self._factor * COLUMNS.of(len(self._chosen), size):
            return [], sorted([*chosen, *rest])
        return chosen, rest

    def review(self) -> None:
        """Looks again at which questions columns answer, if it is time."""
        if self._documents < self._next:
            return
        self._next *= 2
        size = self._bytes / self._documents
        a_question = self._factor * (COLUMNS.of(1, size) - COLUMNS.of(0, size))
        gain, chosen = 0.0, []
        for key, one in self._every.items():
            demand = one.demand / self._documents
            if one.columnar and demand > _WORTH * a_question:
                chosen.append(key)
                gain += demand - _WORTH * a_question
        if gain <= _WORTH * self._factor * COLUMNS.of(0, size):
            chosen = []
        if self._chosen != frozenset(chosen):
            self._build(chosen)

    def _build(self, chosen: Sequence[int]) -> None:
        from extract.filtertool.matchers.columnar.factory import ColumnarFactory, ColumnarMatcher

        fallback = LxmlFactory().with_limits(self._limits)
        factory = ColumnarFactory(fallback=fallback, seconds=self._limits.query_seconds)
        while True:
            questions = [self._every[key] for key in chosen]
            self._chosen, self._matcher = frozenset(chosen), None
            if not chosen:
                return
            own = [one.question for one in questions]
            matcher = build_matcher(factory, own, self._namespaces)
            declined = matcher.declined if isinstance(matcher, ColumnarMatcher) else {}
            if not declined:
                break
            for number in declined:
                questions[number].columnar = False
            chosen = [key for key in chosen if self._every[key].columnar]
        self._matcher = matcher
        self._numbers = np.concatenate([one.numbers for one in questions])
        widths = [
            [len(one.numbers)] if one.question.constants is None else [1] * len(one.numbers)
            for one in questions
        ]
        self._begins = np.cumsum([0, *chain.from_iterable(widths)])

    def match(
        self,
        collector: Collector,
        unit: int,
        document: bytes,
        table: Callable[[], NodeTable],
        numbers: Sequence[int],
    ) -> None:
        """Answers queries that `divide` has chosen, as `TreeQueries.match` does."""
        assert self._matcher is not None
        started = time.thread_time()
        answers = self._matcher.match([Unit(table(), document)], self._select)
        spent = time.thread_time() - started
        self.adjust(spent / COLUMNS.of(len(self._chosen), len(document)))
        asked = frozenset(numbers)
        if answers.nodes is not None:
            nodes = answers.nodes
            first = np.flatnonzero(np.diff(nodes.question, prepend=-1)).tolist()
            for start, end in pairwise([*first, len(nodes.question)]):
                refs = nodes.refs.take(slice(start, end))
                for number in self._owners(int(nodes.question[start]), asked):
                    collector.nodes(unit, number, refs)
        else:
            counts = zip(answers.question.tolist(), answers.count.tolist(), strict=True)
            for question, count in counts:
                for number in self._owners(question, asked):
                    collector.count(unit, number, count)
        for value in answers.values:
            for number in self._owners(value.question, asked):
                collector.value(unit, number, value.value)
        for failure in answers.failures:
            for number in self._owners(failure.question, asked):
                collector.fail(unit, number, failure.reason)
        self.pairs += len(numbers)

    def _owners(self, query: int, asked: Collection[int]) -> list[int]:
        """The numbers of the asked queries that a query of the matcher stands for."""
        begin, end = self._begins[query : query + 2].tolist()
        return [number for number in self._numbers[begin:end].tolist() if number in asked]

    def adjust(self, factor: float) -> None:
        """Takes note of what columns took, in units of their prices."""
        self._factor += _NEW * (min(factor, 4 * self._factor) - self._factor)
