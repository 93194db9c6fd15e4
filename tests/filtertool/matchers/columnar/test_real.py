"""The columnar matcher on real schemas, documents and queries: it says what libxml2 says."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

import extract
from extract.errors import QuerySyntaxError
from extract.filtertool.matchers.columnar.factory import ColumnarMatcher
from extract.preptool.prepare import prepare
from extract.schema.model import Schema
from extract.xpath.check import parse_checked
from tests.support.columnar_cases import automaton_of, compare, questions_of, unit_of

DUBLIN_CORE = {"dc": "https://globalwordnet.github.io/schemas/dc/"}


def check(
    schema: Schema,
    queries: Mapping[str, str],
    namespaces: Mapping[str, str],
    documents: Sequence[bytes],
) -> Counter[str]:
    """Compares all queries on all documents, which are one batch."""
    good = {}
    for name, xpath in queries.items():
        try:
            parse_checked(xpath, namespaces)
        except QuerySyntaxError:
            continue
        good[name] = xpath
    scheme = prepare(schema, extract.Subscriptions.of(good, dict(namespaces)), 1)
    automaton = automaton_of(scheme)
    units = [unit for document in documents if (unit := unit_of(document, automaton)) is not None]
    assert units
    questions = questions_of(scheme)
    counts = compare(units, questions, scheme.namespaces)
    matcher = ColumnarMatcher(questions, scheme.namespaces, None)
    counts["questions"] = len(questions)
    counts["questions declined"] = len(matcher.declined)
    for reason in matcher.declined.values():
        counts[f"because of {reason}"] += 1
    return counts


def lines(path: Path, every: int) -> dict[str, str]:
    """Each so manieth query of a file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    return {row[0]: row[1] for row in rows[::every]}


def nitf(data: Path, kind: str, every: int, documents: int) -> Counter[str]:
    schema = Schema.load(data / "nitf" / "nitf.dtd", "nitf")
    files = sorted((data / "nitf" / "docs").glob("*.xml"))[:documents]
    queries = lines(data / "nitf" / f"{kind}.tsv.gz", every)
    return check(schema, queries, {}, [file.read_bytes() for file in files])


def xmark(data: Path) -> Counter[str]:
    schema = Schema.load(data / "xmark" / "auction.dtd", "site")
    rows = (data / "xmark" / "xpathmark.jsonl").read_text().splitlines()
    read = [json.loads(row) for row in rows]
    # What is declined, libxml2 would take minutes for.
    slow = ("following::", "preceding::")
    queries = {row["id"]: row["xpath"] for row in read if not any(s in row["xpath"] for s in slow)}
    document = gzip.decompress((data / "xmark" / "xmark-f0.1.xml.gz").read_bytes())
    return check(schema, queries, {}, [document])


def ubl(data: Path, every: int, documents: int) -> Counter[str]:
    schema = Schema.load(
        data / "ubl" / "schema" / "maindoc" / "UBL-Invoice-2.1.xsd",
        "{urn:oasis:names:specification:ubl:schema:xsd:Invoice-2}Invoice",
    )
    rows = (data / "ubl" / "rules.jsonl").read_text(encoding="utf-8").splitlines()
    read = [json.loads(row) for row in rows[::every]]
    namespaces: dict[str, str] = {}
    for row in read:
        namespaces.update(row.get("namespaces") or {})
    queries = {str(row["id"]): row["xpath"] for row in read}
    files = sorted((data / "ubl" / "docs").iterdir())[:documents]
    return check(schema, queries, namespaces, [file.read_bytes() for file in files])


def wordnet(data: Path, every: int, documents: int) -> Counter[str]:
    schema = Schema.load(
        data / "wordnet" / "WN-LMF-relaxed-1.1.dtd", "LexicalResource", DUBLIN_CORE
    )
    rows = (data / "wordnet" / "queries.tsv").read_text(encoding="utf-8").splitlines()
    pairs = [row.split("\t") for row in rows if row and not row.startswith("#")]
    queries = {pair[0]: pair[1] for pair in pairs[::every]}
    files = sorted((data / "wordnet" / "docs").iterdir(), key=lambda file: file.stat().st_size)
    read = [file.read_bytes() for file in files[:documents]]
    return check(schema, queries, DUBLIN_CORE, read)


@pytest.mark.parametrize("kind", ["linear", "nested1", "nested2"])
def test_news(shared_data: Path, kind: str) -> None:
    counts = nitf(shared_data, kind, 1000, 5)
    assert counts["answered"] > 100
    assert not counts["declined"]


def test_invoices(shared_data: Path) -> None:
    assert ubl(shared_data, 20, 3)["answered"] > 30


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["linear", "nested1", "nested2"])
def test_news_at_length(shared_data: Path, kind: str) -> None:
    print(kind, dict(nitf(shared_data, kind, 50, 30)))


@pytest.mark.slow
def test_auctions_at_length(shared_data: Path) -> None:
    print("xmark", dict(xmark(shared_data)))


@pytest.mark.slow
def test_invoices_at_length(shared_data: Path) -> None:
    print("ubl", dict(ubl(shared_data, 1, 40)))


@pytest.mark.slow
def test_all_of_wordnet(shared_data: Path) -> None:
    print("wordnet", dict(wordnet(shared_data, 20, 2)))
