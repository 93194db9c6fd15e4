"""Sets of real data: folders that have documents, queries that people wrote, and a schema."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeVar

from lxml import etree

from extract.schema.model import Schema
from extract.subscriptions import Subscriptions

_LARGE: Final = 1 << 18  # bytes, from which on documents are measured apart
_QUERIES: Final = 2_000
_DOCUMENTS: Final = 40
_BYTES: Final = 8 << 20  # of all documents of a set
_QUERY_FILES: Final = ("queries.*", "rules.*", "*.jsonl", "*.jsonl.gz", "*.tsv", "*.tsv.gz")
_SCHEMA_FILES: Final = ("*.dtd", "*.xsd", "schema*/maindoc/*.xsd", "schema*/*.xsd", "schema*/*.dtd")
_XSD: Final = "http://www.w3.org/2001/XMLSchema"

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class RealSet:
    """Documents of one schema, and queries.

    Attributes:
        name: What it is called, with what is special about it.
        schema: The schema.
        queries: The queries.
        documents: The documents.
    """

    name: str
    schema: Schema = field(repr=False)
    queries: Subscriptions = field(repr=False)
    documents: tuple[bytes, ...] = field(repr=False)

    def part(self, queries: int, documents: int) -> RealSet:
        """Some of the queries and some of the documents, from all over."""
        some = _some(self.queries, queries)
        chosen = self.queries if len(some) == len(self.queries) else Subscriptions.of(some)
        return replace(self, queries=chosen, documents=tuple(_some(self.documents, documents)))

    def small(self, most: int) -> RealSet:
        """The documents that have fewer bytes."""
        return replace(self, documents=tuple([one for one in self.documents if len(one) < most]))

    def broken(self) -> RealSet:
        """The same documents with an element at the end that the schema does not have."""
        documents = tuple([_with_unknown(document) for document in self.documents])
        return replace(self, name=f"{self.name}, broken", documents=documents)


def real_sets(data: Path, scale: float) -> Iterator[RealSet]:
    """The sets in a folder, or the folder itself if it is one; large documents apart.

    Args:
        data: A folder with ``docs/*.xml`` or ``*.xml.gz``, a file of queries and a schema; or one
            with such folders. Where there is no schema, documents are taken as they are.
        scale: What part of the queries and documents to take.
    """
    for whole in whole_sets(data):
        chosen = Subscriptions.of(_some(whole.queries, int(_QUERIES * scale)))
        kinds = {"": [d for d in whole.documents if len(d) < _LARGE]}
        kinds[", large"] = [d for d in whole.documents if len(d) >= _LARGE]
        for kind, of_kind in kinds.items():
            if of_kind:
                some = _some(of_kind, int(_DOCUMENTS * scale))
                while len(some) > 1 and sum(map(len, some)) > _BYTES:
                    some = some[:-1]
                yield RealSet(f"{whole.name}{kind}", whole.schema, chosen, tuple(some))


def whole_sets(data: Path) -> Iterator[RealSet]:
    """The sets in a folder, or the folder itself if it is one, with all documents and queries."""
    folders = [data] if _files(data, _QUERY_FILES) else sorted(data.iterdir())
    for folder in folders:
        queries, documents = _files(folder, _QUERY_FILES), _documents(folder)
        if not (queries and documents):
            continue
        schemas, name = _files(folder, _SCHEMA_FILES), folder.name
        schema = _schema(_fitting(schemas, documents), documents[0]) if schemas else Schema.none()
        if not schemas:
            name += ", no schema"
        yield RealSet(name, schema, Subscriptions.load(queries[0]), tuple(documents))


def _files(folder: Path, patterns: Sequence[str]) -> list[Path]:
    return [path for pattern in patterns for path in sorted(folder.glob(pattern))]


def _documents(folder: Path) -> list[bytes]:
    plain = [path.read_bytes() for path in sorted((folder / "docs").rglob("*.xml"))]
    packed = [*folder.glob("*.xml.gz"), *(folder / "docs").rglob("*.xml.gz")]
    return plain or [gzip.decompress(path.read_bytes()) for path in sorted(packed)]


def _fitting(schemas: Sequence[Path], documents: Sequence[bytes]) -> Path:
    """The schema that declares the roots of most documents; the first one if they are alike."""
    roots = [etree.fromstring(one, etree.XMLParser(huge_tree=True)).tag for one in documents]

    def fitting(path: Path) -> int:
        if path.suffix != ".xsd":
            return 0
        declared = etree.parse(path).getroot()
        uri = declared.get("targetNamespace")
        names = [one.get("name") for one in declared.iterchildren(f"{{{_XSD}}}element")]
        own = {f"{{{uri}}}{name}" if uri else name for name in names}
        return sum(root in own for root in roots)

    return max(schemas, key=fitting)


def _schema(path: Path, document: bytes) -> Schema:
    """The schema of a file; for a DTD, root and prefixes are those of a document."""
    if path.suffix == ".xsd":
        return Schema.load(path)
    root = etree.fromstring(document, etree.XMLParser(huge_tree=True))
    bound = {prefix: uri for prefix, uri in root.nsmap.items() if prefix}
    return Schema.load(path, etree.QName(root).localname, bound)


def _some(items: Sequence[_T], most: int) -> list[_T]:
    """Some items, from all over.

    >>> _some(range(10), 4), _some("ab", 4)
    ([0, 2, 5, 7], ['a', 'b'])
    """
    most = min(max(1, most), len(items)) if items else 0
    return [items[number * len(items) // most] for number in range(most)]


def _with_unknown(document: bytes) -> bytes:
    end = document.rindex(b"</")
    return document[:end] + b"<unknown-to-the-schema/>" + document[end:]
