"""Reads rows of ``scheme.json``: members one by one, forms, metadata."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from extract.limits import Limits
from extract.scheme.fields import Fields
from extract.scheme.templates import Form, RegisteredTemplates, WordingTable
from extract.subscriptions.columns import TextColumn
from extract.subscriptions.member_table import json_text
from extract.subscriptions.members import Members
from extract.subscriptions.metadata import NO_METADATA, Metadata, MetadataError, checked_metadata
from extract.subscriptions.records import record
from extract.subscriptions.wordings import WordingNumbers, tokens_of
from extract.xpath.functions import Type

_TYPES: Final[Mapping[str, Type]] = {one.value: one for one in Type}
_ANY_SIZE: Final = Limits(metadata_bytes=sys.maxsize)  # it was checked when it was registered


class QueryTables(NamedTuple):
    """The queries of a scheme: see the fields of `Scheme`."""

    forms: tuple[Form, ...]
    templates: RegisteredTemplates
    wordings: WordingTable
    members: Members


class MembersBuilder:
    """Collects members."""

    def __init__(self) -> None:
        self._wordings = WordingNumbers()
        self._codes: list[int] = []
        self._records: list[bytes] = []
        self._weights: list[float] = []
        self._metadata: list[Metadata] = []

    def add(
        self, row: Fields, template: int, canonical: str, xpath: str, roles: Sequence[bool]
    ) -> None:
        """Adds the member of a row.

        Args:
            row: Has its id, weight and metadata.
            template: The number of its template.
            canonical: The canonical text of the template.
            xpath: The query as written.
            roles: For each literal of the query, whether it is a parameter; empty if none is.

        Raises:
            ValueError: The query has other literals.
        """
        constants: tuple[str, ...] = ()
        if roles:
            tokens = tokens_of(xpath)
            if tokens is None:
                raise ValueError("an expression that has no tokens")
            code, constants = self._wordings.code_of(template, canonical, xpath, tokens, roles)
        else:
            code = self._wordings.code(template, "" if xpath == canonical else xpath)
        self._codes.append(code)
        self._records.append(record(row.text("id"), constants))
        self._weights.append(row.weight())
        self._metadata.append(metadata_of(row))

    def members(self) -> tuple[Members, WordingTable]:
        """All members, and how they are written."""
        weights = metadata = None
        if any(weight != 1 for weight in self._weights):
            weights = np.array(self._weights, np.float64)
        if any(self._metadata):
            metadata = TextColumn.of([json_text(one) if one else "" for one in self._metadata])
        members = Members(
            np.array(self._codes, np.int32),
            np.cumsum([len(one) for one in self._records], dtype=np.int64),
            b"".join(self._records),
            weights,
            metadata,
        )
        numbers = self._wordings
        return members, WordingTable(tuple(numbers.templates), tuple(numbers.texts))


def form_of(row: Fields, branches: int) -> Form:
    """The form of a row, which refers to so many branches."""
    kind = Type.NODES
    if "type" in row:
        kind = _TYPES.get(row.text("type")) or row.wrong("type", "is no type of XPath")
    numbers = row.indices("branches", branches, "branches")
    if not numbers or (len(numbers) > 1 and kind is not Type.NODES):
        row.wrong("branches", f"{len(numbers)} branches cannot give {kind.value}")
    return Form(numbers, kind)


def metadata_of(row: Fields) -> Metadata:
    """The metadata of a row."""
    if "metadata" not in row:
        return NO_METADATA
    try:
        return checked_metadata(row.mapping("metadata"), _ANY_SIZE)
    except MetadataError as error:
        row.wrong("metadata", error.reason)
