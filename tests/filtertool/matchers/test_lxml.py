"""The matcher `lxml`: units that it rejects, and queries that it evaluates as written."""

from __future__ import annotations

import pytest

import extract
from extract.errors import MatcherError
from extract.filtertool.matchers.lxml.compiled_question import better_as_written
from extract.filtertool.matchers.lxml.matcher import LxmlFactory
from extract.filtertool.matchers.protocol import Question, Unit
from extract.filtertool.query_plan import QueryPlan
from extract.testing.matcher_contract import DOCUMENT, unit_of
from tests.support.paths import SCHEMAS


def test_a_unit_without_xml_is_an_error() -> None:
    matcher = LxmlFactory().build([Question(("/db",))], {})
    with pytest.raises(MatcherError, match="needs the unit as XML"):
        matcher.match([Unit(unit_of(DOCUMENT).table)], "nodes")


def test_a_unit_that_libxml2_rejects_is_an_error() -> None:
    matcher = LxmlFactory().build([Question(("/db",))], {})
    with pytest.raises(MatcherError, match="libxml2 rejects a chunk"):
        matcher.match([Unit(unit_of(DOCUMENT).table, b"<db>")], "nodes")


# -- the query as it was written, where libxml2 is slow at what it was expanded to


def test_what_libxml2_is_slow_at_is_asked_as_it_was_written() -> None:
    """It compares every node with every other for `|`, and for `//` below many nodes."""
    book = extract.Schema.load(SCHEMAS / "book.dtd", root="book")
    queries = {
        "sum": "sum(//title)",
        "nodes": "//title[lang('de')]",
        "plain": "/book/section/title[lang('de')]",
        "document": "/ | //title[lang('de')]",
    }
    scheme = extract.prepare(book, extract.Subscriptions.of(queries), 1)
    asked = QueryPlan.of(scheme, together=True).parts[0]
    ids = [scheme.queries[n].subscribers[0].id for n in asked.queries.tolist()]
    as_written = {
        name: question.original
        for name, question in zip(ids, asked.questions, strict=True)
        if better_as_written(question)
    }
    assert as_written == {"sum": "sum(//title)", "nodes": "//title[lang('de')]"}
    document = b"<book><section xml:lang='de'><title>1</title><section><title>2</title></section>"
    document += b"</section><title>3</title></book>"
    counts = {query: n for _, query, n in extract.count(scheme, document)}
    assert counts == {"sum": 1, "nodes": 2, "plain": 1, "document": 2}


def test_a_query_is_asked_as_written_only_with_all_its_branches() -> None:
    book = extract.Schema.load(SCHEMAS / "book.dtd", root="book")
    queries = {"all": "//title", "a": "/book/title", "b": "/book/section/title"}
    scheme = extract.prepare(book, extract.Subscriptions.of(queries), 2)
    parts = QueryPlan.of(scheme, together=False).parts
    assert any(part.shared.any() for part in parts)
    for part in parts:
        for shared, question in zip(part.shared.tolist(), part.questions, strict=True):
            assert bool(question.original) is not shared
