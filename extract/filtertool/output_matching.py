"""Says which FLWR queries match: those whose results the push engine does not write."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from extract.filtertool.batch_filter import BatchFilter
from extract.filtertool.job import Job
from extract.filtertool.loaded_batch import NamedDocument
from extract.filtertool.matchers.protocol import MatcherFactory, Question
from extract.filtertool.options import Options
from extract.filtertool.results.batch_outcome import document_outcomes
from extract.filtertool.results.outcome import DocumentOutcome
from extract.filtertool.results.owners import Indices
from extract.filtertool.scheme_view import SchemeView
from extract.scheme.selection import scheme_of_members


class OutputMatching:
    """Finds the documents that some FLWR queries match, with the usual filter.

    Args:
        view: The scheme, and the numbers of subscribers.
        numbers: The queries that are asked; also those whose bindings no XPath selects are.
        factory: Makes the matchers.
        options: How to filter.

    Attributes:
        numbers: The numbers of its queries, by the places that the filter's rows have for them;
            also of such as are gone.
    """

    def __init__(
        self, view: SchemeView, numbers: Iterable[int], factory: MatcherFactory, options: Options
    ) -> None:
        own = self._part_of(view, np.fromiter(numbers, np.int64))
        self.numbers: NDArray[np.int64] = own.numbers.astype(np.int64)
        job = Job(own.scheme, factory, replace(options, select="doc"))
        self._filter = job.filter()
        self._places = {number: place for place, number in enumerate(self.numbers.tolist())}
        self._all_taken = True  # whether changes were of queries that the push engine takes

    def process(self, documents: Iterable[NamedDocument]) -> list[DocumentOutcome]:
        """Filters documents; subscribers of rows have their own numbers."""
        outcomes = document_outcomes(self._filter.process(documents))
        return [
            replace(one, findings=replace(one.findings, subscriber=self._own(one)))
            for one in outcomes
        ]

    def _own(self, done: DocumentOutcome) -> Indices:
        numbers: Indices = self.numbers[done.findings.subscriber].astype(np.int32)
        return numbers

    def figures(self) -> Mapping[str, float]:
        """Returns the sums of the matchers' figures so far."""
        return self._filter.figures()

    def __len__(self) -> int:
        """The number of queries."""
        return len(self._places)

    # -- changes

    @property
    def changes(self) -> bool:
        """Whether it takes changes; otherwise it has to be made anew."""
        return isinstance(self._filter, BatchFilter)

    def bind(self, namespaces: Mapping[str, str]) -> None:
        """Binds further prefixes, for queries that come."""
        assert isinstance(self._filter, BatchFilter)
        self._filter.queries.bind(namespaces)

    def add(self, form: Hashable, question: Question, numbers: Indices) -> None:
        """Adds queries, as `PushQueries.add`."""
        assert isinstance(self._filter, BatchFilter)
        self._all_taken &= self._filter.queries.add(form, question, self._placed(numbers.tolist()))

    def add_later(self, number: int) -> None:
        """Adds a query whose bindings no XPath selects."""
        assert isinstance(self._filter, BatchFilter)
        (place,) = self._placed([number]).tolist()
        self._filter.queries.add_rest(place)
        self._all_taken = False

    def remove(self, numbers: Iterable[int]) -> None:
        """Removes queries, those that are here."""
        assert isinstance(self._filter, BatchFilter)
        places = [self._places.pop(number) for number in numbers if number in self._places]
        self._all_taken &= self._filter.queries.remove(places)

    def changed(self, view: Callable[[], SchemeView]) -> None:
        """Takes note that queries have changed.

        Args:
            view: Returns the scheme as it is now, with the numbers of subscribers.
        """
        assert isinstance(self._filter, BatchFilter)

        def own() -> SchemeView:
            part = self._part_of(view(), np.fromiter(self._places, np.int64))
            places = [self._places[number] for number in part.numbers.tolist()]
            return SchemeView(part.scheme, np.array(places, np.int32))

        self._filter.changed(own, rest=not self._all_taken)
        self._all_taken = True

    def _placed(self, numbers: list[int]) -> Indices:
        """New places for queries."""
        first = len(self.numbers)
        self.numbers = np.concatenate([self.numbers, np.array(numbers, np.int64)])
        self._places.update(zip(numbers, range(first, first + len(numbers)), strict=True))
        return np.arange(first, first + len(numbers), dtype=np.int32)

    def _part_of(self, view: SchemeView, numbers: NDArray[np.int64]) -> SchemeView:
        """The scheme with these queries, and with all FLWR queries whose bindings no XPath
        selects."""
        scheme, members = view.scheme, len(view.scheme.members)
        rows = np.flatnonzero(np.isin(view.numbers[:members], numbers))
        later = [n for n, one in enumerate(scheme.later) if one.subscriber.id in scheme.outputs]
        chosen = scheme_of_members(scheme, rows, tuple([scheme.later[n] for n in later]))
        own = np.concatenate([view.numbers[rows], view.later[np.array(later, np.int64)]])
        return SchemeView(chosen, own.astype(np.int32))
