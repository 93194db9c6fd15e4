"""`extract.Filter` with results of FLWR queries, which come and go."""

from __future__ import annotations

import copy
from collections import Counter
from random import Random
from typing import Any

import pytest

import extract
from extract import Filter
from extract.filtertool.job import Job
from extract.filtertool.matchers.push import engine
from extract.filtertool.matchers.push.native import native_available
from extract.filtertool.output.arrow import SCHEMAS
from tests.support.generate.flwr import random_document, random_flwr

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


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts what is compiled: questions and results of the engine, and whole filters."""
    counts: Counter[str] = Counter()

    def counted(where: Any, name: str) -> None:
        original = getattr(where, name)

        def call(*args: Any, **options: Any) -> Any:
            counts[name] += 1
            return original(*args, **options)

        monkeypatch.setattr(where, name, call)

    counted(engine, "compile_question")
    counted(engine, "compile_output")
    counted(Job, "filter")
    return counts


@pytest.mark.skipif(not native_available(), reason="the engine is not compiled")
def test_a_change_compiles_what_has_changed(compilations: Counter[str]) -> None:
    plain = "for $a in //a where $a/b{0} = {0} return <r>{{ $a/b{0} }}</r>"
    odd = "for $a in //a where $a/b{0} = {0} return <r>{{ $a/b{0} + 1 }}</r>"
    queries = {f"p{n}": plain.format(n) for n in range(50)}
    queries |= {f"o{n}": odd.format(n) for n in range(50)}
    ready = Filter(extract.prepare(extract.Subscriptions.of(queries)), "output")
    document = [("m", b"<d><a><b7>7</b7><b60>60</b60></a></d>")]
    assert [row[1] for row in rows(ready.table(document))] == ["p7", "o7"]
    assert compilations["compile_output"] == 100
    compilations.clear()
    ready.add({"p60": plain.format(60)})
    ready.remove(["p7", "o7"])
    ready.add({"same": plain.format(60)})  # its template is known
    ready.add({"o60": odd.format(60)})
    table = rows(ready.table(document))
    assert {row[1]: row[2] for row in table} == {
        "p60": "<r><b60>60</b60></r>",
        "same": "<r><b60>60</b60></r>",
        "o60": "<r>61</r>",
    }
    # One question for what is bound, which two engines have; two results, one of which the engine
    # does not write.
    assert compilations == {"compile_question": 2, "compile_output": 2}


@pytest.mark.parametrize("seed", range(4))
def test_any_changes_make_what_a_new_filter_makes(seed: int) -> None:
    draw = Random(seed)
    prefixed = bool(seed % 2)
    namespaces = {"p": "urn:p"} if prefixed else {}

    def some(count: int) -> list[str]:
        return [draw.choice((random_flwr(draw, prefixed), "//a")) for _ in range(count)]

    present = dict(zip(map(str, range(20)), some(20), strict=True))
    ready = Filter(extract.prepare(extract.Subscriptions.of(present, namespaces)), "output")
    for step in range(12):
        new = {f"{step}.{n}": text for n, text in enumerate(some(draw.randint(0, 3)))}
        gone = draw.sample(sorted(present), min(len(present), draw.randint(0, 3)))
        ready.add(extract.Subscriptions.of(new, namespaces))
        ready.remove(gone)
        present = {name: text for name, text in present.items() if name not in gone} | new
        if step % 4 == 2:
            other = draw.choice(sorted(present))
            present[other] = random_flwr(draw, prefixed)
            ready.replace(extract.Subscriptions.of({other: present[other]}, namespaces))
        documents = [(str(n), random_document(draw, prefixed).encode()) for n in range(3)]
        documents.append(("entity", b'<!DOCTYPE a [<!ENTITY e "1">]><a><b id="1">&e;</b></a>'))
        fresh = Filter(extract.prepare(extract.Subscriptions.of(present, namespaces)), "output")
        assert sorted(rows(ready.table(documents))) == sorted(rows(fresh.table(documents)))
        wanted = sorted(map(str, rows(fresh.rejected)))
        assert sorted(map(str, rows(ready.rejected))) == wanted
