"""`extract.Filter`: documents of any kind in, tables out, the same with every matcher."""

from __future__ import annotations

import copy
import gc
import gzip
import io
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import extract
from extract import Filter, Limits, MatcherError, Subscription, Subscriptions
from extract.filtertool.matchers.push.native import native_available
from extract.filtertool.output.arrow import SCHEMAS

MATCHERS = ["auto", "columnar", "lxml", *(["push"] if native_available() else [])]
IBM = b"<stock><symbol>IBM</symbol><price>99</price></stock>"
YHOO = b"<stock><symbol>YHOO</symbol><price>12</price><price>14</price></stock>"
ENTITY = b'<!DOCTYPE stock [<!ENTITY s "IBM">]><stock><symbol>&s;</symbol><price>1</price></stock>'
LARGE = b"<stock>" + b"<price>7</price>" * 20_000 + b"<symbol>IBM</symbol></stock>"
QUERIES = {
    "ibm": "/stock[symbol = 'IBM']",
    "cheap": "//price[. < 20]",
    "prices": "//price",
    "second": "/stock/price[2]",  # a position, which the push engine does not take
    "many": "count(//price) > 1",
}


@pytest.fixture(scope="module")
def scheme() -> extract.Scheme:
    return extract.prepare(Subscriptions.of(QUERIES))


def pairs(table: Any) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]


# -- rows


@pytest.mark.parametrize("matcher", MATCHERS)
def test_rows_are_in_the_order_of_documents_then_of_queries(
    scheme: extract.Scheme, matcher: str
) -> None:
    ready = Filter(scheme, matcher=matcher)
    documents = [("m2", YHOO), ("bad", b"<stock>"), ("m1", IBM), ("none", b"<x/>")]
    assert pairs(ready.table(documents)) == [
        ("m2", "cheap"),
        ("m2", "prices"),
        ("m2", "second"),
        ("m2", "many"),
        ("m1", "ibm"),
        ("m1", "prices"),
    ]


@pytest.mark.parametrize("matcher", MATCHERS)
def test_counts(scheme: extract.Scheme, matcher: str) -> None:
    table = Filter(scheme, "count", matcher).table([("m", YHOO)])
    assert pairs(table) == [
        ("m", "cheap", 2),
        ("m", "prices", 2),
        ("m", "second", 1),
        ("m", "many", 1),
    ]


@pytest.mark.parametrize("matcher", MATCHERS)
def test_nodes_have_the_rows_of_match(scheme: extract.Scheme, matcher: str) -> None:
    documents = [("m", YHOO), ("e", ENTITY), ("n", IBM), ("large", LARGE)]
    table = Filter(scheme, "nodes", matcher).table(documents)
    assert table.schema.names == SCHEMAS["nodes"].names
    expected = []
    for name, document in documents:
        for match in extract.match(scheme, document, matcher="lxml"):
            values = {column: getattr(match, column) for column in table.schema.names[1:]}
            expected.append({**values, "document": name})
    assert table.to_pylist() == expected


@pytest.mark.parametrize("select", ["doc", "count", "nodes"])
@pytest.mark.parametrize("matcher", MATCHERS)
def test_no_documents_and_no_matches_are_tables_with_the_same_columns(
    scheme: extract.Scheme, select: Any, matcher: str
) -> None:
    ready = Filter(scheme, select, matcher)
    full = ready.table([("m", IBM)])
    for documents in ([], [("bad", b"<")]):
        table = ready.table(documents)
        assert len(table) == 0
        assert table.schema.types == full.schema.types
        assert table.schema.names == full.schema.names == SCHEMAS[select].names


@pytest.mark.parametrize("select", ["doc", "count", "nodes"])
def test_two_documents_may_have_one_name(scheme: extract.Scheme, select: Any) -> None:
    table = Filter(scheme, select).table([("m", IBM), ("n", YHOO), ("m", YHOO)])
    single = [Filter(scheme, select).table([one]).to_pylist() for one in [("m", IBM), ("m", YHOO)]]
    rows = table.to_pylist()
    assert [row for row in rows if row["document"] == "m"] == single[0] + single[1]
    counts = [("m", len(single[0])), ("n", len(single[1])), ("m", len(single[1]))]
    assert [row["document"] for row in rows] == [name for name, n in counts for _ in range(n)]


def test_dictionaries_have_each_name_once(scheme: extract.Scheme) -> None:
    """Readers of Arrow rely on it: pandas refuses others, and groups come out double."""
    ready = Filter(scheme)
    ready.table([("m", IBM)])
    ready.replace({"prices": "/stock/price"})
    ready.remove(["ibm"])
    ready.add({"ibm": "//symbol[. = 'IBM']"})
    table = ready.table([("m", IBM), ("m", IBM)])
    for column in ("document", "query"):
        values = table[column].combine_chunks().dictionary.to_pylist()
        assert len(set(values)) == len(values)
    groups = table.group_by("document").aggregate([("query", "count")]).to_pylist()
    assert groups == [{"document": "m", "query_count": 4}]


@pytest.mark.parametrize("matcher", MATCHERS)
def test_each_document_has_a_table(scheme: extract.Scheme, matcher: str) -> None:
    ready = Filter(scheme, "count", matcher)
    documents = [("m", IBM), ("bad", b"<stock>"), ("m", YHOO), ("x", b"<x/>")] * 100
    tables = list(ready.each(iter(documents)))
    assert [name for name, _ in tables] == [name for name, _ in documents]
    assert pa.concat_tables([table for _, table in tables]).to_pylist() == (
        ready.table(documents).to_pylist()
    )


def test_each_reads_documents_when_it_needs_them(scheme: extract.Scheme) -> None:
    taken = []

    def endless() -> Any:
        while True:
            taken.append(1)
            yield "m", IBM

    tables = Filter(scheme).each(endless())
    assert pairs(next(tables)[1]) == [("m", "ibm"), ("m", "prices")]
    assert len(taken) < 1000


# -- documents of all kinds


def every_kind(path: Path, stream: Any) -> list[Any]:
    """The document of a file, in every way in which it can be given."""
    data = path.read_bytes()
    return [
        data,
        bytearray(data),
        memoryview(b"xx" + data)[2:],
        path,
        str(path),
        stream,
        io.BytesIO(data),
        Unseekable(data),
        gzip.compress(data),
        io.BytesIO(gzip.compress(data)),
    ]


class Unseekable(io.RawIOBase):
    """A stream that comes once, a few bytes at a time."""

    def __init__(self, data: bytes) -> None:
        self._rest = data

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        size = min(7000, len(target))
        part, self._rest = self._rest[:size], self._rest[size:]
        target[: len(part)] = part
        return len(part)


@pytest.mark.parametrize("matcher", MATCHERS)
@pytest.mark.parametrize("document", [IBM, ENTITY, LARGE], ids=["small", "entity", "large"])
def test_a_document_may_be_bytes_a_path_or_a_stream(
    scheme: extract.Scheme, tmp_path: Path, matcher: str, document: bytes
) -> None:
    (tmp_path / "m.xml").write_bytes(document)
    ready = Filter(scheme, "count", matcher)
    expected = pairs(ready.table([("m", document)]))
    assert expected
    with (tmp_path / "m.xml").open("rb") as stream:
        documents = every_kind(tmp_path / "m.xml", stream)
        assert pairs(ready.table([("m", one) for one in documents])) == expected * len(documents)
    assert len(ready.rejected) == 0


def test_a_stream_is_read_from_where_it_stands(scheme: extract.Scheme) -> None:
    stream = io.BytesIO(b"head" + LARGE)
    stream.seek(4)
    assert pairs(Filter(scheme).table([("m", stream)]))[0] == ("m", "ibm")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
@pytest.mark.parametrize("document", [IBM, ENTITY, LARGE], ids=["small", "entity", "large"])
def test_a_pipe_is_read_once(scheme: extract.Scheme, tmp_path: Path, document: bytes) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(document))
    writer.start()
    table = Filter(scheme).table([("m", pipe)])
    writer.join()
    assert pairs(table)[0] == ("m", "ibm")


def test_a_document_without_a_name_has_that_of_its_path(
    scheme: extract.Scheme, tmp_path: Path
) -> None:
    path = tmp_path / "m.xml"
    path.write_bytes(IBM)
    assert pairs(Filter(scheme).table([("", path)]))[0] == (str(path), "ibm")


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([("m", "<stock/>")], "a string is the path of a document"),
        ([("m", None)], "a document is bytes, a path or a file object"),
        ([("m", io.StringIO("<stock/>"))], "opened for bytes"),
    ],
)
@pytest.mark.parametrize("matcher", MATCHERS)
def test_what_is_no_document_is_an_error(
    scheme: extract.Scheme, documents: Any, message: str, matcher: str
) -> None:
    with pytest.raises(TypeError, match=message):
        Filter(scheme, matcher=matcher).table(documents)


def test_documents_come_with_names(scheme: extract.Scheme) -> None:
    wrong: Any = [IBM]
    with pytest.raises(TypeError, match="pairs"):
        Filter(scheme).table(wrong)


# -- rejections


@pytest.mark.parametrize("matcher", MATCHERS)
def test_what_is_rejected_is_that_of_the_last_call(scheme: extract.Scheme, matcher: str) -> None:
    ready = Filter(scheme, matcher=matcher, limits=Limits(document_bytes=200))
    assert len(ready.rejected) == 0
    documents = [("ill", b"<stock>"), ("ok", IBM), ("big", b"<stock>" + b" " * 200 + b"</stock>")]
    assert {name for name, _ in pairs(ready.table([*documents, ("gone", "no/such.xml")]))} == {"ok"}
    rejected = ready.rejected.to_pylist()
    assert [(row["document"], row["query"], row["stage"]) for row in rejected] == [
        ("ill", None, "chunk"),
        ("big", None, "chunk"),
        ("gone", None, "chunk"),
    ]
    assert ready.rejected.schema.names == ["document", "query", "stage", "reason", "line", "offset"]
    ready.table([("ok", IBM)])
    assert len(ready.rejected) == 0


@pytest.mark.parametrize("matcher", MATCHERS)
def test_each_rejects_up_to_the_document_that_it_yields(
    scheme: extract.Scheme, matcher: str
) -> None:
    ready = Filter(scheme, matcher=matcher)
    counts = [len(ready.rejected) for _ in ready.each([("a", b"<"), ("b", IBM), ("c", b"<")])]
    assert counts == [1, 1, 2]


def test_a_query_that_fails_on_a_document_is_rejected_there() -> None:
    """Two documents of one name: each failure is told once."""
    query = Subscription("fails", "xs:integer(/stock/symbol)", version="2.0")
    scheme = extract.prepare(Subscriptions.of([query, Subscription("all", "/stock")]))
    ready = Filter(scheme)
    documents = [("m", IBM), ("m", IBM), ("n", b"<stock><symbol>5</symbol></stock>")]
    assert pairs(ready.table(documents)) == [(name, "all") for name in "mmn"] + [("n", "fails")]
    told = [(row["document"], row["query"], row["stage"]) for row in ready.rejected.to_pylist()]
    assert told == [("m", "fails", "filter")] * 2
    assert [len(ready.rejected) for _ in ready.each(documents)] == [1, 2, 2]


def test_another_thread_has_rejections_of_its_own(scheme: extract.Scheme) -> None:
    ready = Filter(scheme)
    ready.table([("ill", b"<")])
    counts = []
    thread = threading.Thread(target=lambda: counts.append(len(ready.rejected)))
    thread.start()
    thread.join()
    assert counts == [0]
    assert len(ready.rejected) == 1


@pytest.mark.parametrize("matcher", MATCHERS)
def test_nonconforming_documents(matcher: str) -> None:
    schema = extract.infer_schema([IBM]).schema
    scheme = extract.prepare(schema, Subscriptions.of({"x": "//x", "ibm": QUERIES["ibm"]}))
    odd = b"<stock><symbol>IBM</symbol><x/></stock>"
    assert pairs(Filter(scheme, matcher=matcher).table([("odd", odd)])) == [
        ("odd", "x"),
        ("odd", "ibm"),
    ]
    strict = Filter(scheme, matcher=matcher, on_nonconforming="reject")
    assert pairs(strict.table([("odd", odd), ("m", IBM)])) == [("m", "ibm")]
    assert [row["document"] for row in strict.rejected.to_pylist()] == ["odd"]


# -- making one


def test_options_are_checked(scheme: extract.Scheme) -> None:
    wrong: Any = "all"
    with pytest.raises(ValueError, match="'all', and must be one of doc, count, output, nodes"):
        Filter(scheme, wrong)
    with pytest.raises(ValueError, match="on_nonconforming is 'all'"):
        Filter(scheme, on_nonconforming=wrong)
    with pytest.raises(MatcherError, match="there is no matcher 'all'"):
        Filter(scheme, matcher="all")


def test_push_that_is_not_compiled_is_an_error_and_auto_does_without(
    scheme: extract.Scheme, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXTRACT_KERNEL", "off")
    with pytest.raises(MatcherError, match="not compiled"):
        Filter(scheme, matcher="push")
    ready = Filter(scheme)
    ready.add({"new": "/stock"})
    assert pairs(ready.table([("m", IBM)])) == [("m", "ibm"), ("m", "prices"), ("m", "new")]


@pytest.mark.parametrize("matcher", MATCHERS)
def test_a_filter_can_be_pickled_and_copied(scheme: extract.Scheme, matcher: str) -> None:
    ready = Filter(scheme, "count", matcher)
    ready.add({"new": "/stock"})
    ready.remove(["ibm"])
    expected = ready.table([("m", IBM)]).to_pylist()
    for other in (pickle.loads(pickle.dumps(ready)), copy.copy(ready), copy.deepcopy(ready)):
        assert other.table([("m", IBM)]).to_pylist() == expected
        other.remove(["new"])
    assert ready.table([("m", IBM)]).to_pylist() == expected


def test_a_filter_says_what_it_is(scheme: extract.Scheme) -> None:
    assert repr(Filter(scheme)) == "<Filter: 5 queries, select doc, matcher auto>"


@pytest.mark.skipif(not native_available(), reason="the engine is not compiled")
@pytest.mark.parametrize("select", ["doc", "count"])
def test_no_python_runs_for_a_document(select: Any) -> None:
    queries = {name: xpath for name, xpath in QUERIES.items() if name != "second"}
    ready = Filter(extract.prepare(Subscriptions.of(queries)), select)

    ready.table([("m", IBM)] * 300)  # so many that it has adapted

    def calls(count: int) -> int:
        documents = [(f"m{n}", IBM) for n in range(count)]
        total = 0

        def counted(_frame: Any, event: str, _argument: Any) -> None:
            nonlocal total
            total += event == "call"

        ready.table(documents)
        gc.collect()
        gc.disable()  # Hypothesis has Python called at each collection
        sys.setprofile(counted)
        try:
            table = ready.table(documents)
        finally:
            sys.setprofile(None)
            gc.enable()
        assert len(table) >= count
        return total

    assert calls(1000) == calls(100)


def test_filters_do_without_pandas() -> None:
    pytest.importorskip("pandas")
    code = (
        "import sys, extract\n"
        "queries = extract.Subscriptions.of({'ibm': '/stock[symbol = 1]', 'every': '//stock'})\n"
        "for select in ('doc', 'count', 'nodes'):\n"
        "    ready = extract.Filter(extract.prepare(queries), select)\n"
        "    print(len(ready.table([('1', b'<stock/>')])), len(ready.table([('2', b'<x/>')])))\n"
        "print('pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("1 0\n1 0\n1 0\nFalse\n", "")
