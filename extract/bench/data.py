"""What the benchmarks run on: scenarios that generate their own data, and real data if it is there.

A `Corpus` is documents of one schema, with queries that ask for about a tenth of their bytes, and
queries that ask for all of them.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lxml import etree

from extract.scenarios import scenario
from extract.schema.model import Schema
from extract.subscriptions import Subscriptions


@dataclass(frozen=True, slots=True)
class Corpus:
    """Documents of one schema, and queries for them.

    Attributes:
        name: What it is called, with what is special about it.
        schema: Its schema.
        documents: The documents.
        tenth: Queries that need about a tenth of the bytes.
        everything: Queries that need all of them.
    """

    name: str
    schema: Schema = field(repr=False)
    documents: tuple[bytes, ...] = field(repr=False)
    tenth: Subscriptions = field(repr=False)
    everything: Subscriptions = field(repr=False)

    @property
    def size(self) -> int:
        """Bytes of all documents."""
        return sum(map(len, self.documents))


def corpora(data: Path | None, scale: float) -> Iterator[Corpus]:
    """The university, and what real data there is."""
    university = scenario("university")
    size = max(20_000, int(scale * 5_088_000))
    kinds = ("student", "professor", "assistant", "secretary", "lecturer")
    yield Corpus(
        "university",
        university.schema(),
        (b"".join(university.document(size)),),
        _asking("/db/lecturer", "/db/secretary"),
        _asking(*[f"/db/{kind}" for kind in kinds]),
    )
    if data is not None:
        yield from _real(data, scale)


def _real(data: Path, scale: float) -> Iterator[Corpus]:
    site = Schema.load(data / "xmark" / "auction.dtd", "site")
    parts = ("regions", "people", "open_auctions", "closed_auctions", "categories", "catgraph")
    yield Corpus(
        "xmark: texts",
        site,
        (gzip.decompress((data / "xmark" / "xmark-f0.1.xml.gz").read_bytes()),),
        _asking("/site/people"),
        _asking(*[f"/site/{part}" for part in parts]),
    )
    dublin_core = {"dc": "https://globalwordnet.github.io/schemas/dc/"}
    words = data / "wordnet" / "WN-LMF-relaxed-1.1.dtd"
    lexicon = "/LexicalResource/Lexicon"
    yield Corpus(
        "wordnet: attributes",
        Schema.load(words, "LexicalResource", dublin_core),
        _files(data / "wordnet" / "docs"),
        _asking(f"{lexicon}/Synset/Example"),
        _asking(f"{lexicon}/LexicalEntry", f"{lexicon}/Synset", f"{lexicon}/SyntacticBehaviour"),
    )
    news = Schema.load(data / "nitf" / "nitf.dtd", "nitf")
    messages = _files(data / "nitf" / "docs", scale)
    content = "/nitf/body/body.content"
    yield Corpus(
        "nitf: deep",
        news,
        (_one_message(messages, int(3e6 * scale)),),
        _asking(f"{content}/media"),
        _asking(*[f"{content}/{kind}" for kind in ("table", "bq", "block", "ol", "note", "*")]),
    )
    yield Corpus(
        "nitf: 4 KB each",
        news,
        messages,
        _asking("/nitf/body/body.head/abstract"),
        _asking("/nitf/head", "/nitf/body/body.head", "/nitf/body/body.content", "/nitf/body"),
    )
    invoice = Schema.load(data / "ubl" / "schema" / "maindoc" / "UBL-Invoice-2.1.xsd")
    yield Corpus(
        "ubl: 17 KB each",
        invoice,
        _files(data / "ubl" / "docs", scale),
        _asking("/i:Invoice/cac:AccountingCustomerParty", **_UBL),
        _asking("/i:Invoice/*", **_UBL),
    )


_UBL = {
    "i": "urn:oasis:names:specification:ubl:schema:xsd:Invoice-2",
    "cac": "urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2",
}


def _one_message(messages: Iterable[bytes], size: int) -> bytes:
    """One message with the content of many, again and again until it is large."""
    parts = [etree.fromstring(message).find("body/body.content") for message in messages]
    content = b"".join([etree.tostring(e) for part in parts if part is not None for e in part])
    times = max(1, size // len(content))
    return b"<nitf><body><body.content>%b</body.content></body></nitf>" % (times * content)


def _files(folder: Path, part: float = 1.0) -> tuple[bytes, ...]:
    files = sorted(folder.rglob("*.xml"))
    return tuple([path.read_bytes() for path in files[: max(1, int(len(files) * part))]])


def _asking(*xpaths: str, **namespaces: str) -> Subscriptions:
    return Subscriptions.of({str(n): xpath for n, xpath in enumerate(xpaths, 1)}, namespaces)
