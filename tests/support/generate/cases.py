"""A schema, a document and a query: one case for an oracle test.

The same code makes cases for Hypothesis (`tests.support.generate.strategies`) and in bulk from a
seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from random import Random
from typing import Any

from lxml import etree

from extract.schema.model import Schema
from tests.support.generate import schemas
from tests.support.generate.documents import Documents, Options
from tests.support.generate.draw import chance, pick
from tests.support.generate.queries import PROFILES, Queries
from tests.support.generate.schemas import GeneratedSchema


@dataclass(frozen=True, slots=True)
class Case:
    """What a query is asked of.

    Attributes:
        schema: The schema as text.
        model: The schema as loaded.
        document: A document that conforms to the schema's edges.
        query: An XPath expression.
        namespaces: Its prefixes.
        strict: Whether the document is valid, too.
    """

    schema: GeneratedSchema
    model: Schema = field(repr=False)
    document: bytes
    query: str
    namespaces: dict[str, str]
    strict: bool

    def __str__(self) -> str:
        """The case for someone to read."""
        return (
            f"query:     {self.query!r}\n"
            f"prefixes:  {self.namespaces}\n"
            f"document:  {self.document.decode()}\n"
            f"schema:    {self.schema.kind}, root {self.schema.root}\n{self.schema.text}"
        )


def cases(
    rng: Random,
    *,
    documents: int = 1,
    queries: int = 1,
    profile: str | None = None,
    size: int = 30,
    strict: bool | None = None,
) -> Iterator[Case]:
    """Cases of one schema: so many documents, each with so many queries.

    Args:
        rng: Source of randomness.
        documents: How many documents.
        queries: How many queries to each of them.
        profile: Of the queries, a key of `PROFILES`; by default any.
        size: About how many elements a document has.
        strict: Whether documents are valid or only edge-conforming; by default either.
    """
    schema = schemas.schema(rng)
    model = schema.load()
    writer, asker = Documents(model), Queries(model)
    for _ in range(documents):
        valid = chance(rng, 50) if strict is None else strict
        document = writer.document(rng, Options(size=size, strict=valid))
        for _ in range(queries):
            query = asker.query(rng, profile or pick(rng, list(PROFILES)))
            yield Case(schema, model, document, query, asker.namespaces, valid)


def smallest(case: Case, fails: Callable[[Case], bool]) -> Case:
    """The case with all left out of its document that it takes to fail.

    Leaving out never adds an edge, so the document goes on conforming to the schema's edges.

    Args:
        case: A case that fails.
        fails: Whether a case still does.
    """
    changed = True
    while changed:
        changed = False
        for document in _smaller(case.document):
            candidate = replace(case, document=document, strict=False)
            if len(document) < len(case.document) and fails(candidate):
                case, changed = candidate, True
                break
    return case


def _smaller(document: bytes) -> Iterator[bytes]:
    """The document without its prolog, a subtree (large ones first), an attribute, a text."""
    nodes = list(etree.fromstring(document).iter())
    yield etree.tostring(nodes[0], encoding="utf-8")
    for number in range(1, len(nodes)):
        root, node = _nth(document, number)
        node.getparent().remove(node)
        yield etree.tostring(root.getroottree(), encoding="utf-8")
    for number, original in enumerate(nodes):
        is_element = isinstance(original.tag, str)
        for name in original.attrib if is_element else ():
            root, node = _nth(document, number)
            del node.attrib[name]
            yield etree.tostring(root.getroottree(), encoding="utf-8")
        for side in ("text", "tail") if is_element else ("tail",):
            if getattr(original, side):
                root, node = _nth(document, number)
                setattr(node, side, None)
                yield etree.tostring(root.getroottree(), encoding="utf-8")


def _nth(document: bytes, number: int) -> tuple[Any, Any]:
    """A fresh copy of the root, and its so manieth node."""
    root = etree.fromstring(document)
    return root, next(islice(root.iter(), number, None))
