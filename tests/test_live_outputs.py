"""`extract.Filter` with results of FLWR queries, which come and go."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import extract
from extract import Filter
from extract.filtertool.output.arrow import SCHEMAS

DOCUMENT = b'<d><a id="1"><b>1</b></a><a id="2"><b>1</b></a></d>'
QUERIES = {
    "xpath": "//a",
    "plain": "for $a in //a where $a/b = 1 return <r>{ $a/b }</r>",
    "pairs": "<o>{ for $a in //a where $a/b[. = $a/@id] return <r>{ $a/b }</r> }</o>",
}
PLAIN = "<r><b>1</b></r><r><b>1</b></r>"
PAIRS = "<o><r><b>1</b></r></o>"


@pytest.fixture
def ready() -> Filter:
    return Filter(extract.prepare(extract.Subscriptions.of(QUERIES)), "output")


def rows(table: Any) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]


def test_rows_are_documents_queries_and_results(ready: Filter) -> None:
    documents = [("m1", DOCUMENT), ("bad", b"<d>"), ("none", b"<d/>"), ("m2", DOCUMENT)]
    table = ready.table(documents)
    assert table.schema.names == SCHEMAS["output"].names
    assert rows(table) == [
        ("m1", "plain", PLAIN),
        ("m1", "pairs", PAIRS),
        ("m2", "plain", PLAIN),
        ("m2", "pairs", PAIRS),
    ]
    assert [row["document"] for row in ready.rejected.to_pylist()] == ["bad"]
    each = {name: len(table) for name, table in ready.each(documents)}
    assert each == {"m1": 2, "bad": 0, "none": 0, "m2": 2}
    assert [row["document"] for row in ready.rejected.to_pylist()] == ["bad"]


def test_no_document_has_a_table_with_the_columns(ready: Filter) -> None:
    assert ready.table([]).schema.names == ["document", "query", "output"]


def test_queries_come_and_go(ready: Filter) -> None:
    assert len(ready.table([("m", DOCUMENT)])) == 2
    ready.add({"ids": "for $a in //a return <i>{ string($a/@id) }</i>", "other": "//b"})
    ready.remove(["plain"])
    ready.replace({"pairs": "for $a in //a[@id = 2] return <two>2</two>"})
    wanted = [("m", "ids", "<i>1</i><i>2</i>"), ("m", "pairs", "<two>2</two>")]
    assert sorted(rows(ready.table([("m", DOCUMENT)]))) == wanted
    assert sorted(rows(copy.copy(ready).table([("m", DOCUMENT)]))) == wanted
    assert sorted(ready.scheme.outputs) == ["ids", "pairs"]


def test_a_flwr_query_becomes_xpath_and_back(ready: Filter) -> None:
    ready.replace({"plain": "//a", "pairs": "//b"})
    assert rows(ready.table([("m", DOCUMENT)])) == []
    ready.replace({"plain": QUERIES["plain"]})
    assert rows(ready.table([("m", DOCUMENT)])) == [("m", "plain", PLAIN)]


def test_a_bad_query_changes_nothing(ready: Filter) -> None:
    with pytest.raises(extract.QuerySyntaxError, match=r"\$c"):
        ready.add({"bad": "for $a in //a return <r>{ $c }</r>"})
    assert len(ready) == 3
    assert len(ready.table([("m", DOCUMENT)])) == 2
