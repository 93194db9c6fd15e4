"""Queries of an `extract.Filter` come and go: the rows are those of a filter that is made anew."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import extract
from extract import (
    Filter,
    Limits,
    QuerySyntaxError,
    SchemeError,
    Subscription,
    Subscriptions,
    SubscriptionsError,
)
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.matchers.push.native import native_available

MATCHERS = ["auto", "columnar", "lxml", *(["push"] if native_available() else [])]
IBM = b"<stock><symbol>IBM</symbol><price>99</price></stock>"
DOCUMENTS = [
    ("ibm", IBM),
    ("two", b"<stock><symbol>YHOO</symbol><price>3</price><price>5</price></stock>"),
    ("ns", b"<stock xmlns='urn:s'><symbol>IBM</symbol></stock>"),
    ("entity", b"<!DOCTYPE stock [<!ENTITY e 'IBM'>]><stock><symbol>&e;</symbol></stock>"),
    ("bad", b"<stock>"),
    ("none", b"<other/>"),
]
XPATHS = [
    *[f"/stock[symbol = '{name}']" for name in ("IBM", "YHOO", "")],
    *[f"//price[. {op} {n}]" for op in "<>=" for n in (3, 5, 99)],
    "//symbol[contains(., 'B')]",
    "//symbol[starts-with(., '')]",
    "/stock[not(price)]",
    "/stock[symbol = 'IBM' or price < 4]/symbol",
    "/stock/price[2]",  # a position
    "//price/following-sibling::price",
    "count(//price)",
    "boolean(//price > 4)",
    "string(/stock/symbol)",
    "/stock/@none | //price",
    "id('x')",
]
POOL = [
    *[Subscription("", xpath) for xpath in XPATHS],
    Subscription("", "/s:stock[s:symbol = 'IBM']", {"s": "urn:s"}),
    Subscription("", "/s:stock", {"s": "urn:t"}),
    Subscription("", "for $p in //price return $p", version="2.0"),
]


def pairs(table: Any) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]


def made(queries: dict[str, str]) -> Filter:
    return Filter(extract.prepare(Subscriptions.of(queries)))


def state(ready: Filter) -> tuple[Any, ...]:
    return len(ready), pairs(ready.table(DOCUMENTS)), ready.scheme.counts()


# -- one change


def test_a_change_holds_from_the_next_call_on() -> None:
    ready = made({"ibm": "/stock[symbol = 'IBM']"})
    assert pairs(ready.table([("m", IBM)])) == [("m", "ibm")]
    ready.add({"dear": "//price[. > 50]", "cheap": "//price[. < 50]"})
    assert pairs(ready.table([("m", IBM)])) == [("m", "ibm"), ("m", "dear")]
    ready.replace({"ibm": "/stock[symbol = 'YHOO']", "cheap": "//price"})
    assert pairs(ready.table([("m", IBM)])) == [("m", "dear"), ("m", "cheap")]
    ready.remove(["dear"])
    assert pairs(ready.table([("m", IBM)])) == [("m", "cheap")]
    assert len(ready) == 2
    assert "cheap" in ready
    assert "dear" not in ready
    assert 5 not in ready


@pytest.mark.parametrize(
    "queries",
    [
        {"new": "//price"},
        [("new", "//price")],
        Subscription("new", "//price"),
        [Subscription("new", "//price")],
        Subscriptions.of({"new": "//price"}),
    ],
)
def test_queries_may_be_given_in_many_ways(queries: Any) -> None:
    ready = made({})
    ready.add(queries)
    assert pairs(ready.table([("m", IBM)])) == [("m", "new")]
    ready.replace(queries)
    assert pairs(ready.table([("m", IBM)])) == [("m", "new")]
    ready.remove("new")
    assert pairs(ready.table([("m", IBM)])) == []


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda f: f.add({"x": "//a", "y": "//a["}), QuerySyntaxError, "query 'y'"),
        (lambda f: f.add({"x": "//a", "y": "//p:a"}), QuerySyntaxError, "the prefix 'p'"),
        (lambda f: f.add({"x": "//a", "ibm": "//b"}), SubscriptionsError, "already a query 'ibm'"),
        (lambda f: f.add([("x", "//a"), ("x", "//b")]), SubscriptionsError, "two queries .* 'x'"),
        (lambda f: f.add("//a"), TypeError, "a query has an id"),
        (lambda f: f.add({5: "//a"}), TypeError, "strings"),
        (lambda f: f.add({"x": None}), TypeError, "strings"),
        (lambda f: f.add({f"x{n}": "//a" for n in range(9)}), SubscriptionsError, "10"),
        (lambda f: f.remove(["ibm", "nix"]), SchemeError, "no query 'nix'"),
        (lambda f: f.remove(["ibm", "ibm"]), SchemeError, "'ibm' is named twice"),
        (lambda f: f.remove([5]), TypeError, "an id is a string, not int"),
        (lambda f: f.replace({"ibm": "//a", "nix": "//a"}), SchemeError, "no query 'nix'"),
        (lambda f: f.replace({"ibm": "//a", "two": "//a["}), QuerySyntaxError, "query 'two'"),
        (lambda f: f.replace([("ibm", "//a"), ("ibm", "//b")]), SubscriptionsError, "two queries"),
    ],
)
@pytest.mark.parametrize("matcher", MATCHERS)
def test_a_change_that_fails_changes_nothing(
    change: Callable[[Filter], None], error: type[Exception], message: str, matcher: str
) -> None:
    queries = Subscriptions.of({"ibm": "/stock[symbol = 'IBM']", "two": "//price[2]"})
    limits = Limits(subscriptions=10)
    ready = Filter(extract.prepare(queries), matcher=matcher, limits=limits)
    before = state(ready)
    with pytest.raises(error, match=message):
        change(ready)
    assert state(ready) == before
    ready.add({"x": "/stock"})
    ready.remove(["ibm"])
    assert ("ibm", "x") in pairs(ready.table(DOCUMENTS))


def test_namespaces_may_come_later() -> None:
    ready = made({"ibm": "/stock"})
    ready.table(DOCUMENTS)
    ready.add(Subscriptions.of({"s": "/p:stock"}, {"p": "urn:s"}))
    ready.add(Subscriptions.of({"t": "/p:stock"}, {"p": "urn:t"}))  # the same prefix, another name
    documents = [("s", b"<stock xmlns='urn:s'/>"), ("t", b"<x:stock xmlns:x='urn:t'/>")]
    assert pairs(ready.table(documents)) == [("s", "s"), ("t", "t")]


def test_prefixes_of_the_scheme_hold() -> None:
    ready = Filter(extract.prepare(Subscriptions.of({"s": "/p:stock"}, {"p": "urn:s"})))
    ready.add({"price": "//p:price"})
    ready.add(Subscription("symbol", "//p:symbol[q:x]", {"q": "urn:q"}))
    ready.add(Subscription("other", "/p:stock", {"p": "urn:q"}))
    ready.replace({"s": "/p:stock/*"})
    document = b"<stock xmlns='urn:s'><price/><symbol><x xmlns='urn:q'/></symbol></stock>"
    assert [query for _, query in pairs(ready.table([("m", document)]))] == ["price", "symbol", "s"]
    with pytest.raises(QuerySyntaxError, match="the prefix 'p'"):
        ready.add(Subscriptions.of({"unbound": "//p:price"}))


def test_a_query_in_a_later_version_of_xpath() -> None:
    ready = made({"all": "/stock"})
    ready.add(Subscription("later", "//symbol[upper-case(.) = 'IBM']", version="2.0"))
    assert pairs(ready.table([("m", IBM)])) == [("m", "all"), ("m", "later")]
    ready.remove(["all", "later"])
    assert pairs(ready.table([("m", IBM)])) == []


def test_a_rejected_query_can_be_replaced_and_removed() -> None:
    ready = made({"bad": "//a[", "worse": "//["})
    assert len(ready) == 2
    ready.replace({"bad": "/stock"})
    ready.remove(["worse"])
    assert pairs(ready.table([("m", IBM)])) == [("m", "bad")]
    assert ready.scheme.rejected == ()


def test_the_scheme_has_the_present_queries(tmp_path: Path) -> None:
    scheme = extract.prepare(Subscriptions.of({"a": "/stock", "b": "//price"}))
    ready = Filter(scheme)
    ready.remove(["a"])
    ready.add({"c": "//symbol"})
    ready.scheme.save(tmp_path / "scheme.json")
    again = Filter(extract.Scheme.load(tmp_path / "scheme.json"))
    assert pairs(again.table([("m", IBM)])) == [("m", "b"), ("m", "c")]
    assert pairs(Filter(scheme).table([("m", IBM)])) == [("m", "a"), ("m", "b")]  # as it was


def test_a_scheme_whose_members_are_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("extract.scheme.writer.INLINE", 3)
    queries = {f"q{n}": f"//price[. = {n}]" for n in range(90, 110)}
    extract.prepare(Subscriptions.of(queries)).save(tmp_path / "scheme.json")
    assert list(tmp_path.glob("*.parquet"))
    ready = Filter(extract.Scheme.load(tmp_path / "scheme.json"))
    assert pairs(ready.table([("m", IBM)])) == [("m", "q99")]
    ready.remove(["q99"])
    ready.add({"new": "//price[. = 99]"})
    assert pairs(ready.table([("m", IBM)])) == [("m", "new")]


def test_numbers_of_removed_queries_are_used_again() -> None:
    """After very many changes there is no more in memory than of the queries that are there."""
    ready = made({"stays": "/stock"})
    for round_ in range(30):
        names = [f"{round_}/{n}" for n in range(1000)]
        ready.add({name: f"//price[. = {98 + n}]" for n, name in enumerate(names)})
        assert pairs(ready.table([("m", IBM)])) == [("m", "stays"), ("m", f"{round_}/1")]
        ready.remove(names)
    assert len(ready) == 1
    dictionary = ready.table([("m", IBM)])["query"].combine_chunks().dictionary
    assert len(dictionary) < 15_000  # of 30,000 ids that there were


# -- many changes


@st.composite
def scripts(draw: st.DrawFn) -> list[tuple[str, list[tuple[int, int]]]]:
    """Changes: what to do, and to which of ten ids, with which query of the pool."""
    entry = st.tuples(st.integers(0, 9), st.integers(0, len(POOL) - 1))
    several = st.lists(entry, min_size=1, max_size=4, unique_by=lambda pair: pair[0])
    kinds = st.sampled_from(["add", "remove", "replace", "table"])
    return draw(st.lists(st.tuples(kinds, several), max_size=12))


def by_query(table: Any) -> list[dict[str, Any]]:
    """Rows in the order of documents, then of ids: queries in XPath 2.0 have another place in a
    filter that is made anew."""
    names = [name for name, _ in DOCUMENTS]
    return sorted(table.to_pylist(), key=lambda row: (names.index(row["document"]), row["query"]))


def subscription(name: str, number: int) -> Subscription:
    one = POOL[number]
    return Subscription(name, one.xpath, one.namespaces, version=one.version)


@pytest.mark.parametrize("select", ["doc", "count", "nodes"])
@pytest.mark.parametrize("matcher", ["auto", "columnar"])
@settings(max_examples=30)
@given(script=scripts(), start=st.lists(st.integers(0, len(POOL) - 1), max_size=4))
def test_after_changes_rows_are_those_of_a_fresh_filter(
    select: Any, matcher: str, script: list[tuple[str, list[tuple[int, int]]]], start: list[int]
) -> None:
    present = {f"s{n}": subscription(f"s{n}", number) for n, number in enumerate(start)}
    ready = Filter(extract.prepare(Subscriptions.of(present.values())), select, matcher)
    for kind, entries in script:
        chosen = {f"s{n}": subscription(f"s{n}", number) for n, number in entries}
        if kind == "table":
            ready.table(DOCUMENTS)
        elif kind == "add":
            new = {name: one for name, one in chosen.items() if name not in present}
            ready.add(new.values())
            present |= new
        else:
            known = {name: one for name, one in chosen.items() if name in present}
            present = {name: one for name, one in present.items() if name not in known}
            if kind == "remove":
                ready.remove(known)
            else:
                ready.replace(known.values())
                present |= known
    rows = by_query(ready.table(DOCUMENTS))
    fresh = extract.prepare(Subscriptions.of(present.values()))
    for other in (Filter(fresh, select, "lxml"), Filter(fresh, select), copy.copy(ready)):
        assert by_query(other.table(DOCUMENTS)) == rows
        assert other.rejected.to_pylist() == ready.rejected.to_pylist()
    assert len(ready) == len(present)


# -- threads


def in_threads(*work: Callable[[], None]) -> None:
    """Runs functions at the same time; an error of one is raised."""
    errors: list[BaseException] = []

    def guarded(one: Callable[[], None]) -> None:
        try:
            one()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(one,)) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    if errors:
        raise errors[0]


@pytest.mark.parametrize("select", ["doc", "count", "nodes"])
@pytest.mark.parametrize("matcher", ["auto", "columnar"])
def test_threads_match_while_one_changes(select: Any, matcher: str) -> None:
    """Each call sees the queries as they were at some moment: all of a change, or nothing."""
    xpaths = ["/stock/symbol", "/stock/price[1]"]  # the engine's, and one that it does not take
    ready = Filter(extract.prepare(Subscriptions.of({"left": xpaths[0]})), select, matcher)
    documents = [("m", IBM), ("e", DOCUMENTS[3][1].replace(b"</stock>", b"<price/></stock>"))]
    done = threading.Event()
    seen = []

    def match() -> None:
        while not done.is_set():
            rows = [(row["document"], row["query"]) for row in ready.table(documents).to_pylist()]
            (name,) = {query for _, query in rows}
            assert rows == [("m", name), ("e", name)]
            assert len(ready.rejected) == 0
            seen.append(name)

    def change() -> None:
        random = Random(1)
        try:
            for number in range(40 if matcher == "columnar" else 200):
                ready.replace({"left": random.choice(xpaths)})
                if number % 10 == 0:
                    ready.figures()
        finally:
            done.set()

    in_threads(match, match, match, change)
    assert seen


def test_calls_may_change_the_filter_between_documents() -> None:
    """A generator of documents that adds queries does not wait for itself."""
    ready = made({"a": "/stock"})

    def documents() -> Any:
        yield "m", IBM
        ready.add({"b": "//price"})
        yield "n", IBM

    assert pairs(ready.table(documents())) == [("m", "a"), ("m", "b"), ("n", "a"), ("n", "b")]
    for name, _ in ready.each([("m", IBM), ("n", IBM)]):
        ready.add({name: "//symbol"})
    assert len(ready) == 4


def test_a_query_of_a_filter_can_be_asked_elsewhere() -> None:
    """As it was given, changed and added: another filter gives the same rows for it."""
    texts = {
        "path": "//p:b[. > 1]",
        "either": "a/b | //c",
        "value": "count(//c) > 1",
        "text": "string(//c)",
        "nothing": "//zz",
    }
    queries = [Subscription(name, text, {"p": "urn:p"}) for name, text in texts.items()]
    whole = extract.Filter(extract.prepare(Subscriptions.of(queries[:2])), "nodes")
    whole.add(Subscriptions.of(queries[2:]))
    whole.add([Subscription("later", "//c[. = (2 to 3)]", {}, version="2.0")])
    document = b"<a xmlns:q='urn:p'><q:b>2</q:b><b>3</b><c>1</c><c>2</c></a>"
    rows = whole.table([("d", document)]).to_pylist()
    assert {row["query"] for row in rows} == {"path", "either", "value", "text", "later"}
    for name in [*texts, "later"]:
        alone = extract.Filter(extract.prepare(Subscriptions.of([whole.query(name)])), "nodes")
        expected = [row for row in rows if row["query"] == name]
        assert alone.table([("d", document)]).to_pylist() == expected
    assert [name for name in texts if not whole.selects_nodes(name)] == ["value", "text"]
    with pytest.raises(SchemeError, match="no query"):
        whole.query("other")


@pytest.mark.parametrize("select", ["doc", "nodes", "output"])
def test_rows_after_a_thousand_changes(select: Select) -> None:
    """What was removed is forgotten then, and forms get other numbers: a new query was answered
    with the program of the query that had its number before."""

    def query(path: str) -> str:
        return f"for $x in {path} return <o>{{ $x }}</o>" if select == "output" else path

    def filter_of(paths: dict[str, str]) -> Filter:
        queries = {name: query(path) for name, path in paths.items()}
        return Filter(extract.prepare(Subscriptions.of(queries)), select=select)

    documents = [("d", b"<a><b>1</b><b>3</b><c>x</c><d/></a>"), ("e", b"<a><c>y</c><b>2</b></a>")]
    changed = filter_of({"d": "//d", "c": "//c[. = 'x']", "b": "//b[. > 0]"})
    changed.remove(["d"])
    for number in range(1_100):
        changed.replace({"b": query(f"//b[. > {number % 4}]")})
    assert len(changed.scheme.members) == 2  # what was removed is forgotten with this
    changed.add({"n": query("//b[. > 2]"), "m": query("//c[. = 'y']"), "o": query("//b[@k]")})
    fresh = filter_of(
        {"c": "//c[. = 'x']", "b": "//b[. > 3]", "n": "//b[. > 2]", "m": "//c[. = 'y']",
         "o": "//b[@k]"}
    )  # fmt: skip
    assert changed.table(documents).to_pylist() == fresh.table(documents).to_pylist()
