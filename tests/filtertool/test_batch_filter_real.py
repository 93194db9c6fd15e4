"""Batches with the push engine in front, on real schemas, queries and documents: libxml2's rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import extract
from extract.filtertool.matchers.protocol import Select
from extract.live_filter import Filter
from extract.scheme.model import Scheme
from tests.support.columnar_cases import SELECTS
from tests.support.generate import oracle
from tests.support.push.whole import taken
from tests.support.real_rows import RealRows, read, real_scheme, xmark_cut

WORDNET = "WN-LMF-relaxed-1.1.dtd"
INVOICE = "schema/maindoc/UBL-Invoice-2.1.xsd"
NEWS = ("linear.tsv.gz", "nested1.tsv.gz", "nested2.tsv.gz")

Pair = tuple[str, str]


def found_by(
    scheme: Scheme, select: Select, matcher: str, documents: Mapping[str, bytes]
) -> tuple[dict[Pair, list[Any]], set[Pair], int]:
    """Rows by document and query, what was rejected, and how many queries the engine answers."""
    filter_ = Filter(scheme, select, matcher)
    table = filter_.table(list(documents.items()))
    columns = [table.column(name).to_pylist() for name in table.column_names]
    rows: dict[Pair, list[Any]] = {}
    for row in zip(*columns, strict=True):
        value = (row[2], row[4]) if select == "nodes" else row[2] if select == "count" else 1
        rows.setdefault((row[0], row[1]), []).append(value)
    rejected = {(one["document"], one["query"]) for one in filter_.rejected.to_pylist()}
    return rows, rejected, taken(filter_)


def wanted_of(scheme: Scheme, documents: Mapping[str, bytes]) -> dict[Pair, tuple[int, Any]]:
    """How many nodes libxml2 finds, and which; -1 for an error."""
    namespaces = dict(scheme.namespaces)
    subscribers = list(scheme.subscribers)
    wanted: dict[Pair, tuple[int, Any]] = {}
    for name, data in documents.items():
        expected = RealRows(data)
        for one in subscribers:
            answer = oracle.answer(expected.tree, one.absolute, namespaces)
            if answer[0] == "error":
                wanted[name, one.id] = -1, []
            elif answer[0] == "nodes":
                rows = [expected.row(*node) for node in answer[1:]]
                wanted[name, one.id] = len(rows), rows
            else:
                wanted[name, one.id] = int(not oracle.is_empty(answer)), [(answer[0], None)]
    return wanted


def check(
    scheme: Scheme, documents: Mapping[str, bytes], matchers: tuple[str, ...] = ("push",)
) -> Counter[str]:
    """Compares all rows of all queries on all documents, which are one batch."""
    counts = Counter({"queries": len(scheme.members)})
    wanted = wanted_of(scheme, documents)
    for matcher in matchers:
        for select in SELECTS:
            rows, rejected, engine = found_by(scheme, select, matcher, documents)
            counts[f"taken for {select}"] += engine
            for pair, (number, nodes) in wanted.items():
                right = [number] if select == "count" else [1]
                right = nodes if select == "nodes" else right if number > 0 else []
                assert rows.pop(pair, []) == right, (matcher, select, pair)
                assert (number < 0) == (pair in rejected), (matcher, select, pair)
            assert not rows, next(iter(rows))
            counts["answers"] += len(wanted)
            counts["matches"] += sum([number > 0 for number, _ in wanted.values()])
    return counts


def eforms(data: Path, step: int) -> Scheme:
    """Notices of several schemas: the queries, without any."""
    queries = extract.Subscriptions.load(data / "queries.jsonl.gz")[::step]
    return extract.prepare(extract.Schema.none(), extract.Subscriptions.of(list(queries)))


@pytest.mark.parametrize("queries", NEWS)
def test_news(shared_data: Path, queries: str) -> None:
    data = shared_data / "nitf"
    scheme = real_scheme(data, "nitf.dtd", "nitf", queries, 200, 4)
    counts = check(scheme, read(sorted(data.rglob("*.xml"))[:4]), ("push", "auto"))
    assert counts["answers"] == 24 * counts["queries"]
    assert counts["taken for doc"] > 1.9 * counts["queries"]  # others match nothing
    assert counts["matches"] > 100


def test_invoices(shared_data: Path) -> None:
    data = shared_data / "ubl"
    scheme = real_scheme(data, INVOICE, "", "rules.jsonl", 6, 4)
    counts = check(scheme, read(sorted((data / "docs").iterdir())[::60]), ("push", "auto"))
    assert counts["taken for doc"] > counts["queries"] // 4
    assert counts["matches"] > 100


def test_notices(shared_data: Path) -> None:
    data = shared_data / "eforms"
    counts = check(eforms(data, 20), read(sorted((data / "docs").iterdir())[:4]))
    assert counts["taken for doc"] > counts["queries"] // 4
    assert counts["matches"] > 10


def test_words(shared_data: Path) -> None:
    data = shared_data / "wordnet"
    scheme = real_scheme(data, WORDNET, "LexicalResource", "queries.tsv", 100, 2)
    counts = check(scheme, read([data / "docs" / "wn-adj.ppl.xml"]), ("push", "auto"))
    assert counts["taken for doc"] > counts["queries"] // 2


def test_auctions(shared_data: Path) -> None:
    scheme = real_scheme(shared_data / "xmark", "auction.dtd", "site", "xpathmark.jsonl", 1, 2)
    counts = check(scheme, {"cut": xmark_cut(shared_data, 10)})
    assert counts["taken for doc"] >= 10


@pytest.mark.slow
@pytest.mark.parametrize("queries", NEWS)
def test_all_news(shared_data: Path, queries: str) -> None:
    data = shared_data / "nitf"
    documents = sorted(data.rglob("*.xml"))
    assert len(documents) == 200
    for first in range(0, len(documents), 40):
        scheme = real_scheme(data, "nitf.dtd", "nitf", queries, 100, 4)
        print(queries, dict(check(scheme, read(documents[first : first + 40]))))


@pytest.mark.slow
def test_all_invoices(shared_data: Path) -> None:
    data = shared_data / "ubl"
    scheme = real_scheme(data, INVOICE, "", "rules.jsonl", 1, 4)
    documents = sorted((data / "docs").iterdir())
    for first in range(0, len(documents), 50):
        print("ubl", dict(check(scheme, read(documents[first : first + 50]))))


@pytest.mark.slow
def test_all_notices(shared_data: Path) -> None:
    data = shared_data / "eforms"
    print("eforms", dict(check(eforms(data, 1), read(sorted((data / "docs").iterdir())))))


@pytest.mark.slow
def test_all_words(shared_data: Path) -> None:
    data = shared_data / "wordnet"
    scheme = real_scheme(data, WORDNET, "LexicalResource", "queries.tsv", 10, 2)
    small = read([data / "docs" / name for name in ("wn-adj.ppl.xml", "wn-noun.Tops.xml")])
    print("wordnet", dict(check(scheme, small)))
    few = real_scheme(data, WORDNET, "LexicalResource", "queries.tsv", 200, 2)
    print("wordnet", dict(check(few, read([data / "docs" / "wn-verb.change.xml"]))))


@pytest.mark.slow
def test_all_auctions(shared_data: Path) -> None:
    scheme = real_scheme(shared_data / "xmark", "auction.dtd", "site", "xpathmark.jsonl", 1, 2)
    documents = {str(size): xmark_cut(shared_data, size) for size in (1, 2, 5, 20, 50, 100)}
    print("xmark", dict(check(scheme, documents)))
