"""What is known about the sizes of documents: how many elements and bytes at each path of names.

It serves estimates only. Nothing that a query selects depends on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias, cast

from extract.schema.model import Schema, local_of, namespace_of
from extract.scheme.fields import Fields

Source: TypeAlias = Literal["samples", "schema"]


class PathCount(NamedTuple):
    """What all documents together have at one path of names.

    Attributes:
        name: The last name of the path, expanded; ``*`` for the rest, where there are more paths
            than are counted apart.
        parent: Row of the path above, which comes before this one; -1 for a document element.
        elements: How many there are.
        owners: How many elements of the path above have one or more of them.
        tag_bytes: Bytes of their start and end tags.
        text_bytes: Bytes of their own texts, comments and processing instructions.
        subtree_elements: How many elements they are together with all below them, each once.
        subtree_bytes: Bytes from their start tags to their end tags; of those inside another one of
            this path, only the outer ones.
        recursive: Whether elements of the same name and type further down count here as well.
    """

    name: str
    parent: int
    elements: int
    owners: int
    tag_bytes: int
    text_bytes: int
    subtree_elements: int
    subtree_bytes: int
    recursive: bool = False


@dataclass(frozen=True, slots=True)
class Statistics:
    """How large the parts of documents are.

    Attributes:
        source: Whether documents were counted, or their schema was asked what to expect.
        documents: How many documents the figures are for.
        document_bytes: Their size together.
        rows: One for each path, each before what is below it, siblings by name.
    """

    source: Source = "schema"
    documents: int = 1
    document_bytes: int = 0
    rows: tuple[PathCount, ...] = field(default=(), repr=False)


def statistics_rows(statistics: Statistics, schema: Schema) -> Iterator[list[str | int | bool]]:
    """The rows as JSON has them: names with the schema's prefixes, where it has one."""
    prefixes = {uri: prefix for prefix, uri in sorted(schema.prefixes.items()) if prefix}
    for row in statistics.rows:
        prefix = prefixes.get(namespace_of(row.name))
        name = f"{prefix}:{local_of(row.name)}" if prefix else row.name
        yield [name, *row[1:]]


def read_statistics(fields: Fields, schema: Schema) -> Statistics:
    """The statistics of a JSON object."""
    source = fields.text("source")
    if source not in ("samples", "schema"):
        fields.wrong("source", f"{source!r} is neither 'samples' nor 'schema'")
    rows: list[PathCount] = []
    for number, row in enumerate(fields.items("rows")):
        if not _is_row(row, number):
            fields.wrong(f"rows[{number}]", "is no count of a path")
        prefix, colon, local = row[0].partition(":")
        if colon and prefix in schema.prefixes:
            row[0] = f"{{{schema.prefixes[prefix]}}}{local}"
        rows.append(PathCount(*row))
    documents, size = fields.whole_number("documents"), fields.whole_number("document_bytes")
    if documents < 1 or size < 0:
        fields.wrong("documents", "must be at least one, and have a size")
    return Statistics(cast(Source, source), documents, size, tuple(rows))


def _is_row(row: Any, number: int) -> bool:
    """Whether a JSON value is the row of this number."""
    if type(row) is not list or [type(one) for one in row] != [str, *[int] * 7, bool]:
        return False
    return bool(-1 <= row[1] < number and min(row[2:8]) >= 0)
