"""XSCL texts: what they mean, and what is said of those that are not taken."""

from __future__ import annotations

import pytest

from extract.errors import QuerySyntaxError
from extract.limits import Limits
from extract.xscl import parse_xscl
from extract.xscl.ast import JoinOperator
from extract.xscl.bindings import take_bindings
from extract.xscl.parser import is_xscl
from extract.xscl.streams import StreamGraph
from extract.xscl.times import duration, microseconds

RIGHT = "S//b->y"


@pytest.mark.parametrize(
    ("pattern", "normal", "variables"),
    [
        ("S//a->x", "S//a->x", "x"),
        ("S//a->x1[.//b->x2][c]", "S//a[c]->x1[.//b->x2]", "x1 x2"),
        ("S//a[.//b->x2][c]->x1", "S//a[c]->x1[.//b->x2]", "x1 x2"),
        ("S/a/b->x[c->z]/d->w/e", "S/a/b->x[c->z][d[e]->w]", "x z w"),
        ("S//a[b->x]", "S//a[b->x]", "x"),
        ("S//a->x[b->y1 and c and @d > 3]", "S//a[c][@d > 3]->x[b->y1]", "x y1"),
        ("S//a->x[b->z = 'v']", "S//a->x[b[. = 'v']->z]", "x z"),
        ("S//a->x[3 < b->z]", "S//a->x[b[. > 3]->z]", "x z"),
        ("S//a->x[b->z][2]", "S//a[b][2]->x[b->z]", "x z"),
        ("S//a->x[2][b->z]", "S//a[2]->x[b->z]", "x z"),
        ("S//a->x[b->z][position() = last()]", "S//a[b][position() = last()]->x[b->z]", "x z"),
        ("S//a AS x [ b AS z ] ", "S//a->x[b->z]", "x z"),
        ("S//AS AS x[AS -> z]", "S//AS->x[AS->z]", "x z"),
        ("S//a->x'[b->z''[c = '->q']]", "S//a->x'[b[c = '->q']->z'']", "x' z''"),
        ("S//a->x[@k->z][text()->w]", "S//a->x[@k->z][text()->w]", "x z w"),
        ("S//a->x[../b->z]", "S//a->x[../b->z]", "x z"),
        ("S//a->x[/r/b->z]", "S//a->x[/r/b->z]", "x z"),
        ("S//a->x[not(b) and (c or d)]", "S//a[not(b) and (c or d)]->x", "x"),
    ],
)
def test_a_pattern_in_normal_form(pattern: str, normal: str, variables: str) -> None:
    first = variables.split()[0]
    query = parse_xscl(f"{pattern} JOIN{{{first}=y, 1}} {RIGHT}", {})
    assert str(query.left) == normal
    assert query.left.variables == tuple(variables.split())


def test_the_queries_of_the_paper() -> None:
    query = parse_xscl(
        "S//blog->x4[.//author->x5][.//title->x6] FOLLOWED BY{x5=x5' AND x6=x6', 3600} "
        "S//blog->x4'[.//author->x5'][.//title->x6']",
        {},
    )
    assert query.left.variables == ("x4", "x5", "x6")
    assert query.right.variables == ("x4'", "x5'", "x6'")
    assert [str(one) for one in query.equalities] == ["x5=x5'", "x6=x6'"]
    assert (query.window.operator, query.window.size) == (JoinOperator.FOLLOWED_BY, 3_600_000_000)


def test_paths_in_a_condition_become_variables_that_results_do_not_tell() -> None:
    query = parse_xscl("S//a->x JOIN{x//k = y/@k AND x//k = y, 1} S//b->y", {})
    assert query.left.variables == ("x",)
    assert [one.hidden for one in query.left.nodes] == [False, True, True]
    assert len(query.equalities) == 2
    assert query.equalities[0].left != query.equalities[1].left  # each may hold of another node


def test_an_equality_within_a_side() -> None:
    query = parse_xscl("S//a->x[b->z] JOIN{x=y AND x=z, 1} S//b->y", {})
    assert (query.left.same, query.right.same) == ((("x", "z"),), ())


def test_select_and_publish() -> None:
    query = parse_xscl(
        "SELECT <p a='-{x}-'>is-> {y'}</p> FROM a//o->x JOIN{x=y', 10 EVENTS} b//i->y' PUBLISH q",
        {},
    )
    assert query.output is not None
    assert query.output.name == "p"
    assert (query.publish, query.streams, query.window.events) == ("q", ("a", "b"), True)
    assert parse_xscl(f"SELECT * FROM S//a->x JOIN{{x=y, 1}} {RIGHT}", {}).output is None


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("S//a->x1[not(b->z)] JOIN{z=y, 1} S//b->y", "->z", "z cannot be bound inside of not()"),
        ("S//a->x[b->z or c] JOIN{z=y, 1} S//b->y", "->z", "z cannot be bound under 'or'"),
        ("S//a->x[count(b->z) = 1] JOIN{z=y, 1} S//b->y", "->z", "in a comparison"),
        ("S//a->x[b->z = c] JOIN{z=y, 1} S//b->y", "->z", "in a comparison with '='"),
        ("S//a->x[(b|c)->z] JOIN{z=y, 1} S//b->y", "->z", "a binding has to follow a step"),
        ("S//a->x[namespace::p->z] JOIN{z=y, 1} S//b->y", "->z", "a namespace node cannot be"),
        ("S//a->x JOIN{x/namespace::p=y, 1} S//b->y", "x/name", "a namespace node cannot be"),
        ("S//a->x[b->z->w] JOIN{z=y, 1} S//b->y", "->w", "bound twice"),
        ("S//a->x[b->x] JOIN{x=y, 1} S//b->y", "->x]", "x is bound twice"),
        ("S//a->x JOIN{x=x, 1} S//b->x", "x", "x is bound on both sides"),
        ("S//a-> [b] JOIN{x=y, 1} S//b->y", "-> [", "there is no variable after the arrow"),
        ("S//a JOIN{x=y, 1} S//b->y", "//a", "this side has no variable"),
        ("S//a->x", "", "there is no join operator"),
        ("S->x JOIN{x=y, 1} S//b->y", "  ", "expected a path after the stream S"),
        ("//a->x JOIN{x=y, 1} S//b->y", "//a", "expected the name of a stream"),
        ("S//a->x join{x=y, 1} S//b->y", "join", "'join' is no keyword"),
        ("S//a->x JOIN{x=y, 1} S//b->y JOIN{y=z, 1} S//c->z", "JOIN{y", "one join operator"),
        ("(S//a->x JOIN{x=y, 1} S//b->y) JOIN{y=z, 1} S//c->z", "(", "one join operator"),
        ("S//a->x JOIN{x=y, 1} S//b->y PUBLISH", "", "expected the name of a stream"),
        ("S//a->x JOIN{x=y, 1} S//b->y PUBLISH S", "S", "S stands for all input streams"),
        ("S//a->x JOIN{x=y, 1} S//b->y zzz", "zzz", "expected PUBLISH or the end"),
        ("S//a->x JOIN{x<y, 1} S//b->y", "<y", "expected '='"),
        ("S//a->x JOIN{x='v', 1} S//b->y", "'v'", "expected a variable"),
        ("S//a->x JOIN{x=y OR x=y, 1} S//b->y", "OR", "OR cannot stand in a join condition"),
        ("S//a->x JOIN{x=z, 1} S//b->y", "z,", "no pattern binds z"),
        ("S//a->x[b->z] JOIN{x=z, 1} S//b->y", "{", "nothing joins the two sides"),
        ("S//a->x JOIN{x=y} S//b->y", "}", "expected AND or ','"),
        ("S//a->x JOIN{x=y, -1} S//b->y", "-1", "a time span cannot be negative"),
        ("S//a->x JOIN{x=y, 5 hours} S//b->y", "hours", "expected '}' after the window"),
        ("S//a->x JOIN{x=y, 5 S//b->y", "S//b", "expected '}' after the window"),
        ("S//a->x JOIN{x=y, T1} S//b->y", "T1", "'T1' is no number of seconds"),
        ("S//a->x JOIN{x=y, 0 EVENTS} S//b->y", "0 EV", "'0' is no number of events"),
        ("S//a->x JOIN{x=y, 1.5 EVENTS} S//b->y", "1.5", "'1.5' is no number of events"),
        ("S//a->x[f()] JOIN{x=y, 1} S//b->y", "f()", "there is no function f()"),
        ("S//p:a->x JOIN{x=y, 1} S//b->y", "p:a", "the prefix 'p' is not bound"),
        ("S//a->x[$v] JOIN{x=y, 1} S//b->y", "$v", "$v has no value"),
        ("SELECT x FROM S//a->x JOIN{x=y, 1} S//b->y", "x FROM", "SELECT takes an element"),
        ("SELECT <r>{z}</r> FROM S//a->x JOIN{x=y, 1} S//b->y", "z}", "no pattern binds z"),
        ("SELECT <r>{x/b}</r> FROM S//a->x JOIN{x=y, 1} S//b->y", "/b", "a path cannot stand"),
        ("SELECT <r/> S//a->x JOIN{x=y, 1} S//b->y", "S//a", "expected FROM"),
        ("SELECT <r>x FROM S//a->x", "<r>", "<r> is not closed"),
    ],
)
def test_what_is_not_taken_is_told_with_its_place(text: str, place: str, reason: str) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        parse_xscl(text, {})
    assert reason in caught.value.reason
    assert caught.value.xpath == text
    if place.strip():
        assert text[caught.value.offset :].startswith(place), caught.value
    elif not place:
        assert caught.value.offset == len(text)


def test_a_second_join_shows_the_chain_by_publish() -> None:
    with pytest.raises(QuerySyntaxError, match="PUBLISH ab', then 'ab//join"):
        parse_xscl("S//a->x JOIN{x=y, 1} S//b->y FOLLOWED BY{y=z, 1} S//c->z", {})


def test_limits_and_characters() -> None:
    text = f"S//a->x JOIN{{x=y, 1}} {RIGHT}"
    with pytest.raises(QuerySyntaxError, match="longer than 10 characters"):
        parse_xscl(text, {}, Limits(xpath_chars=10))
    with pytest.raises(QuerySyntaxError, match=r"U\+0001"):
        parse_xscl(text.replace("//a", "//\x01"), {})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"S//a->x JOIN{{x=y, 1}} {RIGHT}", True),
        ("S//a->x' FOLLOWED  BY {x'=y', 1} S//b->y'", True),
        ("//a[b = 'JOIN{']", False),
        ("//JOIN", False),
    ],
)
def test_what_is_xscl(text: str, expected: bool) -> None:
    assert is_xscl(text) is expected


def test_bindings_are_found_outside_of_strings_and_conditions() -> None:
    text = "S//a->x'[b = \"->q\"] JOIN{x'=y', 1} S//b->y'[c AS z'][d->w]"
    blanked, bindings = take_bindings(text, 0)
    assert [one.name for one in bindings] == ["x'", "y'", "w"]
    assert len(blanked) == len(text)


# -- Streams


def test_cycles_of_published_streams_are_refused() -> None:
    graph = StreamGraph()

    def query(left: str, right: str, publish: str) -> None:
        text = f"{left}//a->x JOIN{{x=y, 1}} {right}//b->y PUBLISH {publish}"
        parsed = parse_xscl(text, {})
        graph.check(publish.upper(), parsed)
        graph.add(publish.upper(), parsed)

    query("S", "S", "p")
    query("p", "S", "q")
    query("q", "p", "r")
    with pytest.raises(QuerySyntaxError, match="reads what it publishes: P → R → P"):
        query("r", "S", "p")
    with pytest.raises(QuerySyntaxError, match="T → T"):
        query("t", "S", "t")
    assert graph.published == {"p", "q", "r"}


# -- Times


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        (1, 1_000_000),
        (1.1, 1_100_000),
        ("1.1", 1_100_000),
        (" 2e3 ", 2_000_000_000),
        (-0.5, -500_000),
        ("1970-01-01", 0),
        ("1970-01-01T00:00:01", 1_000_000),
        ("1970-01-01T00:00:01Z", 1_000_000),
        ("1970-01-01T01:00:00.123456789+01:00", 123_456),
        (1700000000.123456, 1_700_000_000_123_456),
    ],
)
def test_times_are_whole_microseconds(time: object, expected: int) -> None:
    assert microseconds(time) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize("time", ["", "soon", "1,5", "nan", float("inf"), 1e30, True, None, "٣"])
def test_what_is_no_time(time: object) -> None:
    with pytest.raises(ValueError, match=r"time|neither"):
        microseconds(time)  # type: ignore[arg-type]


def test_sums_and_differences_of_times_agree() -> None:
    assert microseconds(1.0) + duration("0.1") == microseconds(1.1)
