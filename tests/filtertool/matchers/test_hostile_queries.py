"""Hostile queries: refused when they are registered, or given up without harm to others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import extract
from extract.filtertool.document_filter import Options, document_filter
from extract.filtertool.matchers.cost_bound import nodes_allowed
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.processes.sandbox import (
    ChildDied,
    MemoryLimit,
    NoAnswer,
    Sandbox,
    TimeLimit,
)
from extract.filtertool.results.outcome import DocumentOutcome
from extract.limits import Limits
from extract.preptool.revise import Reviser
from extract.scenarios import scenario
from extract.subscriptions import Subscription
from extract.transtool.expansion import Expansion
from tests.support.hostile import DTD, SECRET

NAMESPACES = {
    "date": "http://exslt.org/dates-and-times",
    "dyn": "http://exslt.org/dynamic",
    "exslt": "http://exslt.org/common",
    "ours": "urn:ours",
    "php": "http://php.net/xsl",
    "re": "http://exslt.org/regular-expressions",
    "str": "http://exslt.org/strings",
}
FOR_EVER = "'(x+x+)+y'"  # a pattern that takes twice as long for each further x
SLOW = {
    "test": f"//b[re:test(., {FOR_EVER})]",
    "a-value": f"re:test(string(/a/b), {FOR_EVER})",
    "replace": f"re:replace(string(/a/b), {FOR_EVER}, 'g', '')",
    "axes": "//b[preceding::b/following::b/preceding::b/following::b]",
}


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> extract.Schema:
    path = tmp_path_factory.mktemp("schema") / "a.dtd"
    path.write_text(DTD)
    return extract.Schema.load(path, root="a")


@pytest.fixture(scope="module")
def secret(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("secret") / "secret.xml"
    path.write_text(f"<secret>{SECRET}</secret>")
    return path


def scheme_of(schema: extract.Schema, queries: dict[str, str], version: str = "1.0") -> Any:
    some = [extract.Subscription(one, xpath, version=version) for one, xpath in queries.items()]
    return extract.prepare(schema, extract.Subscriptions.of(some, NAMESPACES), chunks=1)


def process(scheme: Any, document: bytes, matcher: str = "auto", **limits: Any) -> DocumentOutcome:
    options = Options(limits=Limits(**limits))
    (done,) = document_filter(scheme, load_matcher(matcher), options).process([("d", document)])
    return done


@pytest.mark.parametrize(
    "call",
    [
        "document('{}')",
        "doc('{}')",
        "unparsed-text('{}')",
        "date:date()",
        "dyn:evaluate('//b')",
        "exslt:node-set(//b)",
        "str:tokenize('a b')",
        "re:match('a', 'b')",
        "php:function('system', 'ls')",
        "ours:anything()",
        "system-property('xsl:vendor')",
        "key('a', 'b')",
        "$HOME",
    ],
)
def test_nothing_but_xpath_can_be_called(call: str, schema: extract.Schema, secret: Path) -> None:
    (rejected,) = scheme_of(schema, {"q": call.format(secret)}).rejected
    assert "there is no" in rejected.reason


@pytest.mark.parametrize(
    "call",
    [
        "doc('{}')//text()",
        "doc-available('{}')",
        "collection('{}')",
        "uri-collection('{}')",
        "unparsed-text('{}')",
        "unparsed-text-lines('{}')",
        "unparsed-text-available('{}')",
        "json-doc('{}')",
        "environment-variable('HOME')",
        "available-environment-variables()",
        "fn:doc('{}')",
        "fn:unparsed-text#1('{}')",
        "apply(unparsed-text#1, ['{}'])",
        "let $f := doc#1 return $f('{}')",
        "function-lookup(xs:QName('fn:unparsed-text'), 1)('{}')",
        "function-lookup(xs:QName('fn:doc'), 1)('{}')",
        "parse-xml('<!DOCTYPE a [<!ENTITY x SYSTEM \"{}\">]><a>&x;</a>')/string()",
        "load-xquery-module('{}')",
        "transform(map {{'stylesheet-location': '{}'}})",
    ],
)
def test_later_versions_read_nothing_else(call: str, schema: extract.Schema, secret: Path) -> None:
    for version in ("2.0", "3.0", "3.1"):
        scheme = scheme_of(schema, {"q": call.format(secret)}, version)
        if scheme.rejected:
            continue
        done = process(scheme, b"<a><b/></a>", query_seconds=20)
        lists = done.findings.described.lists()
        assert SECRET not in repr(lists)
        assert done.rejections or lists.value in ([], ["false"], [""]), lists


@pytest.mark.parametrize("matcher", ["auto", "lxml"])
@pytest.mark.parametrize("name", SLOW)
def test_a_query_that_takes_for_ever_is_given_up_alone(
    name: str, matcher: str, schema: extract.Schema
) -> None:
    scheme = scheme_of(schema, {"bad": SLOW[name], "good": "/a/b[2]"})
    document = b"<a><b>" + b"x" * 60 + b"</b>" + b"<b/>" * 4_000 + b"</a>"
    done = process(scheme, document, matcher, query_seconds=0.2)
    assert [one.query for one in done.rejections] == ["bad"]
    assert "--max-query-seconds" in done.rejections[0].reason
    assert done.findings.described.lists().start == [70]


MUCH = f"concat({'/a, ' * 60}'')"  # sixty times the text of the document
FULL = {
    "libxml2": f"re:test({MUCH}, 'y')",
    "python": f"re:replace({MUCH}, 'x', 'g', 'xxxxxxxx')",
}


@pytest.mark.parametrize("broken", [b"", b"<zz/>"])
@pytest.mark.parametrize("matcher", ["auto", "lxml"])
@pytest.mark.parametrize("name", FULL)
def test_a_query_that_takes_all_memory_is_given_up_alone(
    name: str, matcher: str, broken: bytes, schema: extract.Schema
) -> None:
    scheme = scheme_of(schema, {"bad": FULL[name], "fine": "re:test('y', 'y')", "good": "/a/b[1]"})
    document = b"<a>" + broken + b"x" * (1 << 20) + b"<b/></a>"
    done = process(scheme, document, matcher, query_memory=1 << 25)
    limit = Limits(query_memory=1 << 25).passed("query_memory")
    assert [(one.query, one.reason) for one in done.rejections] == [("bad", limit)]
    assert sorted(done.findings.described.lists().node) == ["boolean", "element"]
    assert not process(scheme, document.replace(b"x", b"", 1 << 20), matcher).rejections


def test_a_later_query_that_takes_all_memory_is_given_up_alone(schema: extract.Schema) -> None:
    queries = {"bad": "string-join(for $i in 1 to 9000000 return 'x')", "good": "/a/b[1]"}
    done = process(scheme_of(schema, queries, "3.1"), b"<a><b/></a>", query_memory=1 << 24)
    limit = Limits(query_memory=1 << 24).passed("query_memory")
    assert [(one.query, one.reason) for one in done.rejections] == [("bad", limit)]
    assert len(done.findings) == 1


def test_costs_know_long_texts_and_patterns() -> None:
    assert nodes_allowed("//b[contains(string(/), .)]") < 100_000
    assert nodes_allowed("//b[. = /a]") < 100_000
    assert nodes_allowed("re:test(/a, 'x')") == 0
    assert nodes_allowed("//b[contains(., 'x')]") > 1_000_000


def test_a_text_that_every_node_asks_for_is_made_once(schema: extract.Schema) -> None:
    # Quadratic in the document, if each b had a copy of its own.
    scheme = scheme_of(schema, {"q": "//b[contains(string(/a), 'no such text')]"})
    document = b"<a>" + b"<b>some text</b>" * 10_000 + b"</a>"
    assert not len(process(scheme, document).findings)


def test_texts_in_texts_do_not_fill_the_memory(
    schema: extract.Schema, monkeypatch: pytest.MonkeyPatch
) -> None:
    from extract.filtertool.matchers.columnar import functions, strings

    monkeypatch.setattr(strings, "MAX_BYTES", 1_000)
    monkeypatch.setattr(functions, "MAX_BYTES", 1_000)
    document = b"<a>" + b"<b>some text<b>more</b></b>" * 50 + b"</a>"
    expected = {"q": 50, "long": 1}
    scheme = scheme_of(
        schema, {"q": "//b[string() = 'some textmore']", "long": f"concat({'/a, ' * 9}'')"}
    )
    done = process(scheme, document)
    found = [one.query for one in done.findings.matches("d", ["q", "long"])]
    assert {one: found.count(one) for one in found} == expected


def test_deep_queries_are_refused_in_every_language(schema: extract.Schema) -> None:
    deep = "/a" + "[b" * 5_000 + "]" * 5_000
    brackets = "(" * 5_000 + "1" + ")" * 5_000
    for version in ("1.0", "2.0", "3.1"):
        for xpath in (deep, brackets, "-" * 300_000 + "1", "not(" * 5_000):
            scheme = scheme_of(schema, {"bad": xpath, "good": "//b"}, version)
            rejected = [one.id for one in scheme.rejected]
            done = process(scheme, b"<a><b/></a>", query_seconds=20)
            assert "bad" in rejected or [one.query for one in done.rejections] in (["bad"], [])
            assert len(done.findings)


def test_many_queries_that_expand_far_do_not_fill_the_memory() -> None:
    """Together they have so many characters; after that each is one branch, and answered."""
    news = scenario("nitf")
    queries = {str(n): f"/newsletter/*/*/*[. != concat('{n}', '')]" for n in range(60)}
    queries["last"] = "//*/*"
    some = extract.Subscriptions.of(queries)
    (document,) = news.documents(1)
    found = []
    for total in (1_000_000_000, 20_000, 0):
        scheme = extract.prepare(news.schema(), some, 1, expansion=Expansion(total=total))
        told = [note for note in scheme.notes if "keep their // and *" in note]
        assert bool(told) == (total < 1_000_000_000)
        found.append((len(scheme.branches), list(extract.count(scheme, document))))
        reviser = Reviser(scheme)
        reviser.add(extract.Subscription("more", "/newsletter/*/*/*[. != concat('more', '')]"))
        assert (len(reviser.scheme().branches) - len(scheme.branches) == 1) == bool(told)
        for one in queries:  # who goes makes room
            reviser.remove(one)
        reviser.add(extract.Subscription("again", "/newsletter/*/*/*[. != concat('again', '')]"))
        assert (len(reviser.scheme().branches) <= 2) == (total == 0)
    (ample, rows), (bounded, same), (least, too) = found
    assert ample > 1_000
    assert least == 61 < bounded < ample / 2
    assert rows == same == too


def test_ids_may_be_anything_and_reach_the_rows_unchanged(schema: extract.Schema) -> None:
    ids = [
        "../../x",
        "a\tb",
        "line\nbreak",
        "\x1b[31m",
        "\u202e",
        "'\"<&>",
        "x" * 10_000,
        "\U0001f600",
    ]
    queries = [json.loads(json.dumps({"id": one}))["id"] for one in ids]
    scheme = scheme_of(schema, dict.fromkeys(queries, "//b"))
    assert {one.query for one in extract.match(scheme, b"<a><b/></a>")} == set(ids)


_REGULAR = {"re": "http://exslt.org/regular-expressions"}
_GIVEN_UP = {
    "doc": "//a[re:test(., 'x')]",
    "count": "//a[re:test(., 'x')]",
    "nodes": "//a[re:test(., 'x')]",
    "output": "for $a in //a return <x>{re:replace($a, 'x', 'g', 'y')}</x>",
}


@pytest.mark.parametrize("document", [b"<a>x</a>", b"<?xml version='1.1'?><a>x</a>"])
@pytest.mark.parametrize("end", [TimeLimit, MemoryLimit, ChildDied])
@pytest.mark.parametrize("select", _GIVEN_UP)
def test_what_is_given_up_is_told_by_its_stage(
    select: Any, end: type[NoAnswer], document: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In whatever way it ends, and whoever asked: of the same documents others have their rows."""

    def call(*args: Any, **more: Any) -> Any:
        raise end("it ended")

    monkeypatch.setattr(Sandbox, "call", call)
    good = "for $a in //a return <good/>" if select == "output" else "/a"
    queries = [Subscription("bad", _GIVEN_UP[select], _REGULAR), Subscription("good", good)]
    ready = extract.Filter(extract.prepare(extract.Subscriptions.of(queries)), select=select)
    table = ready.table([("d", document), ("e", b"<a>x</a>")])
    rejected = [(one["query"], one["stage"]) for one in ready.rejected.to_pylist() if one["query"]]
    assert set(rejected) == {("bad", "cost")}
    assert set(table.column("query").to_pylist()) == {"good"}
