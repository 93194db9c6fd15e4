"""Real queries on real documents: a database finds what libxml2 finds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from lxml import etree

import extract
from extract.filtertool.matchers.protocol import Select
from extract.live_filter import Filter
from extract.scheme.model import Scheme
from tests.support.real_rows import read

pytest.importorskip("duckdb", reason="DuckDB is not installed")


def compared(
    scheme: Scheme, documents: dict[str, bytes], url: str = "", select: Select = "doc"
) -> tuple[int, int]:
    """Compares with libxml2; returns the number of answers, and of queries that SQL decides."""
    if url:
        scheme.save(url)
    ready = Filter(url or scheme, select, "sql")
    table = ready.table(list(documents.items())).select(["document", "query"]).to_pylist()
    found = {(row["document"], row["query"]) for row in table}
    rejected = {(row["document"], row["query"]) for row in ready.rejected.to_pylist()}
    namespaces = dict(scheme.namespaces)
    queries: Sequence[tuple[str, etree.XPath]] = [
        (one.id, etree.XPath(one.absolute, namespaces=namespaces)) for one in scheme.subscribers
    ]
    answers = 0
    for name, document in documents.items():
        tree = etree.fromstring(document).getroottree()
        for query, xpath in queries:
            if (name, query) not in rejected:
                right = xpath(tree)
                holds = bool(right) and right == right  # NaN is false
                assert ((name, query) in found) == holds, f"{xpath.path} on {name}"
                answers += 1
    return answers, int(ready.figures()["sql_questions"])


def test_news(shared_data: Path, database: str) -> None:
    data = shared_data / "nitf"
    schema = extract.Schema.load(data / "nitf.dtd", "nitf")
    queries = extract.Subscriptions.load(data / "nested1.tsv.gz")[::400]
    scheme = extract.prepare(schema, queries, chunks=3)
    answers, decided = compared(scheme, read(sorted(data.rglob("*.xml"))[:5]), database)
    assert answers == 1250
    assert decided > 200


@pytest.mark.slow
def test_invoices(shared_data: Path, database: str) -> None:
    data = shared_data / "ubl"
    schema = extract.Schema.load(data / "schema/maindoc/UBL-Invoice-2.1.xsd")
    scheme = extract.prepare(schema, extract.Subscriptions.load(data / "rules.jsonl"), chunks=3)
    answers, decided = compared(scheme, read(sorted((data / "docs").iterdir())[::40]), database)
    assert answers > 4_000
    assert decided > 100


@pytest.mark.slow
def test_words(shared_data: Path, database: str) -> None:
    data = shared_data / "wordnet"
    schema = extract.Schema.load(data / "WN-LMF-relaxed-1.1.dtd", "LexicalResource")
    queries = extract.Subscriptions.load(data / "queries.tsv")[::8]
    scheme = extract.prepare(schema, queries, chunks=3)
    answers, decided = compared(scheme, read(sorted(data.rglob("*.xml*"))), database)
    assert answers > 700
    assert decided > 200


@pytest.mark.slow
def test_notices(shared_data: Path, database: str) -> None:
    data = shared_data / "eforms"
    queries = extract.Subscriptions.load(data / "queries.jsonl.gz")[::6]
    scheme = extract.prepare(queries)
    answers, decided = compared(scheme, read(sorted(data.rglob("docs/*.xml*"))[:6]), database)
    assert answers > 4_000
    assert decided > 100
