"""The contract of matchers: what every one must pass, ours and others'.

    class TestMine(MatcherContract):
        factory = MyFactory()

The rest is done by pytest. `unit_of` makes a unit out of a document. Answers are compared with
libxml2's on the whole document (`tests.support.generate.oracle`).
"""

from __future__ import annotations

import math
import pickle
from collections import Counter
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
import pytest

import extract
from extract.chunktool.outputs import Output
from extract.chunktool.scanner import kernel_available
from extract.filtertool.cutting import DocumentCutter
from extract.filtertool.matcher import (
    ATTRIBUTE,
    COMMENT,
    ELEMENT,
    PI,
    TEXT,
    Answers,
    MatcherFactory,
    Nodes,
    Question,
    Select,
    Unit,
)
from extract.filtertool.order import Order
from extract.preptool.prepare import prepare
from extract.xpath.functions import EXSLT_REGEXP, Type
from tests.test_filter_oracle import Round

SCHEMA = Path(__file__).parent.parent / "schemas" / "university.dtd"

DOCUMENT = b"""<!--before--><?go now?><db>
 <student id="1"><name>Ann &amp; Bo</name><email>a@b</email></student>
 <!--inside--><student xmlns:x="urn:x" id='2'><name>Ben<![CDATA[ & co]]></name><url/></student>
 <?stop it?><professor><name>Codd</name><email>c@d</email> tail</professor>
</db><!--after-->"""

OTHER = b"<db><student id='3'><name/></student><secretary><name>1.5</name></secretary></db>"


@cache
def _cutter() -> DocumentCutter:
    schema = extract.Schema.load(SCHEMA, root="db")
    scheme = prepare(schema, extract.Subscriptions.of(["//name"]), 1)
    return DocumentCutter(scheme, [Output("all", (), whole=True)])


def unit_of(document: bytes) -> Unit:
    """A document of the university's schema as one unit."""
    cut = _cutter().cut("", document)
    assert cut.outcome.conforming, cut.outcome
    return cut.units[0]


class MatcherContract:
    """What a matcher must do. Set `factory` in a subclass."""

    factory: MatcherFactory

    def ask(
        self,
        *questions: str | Question,
        select: Select = "nodes",
        documents: tuple[bytes, ...] = (DOCUMENT,),
    ) -> Answers:
        """Asks questions; a string is a node set of one branch."""
        asked = [Question((q,)) if isinstance(q, str) else q for q in questions]
        matcher = self.factory.build(asked, {"re": EXSLT_REGEXP})
        answers = matcher.match([unit_of(document) for document in documents], select)
        assert all(isinstance(n, int | float) for n in matcher.report().figures.values())
        return answers

    def nodes(self, *branches: str) -> list[tuple[int, int, int]]:
        """Kind, row and number of the nodes that a question selects."""
        found = self.ask(Question(branches)).nodes
        assert found is not None
        return _rows(found)

    def test_a_factory_can_be_sent_to_workers(self) -> None:
        copy = pickle.loads(pickle.dumps(self.factory))
        assert isinstance(copy, MatcherFactory)
        assert copy.name == self.factory.name
        assert copy.consumes in ("xml", "table")

    def test_elements(self) -> None:
        assert self.nodes("/db/student/name") == [(ELEMENT, 2, 0), (ELEMENT, 5, 0)]

    def test_attributes_are_counted_with_namespace_declarations(self) -> None:
        assert self.nodes("/db/student/@id") == [(ATTRIBUTE, 1, 0), (ATTRIBUTE, 4, 1)]

    def test_a_text_may_have_several_parts(self) -> None:
        assert self.nodes("/db/student/name/text()") == [(TEXT, 2, 1), (TEXT, 5, 1)]

    def test_texts_are_numbered_among_their_siblings(self) -> None:
        assert self.nodes("/db/text()") == [(TEXT, 0, n) for n in range(1, 5)]
        assert self.nodes("/db/professor/text()") == [(TEXT, 7, 1)]

    def test_comments_and_instructions(self) -> None:
        assert self.nodes("/db/comment()") == [(COMMENT, 0, 1)]
        assert self.nodes("/db/processing-instruction()") == [(PI, 0, 1)]
        assert self.nodes("/comment()") == [(COMMENT, -1, 1), (COMMENT, -1, 2)]
        assert self.nodes("/processing-instruction('go')") == [(PI, -1, 1)]

    def test_branches_are_united_in_document_order_without_duplicates(self) -> None:
        found = self.nodes("/db/professor/name", "/db/student[name]/name", "/db/*/name", "/db")
        assert found == [(ELEMENT, row, 0) for row in (0, 2, 5, 8)]

    def test_kinds_are_mixed_in_document_order(self) -> None:
        found = self.nodes("/db/student[1]/@id", "/db/student[1]", "/db/comment()", "/db/text()[1]")
        assert found == [(TEXT, 0, 1), (ELEMENT, 1, 0), (ATTRIBUTE, 1, 0), (COMMENT, 0, 1)]

    def test_filters(self) -> None:
        assert self.nodes("/db/student[name = 'Ann & Bo']") == [(ELEMENT, 1, 0)]
        assert self.nodes("/db/student[contains(name, '& co')]") == [(ELEMENT, 4, 0)]
        assert self.nodes("/db/student[2]/name") == [(ELEMENT, 5, 0)]
        assert self.nodes("/db/*[last()]") == [(ELEMENT, 7, 0)]
        assert self.nodes("/db/student[not(email)]") == [(ELEMENT, 4, 0)]
        assert self.nodes("/db/student[@id < 2]") == [(ELEMENT, 1, 0)]
        assert self.nodes("/db[count(student) = 2]/professor") == [(ELEMENT, 7, 0)]
        assert self.nodes("/db/student[re:test(name, '^B')]") == [(ELEMENT, 4, 0)]

    def test_the_document_node_is_no_match(self) -> None:
        assert self.nodes("/") == []
        assert self.nodes("/db/ancestor-or-self::node()") == [(ELEMENT, 0, 0)]
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
        ((unit, question, found),) = answers.values
        assert (unit, question, type(found)) == (0, 1, type(value))
        assert found == value or (isinstance(found, float) and math.isnan(found))
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
        apart = [self.ask("/db/student/@id", question, documents=(one,)) for one in documents]
        alone = [_rows(one.nodes) for one in apart if one.nodes is not None]
        assert _rows(answers.nodes) == [row for rows in alone for row in rows]

    def test_a_matcher_can_be_used_again(self) -> None:
        matcher = self.factory.build([Question(("/db/student",))], {})
        for document, many in ((DOCUMENT, 2), (OTHER, 1), (DOCUMENT, 2)):
            assert matcher.match([unit_of(document)], "count").count.tolist() == [many]

    def test_nothing_asked_and_nobody_to_ask(self) -> None:
        assert len(self.factory.build([], {}).match([unit_of(OTHER)], "nodes").count) == 0
        answers = self.factory.build([Question(("/db",))], {}).match([], "nodes")
        assert answers.nodes is not None
        assert len(answers.nodes.row) == 0

    def test_a_question_that_fails_does_not_touch_the_others(self) -> None:
        bad = "/db/student[re:test(name, '(')]"
        for select in ("nodes", "count", "doc"):
            answers = self.ask("/db/student", bad, "/db", select=select)
            assert [(one.unit, one.question) for one in answers.failures] == [(0, 1)]
            assert answers.failures[0].reason
            assert answers.question.tolist() == [0, 2]

    def test_columns_have_their_types(self) -> None:
        answers = self.ask("/db/student/@id")
        nodes = answers.nodes
        assert nodes is not None
        assert answers.unit.dtype == answers.question.dtype == np.int32
        assert nodes.unit.dtype == nodes.question.dtype == nodes.row.dtype == np.int32
        keys = Order(unit_of(DOCUMENT).table).keys(nodes.kind, nodes.row, nodes.number)
        assert sorted(keys.tolist()) == keys.tolist()

    @pytest.mark.parametrize("seed", range(4))
    def test_random_questions_have_libxml2s_answers(self, seed: int) -> None:
        total: Counter[str] = Counter()
        one = Round(Random(seed), 30)
        for scheme in one.schemes():
            total += one.check(self.factory, scheme, kernel=kernel_available())
        assert total["answers"] > 50


def _rows(nodes: Nodes) -> list[tuple[int, int, int]]:
    columns = (nodes.kind.tolist(), nodes.row.tolist(), nodes.number.tolist())
    return list(zip(*columns, strict=True))
