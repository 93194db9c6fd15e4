"""Joined columns: metadata of subscriptions that rows get besides their own columns.

A column is asked for by the key of the metadata, and has the key as its name; or by
``COLUMN=KEY``, to name it otherwise. It is null where a subscription does not have the key. Its
type depends on the values of all subscriptions of the scheme, so that every file of a run has the
same one:

    all values are        type in Parquet      in text
    strings               string               as they are
    booleans              boolean              true, false
    whole numbers         int64                digits
    numbers               double               as JSON
    lists of strings      list of string       as JSON
    anything else         string               strings as they are, other values as JSON
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from extract.errors import SubscriptionsError
from extract.scheme.model import Scheme
from extract.subscriptions.metadata import has_key, near_keys, value_at, wrong_key

ColumnType = Literal["string", "boolean", "integer", "number", "strings"]

ROW_COLUMNS: Final = frozenset(
    {
        "document",
        "query",
        "node",
        "name",
        "start",
        "end",
        "ordinal",
        "path",
        "value",
        "text",
        "count",
        "output",
    }
)
_INT64: Final = range(-(1 << 63), 1 << 63)
_EXACT: Final = range(-(1 << 53), (1 << 53) + 1)  # whole numbers that a double has


@dataclass(frozen=True, slots=True)
class JoinedColumn:
    """One column of metadata.

    Attributes:
        name: The name of the column.
        key: The key of the metadata; dots lead into values.
        type: The type of all values.
    """

    name: str
    key: str
    type: ColumnType

    def cell(self, value: Any) -> Any:
        """Returns a value as the column has it."""
        if value is None or self.type != "string" or isinstance(value, str):
            return value
        return _json(value)


@dataclass(frozen=True, slots=True)
class JoinedColumns:
    """The columns of metadata that were asked for, and their values.

    Attributes:
        columns: The columns.
        metadata: The metadata of the subscriptions, by id.
    """

    columns: tuple[JoinedColumn, ...] = ()
    metadata: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)

    def values(self, column: JoinedColumn, ids: Iterable[str]) -> list[Any]:
        """Returns the JSON value of each subscription in a column; None where it has none."""
        metadata = self.metadata
        return [value_at(metadata[one], column.key) if one in metadata else None for one in ids]

    def cells(self, column: JoinedColumn, ids: Iterable[str]) -> list[Any]:
        """Returns the same values as the column has them: all of its type."""
        return [column.cell(value) for value in self.values(column, ids)]

    def texts(self, column: JoinedColumn, ids: Iterable[str]) -> list[str | None]:
        """Returns the same values as text, for formats that have nothing else."""
        values = self.values(column, ids)
        return [one if one is None or isinstance(one, str) else _json(one) for one in values]

    def json_members(self, ids: Sequence[str]) -> list[str]:
        """Returns for each subscription the members of a JSON object, with a comma before each."""
        members = [""] * len(ids)
        for column in self.columns:
            name = _json(column.name)
            values = self.values(column, ids)
            members = [
                f"{before}, {name}: {_json(value)}"
                for before, value in zip(members, values, strict=True)
            ]
        return members


NO_COLUMNS: Final = JoinedColumns()


def joined_columns(scheme: Scheme, asked: Sequence[str]) -> JoinedColumns:
    """Returns columns for metadata.

    Args:
        scheme: The subscriptions.
        asked: For each column the key of the metadata, or ``COLUMN=KEY``.

    Raises:
        SubscriptionsError: No subscription has a key, or a column cannot have its name.
    """
    if not asked:
        return NO_COLUMNS
    metadata = scheme.metadata
    columns: list[JoinedColumn] = []
    for text in asked:
        name, key = column_name(text), text.partition("=")[2] or text
        if not any(has_key(values, key) for values in metadata.values()):
            reason = f"no subscription has the metadata {key!r}"
            raise SubscriptionsError(reason, near_keys(key, metadata.values()))
        check_column(name, key, [*ROW_COLUMNS, *[one.name for one in columns]])
        columns.append(JoinedColumn(name, key, _type_of(_values(metadata, key))))
    return JoinedColumns(tuple(columns), metadata)


def column_name(asked: str) -> str:
    """Returns the name of a column that is asked for by a key, or by ``COLUMN=KEY``."""
    return asked.partition("=")[0]


def check_column(name: str, key: str, others: Iterable[str]) -> None:
    """Makes sure that a column can have a name beside others, upper and lower case being the same:
    for Spark they are.

    Raises:
        SubscriptionsError: It cannot.
    """
    hint = f"name the column otherwise: subscription_{key}={key}"
    reason = wrong_key(name)
    if reason:
        raise SubscriptionsError(f"the name {name!r:.60} of a column {reason}", hint)
    if name.lower() in {one.lower() for one in others}:
        raise SubscriptionsError(f"rows already have a column {name!r}", hint)


def _values(metadata: Mapping[str, Mapping[str, Any]], key: str) -> Iterator[Any]:
    every = (value_at(values, key) for values in metadata.values())
    return (value for value in every if value is not None)


def _type_of(values: Iterable[Any]) -> ColumnType:
    """Returns the type that all values have.

    >>> _type_of([1, 2.5]), _type_of([["a"], []]), _type_of([1, True]), _type_of([])
    ('number', 'strings', 'string', 'string')
    """
    kinds = {_kind_of(value) for value in values}
    if kinds == {"integer"} or kinds == {"exact"} or kinds == {"integer", "exact"}:
        return "integer"
    if kinds == {"number"} or kinds == {"number", "exact"}:
        return "number"
    if len(kinds) == 1:
        (kind,) = kinds
        if kind == "boolean" or kind == "strings":
            return kind
    return "string"


_Kind = ColumnType | Literal["exact", "other"]


def _kind_of(value: Any) -> _Kind:
    """Returns the type of one value; ``exact`` is a whole number that a double has as well."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "exact" if value in _EXACT else "integer" if value in _INT64 else "other"
    if isinstance(value, float):
        return "number"
    if isinstance(value, list):
        return "strings" if all(isinstance(one, str) for one in value) else "other"
    return "string" if isinstance(value, str) else "other"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
