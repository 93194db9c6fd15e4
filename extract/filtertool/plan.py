"""What is asked of which part of a document: from a scheme to questions.

A matcher that reads XML is asked chunk by chunk. One that reads the node table is asked about all
chunks at once: a row is there only once, however many chunks have it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from extract.chunktool.outputs import Output, chunk_outputs, projection_output
from extract.filtertool.matcher import Question
from extract.scheme.model import Chunk, Query, Scheme, Subscriber
from extract.xpath.functions import Type
from extract.xpath.later import FIRST

Indices = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Owners:
    """To whom the answers of questions belong: lists of numbers, in two arrays.

    Attributes:
        at: Where the list of each question begins; one more for the end.
        subscribers: The lists.
    """

    at: NDArray[np.int64]
    subscribers: Indices

    @classmethod
    def of(cls, lists: Iterable[Sequence[int]]) -> Owners:
        """The owners of questions, in their order."""
        rows = list(lists)
        at = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        return cls(at, np.array([one for row in rows for one in row], np.int32))

    def list(self, question: int) -> list[int]:
        """The owners of one question."""
        found: list[int] = self.subscribers[self.at[question] : self.at[question + 1]].tolist()
        return found

    def all_of(self, questions: Iterable[int]) -> Indices:
        """The owners of some questions."""
        lists = [self.subscribers[self.at[n] : self.at[n + 1]] for n in questions]
        return np.concatenate(lists) if lists else np.empty(0, np.int32)


@dataclass(frozen=True)
class Part:
    """A part of every document, and what is asked there.

    Attributes:
        output: The part.
        questions: What is asked.
        queries: Which query each question belongs to: indices into `Scheme.queries`.
        shared: Which questions have only some branches of their query, for the others are asked
            elsewhere.
    """

    output: Output
    questions: tuple[Question, ...] = field(repr=False)
    queries: Indices = field(repr=False)
    shared: NDArray[np.bool_] = field(repr=False)

    def weight(self, scheme: Scheme) -> float:
        """How much the subscribers weigh that wait for this part."""
        queries = [scheme.queries[n] for n in self.queries.tolist()]
        weights: list[float] = [one.weight for query in queries for one in query.subscribers]
        return sum(weights)


@dataclass(frozen=True)
class Plan:
    """All that is asked of a document. Make one with `Plan.of`.

    Attributes:
        scheme: The scheme.
        parts: What is asked of which part of a conforming document.
        whole: Queries that are asked of the whole document: indices into `Scheme.queries`. Those in
            later versions of XPath are, too.
        subscribers: All whose queries can be evaluated. Rows of results tell them by their index
            here.
        by_weight: Whether those parts come first whose subscribers weigh most.
    """

    scheme: Scheme = field(repr=False)
    parts: tuple[Part, ...]
    whole: tuple[int, ...]
    subscribers: tuple[Subscriber, ...] = field(repr=False)
    by_weight: bool = False

    @classmethod
    def of(cls, scheme: Scheme, together: bool, priority: bool = False) -> Plan:
        """The plan for a scheme.

        Args:
            scheme: The scheme.
            together: Ask about all chunks at once.
            priority: Ask about those chunks first whose subscribers weigh most.
        """
        # A query that needs the whole document for one branch is asked there for all of them.
        ours = set(scheme.document.branches)
        whole = tuple(
            [n for n, query in enumerate(scheme.queries) if not ours.isdisjoint(query.branches)]
        )
        reduced = replace(scheme, document=replace(scheme.document, branches=()), later=())
        apart = frozenset(whole)
        asked = [(n, query) for n, query in enumerate(scheme.queries) if n not in apart]
        if together:
            parts = [_part(projection_output(reduced), asked, None, scheme)] if asked else []
        else:
            chunks = zip(chunk_outputs(reduced), reduced.every_chunk, strict=True)
            parts = [_part(output, asked, chunk, scheme) for output, chunk in chunks]
            parts = [part for part in parts if part.questions]
            if priority:
                parts.sort(key=lambda part: -part.weight(scheme))
        return cls(scheme, tuple(parts), whole, scheme.subscribers, priority)

    @property
    def outputs(self) -> tuple[Output, ...]:
        """What a scan has to keep."""
        return tuple([part.output for part in self.parts])

    @property
    def namespaces(self) -> Mapping[str, str]:
        """Prefix to namespace URI, for all questions."""
        return self.scheme.namespaces

    @cached_property
    def whole_weight(self) -> float:
        """How much the subscribers weigh who wait for the whole document."""
        ours = self.whole_queries.owners.subscribers.tolist()
        weights: list[float] = [self.subscribers[n].weight for n in ours]
        return sum(weights)

    @cached_property
    def order(self) -> tuple[int | None, ...]:
        """In which order the parts are asked about: numbers of parts, and None for the whole
        document, which comes where its weight belongs; last, if weights do not count."""
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
        """For each query the number of the last part that is asked about it; -1 for none."""
        last = np.full(len(self.scheme.queries), -1, np.int32)
        for number, part in enumerate(self.parts):
            last[part.queries] = number
        return last

    @cached_property
    def owners(self) -> Owners:
        """To whom the answers of queries belong."""
        sizes = [len(query.subscribers) for query in self.scheme.queries]
        at = np.cumsum([0, *sizes], dtype=np.int64)
        return Owners(at, np.arange(at[-1], dtype=np.int32))

    @cached_property
    def originals(self) -> Originals:
        """The queries as they were written, those that no conforming document can match too."""
        owners: dict[WholeQuery, list[int]] = {}
        first = len(self.subscribers) - len(self.scheme.later)
        for number, subscriber in enumerate(self.subscribers[:first]):
            owners.setdefault(WholeQuery(subscriber.absolute), []).append(number)
        return Originals.of(owners, self._later)

    @cached_property
    def whole_queries(self) -> Originals:
        """The queries that are asked of the whole document even if it conforms."""
        queries = [self.scheme.queries[n] for n in self.whole]
        asked = [WholeQuery(query.subscribers[0].absolute) for query in queries]
        owners = [self.owners.list(n) for n in self.whole]
        return Originals.of(dict(zip(asked, owners, strict=True)), self._later)

    @cached_property
    def _later(self) -> dict[WholeQuery, list[int]]:
        """The queries in later versions of XPath, each once."""
        owners: dict[WholeQuery, list[int]] = {}
        first = len(self.subscribers) - len(self.scheme.later)
        for number, one in enumerate(self.scheme.later, first):
            bound = tuple(sorted(one.namespaces.items()))
            query = WholeQuery(one.subscriber.xpath, one.version, bound)
            owners.setdefault(query, []).append(number)
        return owners


class WholeQuery(NamedTuple):
    """A query for whole documents.

    Attributes:
        xpath: The query.
        version: Of XPath.
        bound: What its prefixes stand for, where they are not the scheme's.
    """

    xpath: str
    version: str = FIRST
    bound: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Originals:
    """Queries for whole documents, and whose they are."""

    queries: tuple[WholeQuery, ...]
    owners: Owners

    @classmethod
    def of(cls, *owners: Mapping[WholeQuery, Sequence[int]]) -> Originals:
        """Queries with their owners."""
        every = {query: who for some in owners for query, who in some.items()}
        return cls(tuple(every), Owners.of(every.values()))


def _part(
    output: Output, asked: Sequence[tuple[int, Query]], chunk: Chunk | None, scheme: Scheme
) -> Part:
    xpaths = scheme.branches.xpaths
    here = None if chunk is None else frozenset(chunk.branches)
    questions, queries, shared = [], [], []
    for number, query in asked:
        branches = [n for n in query.branches if here is None or n in here]
        if branches:
            queries.append(number)
            shared.append(len(branches) < len(query.branches))
            original = "" if shared[-1] else query.subscribers[0].absolute
            questions.append(Question(tuple([xpaths[n] for n in branches]), query.type, original))
            assert query.type is Type.NODES or not shared[-1]
    return Part(
        output,
        tuple(questions),
        np.array(queries, np.int32),
        np.array(shared, np.bool_),
    )
