"""The members of a scheme as rows of a database: columns in, columns out."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from extract.errors import SubscriptionsError
from extract.scheme.database.errors import DatabaseError
from extract.scheme.database.head import HeadNumbers, Numbers
from extract.scheme.database.location import DatabaseLocation
from extract.scheme.database.tables import MEMBER
from extract.scheme.members_file import members_of, members_table
from extract.scheme.model import Scheme
from extract.scheme.templates import RegisteredTemplates, WordingTable
from extract.subscriptions.columns import Offsets, TextColumn
from extract.subscriptions.members import Members
from extract.subscriptions.records import numbers_of
from extract.xpath.parameters import divided

_LONGEST: Final = 2600  # bytes of an id that PostgreSQL has in an index
_FIELDS: Final = ("seq", "id", "template", "wording", "constants", "weight", "metadata")


def read_columns() -> Any:
    """The columns of the table of members that are read; doubles follow from the spelling."""
    return pa.schema([MEMBER.columns.field(name) for name in _FIELDS])


def member_rows(
    scheme: Scheme,
    rows: Offsets | None,
    numbers: HeadNumbers,
    first: int,
    revision: int,
    location: DatabaseLocation,
) -> Any:
    """Returns rows of the table of members: a ``pyarrow.Table``.

    Args:
        scheme: The scheme.
        rows: Which of its members; None for all.
        numbers: The numbers of its templates and wordings.
        first: The sequence number of the first of these members.
        revision: The revision that they come with.
        location: The database, for messages.

    Raises:
        SubscriptionsError: An id cannot be stored.
    """
    members = scheme.members if rows is None else scheme.members.take(rows)
    table = members_table(members, scheme.wordings)
    ids, constants = table["id"].chunk(0), table["constants"].chunk(0)
    _check_texts(ids, constants.values, location)
    count = len(members)
    template = np.asarray(table["template"])
    wording = np.asarray(pc.fill_null(table["wording"], -1)).astype(np.int64)
    own = np.append(numbers.wordings, -1)[wording]
    weights = np.ones(count) if members.weights is None else members.weights
    metadata = table["metadata"] if members.metadata is not None else pa.nulls(count, pa.string())
    columns = {
        "seq": pa.array(np.arange(first, first + count)),
        "id": ids,
        "template": pa.array(numbers.templates[template].astype(np.int32)),
        "wording": pa.array(own.astype(np.int32), mask=own < 0),
        "constants": constants,
        "numbers": _doubles(constants, template, scheme.templates),
        "weight": pa.array(weights),
        "metadata": metadata,
        "revision": pa.array(np.full(count, revision, np.int64)),
    }
    return pa.table([columns[name] for name in MEMBER.columns.names], schema=MEMBER.columns)


def _doubles(constants: Any, template: Any, templates: RegisteredTemplates) -> Any:
    """For each constant that is a number its value, as libxml2 reads it; null for a string."""
    is_number, at = _number_places(templates)
    counts = np.diff(np.asarray(constants.offsets))
    total = int(counts.sum())
    starts = np.cumsum(counts) - counts
    places = np.arange(total) - np.repeat(starts, counts) + np.repeat(at[template], counts)
    numeric = is_number[places]
    values = np.zeros(total, np.float64)
    texts = constants.values.cast(pa.large_string())
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + total + 1]
    chosen = np.flatnonzero(numeric)
    buffer = b"" if data is None else data.to_pybytes()
    column = TextColumn(buffer, ends[:-1][chosen], ends[1:][chosen])
    values[chosen] = numbers_of(column)
    return pa.ListArray.from_arrays(constants.offsets, pa.array(values, mask=~numeric))


def _number_places(templates: RegisteredTemplates) -> tuple[Any, Numbers]:
    """Whether each parameter of each template is a number, and where those of a template start."""
    kinds: list[bool] = []
    at = []
    for xpath in templates.xpaths:
        at.append(len(kinds))
        places = sorted(divided(xpath)[1]) if "$" in xpath else ()
        kinds += [one.type == "number" for one in places]
    return np.array(kinds, bool), np.array(at, np.int64)


def _check_texts(ids: Any, constants: Any, location: DatabaseLocation) -> None:
    """Makes sure that the database takes all ids and constants as they are."""
    for what, column in (("id", ids), ("query with the constant", constants)):
        reason = ""
        try:
            column.validate(full=True)
        except pa.ArrowInvalid:
            reason = f"there is half a character in an {what}"
        data = column.buffers()[2]
        if not reason and data is not None and b"\0" in memoryview(data).tobytes():
            reason = f"there is the character U+0000 in an {what}"
        if reason:
            hint = "a database keeps only well-formed Unicode text"
            raise SubscriptionsError(reason, hint, location.shown)
    if location.engine == "postgresql" and len(ids):
        longest = pc.max(pc.binary_length(ids)).as_py()
        if longest > _LONGEST:
            reason = f"an id has {longest:,} bytes; PostgreSQL keeps ids of up to {_LONGEST:,}"
            raise SubscriptionsError(reason, "give the query a shorter id", location.shown)


def members_of_rows(
    table: Any,
    numbers: HeadNumbers,
    templates: RegisteredTemplates,
    wordings: WordingTable,
    source: str,
) -> Members:
    """Returns the members of rows that were read.

    Args:
        table: The rows, with the columns of `read_columns`.
        numbers: The numbers of templates and wordings in the database.
        templates: The templates of the scheme.
        wordings: The wordings of the scheme.
        source: The database, for messages.

    Raises:
        SchemeError: A row does not belong to the scheme.
    """
    columns = {
        "id": table["id"],
        "template": pa.chunked_array([_places(table["template"], numbers.templates, source)]),
        "wording": pa.chunked_array([_places(table["wording"], numbers.wordings, source)]),
        "constants": table["constants"],
    }
    if table.num_rows and pc.any(pc.not_equal(table["weight"], 1.0)).as_py():
        columns["weight"] = table["weight"]
    if table["metadata"].null_count < table.num_rows:
        columns["metadata"] = table["metadata"]
    return members_of(pa.table(columns).combine_chunks(), source, templates, wordings)


def _places(column: Any, numbers: Numbers, source: str) -> Any:
    """The place of each number among all, which are ascending; null stays null."""
    given = np.asarray(pc.fill_null(column, -1)).astype(np.int64)
    is_null = given < 0
    places = np.searchsorted(numbers, given)
    right = np.append(numbers, -2)[places] == given
    if not (right | is_null).all():
        number = int(given[~(right | is_null)][0])
        reason = f"a member has the template or wording {number}, which is not there"
        raise DatabaseError(reason, "remove the row, or correct it", source)
    return pa.array(np.where(is_null, 0, places), mask=is_null)
