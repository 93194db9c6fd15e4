"""Queries that may take for ever: recognised by a bound of their cost, and given up alone."""

from __future__ import annotations

import pytest

import extract
from extract.filtertool.document_filter import Options, document_filter
from extract.filtertool.matchers.cost_bound import Bound, nodes_allowed
from extract.filtertool.matchers.lxml.matcher import LxmlFactory
from extract.filtertool.matchers.protocol import Question
from extract.filtertool.matchers.registry import load_matcher
from extract.limits import Limits
from extract.testing.matcher_contract import DOCUMENT, unit_of
from tests.support.paths import SCHEMAS

HOSTILE = "//name[preceding::name/following::name/preceding::name]"


@pytest.mark.parametrize(
    ("xpath", "allowed"),
    [
        ("/db/student/name", 1e9),
        ("/db/student[name = 'x' and email]/name", 1e6),
        ("//student[name]", 1e6),
        ("//student//name", 1e4),
        ("count(//student[position() = last()])", 1e6),
    ],
)
def test_usual_queries_are_not_suspicious(xpath: str, allowed: float) -> None:
    assert nodes_allowed(xpath) >= allowed


@pytest.mark.parametrize(
    "xpath",
    [
        HOSTILE,
        "//a[following-sibling::a[following-sibling::a[following-sibling::a]]]",
        "//a[//a[//a[//a = 1]]]",
        "count(//a/preceding::*/following::*/preceding::*)",
    ],
)
def test_hostile_queries_are_suspicious(xpath: str) -> None:
    assert nodes_allowed(xpath) < 3_000


def test_the_bound_counts_elements_by_name() -> None:
    """An ordinary query on a large document pays for no child process."""
    asked: list[str] = []

    def named() -> dict[str, int]:
        asked.append("")
        return {"student": 2_000, "name": 5_000, "a": 3_000}

    bound = Bound("//student//name[x]")
    assert bound.affords(1_000, named)
    assert not asked  # counting takes time, too
    assert not bound.affords(200_000)
    assert Bound("//student//name").affords(200_000, named)
    assert Bound("//student[@x = 5]//name").affords(200_000, named)
    assert not Bound(HOSTILE).affords(200_000, named)
    assert not Bound("//a[preceding::a/following::a/preceding::a]").affords(3_000, named)


@pytest.mark.parametrize("matcher", ["auto", "lxml"])
@pytest.mark.parametrize("document", ["conforming", "nonconforming"])
def test_a_query_that_takes_for_ever_is_given_up_by_every_matcher(
    matcher: str, document: str
) -> None:
    """Each of these took from ten seconds to minutes, in libxml2 or in columns."""
    schema = extract.Schema.load(SCHEMAS / "university.dtd", root="db")
    queries = {
        "axes": HOSTILE,
        "pairs": "//name[../../student = /db/student/@id]",
        "text": "//name[translate(/, 'abcdefghij', '0123456789') = translate(/db, 'xy', 'ab')]",
        "siblings": "//student[preceding-sibling::*[following-sibling::*[preceding-sibling::*]]]",
        "good": "//student[@id = '5']/name",
    }
    scheme = extract.prepare(schema, extract.Subscriptions.of(queries), 2)
    students = b"".join(b"<student id='%d'><name>n</name></student>" % n for n in range(3_000))
    data = b"<db>" + b"<zzz/>" * (document == "nonconforming") + students + b"</db>"
    ready = document_filter(
        scheme,
        load_matcher(matcher),
        Options("count", limits=Limits(query_seconds=0.2)),
    )
    (done,) = ready.process([("d", data)])
    assert {one.query for one in done.rejections} == {"axes", "pairs", "text", "siblings"}
    assert all("(--max-query-seconds)" in one.reason for one in done.rejections)
    assert len(done.findings) == 1
    assert done.figures["guarded_evaluations"] >= 4


def test_a_hostile_query_is_given_up_and_the_others_are_answered() -> None:
    students = b"".join(b"<student id='%d'><name/></student>" % n for n in range(3_000))
    unit = unit_of(b"<db>" + students + b"</db>")
    questions = [Question(("/db/student/name",)), Question((HOSTILE,)), Question(("/db",))]
    matcher = LxmlFactory(seconds=0.5).build(questions, {})
    answers = matcher.match([unit], "count")
    assert answers.question.tolist() == [0, 2]
    ((_, question, reason),) = answers.failures
    assert (question, reason) == (
        1,
        "it took longer than 0.5 s and was given up (--max-query-seconds)",
    )
    assert matcher.report().figures["guarded_evaluations"] == 1
    assert matcher.match([unit_of(DOCUMENT)], "count").question.tolist() == [0, 1, 2]


@pytest.mark.parametrize("name", ["auto", "columnar", "lxml"])
def test_limits_reach_the_child_process_that_holds_them(name: str) -> None:
    """Columns leave to it what may take too long; the one that they would choose is asked twice."""
    students = b"".join(b"<student id='%d'><name/></student>" % n for n in range(3_000))
    factory = load_matcher(name).with_limits(Limits(query_seconds=0.5))
    matcher = factory.build([Question((HOSTILE,)), Question(("/db",))], {})
    answers = matcher.match([unit_of(b"<db>" + students + b"</db>")], "count")
    ((_, question, reason),) = answers.failures
    assert (question, "(--max-query-seconds)" in reason) == (0, True)
