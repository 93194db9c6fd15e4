"""Questions with constants, evaluated for all their queries together: libxml2's answers to each."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

import extract
from extract.filtertool.matchers.columnar import ColumnarFactory
from extract.filtertool.matchers.columnar.native import ENVIRONMENT, native_available
from extract.filtertool.matchers.lxml.matcher import LxmlFactory
from extract.filtertool.matchers.protocol import Question, Unit
from extract.preptool.prepare import prepare
from extract.schema.model import Schema
from extract.subscriptions.constants import Constants
from extract.testing.matcher_contract import random_document, unit_of
from extract.testing.template_cases import random_template
from extract.xpath.parameters import divided, parse_shape
from extract.xpath.types import type_of
from tests.support.columnar_cases import ANYTHING, DOCUMENTS, automaton_of, facts
from tests.support.columnar_cases import unit_of as unit_in
from tests.support.template_rounds import (
    TOGETHER,
    compare_templates,
    random_constants,
    template_round,
)

VALUES = [
    *["1", "2", "3", "10", "x", "xyz", "y", "z", "<&<&AB", "AB", "9", "1e1", "1.14", "1000", "21"],
    *["é", "€", "ü", "deep", "NaN", "Infinity", "0.5", ".5", "it's", "12", "b", "c", "2 ", " 3 "],
    "l1\nl2\rl3\r",
]

TEMPLATES = """
/a[b = $string1]
/a[b = $number1]
/a[b != $string1]
/a[b != $number1]
/a[not(b = $string1)]
/a[not(b != $number1)]
/a[b < $number1]
/a[b <= $string1]
/a[b > $number1 and b < $number2]
/a[$number1 >= b]
/a[-$number1 < b]
/a[b = -$number1]
/a[b = -(-$number1)]
/a/b[. = $string1]
/a/b[. = $number1][@x]
/a/b[@x][. != $string1]/@x
/a/b[@x = $number1]/c
/a/b[@x = $number1 and c = $string2]
/a/b[c = $number1 or @x = $number2]
/a/b[@x or . = $string1]
/a[b = $string1]/b[c > $number2]
/a[b = $string1]/b[c > $number2]/c[. = $number3]
/a[@x = $string1]/b[@x > $number2]/@x
/a[@x = $string1]/b/@x[. > $number2]
/a[b = $string1][c = $number2]/b
/a[b[. = $string1 and @x > $number2]]
/a[b[c = $string1]/@x > $number2]
/a[b[c = $string1] = $number2]
/a[b[@x = $string1] != c]
/a/b[c[. = $string1] or c[. = $number2]]
/a/b[c[. = $string1] | @x[. = $number2]]
/a[.//b = $string1]
/a[.//b[. = $string1]]
/a//b[. = $string1]
/a[@x = $string1]//b[. = $number2]
//b[. = $string1]
//b[. = $string1]/..
//b[. = $number1]/@x
//a[b = $number1]//b[. = $number2]
//a[b = $number1]//a[.//b = $number2]
//a//b[c = $string1]/c[1]
//b[. = $string1][1]
//b[. = $string1][last()]
//b[. > $number1][2]
//b[1][. = $string1]
//*[. = $string1][1]
//@x[. = $string1]
//@*[. > $number1][1]
//text()[. = $string1]
//text()[contains(., $string1)][1]
//comment()[contains(., $string1)]
//node()[. = $string1]
/a/b[. = $string1]/following-sibling::*[1]
/a/b[preceding-sibling::b = $string1]
/a/*[preceding-sibling::*[1][. = $string1]]
/a/b[last()][. = $string1]
/a/b[. = $string1][position() < 3]
/a/b[position() > 1 and . = $string1]
/a/b[position() = 2 or . = $string1]
/a/*[2][self::b][. = $number1]
(//b[. = $number1])[1]
(//b)[. = $number1]
(//b[. = $number1] | //c[. = $string2])[last()]
(/a/b | /a/c)[@x = $string1]/..
/a/b[. = $string1] | /a/c[. = $number2]
/a | /a/b[. = $string1]
/a/b[/a/@x = $string1]
/a/b[/a/b = $string1]/@x
//b[/a/*[@x = $number1]]
//b[/a/b[. = $number1] = .]
//b[. = /a/c[. = $number1]]
//b[. < /a/*[. = $number1]]
//b[/a/b > $number1 and @x]
//b[ancestor::a/@x = $string1]
//b[ancestor::a[b = $string1]]
//c[../b = $number1]/../b
//c[parent::b[@x = $number1]]
/a[contains(b, $string1)]
/a[contains(., $string1)]
/a[contains(zzz, $string1)]
/a[contains($string1, b)]
/a[contains(b, $number1)]
/a[contains(/a/b, $string1)]
/a[contains(b, -$number1)]
/a/b[starts-with(., $string1)]
/a/b[starts-with(@x, $string1)]/@x
/a/b[starts-with($string1, .)]
/a[starts-with(b[2], $string1)]
/a[contains(b[. > $number1], 'x')]
/a[contains(b[. = $string1], '')]
/a[contains(string(b[. = $string1]), $string2)]
/a[b[contains(c, $string1)]]
/a/b[not(contains(., $string1))]
/a/b[contains(., $string1) or starts-with(@x, $string2)]
/a/b[contains(normalize-space(.), $string1)]
/a[substring-before(b, $string1)]
/a[substring-after(b, $string1) = $string2]
/a[concat(b, c) = $string1]
/a[translate(b, 'xy', 'yx') = $string1]
/a[string(b) = $string1]
/a[string(b) != $string1]
/a[string(zzz) = $string1]
/a[number(b) = $number1]
/a[number(b) != $number1]
/a[number(zzz) != $number1]
/a[number(b) = $string1]
/a[count(b) = $number1]
/a[count(b) = $string1]
/a[count(b[. = $string1]) >= $number2]
/a[count(b[. > $number1]) = count(c)]
/a[sum(b) > $number1]
/a[sum(b[. < $number1]) > $number2]
/a[string-length(b) > $number1]
/a[string-length(b) > $string1]
/a[b + 1 > $number1]
/a[b * 2 = $number1]
/a[-b < $number1]
/a[b mod 2 = $number1]
/a[floor(b) = $number1]
/a[name(*) = $string1]
/a/*[name() = $string1]
/a/*[local-name() = $string1][1]
/a[boolean(b = $string1)]
/a[(b = $string1) = (c = $number2)]
/a[(b = $string1) != boolean(c)]
/a[(b = $string1) > (c = $number2)]
/a[b = $string1 and (c = $number2 or not(@x = $string3))]
/a[not(b = $string1 or c = $number2)]
/a[b = $string1 and position() = 1]
/a[number(b = $string1) = 1]
/a[string(b = $string1) = 'true']
/a[b = $string1 or true()]
/a[b = $string1 and false()]
/a/b[c[@x > $number1][last()]]
/a/*[*[. = $string1][1]/@x]
/a/*[. = $number1][2]/@*
/descendant::b[. = $string1]
/descendant::b[2][. = $string1]
/descendant::b[. > $number1][2]
/a/descendant-or-self::*[@x = $number1]
/a/b/self::b[. = $string1]
/a/b[self::node()[. = $string1]]
/a[descendant::b[. = $string1][2]]
/a/b[. = $string1]/ancestor-or-self::*[@x = $number2]
/a[@x = $string1]//b[. > $number2][1]
/a[.//b[. = $number1][1]/c]
/a[.//b[. > $number1][2] = $string2]
(//b[. > $number1][1])[last()]
//a[.//@*[. = $number1][1]]
//a[.//b[1][. = $number1]]
/a[boolean(count(b[. = $string1]))]
/a/b[count(../b[. = $string1])]
/a/b[string(../c[. = $string1])]
/a[not(b[. = $string1][last()][@x])]
/a[b + $number1 > 2]
/a[substring(b, $number1) = $string2]
/a[concat(b, $string1) = $string2]
/a[string-length($string1) = count(b)]
/a/b[$number1]
/a/b[position() = $number1]
/a[boolean($string1)]
/a[b = true() and c = boolean($number1)]
//p:b[. = $string1]
//@p:x[. = $number1]
/a/b[@p:x = $number1]/@*
boolean(/a/b[. = $string1])
not(/a/b[. = $string1])
/a/b = $string1
/a/b > $number1
/a[b = $string1] = /a/c
count(/a/b[. = $string1])
count(//b[. > $number1]) + 1
string(/a/b[. = $string1]/@x)
string(//b[. > $number1])
concat(/a/b[. = $string1], '-', /a/@x)
sum(//b[. < $number1])
number(/a/b[@x > $number1])
string(/a/b = $string1)
normalize-space(//b[. = $string1])
contains(/a/b, $string1)
starts-with(/a, $string1)
substring-after(/a/b, $string1)
"""
NAMESPACES = {"p": "u"}


def templates() -> list[str]:
    return [line for line in TEMPLATES.splitlines() if line]


def question(rng: Random, queries: int, *branches: str) -> Question:
    """A question with random constants."""
    places = {place for branch in branches for place in divided(branch)[1]}
    types = [place.type for place in sorted(places)]
    kind = type_of(parse_shape(branches[0]))
    return Question(branches, kind, constants=random_constants(rng, types, queries, VALUES))


@pytest.fixture(scope="module")
def units(tmp_path_factory: pytest.TempPathFactory) -> list[Unit]:
    """All documents whole."""
    path = tmp_path_factory.mktemp("parametric") / "any.dtd"
    path.write_text(ANYTHING)
    scheme = prepare(Schema.load(path, "a"), extract.Subscriptions.of({"q": "//node()"}), 1)
    automaton = automaton_of(scheme)
    units = [unit_in(document, automaton) for document in DOCUMENTS]
    return [unit for unit in units if unit is not None]


@pytest.fixture(params=["native", "numpy"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With the part in C, and without."""
    name: str = request.param
    if name == "native" and not native_available():
        pytest.skip("the part in C is not built")
    monkeypatch.setenv(ENVIRONMENT, "on" if name == "native" else "off")
    return name


@pytest.mark.parametrize(("queries", "step"), [(1, 1), (6, 1), (40, 3)])
def test_every_template_on_documents(
    units: list[Unit], engine: str, queries: int, step: int
) -> None:
    assert len(units) > 8
    rng = Random(queries)
    questions = [question(rng, queries, text) for text in templates()]
    counts = compare_templates(units[1::step], questions, NAMESPACES)
    assert not counts["declined"]
    assert counts["selected"] > counts["queries"] // 3


def test_templates_on_one_document(units: list[Unit], engine: str) -> None:
    rng = Random(3)
    for unit in units:
        questions = [question(rng, 8, text) for text in rng.sample(templates(), 40)]
        compare_templates([unit], questions, NAMESPACES)


MANY = """
/a/b[. = $string1]
/a/b[. = $number1]
/a/b[. > $number1 and . < $number2]
/a[b = $string1]/b[@x > $number2]
/a[contains(b, $string1)]
/a/b[starts-with(., $string1)]
/a/b[@x = $number1 or contains(., $string2)]
/a[b != $string1]
//b[. = $string1][1]
//a[b = $number1]//b[. = $number2]
/a[not(b = $string1)]
/a[count(b[. = $string1]) >= $number2]
count(/a/b[. = $string1])
"""


@pytest.mark.parametrize("text", MANY.split("\n")[1:-1])
def test_many_queries(
    units: list[Unit], engine: str, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr("extract.filtertool.matchers.columnar.constant_columns.ARRANGED", 100)
    counts = compare_templates(units[:5], [question(Random(text), 2_000, text)], NAMESPACES)
    assert counts["selected"] > 100


@pytest.mark.parametrize("block", [1, 7])
def test_small_blocks(
    units: list[Unit], engine: str, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr("extract.filtertool.matchers.columnar.parametric.BLOCK", block)
    rng = Random(block)
    questions = [question(rng, 10, text) for text in templates()[block::5]]
    compare_templates(units, questions, NAMESPACES)


def test_branches_share_parameters(units: list[Unit], engine: str) -> None:
    rng = Random(7)
    unions = [
        ("/a/b[. = $string1]", "/a/a/b[. = $string1]", "//c[. = $string1]"),
        ("/a[b = $number1]/b[@x > $number2]", "/a/b[. = $number1][@x > $number2]"),
        ("/a/b[. = $string1][1]", "//b[contains(., $string1)]/@x", "//c"),
        ("/a/b[@x = $string2][c = $number1]", "/a/c[@y = $string2]", "//b[. > $number1]"),
    ]
    compare_templates(units, [question(rng, 30, *union) for union in unions], NAMESPACES)


def test_a_string_has_both_kinds_of_quotes(units: list[Unit], engine: str) -> None:
    constants = Constants.of(["string"], [('it\'s "it"',), ("1",), ("\x01",), ("",)])
    asked = Question(("/a/b[. = $string1]",), constants=constants)
    answers = ColumnarFactory().build([asked], {}).match(units, "count")
    assert set(answers.question.tolist()) == {1, 3}


def test_a_constant_is_not_a_number(units: list[Unit], engine: str) -> None:
    constants = Constants.of(["number"], [("1",), ("x",), ("2",)] * 5)
    questions = [
        Question((f"/a[b {op} $number1]",), constants=constants)
        for op in ("=", "!=", "<", "<=", ">", ">=")
    ]
    for one in questions:
        found = facts(TOGETHER.build([one], {}).match(units, "nodes"))
        assert found == facts(LxmlFactory().build([one], {}).match(units, "nodes"))


@pytest.mark.parametrize("seed", range(15))
def test_templates_of_the_contract(seed: int, engine: str) -> None:
    rng = Random(seed)
    asked = [random_template(rng, rng.choice([1, 6, 40])) for _ in range(10)]
    people = [unit_of(random_document(rng)) for _ in range(4)]
    compare_templates(people, asked, {})


@pytest.mark.parametrize("seed", range(20))
def test_random_templates(seed: int, engine: str) -> None:
    template_round(Random(seed if engine == "native" else 500 + seed), 60)


@pytest.mark.slow
def test_random_templates_at_length() -> None:
    total: Counter[str] = Counter()
    for seed in range(10_000, 12_000):
        total += template_round(Random(seed), 60)
    print(f"no difference: {dict(total)}")
