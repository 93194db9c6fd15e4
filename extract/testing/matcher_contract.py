"""The contract of matchers, which every matcher must pass.

    class TestMine(MatcherContract):  # or UpdatableMatcherContract
        factory = MyFactory()

pytest runs the inherited tests. `unit_of` makes a unit of a document, for tests of your own. Random
questions on random documents are compared with libxml2's answers.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pytest
from lxml import etree

from extract.chunktool.automaton.outputs import Output
from extract.filtertool.document_cutter import DocumentCutter
from extract.filtertool.matchers.lxml.matcher import LxmlFactory
from extract.filtertool.matchers.node_refs import DocumentOrder
from extract.filtertool.matchers.protocol import (
    Answers,
    Matcher,
    MatcherFactory,
    Nodes,
    Question,
    Select,
    Unit,
    UpdatableMatcher,
    build_matcher,
)
from extract.limits import Limits
from extract.markup.node_kinds import NodeKind
from extract.preptool.prepare import prepare
from extract.schema.model import Attribute, Declaration, Schema
from extract.subscriptions import Subscriptions
from extract.subscriptions.constants import Constants
from extract.testing.template_cases import random_template
from extract.xpath.functions import EXSLT_REGEXP, Type

PEOPLE = ("student", "professor", "secretary")
DETAILS = ("name", "email", "url")

DOCUMENT = b"""<!--before--><?go now?><db>
 <student id="1"><name>Ann &amp; Bo</name><email>a@b</email></student>
 <!--inside--><student xmlns:x="urn:x" id='2'><name>Ben<![CDATA[ & co]]></name><url/></student>
 <?stop it?><professor><name>Codd</name><email>c@d</email> tail</professor>
</db><!--after-->"""

OTHER = b"<db><student id='3'><name/></student><secretary><name>1.5</name></secretary></db>"


@cache
def _cutter() -> DocumentCutter:
    people, details = (1, 2, 3), (4, 5, 6)
    with_id = (Attribute("id"),)
    schema = Schema(
        "memory",
        "dtd",
        (
            Declaration(0, "db", children=people),
            *[Declaration(n, PEOPLE[n - 1], "", details, with_id) for n in people],
            *[Declaration(n, DETAILS[n - 4]) for n in details],
        ),
        roots=(0,),
    )
    scheme = prepare(schema, Subscriptions.of(["//name"]), 1)
    return DocumentCutter(scheme, [Output("all", (), whole=True)])


def unit_of(document: bytes) -> Unit:
    """Makes one unit of a document: a ``db`` of people (`PEOPLE`) with details (`DETAILS`)."""
    cut = _cutter().cut("", document)
    assert cut.outcome.conforming, cut.outcome
    return cut.units[0]


class MatcherContract:
    """The required behaviour of a matcher. Set `factory` in a subclass.

    Attributes:
        factory: The factory to test.
    """

    factory: MatcherFactory

    def ask(
        self,
        *questions: str | Question,
        select: Select = "nodes",
        documents: tuple[bytes, ...] = (DOCUMENT,),
    ) -> Answers:
        """Evaluates questions; a string is a node set of one branch."""
        parsed = [Question((q,)) if isinstance(q, str) else q for q in questions]
        matcher = self.factory.build(parsed, {"re": EXSLT_REGEXP})
        answers = matcher.match([unit_of(document) for document in documents], select)
        assert all(isinstance(n, int | float) for n in matcher.report().figures.values())
        return answers

    def nodes(self, *branches: str) -> list[tuple[int, int, int]]:
        """Returns kind, row and number of the nodes that a question selects."""
        nodes = self.ask(Question(branches)).nodes
        assert nodes is not None
        return _rows(nodes)

    def test_a_factory_can_be_sent_to_workers(self) -> None:
        copy = pickle.loads(pickle.dumps(self.factory))
        assert isinstance(copy, MatcherFactory)
        assert copy.name == self.factory.name
        assert copy.consumes in ("xml", "table")

    def test_a_factory_takes_limits(self) -> None:
        limited = self.factory.with_limits(Limits(query_seconds=30.0))
        assert isinstance(limited, MatcherFactory)
        assert (limited.name, limited.consumes) == (self.factory.name, self.factory.consumes)
        matcher = limited.build([Question(("/db/student",))], {})
        assert matcher.match([unit_of(DOCUMENT)], "count").count.tolist() == [2]

    def test_elements(self) -> None:
        assert self.nodes("/db/student/name") == [
            (NodeKind.ELEMENT, 2, 0),
            (NodeKind.ELEMENT, 5, 0),
        ]

    def test_attributes_are_counted_with_namespace_declarations(self) -> None:
        assert self.nodes("/db/student/@id") == [
            (NodeKind.ATTRIBUTE, 1, 0),
            (NodeKind.ATTRIBUTE, 4, 1),
        ]

    def test_a_text_may_have_several_parts(self) -> None:
        assert self.nodes("/db/student/name/text()") == [
            (NodeKind.TEXT, 2, 1),
            (NodeKind.TEXT, 5, 1),
        ]

    def test_texts_are_numbered_among_their_siblings(self) -> None:
        assert self.nodes("/db/text()") == [(NodeKind.TEXT, 0, n) for n in range(1, 5)]
        assert self.nodes("/db/professor/text()") == [(NodeKind.TEXT, 7, 1)]

    def test_comments_and_instructions(self) -> None:
        assert self.nodes("/db/comment()") == [(NodeKind.COMMENT, 0, 1)]
        assert self.nodes("/db/processing-instruction()") == [(NodeKind.PI, 0, 1)]
        assert self.nodes("/comment()") == [(NodeKind.COMMENT, -1, 1), (NodeKind.COMMENT, -1, 2)]
        assert self.nodes("/processing-instruction('go')") == [(NodeKind.PI, -1, 1)]

    def test_branches_are_united_in_document_order_without_duplicates(self) -> None:
        nodes = self.nodes("/db/professor/name", "/db/student[name]/name", "/db/*/name", "/db")
        assert nodes == [(NodeKind.ELEMENT, row, 0) for row in (0, 2, 5, 8)]

    def test_kinds_are_mixed_in_document_order(self) -> None:
        nodes = self.nodes("/db/student[1]/@id", "/db/student[1]", "/db/comment()", "/db/text()[1]")
        assert nodes == [
            (NodeKind.TEXT, 0, 1),
            (NodeKind.ELEMENT, 1, 0),
            (NodeKind.ATTRIBUTE, 1, 0),
            (NodeKind.COMMENT, 0, 1),
        ]

    def test_filters(self) -> None:
        assert self.nodes("/db/student[name = 'Ann & Bo']") == [(NodeKind.ELEMENT, 1, 0)]
        assert self.nodes("/db/student[contains(name, '& co')]") == [(NodeKind.ELEMENT, 4, 0)]
        assert self.nodes("/db/student[2]/name") == [(NodeKind.ELEMENT, 5, 0)]
        assert self.nodes("/db/*[last()]") == [(NodeKind.ELEMENT, 7, 0)]
        assert self.nodes("/db/student[not(email)]") == [(NodeKind.ELEMENT, 4, 0)]
        assert self.nodes("/db/student[@id < 2]") == [(NodeKind.ELEMENT, 1, 0)]
        assert self.nodes("/db[count(student) = 2]/professor") == [(NodeKind.ELEMENT, 7, 0)]
        assert self.nodes("/db/student[re:test(name, '^B')]") == [(NodeKind.ELEMENT, 4, 0)]

    def test_the_document_node_is_no_match(self) -> None:
        assert self.nodes("/") == []
        assert self.nodes("/db/ancestor-or-self::node()") == [(NodeKind.ELEMENT, 0, 0)]
        for select in ("count", "doc"):
            assert self.ask("/", select=select).count.tolist() == []

    @pytest.mark.parametrize(
        ("xpath", "type_", "value"),
        [
            ("count(/db/student)", Type.NUMBER, 2.0),
            ("string(/db/student[2]/name)", Type.STRING, "Ben & co"),
            ("boolean(/db/zzz)", Type.BOOLEAN, False),
            ("number(/db/professor/name)", Type.NUMBER, math.nan),
            ("/db/student/@id = 2", Type.BOOLEAN, True),
        ],
    )
    @pytest.mark.parametrize("select", ["nodes", "count", "doc"])
    def test_values(
        self, xpath: str, type_: Type, value: float | str | bool, select: Select
    ) -> None:
        answers = self.ask("/db", Question((xpath,), type_), select=select)
        ((unit, question, answer),) = answers.values
        assert (unit, question, type(answer)) == (0, 1, type(value))
        assert answer == value or (isinstance(answer, float) and math.isnan(answer))
        assert answers.question.tolist() == [0]

    def test_counts_and_documents_agree_with_nodes(self) -> None:
        questions = ["/db/student", "/db/zzz", "/db/*/name", "/db/student/@id"]
        nodes, counts, docs = (
            self.ask(*questions, select=how) for how in ("nodes", "count", "doc")
        )
        assert nodes.question.tolist() == [0, 2, 3]
        assert nodes.count.tolist() == [2, 3, 2]
        assert nodes.nodes is not None
        assert nodes.nodes.question.tolist() == [0, 0, 2, 2, 2, 3, 3]
        assert counts.question.tolist() == [0, 2, 3]
        assert counts.count.tolist() == [2, 3, 2]
        assert docs.question.tolist() == [0, 2, 3]
        assert docs.count.tolist() == [1, 1, 1]

    def test_a_node_that_two_branches_select_counts_once(self) -> None:
        question = Question(("/db/student", "/db/*[name]", "/db/student[2]"))
        assert self.ask(question, select="count").count.tolist() == [3]

    def test_units_are_answered_apart(self) -> None:
        documents = (DOCUMENT, OTHER, DOCUMENT)
        question = Question(("/db/secretary/name", "/db/student"))
        answers = self.ask("/db/student/@id", question, documents=documents)
        assert answers.unit.tolist() == [0, 0, 1, 1, 2, 2]
        assert answers.question.tolist() == [0, 1] * 3
        assert answers.count.tolist() == [2, 2, 1, 2, 2, 2]
        assert answers.nodes is not None
        apart = [
            self.ask("/db/student/@id", question, documents=(document,)) for document in documents
        ]
        alone = [_rows(answer.nodes) for answer in apart if answer.nodes is not None]
        assert _rows(answers.nodes) == [row for rows in alone for row in rows]

    def test_a_matcher_can_be_used_again(self) -> None:
        matcher = self.factory.build([Question(("/db/student",))], {})
        for document, count in ((DOCUMENT, 2), (OTHER, 1), (DOCUMENT, 2)):
            assert matcher.match([unit_of(document)], "count").count.tolist() == [count]

    def test_nothing_asked_and_nobody_to_ask(self) -> None:
        assert len(self.factory.build([], {}).match([unit_of(OTHER)], "nodes").count) == 0
        answers = self.factory.build([Question(("/db",))], {}).match([], "nodes")
        assert answers.nodes is not None
        assert len(answers.nodes) == 0

    def test_a_question_that_fails_does_not_touch_the_others(self) -> None:
        bad = "/db/student[re:test(name, '(')]"
        for select in ("nodes", "count", "doc"):
            answers = self.ask("/db/student", bad, "/db", select=select)
            assert [(failure.unit, failure.question) for failure in answers.failures] == [(0, 1)]
            assert answers.failures[0].reason
            assert answers.question.tolist() == [0, 2]

    def test_columns_have_their_types(self) -> None:
        answers = self.ask("/db/student/@id")
        nodes = answers.nodes
        assert nodes is not None
        assert answers.unit.dtype == answers.question.dtype == np.int32
        assert nodes.unit.dtype == nodes.question.dtype == nodes.refs.row.dtype == np.int32
        keys = DocumentOrder(unit_of(DOCUMENT).table).keys(nodes.refs)
        assert sorted(keys.tolist()) == keys.tolist()

    @pytest.mark.parametrize("seed", range(20))
    def test_random_questions_have_libxml2s_answers(self, seed: int) -> None:
        rng = Random(seed)
        questions = [random_question(rng) for _ in range(20)]
        documents = [random_document(rng) for _ in range(4)]
        matcher = self.factory.build(questions, {})
        units = [unit_of(document) for document in documents]
        answers, counts = matcher.match(units, "nodes"), matcher.match(units, "count")
        assert not answers.failures
        assert answers.nodes is not None
        nodes = answers.nodes
        for unit, document in enumerate(documents):
            for number, question in enumerate(questions):
                expected = expected_nodes(document, question)
                selected = nodes.where((nodes.unit == unit) & (nodes.question == number))
                assert _rows(selected) == expected, (question, document)
                counted = counts.count[(counts.unit == unit) & (counts.question == number)]
                assert int(counted.sum()) == len(expected), (question, document)

    # -- questions with constants

    def test_queries_of_one_question_are_answered_apart(self) -> None:
        constants = Constants.of(["string"], [("Codd",), ("x",), ("Ann & Bo",)])
        questions = [
            Question(("/db/*[name = $string1]",), constants=constants),
            Question(("/db/student",)),
        ]
        units = [unit_of(DOCUMENT), unit_of(OTHER)]
        matcher = build_matcher(self.factory, questions, {})
        counts = matcher.match(units, "count")
        assert counts.unit.tolist() == [0, 0, 0, 1]
        assert counts.question.tolist() == [0, 2, 3, 3]
        assert counts.count.tolist() == [1, 1, 2, 1]

    @pytest.mark.parametrize("seed", range(20))
    def test_a_template_answers_as_its_queries_one_by_one(self, seed: int) -> None:
        rng = Random(seed)
        questions = [random_template(rng) for _ in range(8)]
        questions.insert(rng.randrange(8), random_question(rng))
        matcher = build_matcher(self.factory, questions, {})
        each = [query for question in questions for query in question.each()]
        units = [unit_of(random_document(rng)) for _ in range(4)]
        one_by_one = LxmlFactory().build(each, {})
        for select in ("nodes", "count", "doc"):
            ours, theirs = _facts(matcher, units, select), _facts(one_by_one, units, select)
            assert ours == theirs, questions

    def test_a_template_that_fails_on_a_unit(self) -> None:
        constants = Constants.of(["string"], [("Codd",), ("x",)])
        bad = Question(("/db/*[name = $string1][re:test(., '(')]",), constants=constants)
        matcher = build_matcher(self.factory, [bad, Question(("/db",))], {"re": EXSLT_REGEXP})
        answers = matcher.match([unit_of(DOCUMENT)], "count")
        assert [failure.question for failure in answers.failures] == [0]
        assert answers.question.tolist() == [2]

    def test_a_matcher_with_updates_is_held_to_their_contract(self) -> None:
        updatable = isinstance(self.factory.build([], {}), UpdatableMatcher)
        assert updatable == isinstance(self, UpdatableMatcherContract)


class UpdatableMatcherContract(MatcherContract):
    """The required behaviour of a matcher whose questions can change (`UpdatableMatcher`)."""

    def updatable(self, questions: Sequence[Question]) -> UpdatableMatcher:
        """Builds a matcher that can be updated."""
        matcher = self.factory.build(questions, {})
        assert isinstance(matcher, UpdatableMatcher)
        return matcher

    @pytest.mark.parametrize("seed", range(5))
    def test_an_updated_matcher_answers_as_a_new_one(self, seed: int) -> None:
        rng = Random(seed)
        questions = [random_question(rng) for _ in range(6)]
        matcher = self.updatable(questions)
        units = [unit_of(random_document(rng)) for _ in range(3)]
        for _ in range(6):
            matcher.match(units, "count")
            removed = rng.sample(range(len(questions)), rng.randrange(len(questions) + 1))
            added = [random_question(rng) for _ in range(rng.randrange(4))]
            matcher.update(added, removed)
            questions = [
                question for n, question in enumerate(questions) if n not in removed
            ] + added
            fresh = self.factory.build(questions, {})
            for select in ("nodes", "count", "doc"):
                assert _facts(matcher, units, select) == _facts(fresh, units, select)

    def test_an_update_of_values_and_failures(self) -> None:
        bad, value = Question(("/db[re:test(., '(')]",)), Question(("1 + 1",), Type.NUMBER)
        units = [unit_of(DOCUMENT)]
        matcher = self.updatable([bad, Question(("/db",))])
        matcher.update([value], [0])
        answers = matcher.match(units, "nodes")
        assert not answers.failures
        assert [tuple(answer) for answer in answers.values] == [(0, 1, 2.0)]
        matcher.update([], [0, 1])
        assert len(matcher.match(units, "nodes").count) == 0

    @pytest.mark.parametrize("number", [-1, 2])
    def test_an_update_of_a_question_that_is_not_there(self, number: int) -> None:
        matcher = self.updatable([Question(("/db",)), Question(("/db/student",))])
        with pytest.raises(IndexError):
            matcher.update([Question(("/db/professor",))], [0, number])
        answers = matcher.match([unit_of(DOCUMENT)], "count")
        assert answers.count.tolist() == [1, 2]


def _facts(matcher: Matcher, units: Sequence[Unit], select: Select) -> tuple[Any, ...]:
    answers = matcher.match(units, select)
    rows = None if answers.nodes is None else _rows(answers.nodes)
    counts = (answers.unit.tolist(), answers.question.tolist(), answers.count.tolist())
    values = sorted([(one.unit, one.question, repr(one.value)) for one in answers.values])
    return rows, counts, values, sorted(answers.failures)


def _rows(nodes: Nodes) -> list[tuple[int, int, int]]:
    refs = nodes.refs
    columns = (refs.kind.tolist(), refs.row.tolist(), refs.number.tolist())
    return list(zip(*columns, strict=True))


# -- random questions and documents, and libxml2's answers


def random_document(rng: Random) -> bytes:
    """Makes a small document that `unit_of` takes."""
    people = []
    for _ in range(rng.randrange(6)):
        person = rng.choice(PEOPLE)
        attribute = f" id='{rng.randrange(4)}'" if rng.random() < 0.7 else ""
        details = "".join(_detail(rng) for _ in range(rng.randrange(4)))
        people.append(f"{_between(rng)}<{person}{attribute}>{details}</{person}>")
    return f"<db>{''.join(people)}{_between(rng)}</db>".encode()


def _detail(rng: Random) -> str:
    name = rng.choice(DETAILS)
    content = rng.choice(["", "1", "2.5", "Ann", "a &amp; b", "<!--c-->", "<![CDATA[<]]>x"])
    return f"{_between(rng)}<{name}>{content}</{name}>" if content else f"<{name}/>"


def _between(rng: Random) -> str:
    return rng.choice(["", "", "\n ", "text", "<!--note-->", "<?go on?>"])


def random_question(rng: Random) -> Question:
    """Makes a question of one or two branches that select nodes."""
    return Question(tuple([random_path(rng) for _ in range(rng.choice([1, 1, 2]))]))


def random_path(rng: Random) -> str:
    """Makes an XPath that selects elements, attributes, texts, comments or instructions."""
    person, detail = rng.choice([*PEOPLE, "*"]), rng.choice([*DETAILS, "*"])
    path = rng.choice(["/db", f"/db/{person}", f"/db/{person}/{detail}", f"//{detail}", "//*"])
    path += rng.choice(["", "", *_FILTERS])
    last = ["/*", "/@id", "/text()", "/comment()", "/node()", "/processing-instruction()", "/.."]
    return path + rng.choice(["", "", "", *last, "/following-sibling::*", "/ancestor::*"])


_FILTERS = (
    "[1]",
    "[last()]",
    "[position() > 1]",
    "[name]",
    "[not(email)]",
    "[@id]",
    "[@id = 2]",
    "[name = 'Ann' or email]",
    "[contains(., 'a')]",
    "[count(*) > 1]",
    "[. > 1]",
    "[name = ../*/email]",
    "[string-length(.) < 3]",
    "[preceding-sibling::*]",
)


def expected_nodes(document: bytes, question: Question) -> list[tuple[int, int, int]]:
    """Returns kind, row and number of the nodes that libxml2 selects, in document order."""
    tree = etree.fromstring(document).getroottree()
    rows = {element: row for row, element in enumerate(tree.getroot().iter("*"))}
    rows[None] = -1
    nodes: list[tuple[int, int, int]] = []
    selected: list[Any] = tree.xpath(" | ".join(question.branches))
    for node in selected:
        if hasattr(node, "is_attribute"):  # lxml's string type, which knows its parent
            owner = node.getparent()
            if node.is_attribute:
                number = list(owner.attrib).index(node.attrname)
                nodes.append((NodeKind.ATTRIBUTE, rows[owner], number))
            else:
                parent = owner.getparent() if node.is_tail else owner
                before = owner.xpath("count(preceding-sibling::text())") if node.is_tail else 0
                nodes.append((NodeKind.TEXT, rows[parent], 1 + int(before)))
        elif isinstance(node.tag, str):
            nodes.append((NodeKind.ELEMENT, rows[node], 0))
        else:
            comment = node.tag is etree.Comment
            test = "comment()" if comment else "processing-instruction()"
            number = 1 + int(node.xpath(f"count(preceding-sibling::{test})"))
            nodes.append(
                (NodeKind.COMMENT if comment else NodeKind.PI, rows[node.getparent()], number)
            )
    return nodes
