"""Batches with the push engine in front: libxml2's rows, for all queries on all documents."""

from __future__ import annotations

import gzip
import io
import threading
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extract.filtertool import batch_filter
from extract.filtertool.matchers.protocol import Select
from extract.limits import Limits
from extract.live_filter import Filter
from extract.schema.model import Schema
from extract.scheme.model import Scheme
from tests.support.columnar_cases import SELECTS
from tests.support.filter_rounds import Round
from tests.support.push.documents import DocumentWriter
from tests.support.push.whole import FilterAnswers, compare_filter, compare_scheme, scheme_of, taken

DTD = """
<!ELEMENT r (a|b)*><!ELEMENT a (#PCDATA|b)*><!ELEMENT b (#PCDATA)*><!ATTLIST a x CDATA #IMPLIED>
"""
QUERIES = {
    "equal": "/r/a[b = '1']",
    "greater": "/r[a > 1]",
    "any": "//b",
    "forbidden": "/r/c",
    "nothing": "not(//b)",
    "attribute": "//@x",
    "text": "//a/text()",
    "second": "//b[2]",
    "number": "count(//b)",
    "string": "string(//a)",
    "comment": "//comment()",
}
GOOD = b"<r><a x='1'>2<b>1</b></a><b>1</b><b/></r>"
ODD: dict[str, bytes] = {
    "good": GOOD,
    "bom": b"\xef\xbb\xbf" + GOOD,
    "declared": b"<?xml version='1.0' encoding='utf-8'?>" + GOOD,
    "utf-16": GOOD.decode().encode("utf-16"),
    "latin": b"<?xml version='1.0' encoding='iso-8859-1'?><r><a>\xe9<b>1</b></a></r>",
    "ascii": b"<?xml version='1.0' encoding='us-ascii'?>" + GOOD,
    "compressed": gzip.compress(GOOD),
    "nonconforming": b"<r><c><b>1</b></c><a><b>1</b></a></r>",
    "unknown attribute": b"<r><a y='1'><b>1</b></a></r>",
    "another root": b"<b>1</b>",
    "namespace": b"<r xmlns='u'><a><b>1</b></a></r>",
    "doctype": b"<!DOCTYPE r SYSTEM 'no.dtd'>" + GOOD,
    "subset": b"<!DOCTYPE r [<!ELEMENT r ANY>]>" + GOOD,
    "default": b"<!DOCTYPE r [<!ATTLIST a x CDATA 'd' xmlns CDATA 'u'>]><r><a><b>1</b></a></r>",
    "text entity": b"<!DOCTYPE r [<!ENTITY e '1'>]><r><a>2<b>&e;</b></a></r>",
    "markup entity": b"<!DOCTYPE r [<!ENTITY e '<b>1</b>'>]><r><a>&e;&e;</a></r>",
    "comments": b"<!--x--><?p?><r><a><!--y-->2<b>1</b><?q?></a></r><!--z-->",
}
BAD: dict[str, bytes] = {
    "empty": b"",
    "space": b"  ",
    "text": b"hello",
    "unclosed": b"<r><a>",
    "crossed": b"<r><a></r></a>",
    "two roots": b"<r/><r/>",
    "undeclared entity": b"<r>&e;</r>",
    "undeclared prefix": b"<r><p:a/></r>",
    "twice": b"<r><a x='1' x='2'/></r>",
    "character": b"<r>\x01</r>",
    "utf-8": b"<r>\xff</r>",
    "reference": b"<r>&#0;</r>",
    "cdata end": b"<r>]]></r>",
}


def schema_of(tmp_path: Path) -> Schema:
    path = tmp_path / "r.dtd"
    path.write_text(DTD)
    return Schema.load(path, "r")


def both_ways(
    scheme: Scheme, select: Select, batch: list[tuple[str, Any]], **how: Any
) -> tuple[Filter, Any]:
    """Asserts that a batch gives the same rows and rejections with push and with columnar."""
    push, columnar = (Filter(scheme, select, name, **how) for name in ("push", "columnar"))
    table = push.table(batch)
    assert table.to_pylist() == columnar.table(batch).to_pylist()
    assert push.rejected.to_pylist() == columnar.rejected.to_pylist()
    return push, table


def test_odd_documents_have_libxml2s_rows(tmp_path: Path) -> None:
    documents = [data for name, data in ODD.items() if name != "compressed"]
    for schema in (Schema.none(), schema_of(tmp_path)):
        for matcher in ("push", "auto"):
            counts = compare_filter(QUERIES, documents, {}, schema, matcher)
            assert counts["taken for doc"] >= 6
            assert counts["matches"] > len(documents) * 3


@pytest.mark.parametrize("select", SELECTS)
@pytest.mark.parametrize("nonconforming", ["fallback", "reject"])
def test_odd_and_bad_documents_are_the_same_in_any_order(
    select: Select, nonconforming: str, tmp_path: Path
) -> None:
    scheme = scheme_of(QUERIES, {}, schema_of(tmp_path))
    batch: list[tuple[str, Any]] = [*ODD.items(), *BAD.items()]
    for seed in range(5):
        Random(seed).shuffle(batch)
        push, _ = both_ways(scheme, select, batch, on_nonconforming=nonconforming)
        rejected = {one["document"] for one in push.rejected.to_pylist()}
        assert set(BAD) <= rejected
        assert ("nonconforming" in rejected) == (nonconforming == "reject")
        assert "good" not in rejected


@pytest.mark.parametrize("select", SELECTS)
def test_documents_come_in_any_form(select: Select, tmp_path: Path) -> None:
    path = tmp_path / "d.xml"
    path.write_bytes(GOOD)
    packed = tmp_path / "d.xml.gz"
    packed.write_bytes(gzip.compress(GOOD))
    scheme = scheme_of(QUERIES)

    def batch() -> list[tuple[str, Any]]:
        forms: list[Any] = [GOOD, path, str(path), packed, io.BytesIO(GOOD), gzip.compress(GOOD)]
        forms += [bytearray(GOOD), tmp_path / "missing.xml"]
        return [(str(number), form) for number, form in enumerate(forms)]

    push, columnar = (Filter(scheme, select, name) for name in ("push", "columnar"))
    found, wanted = push.table(batch()).to_pylist(), columnar.table(batch()).to_pylist()
    assert found == wanted
    rows = [[row for row in found if row["document"] == str(n)] for n in range(7)]
    assert len({str([{**row, "document": ""} for row in one]) for one in rows}) == 1
    assert push.rejected.to_pylist() == columnar.rejected.to_pylist()
    assert [row["document"] for row in push.rejected.to_pylist()] == ["7"]


@pytest.mark.parametrize("select", SELECTS)
def test_large_documents_and_limits(select: Select, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_filter, "MOST_BYTES", 1 << 16)
    scheme = scheme_of(QUERIES)
    large = b"<r>" + b"<a>2<b>1</b></a>" * (batch_filter.MOST_BYTES // 16) + b"</r>"
    assert len(large) > batch_filter.MOST_BYTES
    batch = [("small", GOOD), ("large", large), ("small again", GOOD)]
    both_ways(scheme, select, batch)
    both_ways(scheme, select, batch, limits=Limits(document_bytes=1_000))
    deep = b"<a>" * 300 + b"<b>1</b>" + b"</a>" * 300
    both_ways(scheme, select, [("deep", deep), *batch], limits=Limits(depth=200))


def test_values_that_are_too_long() -> None:
    scheme = scheme_of(QUERIES)
    data = b"<r><a>" + b"x" * 5_000 + b"<b>1</b></a></r>"
    _, table = both_ways(scheme, "nodes", [("d", data)], limits=Limits(value_bytes=1_000))
    assert None in table.column("value").to_pylist()


def test_an_empty_batch_and_no_queries() -> None:
    for select in SELECTS:
        both_ways(scheme_of(QUERIES), select, [])
        both_ways(scheme_of([]), select, [("d", GOOD)])


def test_each_gives_what_a_table_gives(tmp_path: Path) -> None:
    scheme = scheme_of(QUERIES, {}, schema_of(tmp_path))
    batch: list[tuple[str, Any]] = [*ODD.items(), *BAD.items()]
    for select in SELECTS:
        filter_ = Filter(scheme, select, "push")
        rows = filter_.table(batch).to_pylist()
        rejected = filter_.rejected.to_pylist()
        pairs = list(filter_.each(iter(batch)))
        assert [row for _, table in pairs for row in table.to_pylist()] == rows
        assert filter_.rejected.to_pylist() == rejected


def test_a_batch_is_its_documents_one_by_one() -> None:
    random = Random(1)
    documents = [DocumentWriter(random, 20).document() for _ in range(60)]
    queries = ["//a[b = 1]", "/a//b[@x]/c", "//b[2]", "//a[. = 'x']/text()", "//@x", "//a[not(b)]"]
    for select in SELECTS:
        together = FilterAnswers(scheme_of(queries), select, "push", documents).rows
        filter_ = Filter(scheme_of(queries), select, "push")
        rows = []
        for number, data in enumerate(documents):
            rows += filter_.table([(str(number), data)]).to_pylist()
        assert rows == together


# -- random schemas, queries, templates and documents


def random_round(seed: int, queries: int = 30, matcher: str = "push") -> Counter[str]:
    one = Round(Random(seed), queries)
    return compare_scheme(one.scheme, one.texts, one.documents, one.namespaces, matcher)


@pytest.mark.parametrize("matcher", ["push", "auto"])
def test_random_schemas(matcher: str) -> None:
    counts: Counter[str] = Counter()
    for seed in range(100, 112):
        counts += random_round(seed, matcher=matcher)
    assert counts["answers"] > 1_000
    assert counts["taken for doc"] > 150


@given(st.integers(min_value=0, max_value=1 << 40))
def test_any_schema(seed: int) -> None:
    random_round(seed, queries=8)


@pytest.mark.slow
def test_random_schemas_at_length() -> None:
    counts: Counter[str] = Counter()
    for seed in range(10_000, 11_000):
        counts += random_round(seed)
    print(f"no difference: {dict(counts)}")


# -- several threads


def test_threads_share_a_filter_while_queries_change() -> None:
    """What was there throughout is always answered, what never was there never."""
    random = Random(2)
    documents = [(str(n), DocumentWriter(random, 12).document()) for n in range(40)]
    queries = {"all": "//*", "b": "//b", "german": "//*[lang('de')]"}
    filter_ = Filter(scheme_of(queries), "count", "push")
    lasting = ["all", "b", "german"]
    wanted = [row for row in filter_.table(documents).to_pylist() if row["query"] in lasting]
    wrong: list[object] = []
    stop = threading.Event()

    def match() -> None:
        while not stop.is_set() and not wrong:
            try:
                rows = filter_.table(documents).to_pylist()
                assert [row for row in rows if row["query"] in lasting] == wanted
                # Each new query asks for a name that no document has.
                assert not any(row["query"].startswith("absent") for row in rows)
            except Exception as error:  # a thread's, to be seen by the test
                wrong.append(error)

    threads = [threading.Thread(target=match) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(150):
        filter_.add({f"absent{number}": f"//*[new{number} = '{number}']"})
        if number % 3 == 2:
            filter_.remove([f"absent{number}", f"absent{number - 1}"])
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong, wrong[0]
    assert len(filter_) == 53
    assert taken(filter_) == 52
