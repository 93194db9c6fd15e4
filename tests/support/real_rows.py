"""Rows of queries on real documents, compared with libxml2's answers."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from lxml import etree

import extract
from extract.filtertool.document_filter import document_filter
from extract.filtertool.matchers.registry import load_matcher
from extract.filtertool.options import Options
from extract.preptool.prepare import prepare
from extract.scheme.model import Scheme
from tests.support.anatomy import pieces
from tests.support.filter_rounds import KERNELS, MATCHERS
from tests.support.generate import oracle


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
        return [self.row(*node) for node in found] if kind == "nodes" else [(kind, None)]

    def row(self, kind: str, *what: Any) -> tuple[Any, ...]:
        """Kind and start of a node of an answer."""
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
        subscribers = list(filters[0].plan.scheme.subscribers)
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


def xmark_cut(data: Path, most: int) -> bytes:
    """The auction site with so many records of each kind: fewer, so its edges are the same."""
    root = etree.fromstring(gzip.decompress((data / "xmark/xmark-f0.1.xml.gz").read_bytes()))
    for parent in [*root.find("regions"), *(e for e in root if e.tag != "regions")]:
        del parent[most:]
    return bytes(etree.tostring(root))
