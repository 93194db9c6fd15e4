"""The queries of a scheme, divided: those that the push engine answers, those that it leaves open
on some documents, and the rest."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from extract.filtertool.canonical_queries import (
    form_constants_of,
    original_of,
    template_constants_of,
)
from extract.filtertool.matchers.protocol import Question
from extract.filtertool.matchers.push.automaton import EngineNames
from extract.filtertool.matchers.push.engine import PushEngine
from extract.filtertool.options import Options
from extract.filtertool.results.owners import Indices, Longs
from extract.filtertool.scheme_view import SchemeView
from extract.filtertool.tree_queries import TreeQueries
from extract.schema.model import Schema
from extract.scheme.garbage import no_collection
from extract.scheme.model import Scheme
from extract.xpath.functions import Type
from extract.xpath.parameters import parse_shape
from extract.xpath.types import type_of


class PushQueries:
    """The queries of a scheme in a push engine, which knows them by the numbers of subscribers.

    Make one with `of_forms`, for documents that keep to the schema, or with `as_written`, for any.

    Args:
        schema: The schema whose edges documents are checked for.
        namespaces: Prefix to namespace URI, for all queries.
        options: How documents are filtered.
        names: The names of another engine, which scans the documents for this one.

    Attributes:
        engine: The engine.
        trees: The queries that the engine does not decide: it names the documents that may match.
        forms: The normal forms of all queries so far.
    """

    def __init__(
        self,
        schema: Schema,
        namespaces: Mapping[str, str],
        options: Options,
        names: EngineNames | None = None,
    ) -> None:
        select, limits = options.select, options.limits
        self._has_values = select == "nodes"
        self.engine = PushEngine(
            schema, namespaces, select, limits, approximate=True, conditions=True, names=names
        )
        self.engine.bind(namespaces)
        self.trees = TreeQueries(namespaces, select, limits)
        self.forms: set[Hashable] = set()
        self._conditions: set[int] = set()
        self._sorted_conditions: Indices | None = None  # once they have changed
        self._rest: set[int] = set()

    @classmethod
    def of_forms(cls, view: SchemeView, options: Options) -> PushQueries:
        """The queries of a scheme in normal form."""
        scheme, numbers = view
        queries = cls(scheme.schema, scheme.namespaces, options)
        with no_collection():
            for form, rows in members_by_key(scheme.directory.forms):
                queries._add_form(scheme, form, rows, numbers)
        queries._rest.update(view.later.tolist())
        return queries

    @classmethod
    def as_written(
        cls, view: SchemeView, options: Options, names: EngineNames | None = None
    ) -> PushQueries:
        """The queries of a scheme as they were written, also those that match no document that
        keeps to the schema."""
        scheme, numbers = view
        queries = cls(Schema.none(), scheme.namespaces, options, names)
        with no_collection():
            for template, rows in members_by_key(scheme.directory.templates):
                queries.add(template, written_question(scheme, template, rows), numbers[rows])
        queries._rest.update(view.later.tolist())
        return queries

    @property
    def rest(self) -> Indices:
        """The subscribers whose queries are neither in the engine nor for trees, ascending."""
        return np.array(sorted(self._rest), np.int32)

    @property
    def conditions(self) -> Indices:
        """Where nodes are selected: queries that are true or false of a document, ascending.

        One that neither matches nor may match is false.
        """
        if self._sorted_conditions is None:
            self._sorted_conditions = np.array(sorted(self._conditions), np.int32)
        return self._sorted_conditions

    def are_conditions(self, queries: Indices) -> NDArray[np.bool_]:
        """Which of some queries are among the conditions."""
        conditions = self.conditions
        if not len(conditions):
            return np.zeros(len(queries), np.bool_)
        places = np.searchsorted(conditions, queries)
        places[places == len(conditions)] = 0
        same: NDArray[np.bool_] = conditions[places] == queries
        return same

    def bind(self, namespaces: Mapping[str, str]) -> None:
        """Binds further prefixes, for queries that come."""
        self.engine.bind(namespaces)
        self.trees.bind(namespaces)

    def add(self, form: Hashable, question: Question, numbers: Indices) -> bool:
        """Adds queries; returns whether they are not among the rest.

        Args:
            form: Identifies their normal form: always the same for it, as `Question.key`.
            question: The question, with their constants.
            numbers: Their numbers, which are new.
        """
        if _selects_namespaces(question):
            self._rest.update(numbers.tolist())
            return False
        taken = self.engine.takes(form, question)
        assert taken, question
        self.engine.add(form, question, numbers)
        self.forms.add(form)
        if not self.engine.decides(form):
            self.trees.add(question, numbers)
        if self._has_values and question.type is Type.BOOLEAN:
            self._conditions.update(numbers.tolist())
            self._sorted_conditions = None
        return True

    def _add_form(self, scheme: Scheme, form: int, rows: Longs, numbers: Indices) -> None:
        """Adds the members of a form; of real rules, most forms have one."""
        member = int(rows[0])
        question = _form_question(scheme, form, member)
        if len(rows) == 1 and self.decides(question.key(), question):
            own = scheme.directory.constants(member)
            self.add_one(question.key(), question, own, int(numbers[member]))
        else:
            constants = form_constants_of(scheme, form, rows)
            self.add(question.key(), question._replace(constants=constants), numbers[rows])

    def decides(self, form: Hashable, question: Question) -> bool:
        """Whether the engine decides a question, so that queries may be added one by one."""
        if _selects_namespaces(question) or not self.engine.takes(form, question):
            return False
        return self.engine.decides(form)

    def add_one(
        self, form: Hashable, question: Question, constants: Sequence[str], number: int
    ) -> None:
        """Adds one query of a question that the engine decides.

        Args:
            form, number: As for `add`.
            question: The question, without constants.
            constants: The constants of this query, as they are written.
        """
        self.engine.add_one(form, question, constants, number)
        self.forms.add(form)
        if self._has_values and question.type is Type.BOOLEAN:
            self._conditions.add(number)
            self._sorted_conditions = None

    def add_rest(self, number: int) -> None:
        """Adds a query that neither the engine nor a tree can answer."""
        self._rest.add(number)

    def remove(self, numbers: Iterable[int]) -> bool:
        """Removes queries; returns whether none of them was among the rest."""
        chosen = list(numbers)
        if not chosen:
            return True
        others = self._rest.intersection(chosen)
        self._rest -= others
        self._conditions.difference_update(chosen)
        self._sorted_conditions = None
        self.engine.remove([number for number in chosen if number not in others])
        self.trees.remove(chosen)
        return not others


def _selects_namespaces(question: Question) -> bool:
    """Whether a question may select namespace nodes, which have no place in a node table."""
    return any("namespace::" in text for text in (question.original, *question.branches))


def question_of(scheme: Scheme, form: int, rows: Longs) -> Question:
    """The question of members that have one form, with their constants."""
    question = _form_question(scheme, form, int(rows[0]))
    return question._replace(constants=form_constants_of(scheme, form, rows))


def _form_question(scheme: Scheme, form: int, member: int) -> Question:
    """The question of a form that a member has, without constants."""
    chosen, type_ = scheme.forms[form]
    branches = tuple([scheme.branches.xpaths[n] for n in chosen])
    original = original_of(scheme, form, int(scheme.directory.templates[member]))
    return Question(branches, type_, original)


def written_question(scheme: Scheme, template: int, rows: Longs) -> Question:
    """The question of members of a template as they were written, with their constants."""
    xpath = scheme.templates.xpaths[template]
    constants = template_constants_of(scheme, template, rows)
    return Question((xpath,), type_of(parse_shape(xpath)), xpath, constants)


def members_by_key(keys: Indices) -> Iterator[tuple[int, Longs]]:
    """The members with each key; those with a negative one, which match nothing, are left out."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(keys)])
    ends = [*starts.tolist()[1:], len(keys)]
    for start, end, number in zip(starts.tolist(), ends, ordered[starts].tolist(), strict=False):
        if number >= 0:
            yield number, order[start:end]
