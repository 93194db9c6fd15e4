"""The columnar matcher answers exactly as libxml2 does, or declines."""

from __future__ import annotations

import gc
import pickle
from collections import Counter
from pathlib import Path
from random import Random

import pytest

import extract
from extract.errors import MatcherError
from extract.filtertool.matchers.columnar import ColumnarFactory
from extract.filtertool.matchers.columnar.accept import reason_against_document
from extract.filtertool.matchers.columnar.columns import Columns
from extract.filtertool.matchers.columnar.native import ENVIRONMENT, native_available
from extract.filtertool.matchers.lxml.matcher import LxmlFactory
from extract.filtertool.matchers.protocol import Question, Unit
from extract.preptool.prepare import prepare
from extract.schema.model import Schema
from extract.scheme.model import Scheme
from extract.xpath.functions import Type
from extract.xpath.parser import parse
from extract.xpath.types import type_of
from tests.support.columnar_cases import (
    ANYTHING,
    DOCUMENTS,
    SELECTS,
    automaton_of,
    compare,
    facts,
    round_of,
    unit_of,
)

EXPRESSIONS = """
/a  /a/b  /a/b/text()  /a/@x  /a/@*  //b  //@*  //@x  //text()  //comment()  /node()
/processing-instruction()  //processing-instruction('pi')  /comment()  //node()  /a/node()  /
//a//b  //a/..  //b/ancestor::a  //b/..  /descendant::b  /descendant-or-self::node()/a  //.  //*
/a/b[1]  /a/b[last()]  /a/b[position() < 3]  /a/b[position() mod 2 = 1]  //b[2]  /descendant::b[2]
(//b)[2]  (//b)[last()]/text()  /a/b[c][1]  /a/b[1][c]  /a/*[2]  /a/b[position() = last()]  //@*[1]
/a/b[2]/following-sibling::*  /a/b[last()]/preceding-sibling::b[1]  /a/b[count(c)]  /a/b[c and 1]
/a/b[. = 1]  /a/b[. = '1']  /a/b[. != '1']  /a/b[. != 1]  /a/b[. < 3]  /a/b[. >= '2']  /a/b[2 > .]
/a[b = 2]  /a[b != 2]  /a[b = c]  /a[b != c]  /a[b < c]  /a[b > c]  /a[zzz = 1]  /a[zzz != 1]
/a[b = zzz]  /a[not(zzz = zzz)]  /a[b = true()]  /a[zzz = false()]  /a[b > true()]  /a[not(b)]
/a[@x = 1]  /a[@x != '1']  /a[@x < @y]  /a[boolean(@x)]  /a[@x or @y]  /a[@x and not(@y)]
/a/b[contains(., 'x')]  /a[contains(b, '1')]  /a[contains(@x, '')]  /a[contains(zzz, '')]
/a[starts-with(b, '1')]  /a/b[starts-with(@x, '1')]  /a[contains(b/c, '2')]  //b[contains(., 'yz')]
/a[contains(b/@x, '2')]  //a[contains(b/c/@x, '9')]  //*[starts-with(b/c, '2')]
/a[contains(b/*, '2')]  /a[contains(*/@*, '0')]  /a[contains(b[2]/c, '1')]  //*[contains(c/b, '')]
//a[.//b != '2']  //a[not(.//b != '2')]  //*[.//@x != '2']  //*[b != '2']  //c[b != '2']
/a/b[string-length() = 1]  /a/b[string-length(.) > 2]  /a/b[normalize-space() = '3']
/a/b[normalize-space(.) = '']  /a[count(b) > 2]  /a[count(b) = 0]  /a[sum(b) > 2]  /a[number(b) = 1]
/a[string(b) = '1']  /a[string(zzz) = '']  /a/b[number() = 3]  /a/b[. + 1 = 2]  /a/b[. * 2 > 3]
/a/b[. div 0 > 1]  /a/b[-. < 0]  /a/b[. mod 2 = 1]  /a/b[floor(.) = 1]  /a/b[round(.) = 1]
/a/b[. = 1.14]  /a/b[. = '1.14']  /a/b[. = 1000]  /a/b[number() = number()]  /a/b[. = '<&<&AB']
/a/b[translate(., 'x', 'y') = 'yyz']  /a/b[substring(., 2) = 'yz']  /a/b[concat(., @x) = '110']
/a/b[substring-before(., 'y') = 'x']  /a/b[substring-after(., 'y') = 'z']  //*[name() = 'b']
//*[local-name() = 'a']  //*[namespace-uri() = 'u']  //@*[name() = 'p:x']  //@*[local-name() = 'x']
/a[/a/@x = '1']/b  //b[/a]  //b[../@x]  //b[ancestor::a/@x = 'deep']  //b[parent::a]  //b[.//c]
/a/b[text()]  /a/b[text() = 'x']  //b[comment()]  //text()[. = 'x']  //text()[contains(., 'l2')]
//@x[. = '1']  //b[self::b]  //b[descendant-or-self::c]  /a/b | /a/c  //b[c | @x]  /a[b | zzz]/c
count(//b)  string(//b)  //b = 1  not(//zzz)  sum(//c)  boolean(/a/b)  //b + 1  string(/a)  -//b
concat(//b, '|', //c)  normalize-space(/a)  /a = /a/b  //b < //c  string-length(/a)  count(//@*)
string(/a/@x)  string(//comment())  string(//processing-instruction())  number(/a/b)  1 div 3
starts-with(/a, '1')  contains(string(/a), 'l1')  round(//b)  name(/*)  namespace-uri(/*)
name(//@*)  //b[. = /a/c]  //b[. != /a/c]  //b[/a/c < .]  //b[. >= /a/c]  //b[/a/b = /a/c]
//b[/a/b != /a/c]
//b[/a/c > /a/b]  //b[. = //c]  //b[//zzz = .]  //b[not(. = ../c)]  //b[. = following-sibling::b]
//*[count(*) = 2]
/a/*[last()][self::c]  //b[3][. = 3]
"""


def expressions() -> list[str]:
    return [part.strip() for line in EXPRESSIONS.splitlines() for part in line.split("  ") if part]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Scheme:
    """A scheme that keeps everything of any document."""
    path = tmp_path_factory.mktemp("columnar") / "any.dtd"
    path.write_text(ANYTHING)
    return prepare(Schema.load(path, "a"), extract.Subscriptions.of({"q": "//node()"}), 1)


def units_of(scheme: Scheme, *documents: bytes) -> list[Unit]:
    automaton = automaton_of(scheme)
    units = [unit_of(document, automaton) for document in documents]
    return [unit for unit in units if unit is not None]


def as_written(*xpaths: str) -> list[Question]:
    return [Question((xpath,), type_of(parse(xpath))) for xpath in xpaths]


@pytest.fixture(params=["native", "numpy"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With the part in C, and without."""
    name: str = request.param
    if name == "native" and not native_available():
        pytest.skip("the part in C is not built")
    monkeypatch.setenv(ENVIRONMENT, "on" if name == "native" else "off")
    return name


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_expression_on_every_document(whole: Scheme, document: bytes, engine: str) -> None:
    units = units_of(whole, document)
    if units:
        compare(units, as_written(*expressions()), {})


def test_documents_of_a_batch_do_not_mix(whole: Scheme, engine: str) -> None:
    units = units_of(whole, *DOCUMENTS)
    assert len(units) > 8
    counts = compare(units, as_written(*expressions()), {})
    assert not counts["declined"]


def test_names_with_prefixes_and_wildcards(whole: Scheme, engine: str) -> None:
    documents = (
        b"<a><b xmlns:p='u' p:x='1' x='2'/><b p:x='3' xmlns:p='v'/></a>",
        b"<a xmlns:q='u'><b q:x='1'><c q:y='2'/></b></a>",
    )
    questions = as_written("//@p:x", "//@p:*", "//@x", "//p:b", "//p:*", "/a/b[@p:x]", "//b/@*")
    compare(units_of(whole, *documents), questions, {"p": "u"})


def test_a_node_of_two_branches_counts_once(whole: Scheme, engine: str) -> None:
    questions = [
        Question(("/a/b", "//b")),
        Question(("/a/b[1]", "/a/b[. = 1]")),
        Question(("/a//b", "/a/a//b", "/a/b/text()")),
    ]
    compare(units_of(whole, *DOCUMENTS), questions, {})


def test_questions_that_take_too_much_memory_go_to_the_fallback(
    whole: Scheme, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("extract.filtertool.matchers.columnar.axes.MAX_PAIRS", 5)
    units = units_of(whole, *DOCUMENTS[:4])
    questions = as_written(*expressions())
    matcher = ColumnarFactory().build(questions, {})
    expected = LxmlFactory().build(questions, {}).match(units, "nodes")
    assert facts(matcher.match(units, "nodes")) == facts(expected)
    assert matcher.report().figures["units_left"] == 3


def test_names_of_documents_are_forgotten(
    whole: Scheme, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("extract.filtertool.matchers.columnar.names.MANY_NAMES", 0)
    questions = as_written("//b/@x", "//c", "/a/b[c]")
    matcher = ColumnarFactory(fallback=None).build(questions, {})
    units = units_of(whole, *DOCUMENTS)
    expected = facts(LxmlFactory().build(questions, {}).match(units, "nodes"))
    for _ in range(3):
        assert facts(matcher.match(units, "nodes")) == expected


def test_the_columns_of_a_batch_are_freed_without_the_garbage_collector(
    whole: Scheme, engine: str
) -> None:
    # Columns are large, and the garbage collector does not know: there must be no cycles.
    matcher = ColumnarFactory(fallback=None).build(as_written("//*[1]", "//*[. = 'x']/.."), {})
    gc.collect()
    gc.disable()
    try:
        matcher.match(units_of(whole, b"<a><b>x</b></a>"), "nodes")
        assert not [one for one in gc.get_objects() if isinstance(one, Columns)]
    finally:
        gc.enable()


@pytest.mark.parametrize("seed", range(20))
def test_random_questions(seed: int, engine: str) -> None:
    round_of(Random(seed if engine == "native" else 500 + seed), 40)


@pytest.mark.slow
def test_random_questions_at_length() -> None:
    total: Counter[str] = Counter()
    for seed in range(10_000, 13_000):
        total += round_of(Random(seed), 40)
    print(f"no difference: {dict(total)}")


def test_most_questions_are_accepted() -> None:
    total: Counter[str] = Counter()
    for seed in range(30):
        total += round_of(Random(seed), 30, documents=1)
    assert total["answered"] > 5 * total["declined"]


def test_questions_that_it_declines_go_to_the_fallback(whole: Scheme) -> None:
    units = units_of(whole, *DOCUMENTS[:4])
    questions = as_written("//b/following::c", "/a/b", "id('x')", "count(//b)", "lang('en')")
    matcher = ColumnarFactory().build(questions, {})
    for select in SELECTS:
        expected = LxmlFactory().build(questions, {}).match(units, select)
        assert facts(matcher.match(units, select)) == facts(expected)
    figures = matcher.report().figures
    assert (figures["columnar_questions"], figures["lxml_questions"]) == (2, 3)


def test_what_is_declined_without_another_fails_with_a_reason(whole: Scheme) -> None:
    questions = as_written("/a/b", "//b/following::c")
    found = (
        ColumnarFactory(fallback=None)
        .build(questions, {})
        .match(units_of(whole, DOCUMENTS[1]), "count")
    )
    assert [(one.question, one.reason) for one in found.failures] == [
        (1, "columns cannot answer the axis following")
    ]
    assert found.question.tolist() == [0]


ODD = (
    b"<!DOCTYPE a [<!ENTITY e 'text'>]><a><b>&e;</b></a>",
    b"<!DOCTYPE a [<!ATTLIST a x NMTOKENS #IMPLIED>]><a x='  1  2 '/>",
    '<?xml version="1.0" encoding="iso-8859-1"?><a><b>\xe9</b></a>'.encode("latin-1"),
    "<a><b>é</b></a>".encode("utf-16"),
)


@pytest.mark.parametrize("document", ODD)
def test_documents_that_do_not_speak_for_themselves(whole: Scheme, document: bytes) -> None:
    units = units_of(whole, DOCUMENTS[1], document, DOCUMENTS[3])
    questions = as_written("/a/b", "string(/a)", "/a/@x", "//b[. = 'text']", "/a[@x = '1 2']")
    for select in SELECTS:
        expected = LxmlFactory().build(questions, {}).match(units, select)
        found = ColumnarFactory().build(questions, {}).match(units, select)
        assert facts(found) == facts(expected)
    with pytest.raises(MatcherError):
        ColumnarFactory(fallback=None).build(questions, {}).match(units, "doc")


@pytest.mark.parametrize(
    "document",
    [
        b"<a/>",
        b"<!DOCTYPE a><a/>",
        b"<!DOCTYPE a SYSTEM 'a.dtd'><a/>",
        b"<?xml version='1.0'?><a/>",
    ],
)
def test_most_documents_speak_for_themselves(document: bytes) -> None:
    assert reason_against_document(document, document.index(b"<a/")) == ""


OPEN = """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="a">
<xs:complexType><xs:sequence><xs:any processContents="skip" namespace="##any" minOccurs="0"
maxOccurs="unbounded"/></xs:sequence></xs:complexType></xs:element></xs:schema>"""


def test_names_that_the_automaton_does_not_tell_apart(tmp_path: Path, engine: str) -> None:
    path = tmp_path / "open.xsd"
    path.write_text(OPEN)
    scheme = prepare(Schema.load(path, "a"), extract.Subscriptions.of({"q": "/a"}), 1)
    document = b"<a><x><y/></x><z/><y/><p:y xmlns:p='u'><y xmlns='v'/><p:x/></p:y></a>"
    units = units_of(scheme, document)
    assert len(units[0].table) == 8
    assert len(set(units[0].table.elements.symbol.tolist())) < 5
    questions = as_written("//x", "//y", "//z[1]", "/a/y", "/a/*", "//q:y", "//q:*", "/a[x/y]/z")
    compare(units, questions, {"q": "u"})


def test_the_factory_can_be_sent_to_workers() -> None:
    factory = pickle.loads(pickle.dumps(ColumnarFactory()))
    assert factory == ColumnarFactory()
    assert factory.build([Question(("/a",), Type.NODES)], {}).report().figures


def test_no_units_or_no_questions_give_no_answers(whole: Scheme, engine: str) -> None:
    for select in SELECTS:
        assert not len(ColumnarFactory().build([], {}).match([], select).unit)
        assert not len(ColumnarFactory().build(as_written("/a"), {}).match([], select).unit)
        units = units_of(whole, b"<a/>")
        assert not len(ColumnarFactory().build([], {}).match(units, select).unit)
