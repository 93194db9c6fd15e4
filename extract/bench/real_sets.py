"""Sets of real data: folders that have a schema, documents, and queries that people wrote."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
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
_SCHEMA_FILES: Final = ("*.dtd", "*.xsd", "schema*/maindoc/*.xsd", "schema*/*.xsd")


_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class RealSet:
    """Documents of one schema, and queries.

    Attributes:
        name: What it is called, with what is special about it.
        schema: The schema.
        queries: The queries.
        documents: The documents.
        conforming: Whether documents are as they were; else they break the schema.
    """

    name: str
    schema: Schema = field(repr=False)
    queries: Subscriptions = field(repr=False)
    documents: tuple[bytes, ...] = field(repr=False)
    conforming: bool = True

    def broken(self) -> RealSet:
        """The same documents with an element at the end that the schema does not have."""
        documents = tuple([_with_unknown(document) for document in self.documents])
        return RealSet(f"{self.name}, broken", self.schema, self.queries, documents, False)


def real_sets(data: Path, scale: float) -> Iterator[RealSet]:
    """The sets in a folder, or the folder itself if it is one; large documents apart.

    Args:
        data: A folder with ``docs/*.xml`` or ``*.xml.gz``, a file of queries and a schema; or one
            with such folders.
        scale: What part of the queries and documents to take.
    """
    folders = [data] if _files(data, _QUERY_FILES) else sorted(data.iterdir())
    for folder in folders:
        queries, schemas = _files(folder, _QUERY_FILES), _files(folder, _SCHEMA_FILES)
        documents = _documents(folder)
        if not (queries and schemas and documents):
            continue
        schema = _schema(schemas[0], documents[0])
        chosen = _some(Subscriptions.load(queries[0]), int(_QUERIES * scale))
        kinds = {"": [d for d in documents if len(d) < _LARGE]}
        kinds[", large"] = [d for d in documents if len(d) >= _LARGE]
        for kind, of_kind in kinds.items():
            if of_kind:
                some = _some(of_kind, int(_DOCUMENTS * scale))
                while len(some) > 1 and sum(map(len, some)) > _BYTES:
                    some = some[:-1]
                name = f"{folder.name}{kind}"
                yield RealSet(name, schema, Subscriptions.of(chosen), tuple(some))


def _files(folder: Path, patterns: Sequence[str]) -> list[Path]:
    return [path for pattern in patterns for path in sorted(folder.glob(pattern))]


def _documents(folder: Path) -> list[bytes]:
    plain = [path.read_bytes() for path in sorted((folder / "docs").rglob("*.xml"))]
    return plain or [gzip.decompress(path.read_bytes()) for path in folder.glob("*.xml.gz")]


def _schema(path: Path, document: bytes) -> Schema:
    """The schema of a file; for a DTD, root and prefixes are those of a document."""
    if path.suffix == ".xsd":
        return Schema.load(path)
    root = etree.fromstring(document, etree.XMLParser(huge_tree=True))
    bound = {prefix: uri for prefix, uri in root.nsmap.items() if prefix}
    return Schema.load(path, etree.QName(root).localname, bound)


def _some(items: Sequence[_T], most: int) -> list[_T]:
    """Some items, from all over."""
    step = max(1, len(items) // max(1, most))
    return list(items[::step][: max(1, most)])


def _with_unknown(document: bytes) -> bytes:
    end = document.rindex(b"</")
    return document[:end] + b"<unknown-to-the-schema/>" + document[end:]
