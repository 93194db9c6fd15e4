"""FLWR texts: what they mean as XPath, and what is said of those that are not taken."""

from __future__ import annotations

import pytest

from extract.errors import QuerySyntaxError
from extract.flwr import parse_flwr
from extract.flwr.ast import Characters, Enclosed, Markup
from extract.flwr.parser import is_flwr
from extract.limits import Limits


@pytest.mark.parametrize(
    ("flwr", "binding", "bound"),
    [
        ("for $s in //a return <r>{ $s }</r>", "//a", ["."]),
        ("for $s in a/b return <r>{ $s//c }</r>", "/a/b", [".//c"]),
        ('for $s in doc("x.xml")//a[1] where $s/b return <r/>', "//a[1][b]", []),
        ("for $s in //a | //b where $s/c = 1 return <r/>", "//a[c = 1] | //b[c = 1]", []),
        ("for $s in (//a)[2] where $s/c = 1 return <r/>", "(//a)[2][c = 1]", []),
        ("for $s in id('x')/b where $s/c return <r/>", "id('x')/b[c]", []),
        ("for $s in //a where $s return <r/>", "//a[.]", []),
        ("for $s in //a let $t := $s/b let $u := $t/c return <r a='{$u}'>{ $t[1] }</r>", "//a", ["(b)/c", "(b)[1]"]),  # noqa: E501
        ("for $s in //a let $t := c return <r>{ $s[$t] }</r>", "//a", ["self::node()[/c]"]),
        ("for $s in //a return <r>{ concat(string(), name($s), b) }</r>", "//a", ["concat(string(/), name(.), /b)"]),  # noqa: E501
        ("for $s in //a return <r>{ $s/b[c = $s/d] }</r>", "//a", ["$s/b[c = $s/d]"]),
        ("for $or in //orders order by $or/order return <orders/>", "//orders", ["order"]),
    ],
)  # fmt: skip
def test_a_query_as_xpath(flwr: str, binding: str, bound: list[str]) -> None:
    query = parse_flwr(flwr, {})
    assert str(query.binding) == binding
    assert [str(one) for one in query.bound] == bound
    assert query.rest is None


def test_a_condition_with_the_variable_in_a_predicate_is_evaluated_for_each_binding() -> None:
    query = parse_flwr("for $s in //a where $s/b[. = $s/@id] return <r/>", {})
    assert (str(query.binding), str(query.rest)) == ("//a", "$s/b[. = $s/@id]")


def test_content_without_boundary_space() -> None:
    flwr = "for $s in //a return <r> <b/>\n{ $s } x{{y}} &#32;<![CDATA[ ]]>{ $s }&#32;<!-- c --> <?p i?> </r>"  # noqa: E501
    content = parse_flwr(flwr, {}).loop.result.content
    kinds = [one.value if isinstance(one, Characters) else type(one) for one in content[1:]]
    assert kinds == [Enclosed, " x{y}   ", Enclosed, " ", Markup, Markup]


@pytest.mark.parametrize(
    ("flwr", "place", "reason"),
    [
        ("for $s in //a retrn <b/>", "retrn", "expected 'return'"),
        ("for $s in //a return $s", "$s", "'return' takes an element"),
        ("for $s in //a return <b>{ for $t in $s/c return <d/> }</b>", "for $t", "a 'for' inside"),
        ("for $s in //a return <b>{ $t }</b>", "$t", "there is no variable $t here"),
        ("for $s in //a where 3 return <b/>", "3", "'where' takes a condition"),
        ("for $s in //a where 'x' return <b/>", "'x'", "'where' takes a condition"),
        ("for $s in count(//a) return <b/>", "count", "'for' binds nodes"),
        ("for $s in //a, $t in //b return <b/>", ",", "a second variable"),
        ("for $s at $n in //a return <b/>", "at", "positions"),
        ("for $s in //a return <b>{ $s, $s }</b>", ",", "sequences are not taken"),
        ("for $s in //a return <b>{ if ($s) then 1 else 2 }</b>", "if", "'if … then … else' is not taken"),  # noqa: E501
        ("for $s in //a return <b>{ <c/> }</b>", "<c/>", "an element in an expression"),
        ("for $s in //a return <b>{ }</b>", "{ }", "these braces are empty"),
        ("for $s in //a return <b><c></b></c>", "</b>", "</b> closes <c>"),
        ("for $s in //a return <b>}</b>", "}</b>", "closes nothing"),
        ("for $s in //a return <b>&nbsp;</b>", "&nbsp;", "no reference"),
        ("for $s in //a return <b>&#0;</b>", "&#0;", "no character of XML"),
        ("for $s in //a return <b c='1' c='2'/>", "c='2'", "there twice"),
        ("for $s in //a return <b c=1/>", "1/", "in quotes"),
        ("for $s in //a return <p:b/>", "p:b", "is not bound"),
        ("for $s in //a return <b>{ p:c }</b>", "p:c", "is not bound"),
        ("for $s in //a return <b>{ foo($s) }</b>", "foo", "there is no function foo()"),
        ("for $s in //a let $n := count($s/b) return <b>{ $n/c }</b>", "$n/c", "this is a number"),
        ("for $s in //a let $s := 1 return <b/>", "s :=", "bound twice"),
        ("for $s in //a group by $s return <b/>", "group", "'group by' is not taken"),
        ("for $s in //a order by $s empty least return <b/>", "empty", "'empty' is not taken"),
        ("let $x := 1 return <b/>", "let", "'let' comes after 'for'"),
        ("declare function f() { 1 };", "declare", "XQuery functions are not taken"),
        ("<b><c/></b>", "b>", "there is no 'for'"),
        ("<r>{ for $s in //a return <b/> }{ for $s in //a return <b/> }</r>", "for $s in //a return <b/> }</r>", "second 'for'"),  # noqa: E501
        ("for $s in //a return <b/> x", "x", "unexpected text after the query"),
        ("for $s in //a return <b>{ element c { $s } }</b>", "element c", "computed constructors"),
        ("for $s in //a return <b>{ $s/namespace::* }</b>", "$s/name", "namespace nodes"),
        ("for $s in //a let $n := $s | $s/namespace::p return <b c='{ $n/. }'/>", "$n", "namespace nodes"),  # noqa: E501
        ("for $s in //namespace::* return <b/>", "//name", "namespace nodes"),
        ("for $s in doc('x') return <b/>", "doc", "binds the document itself"),
        ("for $s in //a for $t in //b return <b/>", "for $t", "a second 'for'"),
        ("for $s in //a where $s eq 1 return <b/>", "eq", "comparisons of values"),
        ("for $s in //a where $s is $s return <b/>", "is", "comparisons of nodes"),
        ("for $s in //a return <b>{ 7 idiv 2 }</b>", "idiv", "'idiv'"),
        ("for $s in //a return <b>{ $s except $s }</b>", "except", "'except'"),
        ("for $s in //a return <b>{ $s cast as x }</b>", "cast", "types"),
        ("for $s in //a return <b>{ $s ! c }</b>", "!", "the operator '!'"),
        ("for $s in //a return <b>{ $s/*:c }</b>", ":c", "names like *:a"),
        ("for $s in //a return <b>{ 'x''y' }</b>", "'y'", "doubled quotes"),
        ("for $s in //a return <b>{ map { 1: 2 } }</b>", "map", "maps and arrays"),
        ("for $s in //a (: c :) return <b/>", "(:", "XQuery comments"),
        ("for $s in //a return if ($s) then <b/> else <c/>", "if", "'if … then … else'"),
        ("for $s in //a return (<b/>, <c/>)", "(<b", "'return' takes an element"),
        ("for $s allowing empty in //a return <b/>", "allowing", "'allowing empty'"),
        ("for tumbling window $w in //a return <b/>", "tumbling", "windows"),
        ("for $s in //a where return <b/>", "return", "expected a condition, found 'return'"),
        ("for $s in //a let $t := return <b/>", "return", "expected an expression"),
        ("for $s in //a return <b>{ $s/c </b>", "{", "this '{' is never closed"),
        ("for $s in //a return <b c='{ $s/c'/>", "{", "this '{' is never closed"),
        ("for $s in //a let $t := <c/> return <b/>", "<c/>", "an element in an expression"),
        ("for $s in //a return <b>{ position() }</b>", "position", "no meaning outside of a predicate"),  # noqa: E501
    ],
)  # fmt: skip
def test_what_is_not_taken_is_named_with_its_place(flwr: str, place: str, reason: str) -> None:
    with pytest.raises(QuerySyntaxError) as error:
        parse_flwr(flwr, {})
    assert reason in error.value.reason
    assert flwr.startswith(place, error.value.offset)


def test_variables_that_are_made_of_each_other_do_not_explode() -> None:
    lets = "".join(f" let $v{n} := concat($v{n - 1}, $v{n - 1})" for n in range(1, 60))
    with pytest.raises(QuerySyntaxError, match="characters"):
        parse_flwr(f"for $s in //a let $v0 := $s{lets} return <b>{{ $v59 }}</b>", {})


def test_limits_hold() -> None:
    with pytest.raises(QuerySyntaxError):
        parse_flwr("for $s in //a return " + "<b>" * 600 + "</b>" * 600, {}, Limits())
    with pytest.raises(QuerySyntaxError):
        parse_flwr(f"for $s in //a return <b>{'x' * 2_000_000}</b>", {}, Limits(xpath_chars=1_000))


@pytest.mark.parametrize("xpath", ["for", "for/let", "//for", "let = 1", "a < b", "forest"])
def test_xpaths_are_no_flwr(xpath: str) -> None:
    assert not is_flwr(xpath)
