"""`SqlFactory`: the matcher ``sql`` by name, and for questions on units of documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from extract.filtertool.matchers.lxml.matcher import LxmlFactory
from extract.filtertool.matchers.protocol import Matcher, Question, UnlimitedFactory
from extract.filtertool.matchers.registry import SQL


class SqlFactory(UnlimitedFactory):
    """Makes matchers whose pairs a database finds."""

    name: Final = SQL
    consumes: Final[Literal["xml", "table"]] = "xml"
    templates: Final = True

    def build(self, questions: Sequence[Question], namespaces: Mapping[str, str]) -> Matcher:
        """Builds a matcher for questions."""
        from extract.filtertool.matchers.sql.matcher import SqlMatcher

        return SqlMatcher(questions, namespaces, LxmlFactory())
