"""The FLWR queries of a filter: those whose results the push engine writes, and the rest."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

import numpy as np

from extract.filtertool.flwr.parsed_queries import ParsedQueries
from extract.filtertool.matchers.protocol import Question
from extract.filtertool.output_matching import OutputMatching
from extract.filtertool.push_queries import members_by_key, question_of
from extract.filtertool.results.owners import Indices
from extract.filtertool.scheme_view import SchemeView
from extract.filtertool.written_queries import WrittenQueries
from extract.scheme.garbage import no_collection
from extract.scheme.model import Scheme


class OutputQueries:
    """The queries of an output filter, to which more are added, and from which some are removed.

    Queries that are no FLWR are passed over.

    Args:
        written: The queries whose results the engine writes.
        queries: All queries, by their numbers.

    Attributes:
        written: The queries whose results the engine writes.
        matching: Says which of the rest match; None until somebody asks.
    """

    def __init__(self, written: WrittenQueries, queries: ParsedQueries) -> None:
        self.written = written
        self.matching: OutputMatching | None = None
        self._queries = queries
        self._rest: set[int] = set()
        self._rest_changed = False

    def add_all(self, scheme: Scheme) -> None:
        """Adds the queries of a scheme, whose places are their numbers."""
        forms = scheme.directory.forms
        is_output = np.zeros(len(forms), np.bool_)
        rows = [scheme.directory.find(one) for one in scheme.outputs]
        is_output[[row for row in rows if row >= 0]] = True
        with no_collection():
            for form, members in members_by_key(forms):
                own = members[is_output[members]]
                if len(own):
                    question = question_of(scheme, form, own)
                    self._add(question.key(), question, own.astype(np.int32))
        for number, one in enumerate(scheme.later, len(forms)):
            if one.subscriber.id in scheme.outputs:
                self._rest.add(number)

    @property
    def has_rest(self) -> bool:
        """Whether there are queries whose results the engine does not write."""
        return bool(self._rest)

    # -- changes, as of `PushQueries`

    def bind(self, namespaces: Mapping[str, str]) -> None:
        """Binds further prefixes, for queries that come."""
        self.written.engine.bind(namespaces)
        if self.matching is not None and self.matching.changes:
            self.matching.bind(namespaces)

    def decides(self, form: Hashable, question: Question) -> bool:
        """Whether queries may be added by `add_one`: never, their results are looked at."""
        return False

    def add_one(
        self, form: Hashable, question: Question, constants: Sequence[str], number: int
    ) -> None:
        """Adds one query of a question that is decided."""
        raise NotImplementedError

    def add(self, form: Hashable, question: Question, numbers: Indices) -> bool:
        """Adds queries that select something, as `PushQueries.add`."""
        own = np.array([self._queries.output(n) is not None for n in numbers.tolist()], np.bool_)
        if own.any():
            self._add(form, _part(question, own), numbers[own])
        return True

    def add_rest(self, number: int) -> None:
        """Adds a query whose bindings no XPath selects."""
        if self._queries.output(number) is None:
            return
        self._rest.add(number)
        self._rest_changed = True
        if self.matching is not None and self.matching.changes:
            self.matching.add_later(number)

    def remove(self, numbers: Iterable[int]) -> bool:
        """Removes queries."""
        chosen = list(numbers)
        self.written.remove(chosen)
        others = self._rest.intersection(chosen)
        if others:
            self._rest -= others
            self._rest_changed = True
            if self.matching is not None and self.matching.changes:
                self.matching.remove(others)
        return True

    def changed(self, view: Callable[[], SchemeView]) -> bool:
        """Takes note that queries have changed; returns whether `matching` has taken that over.

        Args:
            view: Returns the scheme as it is now, with the numbers of subscribers.
        """
        taken = True
        if self.matching is not None and self.matching.changes:
            self.matching.changed(view)
        elif self._rest_changed:
            taken, self.matching = False, None
        self._rest_changed = False
        return taken

    def _add(self, form: Hashable, question: Question, numbers: Indices) -> None:
        """Adds FLWR queries."""
        rest = ~self.written.add(form, question, numbers)
        if not rest.any():
            return
        self._rest.update(numbers[rest].tolist())
        self._rest_changed = True
        if self.matching is not None and self.matching.changes:
            self.matching.add(form, _part(question, rest), numbers[rest])


def _part(question: Question, chosen: np.typing.NDArray[np.bool_]) -> Question:
    """A question with the constants of some of its queries."""
    if question.constants is None or chosen.all():
        return question
    return question._replace(constants=question.constants.take(np.flatnonzero(chosen)))
