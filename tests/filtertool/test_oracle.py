"""Oracle 2: chunked and filtered, every query gives what libxml2 gives on the whole document.

One *round* is a random schema, query set and number of chunks, and a few documents, conforming and
not. All columns of all rows are compared. ``python -m tests.filtertool.test_oracle 1000`` runs
rounds in bulk.
"""

from __future__ import annotations

import gzip
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pytest

import extract
from extract.chunktool.input.source import Document
from extract.chunktool.scan.driver import kernel_available
from extract.errors import QuerySyntaxError
from extract.filtertool.document_filter import DocumentFilter, document_filter
from extract.filtertool.matchers.protocol import MatcherFactory
from extract.filtertool.matchers.registry import load_matcher, matcher_names
from extract.filtertool.options import Options
from extract.filtertool.results import describe_nodes
from extract.filtertool.results.outcome import DocumentOutcome
from extract.preptool.prepare import prepare
from extract.scheme.model import Scheme
from extract.xpath.check import parse_checked
from tests.support.anatomy import pieces
from tests.support.equivalence import LIMITS
from tests.support.expected_rows import ExpectedRows, Row, agree, row_of
from tests.support.generate import documents as generate
from tests.support.generate import oracle
from tests.support.generate.draw import between, chance, pick
from tests.support.generate.queries import PROFILES, Queries
from tests.support.generate.schemas import schema as random_schema
from tests.transtool.test_real import xmark_cut

MATCHERS = [name for name in ("lxml", "columnar") if name in matcher_names()]
KERNELS = [False, True] if kernel_available() else [False]


def rows_of(filter_: DocumentFilter[Document], done: DocumentOutcome) -> dict[str, list[Row]]:
    """The rows of each query; none of it has found nothing."""
    ids = [one.id for one in filter_.plan.subscribers]
    rows: dict[str, list[Row]] = {name: [] for name in ids}
    for match in done.findings.matches(done.document, ids):
        assert match.ordinal == len(rows[match.query])
        rows[match.query].append(row_of(match))
    return rows


def counts_of(filter_: DocumentFilter[Document], done: DocumentOutcome) -> dict[str, int]:
    """The number of nodes of each query that has found any."""
    ids = [one.id for one in filter_.plan.subscribers]
    found = done.findings
    pairs = zip(found.subscriber.tolist(), found.count.tolist(), strict=True)
    return {ids[who]: count for who, count in pairs}


def expected_count(rows: list[Row]) -> int:
    """The number of nodes; of a value 1 if it is true."""
    false = {"number": ("0", "-0", "NaN"), "string": ("",), "boolean": ("false",)}
    if rows and rows[0][0] in false:
        return int(rows[0][-1] not in false[rows[0][0]])
    return len(rows)


class Round:
    """A scheme and documents, to be filtered in many ways."""

    def __init__(self, rng: Random, queries: int, documents: int = 3) -> None:
        self.rng = rng
        schema = random_schema(rng).load()
        writer = Queries(schema)
        self.namespaces = writer.namespaces
        self.texts: dict[str, str] = {}
        for i in range(queries):
            xpath = writer.query(rng, pick(rng, sorted(PROFILES)))
            try:
                parse_checked(xpath, writer.namespaces)
            except QuerySyntaxError:
                continue
            self.texts[f"q{i}"] = xpath
        subscriptions = extract.Subscriptions.of(self.texts, writer.namespaces)
        self.scheme = prepare(
            schema, subscriptions, between(rng, 1, 8), expansion=pick(rng, LIMITS)
        )
        maker = generate.Documents(schema)
        self.documents = [self._document(maker) for _ in range(documents)]

    def _document(self, maker: generate.Documents) -> bytes:
        rng = self.rng
        options = generate.Options(
            size=between(rng, 5, 50),
            strict=chance(rng, 50),
            odd=10,
            markup_entities=chance(rng, 10),
            encoding=pick(rng, ("utf-8", "utf-8", "utf-8", "utf-16", "iso-8859-1")),
        )
        if chance(rng, 20):
            return maker.wrong(rng, options)
        return maker.document(rng, options)

    def schemes(self) -> list[Scheme]:
        """The scheme, with whole subtrees and with only what is needed of them."""
        scheme = self.scheme
        less = [replace(chunk, projected=True) for chunk in scheme.chunks]
        return [scheme, replace(scheme, chunks=tuple(less))]

    def check(
        self,
        factory: MatcherFactory,
        scheme: Scheme,
        kernel: bool,
        large: bool = False,
        priority: bool = False,
    ) -> Counter[str]:
        """Compares all rows of all queries on all documents.

        Args:
            factory: The matcher.
            scheme: The scheme.
            kernel: Which scanner.
            large: Treat documents as if they were too large for memory, and nodes as too many to
                describe them one by one.
            priority: Evaluate chunk by chunk, the heaviest first.
        """
        with patch.object(describe_nodes, "MANY", 0 if large else describe_nodes.MANY):
            return self._check(factory, scheme, kernel, large, priority)

    def _check(
        self, factory: MatcherFactory, scheme: Scheme, kernel: bool, large: bool, priority: bool
    ) -> Counter[str]:
        batch: list[tuple[str, Any]] = [
            (str(n), BytesIO(document) if large else document)
            for n, document in enumerate(self.documents)
        ]
        options = Options(kernel=kernel, priority=priority)
        nodes = document_filter(scheme, factory, replace(options, in_memory=0))
        count = document_filter(scheme, factory, replace(options, select="count"))
        doc = document_filter(scheme, factory, replace(options, select="doc"))
        compared: Counter[str] = Counter()
        runs = []
        for each in (nodes, count, doc):
            runs.append(each.process(batch))
            for _, stream in batch if large else ():
                stream.seek(0)
        for document, *done in zip(self.documents, *runs, strict=True):
            compared[done[0].fate] += 1
            assert done[0].fate != "rejected", (done[0], document)
            expected = ExpectedRows(document)
            rows = rows_of(nodes, done[0])
            counts, matching = counts_of(count, done[1]), counts_of(doc, done[2])
            failed = {one.query for one in done[0].rejections}
            for name, xpath in self.texts.items():
                wanted = expected.rows(xpath, self.namespaces)
                if isinstance(wanted, str):
                    assert name in failed, (xpath, wanted)
                    continue
                compared["answers"] += 1
                context = (xpath, wanted, rows[name], document, scheme)
                assert agree(rows[name], wanted), context
                assert counts.get(name, 0) == expected_count(wanted), context
                assert (name in matching) == bool(expected_count(wanted)), context
        return compared


def round_of(seed: int, queries: int = 40) -> Counter[str]:
    """One round with all matchers, scanners and kinds of chunks."""
    total: Counter[str] = Counter()
    one = Round(Random(seed), queries)
    for name in MATCHERS:
        for scheme in one.schemes():
            for kernel in KERNELS:
                large, priority = bool(seed % 2), seed % 3 == 0
                total += one.check(load_matcher(name), scheme, kernel, large, priority)
    return total


@pytest.mark.parametrize("seed", range(12))
def test_every_query_gives_what_libxml2_gives_on_the_whole_document(seed: int) -> None:
    assert round_of(seed)["answers"] > 50


@pytest.mark.slow
def test_every_query_gives_what_libxml2_gives_at_length() -> None:
    total: Counter[str] = Counter()
    for seed in range(1_000, 3_000):
        total += round_of(seed)
    print(f"no difference: {dict(total)}")


# -- real data


class RealRows:
    """What queries give on a real document: kinds and places, from libxml2's answers."""

    def __init__(self, document: bytes) -> None:
        self.tree = oracle.parse(document)
        nodes = list(self.tree.rank)
        parts = pieces(document)
        elements = iter([part.start for part in parts if part.is_start])
        asides = iter([part.start for part in parts if part.kind in ("comment", "pi")])
        self.starts = [next(elements if isinstance(n.tag, str) else asides) for n in nodes]
        assert next(elements, None) is next(asides, None) is None
        self.parents = [self.tree.rank.get(node.getparent(), -1) for node in nodes]

    def rows(self, xpath: str, namespaces: Mapping[str, str]) -> list[tuple[Any, ...]] | None:
        """Kind and start of each node; None for an error."""
        kind, *found = oracle.answer(self.tree, xpath, namespaces)
        if kind == "error":
            return None
        return [self._row(*node) for node in found] if kind == "nodes" else [(kind, None)]

    def _row(self, kind: str, *what: Any) -> tuple[Any, ...]:
        if kind in ("namespace", "declared"):
            return (kind, None)
        owner = self.parents[what[0]] if kind == "tail" else what[0]
        return ("text" if kind == "tail" else kind, self.starts[owner])


def check_real(scheme: Scheme, documents: Mapping[str, bytes]) -> Counter[str]:
    """Compares the nodes of all queries on documents, with all matchers and scanners."""
    compared: Counter[str] = Counter()
    namespaces = dict(scheme.namespaces)
    filters = [
        document_filter(scheme, load_matcher(name), Options(kernel=kernel))
        for name in MATCHERS
        for kernel in KERNELS
    ]
    for name, document in documents.items():
        expected = RealRows(document)
        subscribers = filters[0].plan.subscribers
        wanted = {one.id: expected.rows(one.absolute, namespaces) for one in subscribers}
        for each in filters:
            (done,) = each.process([(name, document)])
            compared[done.fate] += 1
            found: dict[str, list[tuple[Any, ...]]] = {one.id: [] for one in subscribers}
            for match in done.findings.matches(name, list(found)):
                found[match.query].append((match.node, match.start))
            failed = {one.query for one in done.rejections}
            for one in subscribers:
                rows = wanted[one.id]
                assert (rows is None) == (one.id in failed), (name, one.xpath)
                assert rows is None or found[one.id] == rows, (name, one.xpath)
                compared["answers"] += 1
                compared["rows"] += len(found[one.id])
    return compared


# libxml2 took more than 25 s for each, on the whole document
ENDLESS = ("XPM-B9", "XPM-B10")


def real_scheme(
    data: Path,
    schema: str,
    root: str,
    queries: str,
    step: int,
    chunks: int,
    without: Collection[str] = ENDLESS,
) -> Scheme:
    """A scheme for every ``step``-th query of a real query file."""
    loaded = extract.Subscriptions.load(data / queries)[::step]
    subscriptions = extract.Subscriptions.of([one for one in loaded if one.id not in without])
    return prepare(extract.Schema.load(data / schema, root or None), subscriptions, chunks)


def read(paths: Iterable[Path]) -> dict[str, bytes]:
    """Documents, unpacked."""
    out = {}
    for path in paths:
        data = path.read_bytes()
        out[path.name] = gzip.decompress(data) if path.suffix == ".gz" else data
    return out


def test_news(shared_data: Path) -> None:
    data = shared_data / "nitf"
    documents = read(sorted(data.rglob("*.xml"))[:4])
    for queries, step in (("linear.tsv.gz", 1_000), ("nested1.tsv.gz", 2_000)):
        scheme = real_scheme(data, "nitf.dtd", "nitf", queries, step, 4)
        assert check_real(scheme, documents)["answers"] >= 200


def test_invoices(shared_data: Path) -> None:
    data = shared_data / "ubl"
    documents = read(sorted((data / "docs").iterdir())[::80])
    scheme = real_scheme(data, "schema/maindoc/UBL-Invoice-2.1.xsd", "", "rules.jsonl", 12, 5)
    assert check_real(scheme, documents)["answers"] >= 200


@pytest.mark.slow
def test_all_real_data(shared_data: Path) -> None:
    total: Counter[str] = Counter()
    news = shared_data / "nitf"
    for queries in ("linear.tsv.gz", "nested1.tsv.gz", "nested2.tsv.gz"):
        scheme = real_scheme(news, "nitf.dtd", "nitf", queries, 200, 6)
        total += check_real(scheme, read(sorted(news.rglob("*.xml"))))
    data = shared_data / "ubl"
    scheme = real_scheme(data, "schema/maindoc/UBL-Invoice-2.1.xsd", "", "rules.jsonl", 1, 8)
    total += check_real(scheme, read(sorted((data / "docs").iterdir())))
    data = shared_data / "wordnet"
    scheme = real_scheme(data, WORDNET, "LexicalResource", "queries.tsv", 50, 3)
    total += check_real(scheme, read(sorted(data.rglob("*.xml*"))))
    data = shared_data / "xmark"
    scheme = real_scheme(data, "auction.dtd", "site", "xpathmark.jsonl", 1, 4)
    total += check_real(scheme, read(sorted(data.rglob("*.xml.gz"))))
    endless = real_scheme(data, "auction.dtd", "site", "xpathmark.jsonl", 1, 4, without=())
    total += check_real(endless, {"cut": xmark_cut(shared_data, 200)})
    print(f"no difference: {dict(total)}")


WORDNET = "WN-LMF-relaxed-1.1.dtd"


def main() -> None:
    """Runs rounds from consecutive seeds and prints what was compared."""
    rounds, start = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    total: Counter[str] = Counter()
    for seed in range(start, start + rounds):
        try:
            total += round_of(seed)
        except AssertionError:
            print(f"seed {seed}")
            raise
    print(f"no difference: {dict(total)}")


if __name__ == "__main__":
    main()
