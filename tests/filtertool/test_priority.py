"""Chunks by priority: the heaviest comes first, and every result comes once."""

from __future__ import annotations

from random import Random
from unittest.mock import patch

import pytest

import extract
from extract.errors import DocumentError, MatcherError
from extract.filtertool.document_filter import Options, document_filter
from extract.filtertool.evaluation import PlanEvaluator
from extract.filtertool.matchers.lxml.matcher import LxmlFactory, LxmlMatcher
from extract.filtertool.matchers.registry import load_matcher
from tests.support.filter_rounds import Round
from tests.support.paths import SCHEMAS

SCHEMA = SCHEMAS / "university.dtd"
DOCUMENT = (
    b"<db><student id='1'><name>Ann</name></student><student id='2'><name>Ben</name>"
    b"<email>b@c</email></student><professor><name>Codd</name></professor></db>"
)


def scheme_of(*queries: tuple[str, str, float], version: str = "1.0") -> extract.Scheme:
    """Queries with their weights; each has a chunk of its own as far as possible."""
    some = [
        extract.Subscription(name, xpath, weight=weight, version=version if name == "2" else "1.0")
        for name, xpath, weight in queries
    ]
    schema = extract.Schema.load(SCHEMA, root="db")
    return extract.prepare(schema, extract.Subscriptions.of(some), len(queries))


STUDENTS, PROFESSORS = ("s", "/db/student/name", 2), ("p", "/db/professor/name", 5)
BOTH = ("b", "//name", 1)  # a branch in each of the chunks of the others, and more elsewhere


@pytest.mark.parametrize("matcher", ["auto", "lxml"])
def test_the_heaviest_comes_first(matcher: str) -> None:
    scheme = scheme_of(STUDENTS, PROFESSORS)
    found = list(extract.by_priority(scheme, DOCUMENT, matcher=matcher))
    assert [(one.weight, {m.query for m in one.matches}) for one in found] == [
        (5, {"p"}),
        (2, {"s"}),
    ]
    assert 0 < found[0].ms <= found[1].ms
    assert [one.chunk for one in found] == ["1", "2"]


def test_a_query_of_several_chunks_comes_once_and_complete() -> None:
    scheme = scheme_of(STUDENTS, PROFESSORS, BOTH)
    found = list(extract.by_priority(scheme, DOCUMENT))
    queries = [[m.query for m in one.matches] for one in found]
    assert queries[0] == ["p"]
    assert sum(some.count("b") for some in queries) == 3
    assert next(some for some in queries if "b" in some).count("b") == 3
    every = [m for one in found for m in one.matches]
    assert sorted(every, key=repr) == sorted(extract.match(scheme, DOCUMENT), key=repr)


def test_chunks_are_evaluated_when_they_are_asked_for() -> None:
    scheme = scheme_of(STUDENTS, PROFESSORS)
    asked = []
    evaluate = PlanEvaluator.evaluate_part

    def noted(self: PlanEvaluator, number: int, documents: object) -> None:
        asked.append(number)
        evaluate(self, number, documents)  # type: ignore[arg-type]  # whatever it is

    with patch.object(PlanEvaluator, "evaluate_part", noted):
        found = extract.by_priority(scheme, DOCUMENT)
        assert asked == []
        next(found)
        assert asked == [0]


def test_the_whole_document_has_its_place() -> None:
    scheme = scheme_of(STUDENTS, PROFESSORS, ("2", "//name[ends-with(., 'n')]", 3), version="2.0")
    found = list(extract.by_priority(scheme, DOCUMENT))
    assert [(one.weight, len(one.matches)) for one in found] == [(5, 1), (3, 2), (2, 2)]
    assert found[1].chunk == "document"


def test_a_document_that_breaks_the_schema_comes_in_one_go() -> None:
    scheme = scheme_of(STUDENTS, PROFESSORS)
    document = DOCUMENT.replace(b"<professor>", b"<zzz/><professor>")
    (found,) = extract.by_priority(scheme, document)
    assert (found.chunk, found.weight, len(found.matches)) == ("document", 7, 3)
    with pytest.raises(DocumentError):
        extract.by_priority(scheme, document, on_nonconforming="reject")
    with pytest.raises(DocumentError):
        extract.by_priority(scheme, b"<db>")


def test_a_query_that_fails() -> None:
    bad = ("2", "error()", 9)
    first, *rest = extract.by_priority(scheme_of(STUDENTS, bad, version="2.0"), DOCUMENT)
    assert (first.chunk, first.matches) == ("document", ())
    assert "Unidentified error" in first.failed["2"]
    assert len(rest) == 1


def test_a_chunk_that_cannot_be_evaluated() -> None:
    """What was given out before holds, and the others are answered on the whole document."""
    scheme = scheme_of(STUDENTS, PROFESSORS, BOTH)
    match = LxmlMatcher.match
    calls = []

    def second_fails(self: LxmlMatcher, units: object, select: object) -> object:
        calls.append(units)
        if len(calls) > 1:
            raise MatcherError("no")
        return match(self, units, select)  # type: ignore[arg-type]  # whatever they are

    with patch.object(LxmlMatcher, "match", second_fails):
        ready = document_filter(scheme, LxmlFactory(), Options(priority=True))
        found = list(ready.by_priority("d", DOCUMENT))
        calls.clear()
        (done,) = ready.process([("d", DOCUMENT)])
    ids = ready.plan.ids
    rows = [m for one in found for m in one.findings.matches("d", ids)]
    assert [one.chunk for one in found][1:] == ["document"]
    assert {m.query for m in found[0].findings.matches("d", ids)} == {"p"}
    assert sorted(m.query for m in rows) == ["b", "b", "b", "p", "s", "s"]
    assert done.fate == "whole"
    assert len(done.findings) == 6


@pytest.mark.parametrize("seed", range(100, 104))
def test_together_they_are_what_match_gives(seed: int) -> None:
    one = Round(Random(seed), 30)
    for matcher in ("lxml", "columnar"):
        ready = document_filter(one.scheme, load_matcher(matcher), Options(priority=True))
        plain = document_filter(one.scheme, load_matcher(matcher), Options())
        ids = plain.plan.ids
        for document in one.documents:
            (done,) = plain.process([("d", document)])
            parts = list(ready.by_priority("d", document))
            weights = [part.weight for part in parts]
            assert weights == sorted(weights, reverse=True)
            rows = [m for part in parts for m in part.findings.matches("d", ids)]
            seen: set[str] = set()
            for part in parts:
                now = {m.query for m in part.findings.matches("d", ids)}
                assert not now & seen
                seen |= now
            wanted = list(done.findings.matches("d", ids))
            assert sorted(rows, key=repr) == sorted(wanted, key=repr)
            failed = [row for part in parts for row in part.rejections]
            assert sorted(failed, key=repr) == sorted(done.rejections, key=repr)
