"""The filters beside the push engine, for queries and documents that it does not take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final

import numpy as np

from extract.chunktool.automaton.outputs import Output
from extract.chunktool.input.source import Document
from extract.filtertool.document_cutter import DocumentCutter
from extract.filtertool.document_filter import DocumentFilter, document_filter
from extract.filtertool.loaded_batch import LoadedBatch, NamedDocument
from extract.filtertool.matchers.protocol import MatcherFactory
from extract.filtertool.options import Options
from extract.filtertool.results.account import added
from extract.filtertool.results.outcome import DocumentOutcome
from extract.filtertool.results.owners import Indices
from extract.filtertool.scheme_view import SchemeView
from extract.schema.model import Schema
from extract.scheme.selection import scheme_of_members

_WHOLE: Final = Output("document", (), True)


class OtherFilters:
    """The filters for what the engine does not do, each made when it is needed.

    Args:
        view: The scheme, or a function that returns it.
        factory: Makes the matchers.
        options: How to filter.
        rest: The subscribers whose queries the engine does not answer.
    """

    def __init__(
        self,
        view: SchemeView | Callable[[], SchemeView],
        factory: MatcherFactory,
        options: Options,
        rest: Indices,
    ) -> None:
        self._source = view
        self._factory = factory
        self._options = options
        self._numbers_of_rest = rest
        self._past: dict[str, float] = {}  # figures of filters before a change

    def after(self, view: Callable[[], SchemeView], rest: Indices | None) -> OtherFilters:
        """The filters after a change.

        Args:
            view: Returns the scheme as it is now.
            rest: As for the class; None if these are the same queries as before.
        """
        numbers = self._numbers_of_rest if rest is None else rest
        others = OtherFilters(view, self._factory, self._options, numbers)
        if rest is None and "_rest" in self.__dict__:
            others.__dict__["_rest"] = self._rest
        for name in ("cutter", "open_cutter"):
            if name in self.__dict__:
                others.__dict__[name] = self.__dict__[name]
        gone = [self._past, *[dict(one.figures()) for one in self._used]]
        if "_rest" in self.__dict__ and "_rest" not in others.__dict__:
            gone.append(dict(self._rest[0].figures()))
        others._past = added(gone)
        return others

    @property
    def has_rest(self) -> bool:
        """Whether there are queries that the engine does not answer."""
        return len(self._numbers_of_rest) > 0

    @cached_property
    def cutter(self) -> DocumentCutter:
        """Makes tables with all nodes of a document, as the engine numbers them."""
        return DocumentCutter(self.view.scheme, [_WHOLE], False, self._options.limits)

    @cached_property
    def open_cutter(self) -> DocumentCutter:
        """The same for documents that break the schema."""
        scheme = replace(self.view.scheme, schema=Schema.none())
        return DocumentCutter(scheme, [_WHOLE], False, self._options.limits)

    def rest_of(self, batch: LoadedBatch, places: Sequence[int]) -> dict[int, DocumentOutcome]:
        """The outcomes of the rest of the queries on documents, by their places."""
        if not self.has_rest or not places:
            return {}
        rest, numbers = self._rest
        outcomes = rest.process([(batch.names[n], batch.data(n)) for n in places])
        return {
            place: _renumbered(done, numbers) for place, done in zip(places, outcomes, strict=True)
        }

    def whole(self, document: NamedDocument) -> DocumentOutcome:
        """The outcome of all queries on a document that the engine does not take."""
        (done,) = self._all.process([document])
        return _renumbered(done, self.view.numbers)

    def keeping(self, document: NamedDocument) -> DocumentOutcome | None:
        """The same for a document that may break the schema: None if it does."""
        (done,) = self._strict.process([document])
        return None if done.nonconforming else _renumbered(done, self.view.numbers)

    def ids(self, numbers: Iterable[int]) -> dict[int, str]:
        """The ids of some subscribers."""
        chosen = set(numbers)
        if not chosen:
            return {}
        places = np.flatnonzero(np.isin(self.view.numbers, list(chosen))).tolist()
        ids = self.view.scheme.directory.ids
        return {int(self.view.numbers[place]): ids[place] for place in places}

    def figures(self) -> dict[str, float]:
        """Returns the sums of the matchers' figures so far."""
        filters = self._used
        if "_rest" in self.__dict__:
            filters.append(self._rest[0])
        return added([self._past, *[one.figures() for one in filters]])

    @cached_property
    def view(self) -> SchemeView:
        """The scheme as it is now."""
        return self._source if isinstance(self._source, SchemeView) else self._source()

    @cached_property
    def _all(self) -> DocumentFilter[Document]:
        return document_filter(self.view.scheme, self._factory, self._options)

    @cached_property
    def _strict(self) -> DocumentFilter[Document]:
        options = replace(self._options, on_nonconforming="reject")
        return document_filter(self.view.scheme, self._factory, options)

    @property
    def _used(self) -> list[DocumentFilter[Document]]:
        """The filters for all queries that were needed."""
        names = ("_all", "_strict")
        return [getattr(self, name) for name in names if name in self.__dict__]

    @cached_property
    def _rest(self) -> tuple[DocumentFilter[Document], Indices]:
        """The filter for the rest of the queries, and the numbers of its subscribers."""
        scheme, numbers = self.view
        members = len(scheme.members)
        rows = np.flatnonzero(np.isin(numbers[:members], self._numbers_of_rest))
        chosen = scheme_of_members(scheme, rows, scheme.later)
        own = np.concatenate([numbers[rows], numbers[members:]])
        return document_filter(chosen, self._factory, self._options), own


def _renumbered(done: DocumentOutcome, numbers: Indices) -> DocumentOutcome:
    """An outcome whose subscribers have other numbers."""
    findings = done.findings
    if not len(findings):
        return done
    findings = replace(findings, subscriber=numbers[findings.subscriber])
    if (findings.subscriber[1:] < findings.subscriber[:-1]).any():
        order = np.argsort(findings.subscriber, kind="stable")
        findings = replace(
            findings,
            subscriber=findings.subscriber[order],
            count=findings.count[order] if len(findings.count) else findings.count,
            node=findings.node[order] if len(findings.node) else findings.node,
            ordinal=findings.ordinal[order] if len(findings.ordinal) else findings.ordinal,
        )
    return replace(done, findings=findings)
