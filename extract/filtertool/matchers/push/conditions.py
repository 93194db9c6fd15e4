"""Queries as the push engine sees them: paths downwards, with conditions.

`translator` makes them from XPath, `clauses` says by what queries with such conditions are found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Final, NamedTuple, Protocol, TypeAlias

from extract.xpath.ast import NameTest
from extract.xpath.reference_tables import TableColumn


class PathAxis(IntEnum):
    """The axes of the engine, numbered as in ``registry.h``; `NEAR` is ``descendant-or-self``."""

    CHILD = 0
    DESCENDANT = 1
    NEAR = 2
    ATTRIBUTE = 3
    TEXT = 4
    FOLLOWING = 6  # siblings: only in conditions, which have no slots
    PRECEDING = 7
    NEXT = 8  # the nearest of those with the name
    PREVIOUS = 9
    BEHIND = 10  # following: elements anywhere behind; also only in conditions
    BEFORE = 11
    ANCESTOR = 12
    ABOVE = 13  # ancestor-or-self
    PARENT = 14
    FIRST_BEHIND = 15  # the nearest of those with the name
    LAST_BEFORE = 16
    NEXT_ANCESTOR = 17
    NEXT_ABOVE = 18
    SELF = 19  # only in steps with `StepParts`
    UNION = 20


_LAST_DOWN: Final = PathAxis.TEXT  # an attribute of an enumeration takes long to find


class Operator(IntEnum):
    """Comparisons, as in ``conditions.h``: `HAS` is ``contains()``, `BEGINS` ``starts-with()``."""

    EQ = 0
    NE = 1
    LT = 2
    LE = 3
    GT = 4
    GE = 5
    HAS = 6
    BEGINS = 7


ANY_TEST: Final = -1
NODE_TEST: Final = -(2**31)  # any node; this one and those below only in steps with `StepParts`
TEXT_TEST: Final = NODE_TEST + 1
COMMENT_TEST: Final = NODE_TEST + 2
INSTRUCTION_TEST: Final = NODE_TEST + 3
PARENT_TEST: Final = NODE_TEST + 4  # an element or the document node


class NameNumbers(Protocol):
    """Numbers names as the engine tests them."""

    def test(self, test: NameTest) -> int:
        """The test that names pass: a number for a name, or a negative one for several."""


@dataclass(frozen=True, slots=True)
class StepParts:
    """What a step has that is taken as XPath defines it: node by node, with positions.

    Attributes:
        predicates: One after the other, each with positions among the nodes that the others leave.
        paths: Of a `PathAxis.UNION`: the step leads to their nodes, in document order.
    """

    predicates: tuple[Condition, ...]
    paths: tuple[Path, ...] = ()


class PathStep(NamedTuple):
    """A step of a path.

    Attributes:
        axis: Where it goes.
        test: The names that it selects; `ANY_TEST` for all.
        condition: What else must hold; None for nothing.
        parts: For a step that is taken node by node; then there is no condition.
    """

    axis: PathAxis
    test: int
    condition: Condition | None = None
    parts: StepParts | None = None


@lru_cache(maxsize=1 << 12)
def bare_step(axis: PathAxis, test: int) -> PathStep:
    """A step without conditions, as most are; equal ones are mostly one object."""
    return PathStep(axis, test)


class Path(NamedTuple):
    """Steps from the document node, or from a node.

    Attributes:
        absolute: Whether they start at the document node.
        steps: The steps.
    """

    absolute: bool
    steps: tuple[PathStep, ...]

    @property
    def plain(self) -> bool:
        """Whether no step has a condition."""
        for step in self.steps:
            if step.condition is not None or step.parts is not None:
                return False
        return True

    @property
    def goes_down(self) -> bool:
        """Whether no step leads to siblings, or elsewhere, or is taken node by node."""
        for step in self.steps:  # noqa: SIM110 - as above
            if step.axis > _LAST_DOWN or step.parts is not None:
                return False
        return True


class Cell(NamedTuple):
    """How a constant of a query becomes one of the engine.

    Attributes:
        parameter: The parameter.
        is_string: Whether it is compared as a string; else as a number.
        negative: Whether there is a minus before it.
    """

    parameter: int
    is_string: bool
    negative: bool = False


class And(NamedTuple):
    """All of these hold."""

    parts: tuple[Condition, ...]


class Or(NamedTuple):
    """One of these holds."""

    parts: tuple[Condition, ...]


class Not(NamedTuple):
    """This does not hold."""

    part: Condition


class Always(NamedTuple):
    """This holds always, or never."""

    holds: bool


class There(NamedTuple):
    """A path selects a node."""

    path: Path


class Among(NamedTuple):
    """The node is one of those that a step leads to from its parent.

    This is how the positions of a path downwards are conditions of single nodes. The step has all
    predicates up to the last one that counts, each once, so that a condition is as long as they
    are.

    Attributes:
        step: A step to children, with `StepParts`.
        constant: Whether it depends on no constants, so that all rows share what is found.
    """

    step: PathStep
    constant: bool

    @property
    def predicates(self) -> tuple[Condition, ...]:
        """The predicates of the step."""
        return () if self.step.parts is None else self.step.parts.predicates


class Compare(NamedTuple):
    """The value of one of the nodes that a path selects compares with a constant.

    Attributes:
        operator: How.
        cell: Number of the constant.
        path: The path.
    """

    operator: Operator
    cell: int
    path: Path


class First(NamedTuple):
    """The value of the first node that a path selects compares with a constant; that of no node is
    the empty string, or NaN.

    Attributes:
        operator, cell, path: As for `Compare`.
        empty: Whether the constant is the empty string, as the value of no node is.
    """

    operator: Operator
    cell: int
    path: Path
    empty: bool = False


class Count(NamedTuple):
    """The number of nodes that a path selects compares with a constant. Attributes as for
    `Compare`."""

    operator: Operator
    cell: int
    path: Path


class InReference(NamedTuple):
    """The value of one of the nodes that a path selects is in a column of a table; only databases
    know these.

    Attributes:
        column: The column.
        path: The path.
    """

    column: TableColumn
    path: Path


class FixedText(NamedTuple):
    """A string that is part of a query's shape."""

    value: str


class ConstantText(NamedTuple):
    """A string constant, by the number of its cell."""

    cell: int


class ValueText(NamedTuple):
    """The value of the first node that a path selects; that of no node is empty."""

    path: Path


class NormalisedText(NamedTuple):
    """A text without white space at its ends, and one space for white space within."""

    text: Text


class DividedText(NamedTuple):
    """What is in a text before another one, or behind it."""

    behind: bool
    text: Text
    mark: Text


class JoinedText(NamedTuple):
    """Several texts as one."""

    parts: tuple[Text, ...]


class TranslatedText(NamedTuple):
    """A text with other characters in place of some, or none."""

    text: Text
    source: Text
    target: Text


class PartOfText(NamedTuple):
    """The characters of a text from a number on; to its end if there is no length."""

    text: Text
    start: Calculation
    length: Calculation | None


class NameText(NamedTuple):
    """The name of the first node that a path selects, as it is written or without its prefix; that
    of no node is empty."""

    local: bool
    path: Path


@dataclass(frozen=True, slots=True)
class NamespaceText:
    """The namespace of the first node that a path selects; that of no node is empty."""

    path: Path


@dataclass(frozen=True, slots=True)
class NumberText:
    """A number as libxml2 writes it."""

    number: Calculation


@dataclass(frozen=True, slots=True)
class TruthText:
    """``true`` or ``false``."""

    condition: Condition


Text: TypeAlias = (
    FixedText
    | ConstantText
    | ValueText
    | NormalisedText
    | DividedText
    | JoinedText
    | TranslatedText
    | PartOfText
    | NameText
    | NamespaceText
    | NumberText
    | TruthText
)


class TextComparison(NamedTuple):
    """Two texts compare."""

    operator: Operator
    left: Text
    right: Text


class TextLength(NamedTuple):
    """The number of a text's characters compares with a constant."""

    operator: Operator
    cell: int
    text: Text


class NumberKind(IntEnum):
    """What makes a number, as in ``conditions.h``."""

    LITERAL = 0
    CELL = 1
    COUNT = 2
    SUM = 3
    VALUE = 4
    LENGTH = 5
    MINUS = 6
    ADD = 7
    SUBTRACT = 8
    MULTIPLY = 9
    DIVIDE = 10
    MODULO = 11
    FLOOR = 12
    CEILING = 13
    ROUND = 14
    HERE = 15
    SIZE = 16
    TRUTH = 17


class FixedNumber(NamedTuple):
    """A number that is part of a query's shape."""

    value: float


class ConstantNumber(NamedTuple):
    """A constant as a number, by the number of its cell."""

    cell: int


class NodesNumber(NamedTuple):
    """How many nodes a path selects, or the sum of their values."""

    operation: NumberKind
    path: Path


class TextNumber(NamedTuple):
    """A text as a number, or how many characters it has."""

    operation: NumberKind
    text: Text


class Calculated(NamedTuple):
    """A number that is made of one or two others."""

    operation: NumberKind
    parts: tuple[Calculation, ...]


@dataclass(frozen=True, slots=True)
class HereNumber:
    """The position of a node among those that a predicate of a step with `StepParts` is about, or
    how many these are: `NumberKind.HERE`, `NumberKind.SIZE`."""

    operation: NumberKind


@dataclass(frozen=True, slots=True)
class TruthNumber:
    """1 if a condition holds, else 0."""

    condition: Condition


Calculation: TypeAlias = (
    FixedNumber | ConstantNumber | NodesNumber | TextNumber | Calculated | HereNumber | TruthNumber
)


class NumberComparison(NamedTuple):
    """Two numbers compare."""

    operator: Operator
    left: Calculation
    right: Calculation


class CompareNumber(NamedTuple):
    """The value of one of the nodes that a path selects compares with a number."""

    operator: Operator
    number: Calculation
    path: Path


@dataclass(frozen=True, slots=True)
class CompareText:
    """The value of one of the nodes that a path selects equals a text, or differs from it."""

    operator: Operator
    text: Text
    path: Path


class NodesComparison(NamedTuple):
    """The values of two nodes compare, one of each path."""

    operator: Operator
    left: Path
    right: Path


class NumberTruth(NamedTuple):
    """A number is neither 0 nor NaN."""

    number: Calculation


class NumberValue(NamedTuple):
    """This holds always: the query asks for the number."""

    number: Calculation


@dataclass(frozen=True, slots=True)
class TextValue:
    """This holds always: the query asks for the text."""

    text: Text


@dataclass(frozen=True, slots=True)
class Selected:
    """A path selects a node that is not the document node; its nodes are the query's results."""

    path: Path


Condition: TypeAlias = (
    And
    | Or
    | Not
    | Always
    | There
    | Among
    | Compare
    | First
    | Count
    | InReference
    | TextComparison
    | TextLength
    | NumberComparison
    | CompareNumber
    | CompareText
    | NodesComparison
    | NumberTruth
    | NumberValue
    | TextValue
    | Selected
)

TRUE: Final = Always(True)
FALSE: Final = Always(False)
EMPTY: Final = FixedText("")


def both(parts: Sequence[Condition]) -> Condition:
    """All conditions together, simplified."""
    if len(parts) == 1:
        return parts[0]
    flat: list[Condition] = []
    for part in parts:
        if isinstance(part, And):
            flat += part.parts
        elif part == FALSE:
            return FALSE
        elif part != TRUE:
            flat.append(part)
    return flat[0] if len(flat) == 1 else And(tuple(flat)) if flat else TRUE


def either(parts: Sequence[Condition]) -> Condition:
    """One condition of several, simplified."""
    if len(parts) == 1:
        return parts[0]
    flat: list[Condition] = []
    for part in parts:
        if isinstance(part, Or):
            flat += part.parts
        elif part == TRUE:
            return TRUE
        elif part != FALSE:
            flat.append(part)
    return flat[0] if len(flat) == 1 else Or(tuple(flat)) if flat else FALSE


def opposite(part: Condition) -> Condition:
    """The opposite of a condition, simplified."""
    if isinstance(part, Always):
        return Always(not part.holds)
    return part.part if isinstance(part, Not) else Not(part)
