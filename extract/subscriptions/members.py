"""The members of templates: ids and constants as columns, a few bytes more for each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from extract.subscriptions.columns import Offsets, TextColumn
from extract.subscriptions.metadata import NO_METADATA, Metadata
from extract.subscriptions.records import column_of, fields_of, gather_records

Codes = NDArray[np.int32]
"""For each member the number of its template if it is written in canonical form; else the number of
its wording, as ``-1 - number``."""


def template_of(code: int, templates: Sequence[int]) -> int:
    """The template of a member.

    Args:
        code: Its code, see `Codes`.
        templates: For each wording its template.
    """
    return code if code >= 0 else templates[~code]


def templates_of(codes: Codes, templates: Sequence[int]) -> Codes:
    """The templates of members; the arguments are those of `template_of`."""
    if not len(codes) or codes.min() >= 0:
        return codes
    table = np.array(templates, np.int32)
    return np.where(codes >= 0, codes, table[np.where(codes < 0, ~codes, 0)])


@dataclass(frozen=True, eq=False)
class Members:
    """Queries as rows: the id of each, its template, its constants. They never change.

    Attributes:
        codes: The template or wording of each.
        ends: Where the record of each ends: its id and its constants, as `records` has them.
        heap: The records, one after the other.
        weights: How much each counts when chunks are chosen; None if all count 1.
        metadata: The metadata of each as JSON, empty for none; None if nobody has any.
    """

    codes: Codes
    ends: Offsets
    heap: bytes
    weights: NDArray[np.float64] | None = None
    metadata: TextColumn | None = None

    @classmethod
    def none(cls) -> Members:
        """No members."""
        return cls(np.empty(0, np.int32), np.empty(0, np.int64), b"")

    def __len__(self) -> int:
        return len(self.codes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Members):
            return NotImplemented
        return (
            self.heap == other.heap
            and np.array_equal(self.codes, other.codes)
            and np.array_equal(self.ends, other.ends)
            and _same(self.weights, other.weights)
            and _texts(self.metadata) == _texts(other.metadata)
        )

    def __hash__(self) -> int:
        return hash(self.heap)

    @cached_property
    def starts(self) -> Offsets:
        """Where the record of each member starts."""
        starts = np.zeros(len(self.ends), np.int64)
        starts[1:] = self.ends[:-1]
        return starts

    @cached_property
    def ids(self) -> TextColumn:
        """The id of each member."""
        return column_of(self.heap, self.starts, 0)

    def constants(self, rows: Offsets, parameter: int) -> TextColumn:
        """The constants of some members for a parameter of their template, as written."""
        return column_of(self.heap, self.starts[rows], parameter + 1)

    def fields(self, row: int) -> tuple[str, ...]:
        """The id of a member, and its constants."""
        return fields_of(self.heap[self.starts[row] : self.ends[row]])

    def weight(self, row: int) -> float:
        """How much a member counts."""
        return 1.0 if self.weights is None else float(self.weights[row])

    def metadata_of(self, row: int) -> Metadata:
        """The metadata of a member."""
        text = "" if self.metadata is None else self.metadata.text(row)
        metadata: Metadata = json.loads(text) if text else NO_METADATA
        return metadata

    def take(self, rows: Offsets) -> Members:
        """Some of the members."""
        heap, ends = gather_records(self.heap, self.ends, rows)
        return Members(
            self.codes[rows],
            ends,
            heap,
            None if self.weights is None else self.weights[rows],
            None if self.metadata is None else self.metadata.take(rows),
        )

    def recoded(self, codes: Codes) -> Members:
        """The same members with other numbers for templates and wordings."""
        return Members(codes, self.ends, self.heap, self.weights, self.metadata)


def _same(one: NDArray[np.float64] | None, other: NDArray[np.float64] | None) -> bool:
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other)


def _texts(column: TextColumn | None) -> list[str] | None:
    return None if column is None else list(column)
