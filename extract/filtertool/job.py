"""A job: the scheme, matcher and options that every engine gives to its workers."""

from __future__ import annotations

from dataclasses import dataclass

from extract.filtertool.filtering import DocumentFilter
from extract.filtertool.matcher import MatcherFactory
from extract.filtertool.options import Options
from extract.scheme.model import Scheme


@dataclass(frozen=True, slots=True)
class Job:
    """What a worker needs to filter documents."""

    scheme: Scheme
    factory: MatcherFactory
    options: Options

    def filter(self) -> DocumentFilter:
        """Makes a filter for one worker."""
        return DocumentFilter(self.scheme, self.factory, self.options)
