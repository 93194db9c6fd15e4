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
from extract.filtertool.canonical_queries import (
    NumberedQueries,
    form_constants_of,
    original_of,
    template_constants_of,
)
from extract.filtertool.matchers.protocol import Question, numbering
from extract.filtertool.results.owners import Indices, Owners
from extract.filtertool.whole.queries import WholeQueries, WholeQuery
from extract.scheme.model import Chunk, Scheme
from extract.subscriptions.columns import TextColumn
from extract.xpath.functions import Type
from extract.xpath.parameters import filled


@dataclass(frozen=True)
class PlanPart:
    """A part of every document, with its questions.

    Attributes:
        output: The part: a chunk, or the projection with all chunks.
        questions: The questions to evaluate on it.
        queries: The canonical queries of all questions, as `numbering` counts them.
        shared: For each question whether it has only some branches of its queries; other parts
            have the others.
        weight: The sum of the weights of the subscribers that wait for this part.
    """

    output: Output
    questions: tuple[Question, ...] = field(repr=False)
    queries: Indices = field(repr=False)
    shared: NDArray[np.bool_] = field(repr=False)
    weight: float = 0.0

    def queries_of(self, chosen: Sequence[int]) -> Indices:
        """Returns the queries of some questions, as `numbering` counts them."""
        starts = numbering(self.questions)
        parts = [self.queries[starts[n] : starts[n + 1]] for n in chosen]
        return np.concatenate([np.empty(0, np.int32), *parts])


@dataclass(frozen=True)
class QueryPlan:
    """All questions on a document. Make a plan with `QueryPlan.of`.

    Attributes:
        scheme: The scheme.
        queries: The canonical queries, numbered form by form.
        parts: The parts of a conforming document, with their questions.
        whole: Forms that are evaluated on the whole document: indices into `Scheme.forms`. Queries
            in later versions of XPath are, too.
        by_weight: Whether parts with the heaviest subscribers come first.
    """

    scheme: Scheme = field(repr=False)
    queries: NumberedQueries = field(repr=False)
    parts: tuple[PlanPart, ...]
    whole: tuple[int, ...]
    by_weight: bool = False

    @classmethod
    def of(cls, scheme: Scheme, together: bool, priority: bool = False) -> QueryPlan:
        """Makes the plan for a scheme.

        Args:
            scheme: The scheme.
            together: Evaluate all chunks at once.
            priority: Evaluate chunks with the heaviest subscribers first.
        """
        queries = NumberedQueries.of(scheme.directory.canonical, len(scheme.forms))
        asked = np.flatnonzero(np.diff(queries.at)).tolist()
        # A query that needs the whole document for one branch is evaluated there for all of them.
        branches = frozenset(scheme.document.branches)
        whole = [n for n in asked if not branches.isdisjoint(scheme.forms[n].branches)]
        apart = frozenset(whole)
        maker = _PartMaker(scheme, queries, [n for n in asked if n not in apart])
        reduced = replace(scheme, document=replace(scheme.document, branches=()), later=())
        if together:
            parts = [maker.part(projection_output(reduced), None)] if maker.forms else []
        else:
            chunks = zip(chunk_outputs(reduced), reduced.every_chunk, strict=True)
            parts = [maker.part(output, chunk) for output, chunk in chunks]
            parts = [part for part in parts if part.questions]
            if priority:
                parts.sort(key=lambda part: -part.weight)
        return cls(scheme, queries, tuple(parts), tuple(whole), priority)

    @property
    def outputs(self) -> tuple[Output, ...]:
        """The outputs of a scan, one for each part."""
        return tuple([part.output for part in self.parts])

    @property
    def ids(self) -> TextColumn:
        """The ids of all subscribers. Rows of results name a subscriber by its index here."""
        return self.scheme.directory.ids

    @property
    def namespaces(self) -> Mapping[str, str]:
        """Prefix to namespace URI, for all questions."""
        return self.scheme.namespaces

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """The weights of all subscribers."""
        own = self.scheme.members.weights
        members = np.ones(len(self.scheme.members)) if own is None else own
        return np.append(members, [one.subscriber.weight for one in self.scheme.later])

    @cached_property
    def whole_weight(self) -> float:
        """The sum of the weights of the subscribers that wait for the whole document."""
        return float(self.weights[self.whole_queries.owners.subscribers].sum())

    @cached_property
    def order(self) -> tuple[int | None, ...]:
        """The order of evaluation: numbers of parts, and None for the whole document, which comes
        at its place by weight, or last if weights do not count."""
        parts: list[int | None] = list(range(len(self.parts)))
        if self.whole_queries.queries:
            at = len(parts)
            if self.by_weight:
                at = sum([part.weight >= self.whole_weight for part in self.parts])
            parts.insert(at, None)
        return tuple(parts)

    @cached_property
    def last(self) -> Indices:
        """For each query the number of the last part with a question of it; -1 for none."""
        last = np.full(len(self.queries), -1, np.int32)
        for number, part in enumerate(self.parts):
            last[part.queries] = number
        return last

    @cached_property
    def originals(self) -> WholeQueries:
        """All queries as written, including those that match no conforming document."""
        scheme = self.scheme
        numbered = NumberedQueries.of(scheme.directory.originals, len(scheme.templates))
        queries = [
            WholeQuery(
                scheme.templates.xpaths[template],
                constants=template_constants_of(scheme, template, numbered.members(template)),
            )
            for template in np.flatnonzero(np.diff(numbered.at)).tolist()
        ]
        return self._with_later(queries, numbered.owners)

    @cached_property
    def whole_queries(self) -> WholeQueries:
        """The queries that are evaluated on the whole document even if it conforms."""
        scheme, numbered = self.scheme, self.queries
        queries: list[WholeQuery] = []
        owners: list[list[int]] = []
        for form in self.whole:
            rows = numbered.members(form)
            numbers = np.arange(numbered.at[form], numbered.at[form + 1])
            templates = scheme.directory.templates[rows]
            for template in np.unique(templates).tolist():  # nearly always one
                own = templates == template
                constants = template_constants_of(scheme, template, rows[own])
                queries.append(WholeQuery(scheme.templates.xpaths[template], constants=constants))
                owners += [numbered.owners.list(number) for number in numbers[own].tolist()]
        return self._with_later(queries, Owners.of(owners))

    def _with_later(self, queries: list[WholeQuery], owners: Owners) -> WholeQueries:
        """Adds the queries in later versions of XPath, each once."""
        later: dict[WholeQuery, list[int]] = {}
        for number, one in enumerate(self.scheme.later, len(self.scheme.members)):
            bound = tuple(sorted(one.namespaces.items()))
            query = WholeQuery(one.subscriber.xpath, one.version, bound)
            later.setdefault(query, []).append(number)
        more = Owners.of(later.values())
        return WholeQueries((*queries, *later), owners.followed_by(more))


class _PartMaker:
    """Makes the parts of a plan.

    Attributes:
        forms: The forms that are evaluated on parts.
    """

    def __init__(self, scheme: Scheme, queries: NumberedQueries, forms: Sequence[int]) -> None:
        self.forms = forms
        self._scheme = scheme
        self._queries = queries
        self._questions: dict[int, Question] = {}  # with all branches of a form

    def part(self, output: Output, chunk: Chunk | None) -> PlanPart:
        """Makes a part with the branches of a chunk; with all branches for None."""
        own = None if chunk is None else frozenset(chunk.branches)
        questions, numbers, shared = [], [np.empty(0, np.int32)], []
        for number in self.forms:
            form = self._scheme.forms[number]
            branches = [n for n in form.branches if own is None or n in own]
            if not branches:
                continue
            question = self._question(number)
            shared.append(len(branches) < len(form.branches))
            assert form.type is Type.NODES or not shared[-1]
            if shared[-1]:
                pairs = zip(form.branches, question.branches, strict=True)
                here = frozenset(branches)
                some = tuple([xpath for n, xpath in pairs if n in here])
                question = question._replace(branches=some, original="")
            questions.append(question)
            numbers.append(np.array(self._queries.numbers(number), np.int32))
        queries = np.concatenate(numbers)
        weight = self._weight(queries) if chunk is not None else 0.0
        return PlanPart(output, tuple(questions), queries, np.array(shared, np.bool_), weight)

    def _question(self, number: int) -> Question:
        """Returns the question with all branches of a form."""
        question = self._questions.get(number)
        if question is None:
            scheme, form = self._scheme, self._scheme.forms[number]
            rows = self._queries.members(number)
            row = int(rows[0])
            original = original_of(scheme, number, int(scheme.directory.templates[row]))
            if len(rows) == 1:  # columns of one constant each would cost more than the query
                branches = scheme.directory.branches(row)
                written = filled(original, scheme.directory.constants(row))
                question = Question(branches, form.type, written)
            else:
                branches = tuple([scheme.branches.xpaths[n] for n in form.branches])
                constants = form_constants_of(scheme, number, rows)
                question = Question(branches, form.type, original, constants)
            self._questions[number] = question
        return question

    def _weight(self, queries: Indices) -> float:
        owners = self._queries.owners.all_of(queries)
        weights = self._scheme.members.weights
        return float(len(owners)) if weights is None else float(weights[owners].sum())
