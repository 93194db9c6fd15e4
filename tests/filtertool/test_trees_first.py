"""Small documents by libxml2 alone: the rows are those of the usual way."""

from __future__ import annotations

import pytest

import extract
from extract.filtertool import trees_first
from extract.filtertool.job import Job
from extract.filtertool.matchers.protocol import Select
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.options import Options
from extract.filtertool.push_queries import PushQueries
from extract.filtertool.results.batch_outcome import document_outcomes
from extract.filtertool.scheme_view import SchemeView
from extract.limits import Limits
from extract.subscriptions import Subscriptions

REGEXP = {"re": "http://exslt.org/regular-expressions"}
QUERIES = {
    "decided": "/r/a[. = 'x']",
    "open": "/descendant::a[2]",
    "comment": "//comment()",
    "german": "//a[lang('de')]",
    "value": "count(//a) > 1",
    "number": "count(//a[2]) - 1",
    "string": "string(//a[last()] | //zzz)",
    "id": "id('i')",
    "may fail": "/r[re:test(a, b)]",
    "unsatisfiable": "/r[1 = 2]",
}
DOCUMENTS = {
    "plain": b"<r><a>x</a><a>y</a><!--c--></r>",
    "declared": b"<?xml version='1.0' encoding='utf-8'?>\n<r><a xml:id='i'>x</a></r>",
    "Latin-1": "<?xml version='1.0' encoding='iso-8859-1'?><r><a>ä</a><a/></r>".encode("latin-1"),
    "BOM": b"\xef\xbb\xbf<r><a/><a/></r>",
    "UTF-16": "<r><a/><a/></r>".encode("utf-16"),
    "comment first": b"<!-- <a> --><r><a/><a/></r>",
    "a document type": b"<!DOCTYPE r [<!ATTLIST a n ID #IMPLIED><!ENTITY e '<a/>'>]>"
    b"<r>&e;<a n='i'/></r>",
    "not well-formed": b"<r><a></r>",
    "an unknown entity": b"<r><a>&e;</a></r>",
    "no prefix": b"<p:r><a/><a/></p:r>",
    "a pattern that fails": b"<r><a>x</a><b>(</b><a/></r>",
    "nothing": b"",
    "deep": b"<a>" * 40 + b"</a>" * 40,
    "one deeper": b"<a>" * 41 + b"</a>" * 41,
    "large": b"<r>" + b"<a>x</a>" * 4000 + b"</r>",
    "larger": b"<r>" + b"<a>x</a>" * 9000 + b"</r>",
}


@pytest.fixture(params=["libxml2", "usual"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Has all turns one way."""
    trees = request.param == "libxml2"

    class OneWay(trees_first.Turns):
        def __init__(self, turns: int) -> None:
            super().__init__(turns)
            self.measured, self.trees = False, trees

    monkeypatch.setattr(trees_first, "Turns", OneWay)
    return str(request.param)


def rows(ready: extract.Filter, documents: list[tuple[str, bytes]]) -> list[object]:
    """The rows of a batch, and what was rejected."""
    return [ready.table(documents).to_pylist(), ready.rejected.to_pylist()]


@pytest.mark.parametrize("select", ["doc", "count"])
def test_the_rows_are_the_same(way: str, select: Select) -> None:
    scheme = extract.prepare(Subscriptions.of(QUERIES, REGEXP))
    limits = Limits(depth=40)
    ready = extract.Filter(scheme, select, limits=limits)
    wanted = extract.Filter(scheme, select, "lxml", limits=limits)
    named = list(DOCUMENTS.items())
    for batch in ([one] for one in named):
        assert rows(ready, batch) == rows(wanted, batch), batch[0][0]
    assert rows(ready, named) == rows(wanted, named)
    assert rows(ready, named[:2]) == rows(wanted, named[:2])
    assert rows(ready, [("", named[0][1])]) == rows(wanted, [("", named[0][1])])
    assert rows(ready, []) == rows(wanted, [])


@pytest.mark.parametrize("select", ["doc", "count"])
def test_what_the_engine_decides_is_for_libxml2_on_odd_documents_alone(
    way: str, select: Select
) -> None:
    scheme = extract.prepare(Subscriptions.of({"a": "//a", "x": "//a[. = 'x']", "n": "not(//b)"}))
    ready, wanted = extract.Filter(scheme, select), extract.Filter(scheme, select, "lxml")
    named = list(DOCUMENTS.items())
    alone = set()
    for one in named:
        before = ready.figures().get("pairs_lxml", 0)
        assert rows(ready, [one]) == rows(wanted, [one]), one[0]
        if ready.figures().get("pairs_lxml", 0) > before:
            alone.add(one[0])
    # What is declared in a document type is for libxml2 at any rate: the engine does not take it.
    odd = {"Latin-1", "UTF-16", "a document type"}
    assert alone == (odd if way == "libxml2" else {"a document type"})
    assert rows(ready, named) == rows(wanted, named)
    same = [named[2], named[4]]
    assert rows(ready, same) == rows(wanted, same)


def test_queries_come_and_go(way: str) -> None:
    ready = extract.Filter(extract.prepare(Subscriptions.of({"a": "//r[lang('en')]", "b": "//a"})))
    document = [("d", DOCUMENTS["plain"].replace(b"<r>", b"<r xml:lang='en'>"))]
    assert ready.table(document)["query"].to_pylist() == ["a", "b"]
    ready.remove(["a"])
    assert ready.table(document)["query"].to_pylist() == ["b"]
    ready.add({"c": "//a[lang('en-US') or lang('en')]"})
    assert ready.table(document)["query"].to_pylist() == ["b", "c"]
    if way == "libxml2":
        assert ready.figures()["pairs_lxml"] == 4


@pytest.mark.parametrize(
    ("queries", "select", "useful"),
    [
        ({"a": "//a[lang('en')]", "b": "//a"}, "count", True),
        ({"a": "//a"}, "count", True),
        ({}, "count", False),
        ({"a": "//a[lang('en')]"}, "nodes", False),
        ({str(n): f"//a[lang('en')][{n + 1}]" for n in range(65)}, "doc", False),
    ],
)
def test_it_is_for_few_queries(queries: dict[str, str], select: Select, useful: bool) -> None:
    view, options = SchemeView.of(extract.prepare(Subscriptions.of(queries))), Options(select)
    divided = PushQueries.of_forms(view, options)
    assert trees_first.TreesFirst.is_useful(divided, options) == useful


@pytest.mark.parametrize("on_nonconforming", ["fallback", "reject"])
def test_documents_that_break_the_schema(way: str, on_nonconforming: str) -> None:
    subscriptions = Subscriptions.of(QUERIES, REGEXP)
    scheme = extract.prepare(subscriptions, sample=[DOCUMENTS["plain"], DOCUMENTS["declared"]])
    assert scheme.schema.kind != "none"
    ready, wanted = [
        extract.Filter(scheme, "count", matcher, on_nonconforming=on_nonconforming)  # type: ignore[arg-type]
        for matcher in ("auto", "lxml")
    ]
    for named in DOCUMENTS.items():
        assert rows(ready, [named]) == rows(wanted, [named]), named[0]


def test_reports_say_which_documents_break_the_schema(way: str) -> None:
    scheme = extract.prepare(
        Subscriptions.of({"a": "//a[lang('en')]"}), sample=[DOCUMENTS["plain"], b"<r/>"]
    )
    ready = Job(scheme, load_matcher(), Options("count")).filter()
    done = document_outcomes(ready.process([("1", DOCUMENTS["plain"]), ("2", b"<r><b/></r>")]))
    assert [one.fate for one in done] == ["conforming", "nonconforming"]


@pytest.mark.parametrize("levels", [2047, 2048, 2049])
def test_the_depth_at_which_libxml2_gives_up(way: str, levels: int) -> None:
    scheme = extract.prepare(
        Subscriptions.of({"german": "//a[lang('de')]", "comment": "//comment()"})
    )
    document = [("d", b"<a>" * levels + b"<!---->" + b"</a>" * levels)]
    wanted = extract.Filter(scheme, "count", "lxml")
    assert rows(extract.Filter(scheme, "count"), document) == rows(wanted, document)
