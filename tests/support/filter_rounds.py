"""Random rounds of filtering, compared with what libxml2 gives on the whole document.

One *round* is a random schema, query set and number of chunks, and a few documents, conforming and
not. All columns of all rows are compared. ``python -m tests.support.filter_rounds 1000`` runs
rounds in bulk.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from io import BytesIO
from random import Random
from typing import Any
from unittest.mock import patch

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
from tests.support.equivalence import LIMITS
from tests.support.expected_rows import ExpectedRows, Row, agree, row_of
from tests.support.generate import documents as generate
from tests.support.generate.draw import between, chance, pick
from tests.support.generate.queries import PROFILES, Queries
from tests.support.generate.schemas import schema as random_schema
from tests.support.siblings import siblings

MATCHERS = [name for name in ("lxml", "columnar") if name in matcher_names()]
KERNELS = [False, True] if kernel_available() else [False]


def rows_of(filter_: DocumentFilter[Document], done: DocumentOutcome) -> dict[str, list[Row]]:
    """The rows of each query; none of it has found nothing."""
    ids = filter_.plan.ids
    rows: dict[str, list[Row]] = {name: [] for name in ids}
    for match in done.findings.matches(done.document, ids):
        assert match.ordinal == len(rows[match.query])
        rows[match.query].append(row_of(match))
    return rows


def counts_of(filter_: DocumentFilter[Document], done: DocumentOutcome) -> dict[str, int]:
    """The number of nodes of each query that has found any."""
    ids = filter_.plan.ids
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
            if chance(rng, 20):  # then there is a template with a few members, or with many
                more = siblings(rng, xpath, writer.namespaces, pick(rng, (1, 2, 15)))
                self.texts.update((f"q{i}.{n}", other) for n, other in enumerate(more))
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
