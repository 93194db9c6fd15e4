"""Figures 11 and 12 of the paper: cut, evaluate each chunk's own queries, compare with the whole.

As the paper does it, but with lxml: a document is cut, each chunk parsed, and each of its queries
evaluated as one compiled XPath; the original is parsed whole, and each query evaluated as it was
registered. `sequential` is cutting and all chunks; `parallel` is cutting and the longest chunk, as
if there were a processor for each; a first answer is there after cutting and the shortest chunk.

Queries that mean the same are evaluated once in a chunk, but as often as they were registered on
the original. So there is a third figure: different queries once, on the whole document. What lies
between it and the chunks is the gain of chunks alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from lxml import etree

from extract.bench.experiments.clock import best
from extract.bench.experiments.ours import numbers_of, seconds_of
from extract.bench.experiments.subject import CHUNKS, Subject
from extract.chunktool.chunks import chunk
from extract.markup.lxml_parser import parse_tree
from extract.preptool.prepare import prepare
from extract.scheme.model import Scheme


@dataclass(frozen=True, slots=True)
class ChunkTiming:
    """One chunk: what it is, how large, how many queries it has, and what evaluating them takes."""

    name: str
    queries: int
    size_bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class CutTiming:
    """One way to cut documents.

    Attributes:
        chunks: The number asked for, or ``auto``.
        cut_seconds: What cutting takes.
        parts: The chunks, the potpourri last.
    """

    chunks: int | Literal["auto"]
    cut_seconds: float
    parts: tuple[ChunkTiming, ...]

    @property
    def sequential(self) -> float:
        """Cutting, and one chunk after the other."""
        return self.cut_seconds + sum(part.seconds for part in self.parts)

    @property
    def parallel(self) -> float:
        """Cutting, and all chunks at the same time: when the latest answer is there."""
        return self.cut_seconds + max(part.seconds for part in self.parts)

    @property
    def earliest(self) -> float:
        """Cutting, and the shortest chunk: when the first answers are there."""
        return self.cut_seconds + min(part.seconds for part in self.parts)


@dataclass(frozen=True, slots=True)
class Run:
    """One set of queries, cut in several ways.

    Attributes:
        queries: How many.
        different: How many of them are different.
        original: All of them on the whole documents.
        once: Different ones once, on the whole documents.
        cuts: Ways to cut.
        numbers: All in all with our own matcher: numbers of nodes.
        rows: The same: every node, with path, span and value.
        nodes: How many nodes they select.
        wrong: Queries that select another number of nodes on the original than with us.
    """

    queries: int
    different: int
    original: float
    once: float
    cuts: tuple[CutTiming, ...]
    numbers: float
    rows: float
    nodes: int
    wrong: tuple[str, ...]


def run(subject: Subject, queries: int) -> Run:
    """Measures one set of queries with 2 to 6 chunks, and with as many as auto takes."""
    documents = subject.few_documents
    schemes: dict[int | Literal["auto"], Scheme] = {}
    for number in CHUNKS:
        scheme = subject.scheme(queries, number)
        if len(scheme.chunks) == number:  # else the queries give no more
            schemes[number] = scheme
    registered = subject.subscriptions(queries)
    schemes["auto"] = prepare(subject.schema, registered, "auto", sample=[subject.sample])
    usual = schemes["auto"]
    as_written = [etree.XPath(q.xpath, namespaces=q.namespaces) for q in registered]
    branches = [
        etree.XPath(xpath, namespaces=dict(usual.namespaces))
        for chunk in usual.every_chunk
        for xpath in usual.directory.xpaths_in(chunk)
    ]
    original, selected = best(lambda: _evaluate(documents, as_written))
    once, _ = best(lambda: _evaluate(documents, branches))
    cuts = tuple(_cut(scheme, documents, number) for number, scheme in schemes.items())
    numbers, rows = (seconds_of(usual, documents, "count"), seconds_of(usual, documents, "nodes"))
    theirs = dict(zip([q.id for q in registered], selected, strict=True))
    ours: Counter[str] = Counter()
    for matches in numbers_of(usual, documents):
        ours.update(matches)
    return Run(
        queries,
        usual.counts()["canonical"],
        original,
        once,
        cuts,
        numbers,
        rows,
        sum(theirs.values()),
        tuple(q.id for q in registered if theirs[q.id] != ours[q.id]),
    )


def _evaluate(documents: Sequence[bytes], queries: Sequence[etree.XPath]) -> list[int]:
    """Parses documents and evaluates queries; gives the number of nodes of each query."""
    counts = [0] * len(queries)
    for document in documents:
        tree = parse_tree(document)
        for number, query in enumerate(queries):
            result = query(tree)
            counts[number] += len(result) if isinstance(result, list) else bool(result)
    return counts


def _cut(scheme: Scheme, documents: Sequence[bytes], number: int | Literal["auto"]) -> CutTiming:
    """Cuts the documents, and evaluates each chunk on all of them."""
    seconds, cut = best(
        lambda: [[(p.id, p.xml()) for p in chunk(scheme, document)] for document in documents]
    )
    namespaces = dict(scheme.namespaces)
    parts = []
    for one in scheme.every_chunk:
        if not one.branches:
            continue
        xpaths = scheme.directory.xpaths_in(one)
        queries = [etree.XPath(xpath, namespaces=namespaces) for xpath in xpaths]
        ours = [xml for document in cut for name, xml in document if name == one.id]
        taken, _ = best(partial(_evaluate, ours, queries))
        name = one.prefix or one.id
        parts.append(ChunkTiming(name, scheme.directory.count_in(one), sum(map(len, ours)), taken))
    return CutTiming(number, seconds, tuple(parts))
