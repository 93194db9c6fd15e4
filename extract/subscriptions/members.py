"""The members of templates: ids and constants as columns, a few bytes more for each."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extract.subscriptions.columns import Offsets, TextColumn
from extract.subscriptions.records import Records, column_of, fields_of, numbers_of, record


@dataclass(frozen=True, slots=True, eq=False)
class Members:
    """The members of one template, in the order in which they were added.

    Attributes:
        rows: The number of each among the members of all templates.
        ids: The id of each.
        constants: For each parameter the constants as they are written, strings without quotes.
        numbers: For each parameter that is a number its constants as libxml2 reads them; None for
            strings.
    """

    rows: Offsets
    ids: TextColumn
    constants: tuple[TextColumn, ...]
    numbers: tuple[NDArray[np.float64] | None, ...]

    def __len__(self) -> int:
        return len(self.rows)


class _Grouped(NamedTuple):
    """Members sorted by template: the template, row and start of the record of each."""

    templates: NDArray[np.int32]
    rows: Offsets
    starts: Offsets


class MemberStore:
    """The members of all templates, a record for each: its id and its constants.

    A member takes 12 bytes, its id, its constants, and a byte for each of them that has less than
    128 bytes.
    """

    def __init__(self) -> None:
        self._templates = array("i")
        self._ends = array("q")
        self._heap = bytearray()
        self._grouped: _Grouped | None = None

    def __len__(self) -> int:
        return len(self._templates)

    def append(self, template: int, name: str, constants: tuple[str, ...]) -> None:
        """Adds a member."""
        self._heap += record(name, constants)
        self._templates.append(template)
        self._ends.append(len(self._heap))
        self._grouped = None

    def extend(self, records: Records) -> None:
        """Adds many members."""
        self._templates.frombytes(records.templates.tobytes())
        self._ends.frombytes((records.ends + len(self._heap)).tobytes())
        self._heap += records.heap
        self._grouped = None

    def template_of(self, row: int) -> int:
        """The template of a member; -1 if it has none."""
        return self._templates[row]

    def fields(self, row: int) -> tuple[str, ...]:
        """The id and the constants of a member."""
        start = self._ends[row - 1] if row else 0
        return fields_of(self._heap, start, self._ends[row])

    def counts(self, templates: int) -> NDArray[np.int64]:
        """For each of so many templates how many members it has."""
        numbers = np.array(self._templates, np.int64)
        return np.bincount(numbers[numbers >= 0], minlength=templates).astype(np.int64)

    def members(
        self, template: int, parameters: tuple[Literal["string", "number"], ...]
    ) -> Members:
        """The members of one template as columns.

        Args:
            template: The number of the template.
            parameters: The types of its parameters.
        """
        grouped = self._by_template()
        first, last = np.searchsorted(grouped.templates, (template, template + 1))
        rows, starts = grouped.rows[first:last], grouped.starts[first:last]
        constants = tuple(
            [column_of(self._heap, starts, field) for field in range(1, len(parameters) + 1)]
        )
        return Members(
            rows,
            column_of(self._heap, starts, 0),
            constants,
            tuple(
                [
                    numbers_of(column) if kind == "number" else None
                    for kind, column in zip(parameters, constants, strict=True)
                ]
            ),
        )

    def _by_template(self) -> _Grouped:
        """All members by template; made again after members were added."""
        if self._grouped is None:
            templates = np.array(self._templates, np.int32)
            starts = np.zeros(len(templates), np.int64)
            starts[1:] = self._ends[:-1]
            rows = np.argsort(templates, kind="stable")
            self._grouped = _Grouped(templates[rows], rows, starts[rows])
        return self._grouped
