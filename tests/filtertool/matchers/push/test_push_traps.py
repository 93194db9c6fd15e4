"""Each trap that touches matching (docs/traps.md, 30 to 54), as the push engine meets it.

All rows of all kinds are compared with libxml2's on the whole document (TRAPS 1). Each case also
says that the engine itself answers, for otherwise others would be tested.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from extract.chunktool.automaton.automaton import Automaton
from extract.filtertool.matchers.lxml.matcher import LxmlFactory
from extract.filtertool.matchers.protocol import Question
from extract.filtertool.matchers.push.factory import PushFactory
from extract.live_filter import Filter
from tests.support.columnar_cases import SELECTS, automaton_of, facts, unit_of
from tests.support.push.whole import compare_filter, scheme_of, taken

NINES = "9" * 400
AUTOMATON: Automaton = automaton_of(scheme_of(["//*"]))


def check(queries: Sequence[str], *documents: str, own: int | None = None, **prefixes: str) -> int:
    """Compares; returns how many answers were matches."""
    counts = compare_filter(queries, [one.encode() for one in documents], prefixes)
    engine = counts["taken for doc"]
    assert engine == (len(queries) if own is None else own), f"the engine takes {engine}"
    return counts["matches"]


def test_30_a_literal_has_a_type_quotes_and_no_escapes() -> None:
    queries = ["/r[a='1.0']", "/r[a=1.0]", "/r[a=-5]", "/r[a=--5]", "/r[-5=a]", "/r[a-1=2]"]
    queries += ['/r[a="it\'s"]', "/r[a='say \"x\"']", "/r[a=3]"]
    documents = ["<r><a>1</a></r>", "<r><a>-5</a></r>", "<r><a>it's</a></r>", "<r><a-1>2</a-1></r>"]
    assert check(queries, *documents, '<r><a>say "x"</a></r>', "<r><a>3</a><a>5</a></r>") == 8
    check(["/r/a[3]", "/r/a[position()=3]", "/r[a -1=2]"], "<r><a/><a/><a>3</a></r>")


def test_31_comparisons_ask_whether_there_is_a_node() -> None:
    queries = ["/s[a>3 and a<5]", "/s[a!=1]", "/s[not(a=1)]", "/s[starts-with(a,'9')]"]
    queries += ["/s[starts-with(a,'1')]", "/s[contains(w,'')]", "/s[starts-with(w,'')]"]
    queries += ["/s[w=false()]", "/s[w='']", "/s[w!='']", "/s[a=true()]", "/s[a!=false()]"]
    assert check(queries, "<s><a>1</a><a>9</a></s>", "<s/>", "<s><a/><w/></s>") == 7 + 3 + 9


def test_32_a_string_value_is_not_a_text() -> None:
    queries = ["/r[t='YHOO']", "/r[t/text()='YHOO']", "/r/t[text()='YH']", "//text()[.='OO']"]
    split = ["<r><t>YH<!--x-->OO</t></r>", "<r><t>YH<?p?>OO</t></r>", "<r><t>YH<b/>OO</t></r>"]
    joined = ["<r><t>YH<![CDATA[OO]]></t></r>", "<r><t>Y&#72;<![CDATA[]]>OO</t></r>"]
    assert check(queries, *split, *joined, "<r><t>YH<b>OO</b></t></r>") == 3 * 3 + 2 * 2 + 3
    check(["//text()", "/r[text()]", "//c[text()='']"], "<r><c><![CDATA[]]></c><c></c></r>")


NUMBERS: tuple[str, ...] = (
    *("1e3", "1e", "1e+", "+5", "Infinity", "0x10", "1,000", "12abc", "\u00a05", " 5\t", "6.5684"),
    *("-0", "NaN", NINES, "-" + NINES, "1e999", "9007199254740993", "", "5.", ".5"),
)


def test_33_numbers_are_libxml2s() -> None:
    constants = ("1000", "1", "5", "6.5684", "0", NINES, "9007199254740992", ".5", "-5", "16", "12")
    operators = ("=", "!=", "<", "<=", ">", ">=")
    queries = [f"/r[a {operator} {one}]" for one in constants for operator in operators]
    assert check(queries, *[f"<r><a>{text}</a></r>" for text in NUMBERS]) > 300


def test_34_strings_are_ordered_as_numbers() -> None:
    queries = ["/r[a > 'a']", "/r[a < '2']", "/r['b' > a]", "/r[a >= '1.0']", "/r[a = ' x']"]
    check(queries, "<r><a>b</a></r>", "<r><a>1</a></r>", "<r><a>x</a></r>", "<r><a> x</a></r>")


def test_35_and_36_symmetric_places_and_constants_that_hold_nowhere() -> None:
    queries = ["/r[a='1' or a='2']", "/r[a='2' or a='1']", "/r[a='1'][a='2']", "/r[a='2'][a='1']"]
    queries += [
        "/r[a='1'][a='1']",
        "/r[a < 'x']",
        "/r[a != 'x']",
        "/r[a = 'NaN']",
        "/r[number(a)='x']",
    ]
    check(queries, "<r><a>1</a></r>", "<r><a>1</a><a>2</a></r>", "<r><a>NaN</a></r>")
    check(["/r[1 = 2]", "/r[1 = 1]"], "<r/>")


def test_43_and_44_names_positions_and_truth() -> None:
    check(["/r[2-a=1]", '/r[string-length("a")]', '/r[number("2")]'], "<r><a>1</a></r>")
    check(
        ["/r[a=1and a=1]", '/r["x"]', '/r[count(a)="2.0"]', "/r[a=5 or b=5]"], "<r><a>1</a><a/></r>"
    )
    assert check(['/r[""]'], "<r/>") == 0
    check(['/r[(a="1")="no"]', "/r[a=5=5]", "/r[contains(a,1e3)]"], "<r><a>1000</a></r>")


def test_45_and_50_true_without_a_node() -> None:
    queries = ["/r[count(z)=0]", "/r[count(z)=1]", "/r[contains(z,'')]", "/r[contains(z,'x')]"]
    queries += ["/r[string(z)='']", "/r[string(z)='x']", "/r[string(z)!='']", "/r[number(z)!=5]"]
    queries += ["/r[not(z='x')]", "/r[z!=true()]", "/r[c or a='1']", "/r[not(z)]", "/r[not(z<5)]"]
    assert check(queries, "<r/>", "<r><c/></r>", "<r><z>x</z></r>", "<r><z/></r>") > 20
    check(["/r[x<true()]", '/r[contains("abc",x)]'], "<r/>", "<r><x>b</x></r>")


def test_46_prefixes_mean_what_is_bound() -> None:
    queries = ["/p:r/p:a", "/p:r[p:a='1']", "//p:*", "//@p:*", "/r/a", "//q:a[@p:x=1]", "//@q:x"]
    documents = ["<r xmlns='u'><a x='1'>1</a></r>", "<r><a>1</a></r>"]
    documents += ["<o:r xmlns:o='u'><a/><o:a>1</o:a><a xmlns='v' xmlns:z='u' z:x='1'/></o:r>"]
    documents += ["<p:r xmlns:p='v'><p:a xmlns:p='u' p:x='1'/><p:a p:x='1'>1</p:a></p:r>"]
    documents += ["<r xmlns='u'><a xmlns=''>1</a><a xmlns='v'>1</a></r>"]
    assert check(queries, *documents, p="u", q="v") > 10
    assert check(["//@xml:lang", "//*[@xml:lang='en']"], "<r xml:lang='en' lang='de'/>") == 2


def test_48_a_double_cannot_be_spelled_again() -> None:
    spelled = (
        "0.00006332",
        "6.332e-05",
        "104.591",
        "104591e-3",
        "12345678901234567",
        "-0",
        "0",
        "1e999",
    )
    queries = [f"/r[x={one}]" for one in spelled]
    check(queries, *[f"<r><x>{one}</x></r>" for one in (*spelled, NINES, "-0.0")])


def test_49_nan_differs_from_everything() -> None:
    queries = ["/r[a!=5]", "/r[not(a<5)]", "/r[a>=5]", "/r[not(a=5)]", "/r[a='abc']", "/r[a<=5]"]
    assert check(queries, "<r><a>abc</a></r>", "<r><a>abc</a><a>5</a></r>", "<r/>") == 4 + 5 + 2


def test_51_first_is_first_in_document_order() -> None:
    first = ["/r[starts-with(.//a,'x')]", "/r[contains(.//a,'x')]", "//a[string(.//a)='x']"]
    check(first, "<r><a>y<a>x</a></a></r>", "<r><a><a>x</a>y</a></r>", "<r><b><a>x</a></b><a/></r>")
    later = ["//a[b=1]//a[c=2]", "//a[b=1]//a", "//a[.//c=2]"]
    one = "<a><a><c>2</c></a><b>1</b></a>"
    assert check(later, one, f"<a>{one}<b>1</b></a>") == 6
    texts = ["/r[starts-with(.//text(),'x')]", "/r[string(.//text())='y']", "//text()", "//@x"]
    check(texts, "<r>y<a>x</a></r>", "<r><a x='2'>x<b x='1'>y</b>z</a>y</r>")
    check(["/r[starts-with(.//@x,'2')]"], "<r><a x='2'><b x='1'/></a></r>", "<r><a x='1'/></r>")


def test_53_bytes_are_not_values() -> None:
    queries = ["/r[@x='a b']", "/r[@x='a  b']", "/r[contains(@x,'\r')]", "/r[@x=5]", "/r[.='a\nb']"]
    queries += ["//@*", "/r/@x", "/r[@*='u']", "/r[.='<&>\"']", "/r[a='é']"]
    documents = ["<r x='a\r\nb'/>", "<r x='a&#13;&#10;b'/>", "<r x='a\tb'/>", "<r x='\r\n5\r\n'/>"]
    documents += ["<r xmlns:p='u' xmlns='u'/>", "<r xmlns:p='u' x='u' p:x='1'/>", "<r>a\r\nb</r>"]
    documents += [
        "<r>a\rb</r>",
        "<r>a&#13;\nb</r>",
        "<r>&lt;&amp;&gt;&quot;</r>",
        "<r><a>&#xE9;</a></r>",
    ]
    check(queries, *documents, "<r><![CDATA[a\r\nb]]></r>", "<r>\ufeff</r>", "\ufeff<r>a\nb</r>")


def test_53_declarations_in_the_document_take_the_old_way() -> None:
    doctype = "<!DOCTYPE r [<!ATTLIST r x NMTOKENS #IMPLIED y CDATA 'd'>]>"
    entity = "<!DOCTYPE r [<!ENTITY e '<a>1</a>'><!ENTITY t '5'>]>"
    queries = ["/r[@x='a b']", "/r[@y]", "/r[a=1]", "/r[.='15']", "//a", "/r[@y='d']"]
    check(queries, f"{doctype}<r x=' a  b '/>", f"{entity}<r>&e;&t;</r>", "<!DOCTYPE r><r y='d'/>")


@pytest.mark.parametrize(
    "query",
    [
        '/r[a=1 or count("x")=1]',
        '/r[a=1 and count("x")=1]',
        '/r[not(a=1) or sum("x")=1]',
        '/r[contains(a[count("x")=1],"")]',
        '/r[false() and count("x")=1]',
        '/r[a=2]/a[count("x")=1]',
        '/r[a=1]/a[. or count("x")=1]',
    ],
)
def test_54_errors_depend_on_data(query: str) -> None:
    documents = (b"<r><a>1</a></r>", b"<r><a>2</a></r>", b"<r/>", b"<s/>")
    made = [unit_of(one, AUTOMATON) for one in documents]
    units = [unit for unit in made if unit is not None]
    questions = [Question((query,)), Question(("/r[a=1]",)), Question(("/r[a=2]",))]
    ours = PushFactory(fallback=LxmlFactory()).build(questions, {})
    theirs = LxmlFactory().build(questions, {})
    for select in SELECTS:
        found, wanted = ours.match(units, select), theirs.match(units, select)
        assert facts(found) == facts(wanted)
        assert [one[:2] for one in found.failures] == [one[:2] for one in wanted.failures]
    assert ours.report().figures["push_questions"] == 2


def test_54_a_pattern_that_only_a_document_breaks() -> None:
    regular = {"re": "http://exslt.org/regular-expressions"}
    queries = ["/r[a=1 or re:test(a, b)]", "/r[re:test(a, b) or a=1]", "/r[a=1]"]
    documents = ["<r><a>1</a><b>(</b></r>", "<r><a>2</a><b>(</b></r>", "<r><a>2</a><b>2</b></r>"]
    scheme = scheme_of(queries, regular)
    for select in SELECTS:
        push, lxml = (Filter(scheme, select, matcher) for matcher in ("push", "lxml"))
        named = [(one, one.encode()) for one in documents]
        assert push.table(named).to_pylist() == lxml.table(named).to_pylist()
        assert push.rejected.to_pylist() == lxml.rejected.to_pylist()
        assert taken(push) == 1
        assert len(push.rejected) == 3


def test_55_several_levels_of_context() -> None:
    queries = ["/r[p=1]/s[q=2]", "/r[x/a=1 and x/b=2]", "/r/x[a=1 and b=2]", "//x[a=1]/b[.=2]"]
    documents = ["<r><p>1</p><s><q>2</q></s></r>", "<r><s><q>2</q></s></r>"]
    documents += ["<r><x><a>1</a></x><x><b>2</b></x></r>", "<r><x><a>1</a><b>2</b></x></r>"]
    assert check(queries, *documents) == 1 + 0 + 1 + 3


def test_a_value_below_the_document_does_not_lead_to_an_anchor_elsewhere() -> None:
    queries = ["//m[//p[c='SE']]/f", "/r/m[/r/s/p[c='SE']]/f", "/r/m[k][/r/s/p[c='SE']]"]
    queries += ["/r[/r/s/p[c='SE']]/m", "//m[//s/p[c='SE'] and k='30']/f/n", "/r/m[//p[c=2][d]]/f"]
    here = "<s><p><c>SE</c><d/></p></s>"
    there = "<m><k>30</k><f><n>5</n></f></m>"
    both = [f"<r>{here}{there}</r>", f"<r>{there}{here}</r>", f"<r>{there}</r>"]
    assert check(queries, *both, f"<r>{there}<p><c>2</c><d/></p></r>") == 11
