"""A job: the scheme, matcher and options that every engine gives to its workers."""

from __future__ import annotations

from dataclasses import dataclass

from extract.chunktool.input.source import Document
from extract.filtertool.document_filter import DocumentFilter, document_filter
from extract.filtertool.matchers.protocol import MatcherFactory
from extract.filtertool.options import Options
from extract.scheme.model import Scheme


@dataclass(frozen=True, slots=True)
class Job:
    """Everything that a worker needs to filter documents."""

    scheme: Scheme
    factory: MatcherFactory
    options: Options

    def filter(self) -> DocumentFilter[Document]:
        """Makes a filter for one worker."""
        return document_filter(self.scheme, self.factory, self.options)
