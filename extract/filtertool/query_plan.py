"""The query plan: which questions of a scheme are evaluated on which part of a document.

A matcher that reads XML evaluates chunk by chunk. One that reads the node table evaluates all
chunks at once: the table has each row once, however many chunks have it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from extract.chunktool.automaton.outputs import Output, chunk_outputs, projection_output
from extract.filtertool.matchers.protocol import Question
from extract.filtertool.results.owners import Indices, Owners
from extract.filtertool.whole.queries import WholeQueries, WholeQuery
from extract.scheme.model import Chunk, Query, Scheme, Subscriber
from extract.xpath.functions import Type


@dataclass(frozen=True)
class PlanPart:
    """A part of every document, with its questions.

    Attributes:
        output: The part: a chunk, or the projection with all chunks.
        questions: The questions to evaluate on it.
        queries: The query of each question: indices into `Scheme.queries`.
        shared: Whether a question has only some branches of its query; other parts have the others.
    """

    output: Output
    questions: tuple[Question, ...] = field(repr=False)
    queries: Indices = field(repr=False)
    shared: NDArray[np.bool_] = field(repr=False)

    def weight(self, scheme: Scheme) -> float:
        """Returns the sum of the weights of the subscribers that wait for this part."""
        queries = [scheme.queries[n] for n in self.queries.tolist()]
        weights: list[float] = [
            subscriber.weight for query in queries for subscriber in query.subscribers
        ]
        return sum(weights)


@dataclass(frozen=True)
class QueryPlan:
    """All questions on a document. Make a plan with `QueryPlan.of`.

    Attributes:
        scheme: The scheme.
        parts: The parts of a conforming document, with their questions.
        whole: Queries that are evaluated on the whole document: indices into `Scheme.queries`.
            Queries in later versions of XPath are, too.
        subscribers: All subscribers whose queries can be evaluated. Rows of results name a
            subscriber by its index here.
        by_weight: Whether parts with the heaviest subscribers come first.
    """

    scheme: Scheme = field(repr=False)
    parts: tuple[PlanPart, ...]
    whole: tuple[int, ...]
    subscribers: tuple[Subscriber, ...] = field(repr=False)
    by_weight: bool = False

    @classmethod
    def of(cls, scheme: Scheme, together: bool, priority: bool = False) -> QueryPlan:
        """Makes the plan for a scheme.

        Args:
            scheme: The scheme.
            together: Evaluate all chunks at once.
            priority: Evaluate chunks with the heaviest subscribers first.
        """
        # A query that needs the whole document for one branch is evaluated there for all of them.
        branches = set(scheme.document.branches)
        whole = tuple(
            [n for n, query in enumerate(scheme.queries) if not branches.isdisjoint(query.branches)]
        )
        reduced = replace(scheme, document=replace(scheme.document, branches=()), later=())
        apart = frozenset(whole)
        queries = [(n, query) for n, query in enumerate(scheme.queries) if n not in apart]
        if together:
            parts = [_part(projection_output(reduced), queries, None, scheme)] if queries else []
        else:
            chunks = zip(chunk_outputs(reduced), reduced.every_chunk, strict=True)
            parts = [_part(output, queries, chunk, scheme) for output, chunk in chunks]
            parts = [part for part in parts if part.questions]
            if priority:
                parts.sort(key=lambda part: -part.weight(scheme))
        return cls(scheme, tuple(parts), whole, scheme.subscribers, priority)

    @property
    def outputs(self) -> tuple[Output, ...]:
        """The outputs of a scan, one for each part."""
        return tuple([part.output for part in self.parts])

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The ids of all subscribers."""
        return tuple([subscriber.id for subscriber in self.subscribers])

    @property
    def namespaces(self) -> Mapping[str, str]:
        """Prefix to namespace URI, for all questions."""
        return self.scheme.namespaces

    @cached_property
    def whole_weight(self) -> float:
        """The sum of the weights of the subscribers that wait for the whole document."""
        owners = self.whole_queries.owners.subscribers.tolist()
        weights: list[float] = [self.subscribers[n].weight for n in owners]
        return sum(weights)

    @cached_property
    def order(self) -> tuple[int | None, ...]:
        """The order of evaluation: numbers of parts, and None for the whole document, which comes
        at its place by weight, or last if weights do not count."""
        parts: list[int | None] = list(range(len(self.parts)))
        if self.whole_queries.queries:
            at = len(parts)
            if self.by_weight:
                heavier = [part.weight(self.scheme) >= self.whole_weight for part in self.parts]
                at = sum(heavier)
            parts.insert(at, None)
        return tuple(parts)

    @cached_property
    def last(self) -> Indices:
        """For each query the number of the last part with a question of it; -1 for none."""
        last = np.full(len(self.scheme.queries), -1, np.int32)
        for number, part in enumerate(self.parts):
            last[part.queries] = number
        return last

    @cached_property
    def owners(self) -> Owners:
        """The subscribers of each query."""
        sizes = [len(query.subscribers) for query in self.scheme.queries]
        at = np.cumsum([0, *sizes], dtype=np.int64)
        return Owners(at, np.arange(at[-1], dtype=np.int32))

    @cached_property
    def originals(self) -> WholeQueries:
        """All queries as written, including those that match no conforming document."""
        owners: dict[WholeQuery, list[int]] = {}
        first = len(self.subscribers) - len(self.scheme.later)
        for number, subscriber in enumerate(self.subscribers[:first]):
            owners.setdefault(WholeQuery(subscriber.absolute), []).append(number)
        return WholeQueries.of(owners, self._later)

    @cached_property
    def whole_queries(self) -> WholeQueries:
        """The queries that are evaluated on the whole document even if it conforms."""
        queries = [self.scheme.queries[n] for n in self.whole]
        whole = [WholeQuery(query.subscribers[0].absolute) for query in queries]
        owners = [self.owners.list(n) for n in self.whole]
        return WholeQueries.of(dict(zip(whole, owners, strict=True)), self._later)

    @cached_property
    def _later(self) -> dict[WholeQuery, list[int]]:
        """The queries in later versions of XPath, each once."""
        owners: dict[WholeQuery, list[int]] = {}
        first = len(self.subscribers) - len(self.scheme.later)
        for number, later in enumerate(self.scheme.later, first):
            bound = tuple(sorted(later.namespaces.items()))
            query = WholeQuery(later.subscriber.xpath, later.version, bound)
            owners.setdefault(query, []).append(number)
        return owners


def _part(
    output: Output, numbered: Sequence[tuple[int, Query]], chunk: Chunk | None, scheme: Scheme
) -> PlanPart:
    xpaths = scheme.branches.xpaths
    own = None if chunk is None else frozenset(chunk.branches)
    questions, queries, shared = [], [], []
    for number, query in numbered:
        branches = [n for n in query.branches if own is None or n in own]
        if branches:
            queries.append(number)
            shared.append(len(branches) < len(query.branches))
            original = "" if shared[-1] else query.subscribers[0].absolute
            questions.append(Question(tuple([xpaths[n] for n in branches]), query.type, original))
            assert query.type is Type.NODES or not shared[-1]
    return PlanPart(
        output,
        tuple(questions),
        np.array(queries, np.int32),
        np.array(shared, np.bool_),
    )
