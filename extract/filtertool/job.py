"""A job: the scheme, matcher and options that every engine gives to its workers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from extract.chunktool.input.source import Document
from extract.filtertool.document_filter import document_filter
from extract.filtertool.matchers.protocol import MatcherFactory
from extract.filtertool.matchers.push.native import native_available
from extract.filtertool.matchers.registry import AUTO, PUSH, SQL
from extract.filtertool.options import Options
from extract.filtertool.refuse_tables import refuse_tables
from extract.filtertool.results.batch_outcome import FilterOutcome
from extract.filtertool.units import DocumentT_contra
from extract.scheme.model import Scheme
from extract.subscriptions.columns import TextColumn


class JobFilter(Protocol[DocumentT_contra]):
    """Filters documents: a `BatchFilter`, or a `DocumentFilter`."""

    @property
    def options(self) -> Options:
        """How to filter."""

    @property
    def ids(self) -> TextColumn:
        """The ids of all subscribers, as rows refer to them."""

    def process(self, documents: Iterable[tuple[str, DocumentT_contra]]) -> Sequence[FilterOutcome]:
        """Filters a batch of documents, each with its name."""

    def figures(self) -> Mapping[str, float]:
        """Returns the sums of the matchers' figures so far."""


@dataclass(frozen=True, slots=True)
class Job:
    """Everything that a worker needs to filter documents.

    Raises:
        MatcherError: A query joins a table, and no database matches.
    """

    scheme: Scheme
    factory: MatcherFactory
    options: Options

    def __post_init__(self) -> None:
        if not self.in_database:  # told once, before any worker is started
            refuse_tables(self.scheme, self.factory.name)

    @property
    def in_database(self) -> bool:
        """Whether a database matches."""
        return self.factory.name == SQL and self.options.select != "output"

    def filter(self) -> JobFilter[Document]:
        """Makes a filter for one worker.

        The push engine is in front where that is asked for, and where it is left to us and the
        engine was compiled.
        """
        if self.options.select == "output":
            from extract.filtertool.output_filter import OutputFilter

            return OutputFilter(self.scheme, self.factory, self.options)
        if self.in_database:
            from extract.filtertool.sql_filter import sql_filter

            return sql_filter(self.scheme, self.options)
        engine = self.factory.name == PUSH or (self.factory.name == AUTO and native_available())
        if not engine or self.options.priority or self.options.kernel is False:
            return document_filter(self.scheme, self.factory, self.options)
        from extract.filtertool.batch_filter import BatchFilter

        return BatchFilter(self.scheme, self.factory, self.options)
