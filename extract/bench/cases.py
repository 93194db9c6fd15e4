"""Schemas with queries and documents to measure on: the paper's scenarios, and real data."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from extract.scenarios import scenario
from extract.scenarios.queries import random_queries
from extract.schema.model import Schema
from extract.subscriptions import Subscriptions

_SLOW = re.compile(r"following::|preceding::|= /|//.*//|//\*")


@dataclass(frozen=True, slots=True)
class Case:
    """What one measurement is about.

    Attributes:
        name: What the table calls it.
        schema: The schema.
        queries: The queries.
        documents: What is filtered.
        samples: Other documents of the same kind, to estimate from; the same, if there are none.
    """

    name: str
    schema: Schema
    queries: Subscriptions
    documents: list[bytes] = field(repr=False)
    samples: list[bytes] = field(repr=False)


def cases(data: Path | None, scale: float) -> Iterator[Case]:
    """The paper's two scenarios; and NITF messages and an XMark document, where they are."""
    for name in ("university", "ejb"):
        one = scenario(name)
        size = int(one.generator.SIZE_BYTES * min(1.0, scale))
        documents = [b"".join(one.document(size, seed)) for seed in (1, 2)]
        queries = one.queries(max(10, int(one.generator.QUERIES * min(1.0, scale))))
        yield Case(name, one.schema(), queries, documents[:1], documents[1:])
    if data is not None:
        yield _nitf(data / "nitf", scale)
        yield _xmark(data / "xmark", scale)


def _nitf(folder: Path, scale: float) -> Case:
    """Many queries without filters on small messages."""
    files = sorted((folder / "docs").glob("*.xml"))
    documents = [file.read_bytes() for file in files]
    queries = Subscriptions.load(folder / "linear.tsv.gz")[: max(10, int(2_000 * scale))]
    schema = Schema.load(folder / "nitf.dtd", "nitf")
    return Case("nitf", schema, Subscriptions.of(queries), documents[::20], documents[1::20])


def _xmark(folder: Path, scale: float) -> Case:
    """One large document; hand-written queries, and random ones.

    Without those that libxml2 takes seconds or minutes for, however the document is cut: along
    ``following`` and ``preceding``, joins by value, and ``//`` again and again.
    """
    with gzip.open(folder / "xmark-f0.1.xml.gz") as file:
        document = file.read()
    schema = Schema.load(folder / "auction.dtd", "site")
    written = [one.xpath for one in Subscriptions.load(folder / "xpathmark.jsonl")]
    made = random_queries(schema, max(10, int(300 * scale)), filters=1)
    queries = [xpath for xpath in (*written, *made) if not _SLOW.search(xpath)]
    return Case("xmark", schema, Subscriptions.of(queries), [document], [document])
