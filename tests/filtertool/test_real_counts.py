"""Every query of the real sets on every document of theirs: the numbers of nodes are libxml2's."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import extract
from extract.filtertool.document_filter import document_filter
from extract.filtertool.matchers.lxml.parsed_unit import compiled
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.options import Options
from extract.markup.lxml_parser import parse_tree

_PARTS = 10  # into which a query set is divided, each with another number of chunks


def read(paths: Sequence[Path]) -> list[tuple[str, bytes]]:
    data = [(path, path.read_bytes()) for path in paths]
    return [(p.name, gzip.decompress(d) if p.suffix == ".gz" else d) for p, d in data]


def differences(
    schema: extract.Schema,
    queries: Sequence[extract.Subscription],
    chunks: int,
    documents: Sequence[tuple[str, bytes]],
) -> tuple[int, list[str]]:
    """How many answers were compared, and those that differ."""
    scheme = extract.prepare(schema, extract.Subscriptions.of(list(queries)), chunks)
    ready = document_filter(scheme, load_matcher(), Options("count"))
    subscribers = list(scheme.subscribers)
    asked = [compiled(one.absolute, scheme.namespaces) for one in subscribers]
    wrong: list[str] = []
    for (name, data), done in zip(documents, ready.process(documents), strict=True):
        assert not done.rejections
        found = np.zeros(len(subscribers), np.int64)
        found[done.findings.subscriber] = done.findings.count
        tree = parse_tree(data)
        wanted = np.array([len(query(tree)) for query in asked], np.int64)
        wrong += [f"{name}: {subscribers[n]}" for n in np.flatnonzero(found != wanted).tolist()]
    return len(subscribers) * len(documents), wrong


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["linear", "nested1", "nested2"])
@pytest.mark.parametrize("part", range(_PARTS))
def test_news(shared_data: Path, kind: str, part: int) -> None:
    data = shared_data / "nitf"
    schema = extract.Schema.load(data / "nitf.dtd", "nitf")
    queries = extract.Subscriptions.load(data / f"{kind}.tsv.gz")[part::_PARTS]
    documents = read(sorted(data.rglob("*.xml")))
    compared, wrong = differences(schema, queries, part % 8 + 1, documents)
    assert compared == 2_000_000
    assert not wrong


@pytest.mark.slow
@pytest.mark.parametrize("part", range(6))
def test_words(shared_data: Path, part: int) -> None:
    data = shared_data / "wordnet"
    schema = extract.Schema.load(data / "WN-LMF-relaxed-1.1.dtd", "LexicalResource")
    queries = extract.Subscriptions.load(data / "queries.tsv")[part::6]
    compared, wrong = differences(schema, queries, part + 1, read(sorted(data.rglob("*.xml*"))))
    assert compared == 6_000
    assert not wrong


def test_some_news(shared_data: Path) -> None:
    data = shared_data / "nitf"
    schema = extract.Schema.load(data / "nitf.dtd", "nitf")
    queries = extract.Subscriptions.load(data / "nested1.tsv.gz")[::200]
    compared, wrong = differences(schema, queries, 4, read(sorted(data.rglob("*.xml"))[:10]))
    assert compared == 5_000
    assert not wrong
