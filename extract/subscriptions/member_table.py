"""Members that come and go: found by id, and counted by canonical query.

A *canonical query* is a normal form with constants: members that have the same are evaluated once.
In C where that was compiled, else in Python, with the same outcome.
"""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from extract.subscriptions.columns import Offsets, TextColumn
from extract.subscriptions.members import Codes, Members
from extract.subscriptions.metadata import NO_METADATA, Metadata
from extract.subscriptions.native import native_members
from extract.subscriptions.records import Records, fields_of


class TemplateForms(Protocol):
    """The forms of templates, as `FormColumns` has them."""

    @property
    def forms(self) -> Any:
        """The form of each template."""

    @property
    def at(self) -> Any:
        """Where the arguments of each template start."""

    @property
    def arguments(self) -> Any:
        """The arguments of all templates."""


class FormColumns:
    """For each template its normal form, and the parameters that are its arguments.

    Attributes:
        forms: For each template the number of its form; -1 if its queries match nothing.
        at: For each template where its arguments start, and one more for the end.
        arguments: For each parameter of a form the parameter of the template.
    """

    __slots__ = ("arguments", "at", "forms")

    def __init__(self) -> None:
        self.forms = array("i")
        self.at = array("i", [0])
        self.arguments = array("i")

    def append(self, form: int, arguments: Sequence[int]) -> None:
        """Adds a template."""
        self.forms.append(form)
        self.arguments.extend(arguments)
        self.at.append(len(self.arguments))

    def arguments_of(self, template: int) -> tuple[int, ...]:
        """The arguments of a template."""
        return tuple(self.arguments[self.at[template] : self.at[template + 1]])


class MemberRow(NamedTuple):
    """What a table knows of a member.

    Attributes:
        code: Its template or wording, as in `Members.codes`.
        template: Its template.
        canonical: The number of its canonical query; -1 if its template matches nothing.
        sharing: How many members have that query.
    """

    code: int
    template: int
    canonical: int
    sharing: int


class MemberColumns(NamedTuple):
    """The present members of a table.

    Attributes:
        members: The members.
        templates: The template of each.
        canonical: The canonical query of each; -1 for none.
    """

    members: Members
    templates: Codes
    canonical: Codes


class MemberTable:
    """Members with unique ids. A row keeps its number; that of a removed one is not used again."""

    def __init__(self) -> None:
        native = native_members()
        self._rows: _Rows = _PythonRows() if native is None else native.MemberTable()
        self._removed = 0
        self._weights: array[float] | None = None  # from the first one on that is not 1
        self._metadata: dict[int, str] = {}

    def __len__(self) -> int:
        """The number of rows, those of removed members included."""
        return len(self._rows)

    @property
    def present(self) -> int:
        """The number of members."""
        return len(self._rows) - self._removed

    @property
    def canonical_queries(self) -> int:
        """The number of canonical queries so far, including those that have no members any more."""
        return self._rows.canonical_queries

    def expect(self, members: int) -> None:
        """Makes room for so many members, if there are none yet; more may come all the same."""
        self._rows.expect(members)

    def extend(
        self,
        records: Records,
        templates: Codes,
        shapes: TemplateForms,
        weights: NDArray[np.float64] | None = None,
        metadata: Mapping[int, Metadata] | None = None,
    ) -> None:
        """Appends members whose ids are new.

        Args:
            records: Their codes, ids and constants.
            templates: The template of each.
            shapes: The forms of all templates.
            weights: The weight of each; None for 1.
            metadata: The metadata of those that have any, by position.
        """
        first = len(self._rows)
        self._rows.extend(
            memoryview(records.heap),
            records.ends,
            records.wordings,
            templates,
            shapes.forms,
            shapes.at,
            shapes.arguments,
        )
        if weights is not None and self._weights is None and (weights != 1).any():
            self._weights = array("d", [1.0]) * first
        if self._weights is not None:
            more = np.ones(len(templates)) if weights is None else weights
            self._weights.frombytes(more.tobytes())
        for position, values in (metadata or {}).items():
            if values:
                self._metadata[first + position] = json_text(values)

    def extend_by(self, members: Members, templates: Codes, shapes: TemplateForms) -> None:
        """Appends the members of a scheme."""
        first = len(self._rows)
        records = Records(members.codes, members.ends, members.heap)
        self.extend(records, templates, shapes, members.weights)
        if members.metadata is not None:
            some = np.flatnonzero(members.metadata.stops > members.metadata.starts)
            for row in some.tolist():
                self._metadata[first + row] = members.metadata.text(row)

    def find(self, name: str) -> int:
        """The row of the member with an id; -1 if there is none."""
        return self._rows.find(name.encode("utf-8", "surrogatepass"))

    def twice(self) -> str | None:
        """An id that two members have; None if all are different, as they should be."""
        name = self._rows.twice()
        return None if name is None else name.decode("utf-8", "surrogatepass")

    def row(self, row: int) -> MemberRow:
        """What is known of a member."""
        return MemberRow(*self._rows.row(row))

    def fields(self, row: int) -> tuple[str, ...]:
        """The id of a member, and its constants."""
        return tuple([part.decode("utf-8", "surrogatepass") for part in self._rows.fields(row)])

    def weight(self, row: int) -> float:
        """How much a member counts."""
        return 1.0 if self._weights is None else self._weights[row]

    def metadata_of(self, row: int) -> Metadata:
        """The metadata of a member."""
        text = self._metadata.get(row)
        metadata: Metadata = NO_METADATA if text is None else json.loads(text)
        return metadata

    def remove(self, row: int) -> int:
        """Removes a member; returns how many others have its canonical query."""
        self._removed += 1
        self._metadata.pop(row, None)
        return self._rows.remove(row)

    def present_rows(self) -> Offsets:
        """The rows of the present members, ascending."""
        rows = np.empty(self.present, np.int64)
        self._rows.present(rows)
        return rows

    def columns(self) -> MemberColumns:
        """The present members."""
        count = self.present
        rows, ends = np.empty(count, np.int64), np.empty(count, np.int64)
        codes, templates, canonical = (np.empty(count, np.int32) for _ in range(3))
        heap = self._rows.fill(rows, ends, codes, templates, canonical)
        weights = None if self._weights is None else np.array(self._weights)[rows]
        if weights is not None and (weights == 1).all():
            weights = None
        metadata = None
        if self._metadata:
            metadata = TextColumn.of([self._metadata.get(row, "") for row in rows.tolist()])
        return MemberColumns(Members(codes, ends, heap, weights, metadata), templates, canonical)


def json_text(metadata: Metadata) -> str:
    """Metadata as a scheme keeps it."""
    return json.dumps(metadata, ensure_ascii=False, allow_nan=False)


class _Rows(Protocol):
    """What the rows in C and in Python do."""

    def __len__(self) -> int: ...

    def expect(self, more: int) -> None: ...

    def extend(
        self,
        heap: Any,
        ends: Offsets,
        wordings: Codes,
        templates: Codes,
        forms: Any,
        at: Any,
        arguments: Any,
    ) -> None: ...

    def remove(self, row: int) -> int: ...

    def find(self, name: bytes) -> int: ...

    def twice(self) -> bytes | None: ...

    @property
    def canonical_queries(self) -> int: ...

    def row(self, row: int) -> tuple[int, int, int, int]: ...

    def fields(self, row: int) -> list[bytes]: ...

    def present(self, rows: Offsets) -> None: ...

    def fill(
        self, rows: Offsets, ends: Offsets, wordings: Codes, templates: Codes, canonical: Codes
    ) -> bytes: ...


def _id(record: bytes) -> bytes:
    return fields_of(record)[0].encode("utf-8", "surrogatepass")


class _PythonRows:
    """The rows in Python."""

    def __init__(self) -> None:
        self._records: list[bytes | None] = []  # None for a removed member
        self._codes = array("i")
        self._templates = array("i")
        self._canonical = array("i")
        self._ids: dict[bytes, int] = {}
        self._queries: dict[tuple[int, ...] | tuple[Any, ...], int] = {}
        self._members = array("i")

    def __len__(self) -> int:
        return len(self._codes)

    def expect(self, more: int) -> None:
        """A dictionary grows by itself."""

    @property
    def canonical_queries(self) -> int:
        return len(self._members)

    def extend(
        self,
        heap: Any,
        ends: Offsets,
        wordings: Codes,
        templates: Codes,
        forms: Any,
        at: Any,
        arguments: Any,
    ) -> None:
        start = 0
        rows = zip(ends.tolist(), wordings.tolist(), templates.tolist(), strict=True)
        for end, code, template in rows:
            record = bytes(heap[start:end])
            start = end
            constants = fields_of(record)[1:]
            self._ids[_id(record)] = len(self._codes)
            canonical = -1
            if forms[template] >= 0:
                chosen = arguments[at[template] : at[template + 1]]
                key = (forms[template], *[constants[n] for n in chosen])
                canonical = self._queries.setdefault(key, len(self._members))
                if canonical == len(self._members):
                    self._members.append(0)
                self._members[canonical] += 1
            self._records.append(record)
            self._codes.append(code)
            self._templates.append(template)
            self._canonical.append(canonical)

    def remove(self, row: int) -> int:
        record, canonical = self._records[row], self._canonical[row]
        assert record is not None
        del self._ids[_id(record)]
        self._records[row] = None
        if canonical < 0:
            return 0
        self._members[canonical] -= 1
        return self._members[canonical]

    def find(self, name: bytes) -> int:
        return self._ids.get(name, -1)

    def twice(self) -> bytes | None:
        names = [_id(record) for record in self._records if record is not None]
        return next((name for name, times in Counter(names).items() if times > 1), None)

    def row(self, row: int) -> tuple[int, int, int, int]:
        canonical = self._canonical[row]
        sharing = self._members[canonical] if canonical >= 0 else 0
        return self._codes[row], self._templates[row], canonical, sharing

    def fields(self, row: int) -> list[bytes]:
        record = self._records[row]
        assert record is not None
        return [field.encode("utf-8", "surrogatepass") for field in fields_of(record)]

    def present(self, rows: Offsets) -> None:
        rows[:] = [row for row, record in enumerate(self._records) if record is not None]

    def fill(
        self, rows: Offsets, ends: Offsets, wordings: Codes, templates: Codes, canonical: Codes
    ) -> bytes:
        present = [row for row, record in enumerate(self._records) if record is not None]
        records = [record for record in self._records if record is not None]
        rows[:] = present
        ends[:] = np.cumsum([len(record) for record in records])
        wordings[:] = [self._codes[row] for row in present]
        templates[:] = [self._templates[row] for row in present]
        canonical[:] = [self._canonical[row] for row in present]
        return b"".join(records)
