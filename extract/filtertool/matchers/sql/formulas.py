"""What must hold for a subscription to match, on the columns of values that were read.

A formula has no paths any more: its atoms compare a column of a frame with a constant, and what
does not depend on constants is a flag. Subscriptions of all templates with the same formula share
one statement; `MatchShape` is what they have in common.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple, TypeAlias

from extract.filtertool.matchers.push.conditions import Operator


class Role(Enum):
    """What a column of a batch has for each row.

    The values of several nodes are one: `x > $1` holds of some node if it holds of the largest.
    """

    EQUAL = "equal"  # the value, or a list of all values
    LOW = "low"  # the smallest number
    HIGH = "high"  # the largest number
    OTHER = "other"  # a value, and whether there is another one
    TEXT = "text"  # the value of the first node
    FLAG = "flag"  # whether a condition without constants holds


class ColumnSource(NamedTuple):
    """Where the values of a column come from.

    Attributes:
        column: The column of the frame.
        role: What is made of its values.
        is_string: Whether they are strings; else numbers.
    """

    column: int
    role: Role
    is_string: bool


class ColumnComparison(NamedTuple):
    """A column compares with a constant.

    Attributes:
        operator: How.
        source: The number of the column, in `MatchShape.sources`.
        constant: The number of the constant.
    """

    operator: Operator
    source: int
    constant: int


class InTable(NamedTuple):
    """A column has a value that a table of the owner has.

    Attributes:
        source: The number of the column, in `MatchShape.sources`.
        table: The table, perhaps with its schema.
        column: The column of the table.
    """

    source: int
    table: str
    column: str


class Flag(NamedTuple):
    """A column that is a condition holds."""

    source: int


class EveryOf(NamedTuple):
    """All of these hold."""

    parts: tuple[Formula, ...]


class OneOf(NamedTuple):
    """One of these holds."""

    parts: tuple[Formula, ...]


class Opposite(NamedTuple):
    """This does not hold."""

    part: Formula


Formula: TypeAlias = ColumnComparison | InTable | Flag | EveryOf | OneOf | Opposite


class MatchShape(NamedTuple):
    """What all templates that one statement serves have in common.

    Attributes:
        formula: What must hold.
        sources: The columns of a batch: what each is made of, apart from the frame's column.
        constants: For each constant whether it is a string.
        access: The number of the comparison among `conjuncts` by which subscriptions are found: an
            equality; -1 if there is none.
    """

    formula: EveryOf
    sources: tuple[tuple[Role, bool], ...]
    constants: tuple[bool, ...]
    access: int

    @property
    def key(self) -> ColumnComparison | None:
        """The comparison by which subscriptions are found."""
        if self.access < 0:
            return None
        found = self.formula.parts[self.access]
        assert isinstance(found, ColumnComparison)
        return found


def shape_of(
    formula: EveryOf, sources: tuple[ColumnSource, ...], constants: tuple[bool, ...]
) -> MatchShape:
    """The shape of a formula."""
    access = -1
    for number, part in enumerate(formula.parts):
        if isinstance(part, ColumnComparison) and part.operator is Operator.EQ:
            role, is_string = sources[part.source].role, sources[part.source].is_string
            if role is Role.EQUAL and (access < 0 or is_string):
                access = number
                if is_string:
                    break
    return MatchShape(
        formula, tuple([(one.role, one.is_string) for one in sources]), constants, access
    )


def tables_in(formula: Formula) -> Iterator[InTable]:
    """The tables of owners that a formula mentions."""
    match formula:
        case EveryOf(parts) | OneOf(parts):
            for part in parts:
                yield from tables_in(part)
        case Opposite(part):
            yield from tables_in(part)
        case InTable():
            yield formula
