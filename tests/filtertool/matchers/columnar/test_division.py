"""The columnar matcher with constants: its numbering, its fallback, and what it leaves out."""

from __future__ import annotations

import gc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import pytest

from extract.errors import MatcherError
from extract.filtertool.matchers.columnar import ColumnarFactory, ColumnarMatcher
from extract.filtertool.matchers.columnar.columns import Columns
from extract.filtertool.matchers.columnar.parametric import ParametricRun
from extract.filtertool.matchers.lxml.matcher import LxmlFactory
from extract.filtertool.matchers.protocol import Matcher, Question, UnlimitedFactory
from extract.subscriptions.constants import Constants
from extract.testing.matcher_contract import DOCUMENT, OTHER, unit_of
from extract.xpath.functions import Type
from tests.support.columnar_cases import SELECTS, facts

NAMES = Constants.of(["string"], [("Codd",), ("x",), ("Ann & Bo",), ("",), ("1.5",)])
MANY = Constants.of(["string"], [(f"{n}",) for n in range(40)] + [("Codd",), ("Ben & co",)])
ODD = b"<!DOCTYPE db [<!ENTITY e 'Codd'>]><db><professor><name>&e;</name></professor></db>"

QUESTIONS = [
    Question(("/db/student",)),
    Question(("/db/*[name = $string1]",), constants=NAMES),
    Question(("/db/*[name = $string1]/name",), constants=MANY),
    Question(("count(/db/*[name = $string1])",), Type.NUMBER, constants=MANY),
    Question(("/db/professor",)),
    Question(("string(/db/*[name = $string1]/email)",), Type.STRING, constants=NAMES),
    Question(("/db/*[name = $string1]/following::name",), constants=MANY),
    Question(("/db/student/following::*",)),
    Question(("//name[. = $string1]/..",), constants=MANY),
]


@dataclass
class Recording(UnlimitedFactory):
    """Makes lxml matchers, and keeps the questions."""

    name: str = "recording"
    consumes: Literal["xml", "table"] = "xml"
    templates: bool = True
    asked: list[list[Question]] = field(default_factory=list)

    def build(self, questions: Sequence[Question], namespaces: Mapping[str, str]) -> Matcher:
        self.asked.append(list(questions))
        return LxmlFactory().build(questions, namespaces)


@pytest.mark.parametrize("together", [1, 12, 1_000])
@pytest.mark.parametrize("documents", [(DOCUMENT,), (DOCUMENT, OTHER), (OTHER, ODD, DOCUMENT)])
def test_questions_of_all_kinds_are_numbered_together(
    documents: tuple[bytes, ...], together: int
) -> None:
    units = [unit_of(document) for document in documents]
    matcher = ColumnarFactory(together=together).build(QUESTIONS, {})
    one_by_one = LxmlFactory().build([each for one in QUESTIONS for each in one.each()], {})
    for select in SELECTS:
        assert facts(matcher.match(units, select)) == facts(one_by_one.match(units, select))


def test_the_report_counts_queries() -> None:
    figures = ColumnarFactory().build(QUESTIONS, {}).report().figures
    assert figures == {"columnar_questions": 2 + 2 * 5 + 3 * 42, "lxml_questions": 42 + 1}


def test_the_fallback_gets_constants_if_it_takes_them() -> None:
    units = [unit_of(DOCUMENT), unit_of(ODD)]
    for templates, asked in ((True, [7, 2]), (False, [2 + 10 + 126, 43])):
        fallback = Recording(templates=templates)
        ColumnarFactory(fallback=fallback).build(QUESTIONS, {}).match(units, "count")
        assert [len(questions) for questions in fallback.asked] == asked


def test_what_nobody_answers_fails_for_each_query() -> None:
    matcher = ColumnarFactory(fallback=None).build(QUESTIONS[5:8], {})
    answers = matcher.match([unit_of(DOCUMENT), unit_of(OTHER)], "count")
    assert len(answers.failures) == 2 * 43
    assert answers.failures[0] == (0, 5, "columns cannot answer the axis following")
    with pytest.raises(MatcherError):
        matcher.match([unit_of(ODD)], "count")


def test_questions_that_may_take_long_go_to_the_fallback_together() -> None:
    slow = ["/db/*[/db/*/name = $string1]", "/db/*[preceding-sibling::*[name = $string1]]"]
    questions = [
        Question(("/db/*[name = $string1]",), constants=MANY),
        *[Question((xpath,), constants=MANY) for xpath in slow],
    ]
    fallback = Recording()
    matcher = ColumnarMatcher(questions, {}, fallback, limit=10.0)
    units = [unit_of(DOCUMENT), unit_of(OTHER)]
    expected = LxmlFactory().build(questions, {})
    for select in SELECTS:
        assert facts(matcher.match(units, select)) == facts(expected.match(units, select))
    assert [len(asked) for asked in fallback.asked] == [2]
    assert matcher.report().figures["questions_left"] == 3 * 2 * 2 * 42


@pytest.mark.parametrize("most", [0, 2, 5, 20])
def test_questions_that_take_too_much_memory_go_to_the_fallback(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr("extract.filtertool.matchers.columnar.axes.MAX_PAIRS", most)
    questions = [
        *QUESTIONS,
        Question(("/db/*[count(../*[name = $string1]) > 0]",), constants=MANY),
        Question(("string(/db/*[name = $string1])",), Type.STRING, constants=MANY),
    ]
    matcher = ColumnarFactory().build(questions, {})
    units = [unit_of(DOCUMENT), unit_of(OTHER)]
    expected = LxmlFactory().build(questions, {})
    for select in SELECTS:
        assert facts(matcher.match(units, select)) == facts(expected.match(units, select))


def test_a_question_whose_path_is_not_there_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = ["/db/zzz[name = $string1]", "//zzz[. = $string1]", "/db[name = $string1]/zzz[@id]"]
    questions = [Question((path,), constants=MANY) for path in paths]
    matcher = ColumnarFactory(fallback=None).build(questions, {})

    def fail(*arguments: object) -> None:
        raise AssertionError(arguments)

    monkeypatch.setattr(ParametricRun, "selections", fail)
    assert not len(matcher.match([unit_of(DOCUMENT)], "doc").unit)


def test_the_columns_of_a_batch_are_freed_without_the_garbage_collector() -> None:
    matcher = ColumnarFactory(fallback=None).build([*QUESTIONS[:6], QUESTIONS[8]], {})
    gc.collect()
    gc.disable()
    try:
        matcher.match([unit_of(DOCUMENT)], "nodes")
        assert not [one for one in gc.get_objects() if isinstance(one, Columns)]
    finally:
        gc.enable()
