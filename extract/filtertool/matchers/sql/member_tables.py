"""The constants of members in tables of their own, as statements join them.

A table for each shape: templates that ask the same of their constants share it, so that a thousand
templates with a few members each are a few tables. They are copied out of the table of all members
by the database itself, in the transaction that reads the scheme, into a place that belongs to this
process: whoever changes subscriptions meanwhile waits for nobody, and a filter has one whole
revision until it is told to take the next one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from extract.filtertool.matchers.sql.formulas import InTable, MatchShape
from extract.filtertool.matchers.sql.frames import Constant
from extract.filtertool.matchers.sql.plan import MemberSource, SqlPlan
from extract.filtertool.matchers.sql.statements import ALTERNATIVES, constant_name
from extract.filtertool.matchers.sql.value_scan import ShapeBatch
from extract.scheme.database.read import StoredState
from extract.scheme.database.store import Store


class MemberChange(NamedTuple):
    """What has changed since a revision.

    Attributes:
        known: The revision.
        gone: The sequence numbers of members that are gone, or changed.
        rows: Members that are new, or changed: rows of the table of members.
        state: The revision that the tables have then.
    """

    known: int
    gone: NDArray[np.int64]
    rows: Any
    state: StoredState

    @property
    def templates(self) -> set[int]:
        """The templates of the members that are new."""
        return set(self.rows["template"].unique().to_pylist())


class MemberTables(Protocol):
    """The members of all shapes, in a database."""

    def join(
        self, shape: MatchShape, batch: ShapeBatch
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The documents of a batch and the sequence numbers of the members that match them; at
        times a pair comes more than once.

        Raises:
            DatabaseError: The database does not answer any more.
        """

    def held(self, reference: InTable, values: Any) -> list[str]:
        """Those of some values, an Arrow array, that a column of an owner's table has."""

    def export(self, shape: MatchShape, file: str) -> None:
        """Writes the members of a shape to a Parquet file."""

    def rows(self, seqs: NDArray[np.int64]) -> Any:
        """The members with these sequence numbers, as rows of the table of members."""

    def transaction(self) -> AbstractContextManager[Store]:
        """The database of the subscriptions as it is now, to `change` the tables accordingly; that
        holds when the block ends, or not at all."""

    def change(self, store: Store, plan: SqlPlan, change: MemberChange) -> None:
        """Takes over what has changed, at the cost of that.

        Args:
            store: What `transaction` gives.
            plan: What to match from now on.
            change: The members.
        """

    def close(self) -> None:
        """Removes the tables."""


def member_name(number: int) -> str:
    """The name of the table of a shape."""
    return f"extract_shape_{number}"


def batch_name(number: int) -> str:
    """The name of the table with the values for a shape."""
    return f"extract_batch_{number}"


def reference_name(number: int) -> str:
    """The name of the copy of an owner's table."""
    return f"extract_reference_{number}"


MEMBER_COPY = "extract_member"


def column_definitions(shape: MatchShape) -> str:
    """The columns of the table of a shape, in PostgreSQL's SQL."""
    kinds = ['TEXT COLLATE "C"' if one else "DOUBLE PRECISION" for one in shape.constants]
    columns = [f"{constant_name(number)} {kind}" for number, kind in enumerate(kinds)]
    return ", ".join(["frame BIGINT", "seq BIGINT", *columns])


def selected_constants(constants: Sequence[Constant], alternative: int) -> str:
    """The columns of a shape, taken from the table of all members, in PostgreSQL's SQL.

    >>> selected_constants([Constant(0, True, False), Constant(2, False, True)], 1)
    'CAST(template AS BIGINT) * 1048576 + 1, seq, constants[1], \
CASE WHEN numbers[3] = 0 THEN 0 ELSE -numbers[3] END'
    """
    parts = [f"CAST(template AS BIGINT) * {ALTERNATIVES} + {alternative}", "seq"]
    for parameter, is_string, negative in constants:
        number = f"numbers[{parameter + 1}]"
        parts.append(
            f"constants[{parameter + 1}]"
            if is_string
            else f"CASE WHEN {number} = 0 THEN 0 ELSE {'-' * negative}{number} END"
        )
    return ", ".join(parts)


def constants_query(source: MemberSource, table: str = "member", where: str = "") -> str:
    """The query for the rows of a shape's table, in PostgreSQL's SQL.

    Args:
        source: The members; their templates are bound as ``:templates``.
        table: A table with the columns of that of members.
        where: A further condition.
    """
    text = f"SELECT {selected_constants(source.constants, source.alternative)} FROM {table}"
    text += f" WHERE template = ANY(:templates){where and ' AND '}{where}"
    key = source.shape.key
    # Rows that are found together are in one place.
    return text if key is None else f"{text} ORDER BY {3 + key.constant}, seq"


def numbered_shapes(plan: SqlPlan, known: Mapping[MatchShape, int]) -> dict[MatchShape, int]:
    """The shapes of a plan that have no number yet, with the next numbers."""
    fresh = [shape for shape in plan.shapes if shape not in known]
    return {shape: number for number, shape in enumerate(fresh, len(known))}


def numbered_references(plan: SqlPlan, known: Mapping[InTable, int]) -> dict[InTable, int]:
    """The tables of owners that a plan mentions and that have no number yet, numbered."""
    fresh = sorted(plan.references() - known.keys())
    return {one: number for number, one in enumerate(fresh, len(known))}
