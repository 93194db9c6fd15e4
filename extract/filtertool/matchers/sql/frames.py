"""Queries as frames: which values of a document they compare, and what must hold of these.

A path is cut where conditions depend on constants. The nodes there are the levels of a frame:
``/r[p = $1]/s[q = $2]/t`` has two, ``r`` and the ``s`` below it, and a row for each such pair, with
the values of ``p`` and ``q``. All that does not depend on constants, as whether there is a ``t``,
is decided while the values are read.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, NamedTuple

from extract.filtertool.matchers.push.conditions import (
    And,
    Cell,
    Compare,
    Condition,
    ConstantText,
    Count,
    DividedText,
    First,
    InReference,
    JoinedText,
    NameNumbers,
    NormalisedText,
    Not,
    Operator,
    Or,
    Path,
    PathStep,
    Text,
    TextComparison,
    TextLength,
    There,
    ValueText,
    both,
)
from extract.filtertool.matchers.push.node_sets import location_paths
from extract.filtertool.matchers.push.program import may_fail
from extract.filtertool.matchers.push.translator import Translator
from extract.filtertool.matchers.push.words import PathWords
from extract.filtertool.matchers.sql.formulas import (
    ColumnComparison,
    ColumnSource,
    EveryOf,
    Flag,
    Formula,
    InTable,
    MatchShape,
    OneOf,
    Opposite,
    Role,
    shape_of,
)
from extract.xpath.ast import LocationPath, ParameterType
from extract.xpath.functions import Type
from extract.xpath.parameters import divided, parse_shape
from extract.xpath.types import type_of

MOST_LEVELS: Final = 32  # as in values.h
_LOW: Final = (Operator.LT, Operator.LE)
_HIGH: Final = (Operator.GT, Operator.GE)
_SEARCHES: Final = (Operator.HAS, Operator.BEGINS)


class _Kind(IntEnum):
    """Kinds of columns, as in ``values.h``."""

    NODES = 0
    FIRST = 1
    COUNT = 2
    HOLDS = 3


class Undecided(Exception):
    """Values alone do not decide a query, or not in a way that there is a statement for."""


class Constant(NamedTuple):
    """A constant of a shape, as a member has it.

    Attributes:
        parameter: The parameter of the template.
        is_string: Whether it is compared as a string.
        negative: Whether there is a minus before it.
    """

    parameter: int
    is_string: bool
    negative: bool


class Frame(NamedTuple):
    """The values that an alternative of a query compares.

    Attributes:
        words: The program that reads them.
        levels: The number of levels.
        width: The number of columns.
        sources: The columns of a batch.
        constants: The constants of a member.
        shape: What must hold.
        texts: Whether it looks at text nodes.
    """

    words: array[int]
    levels: int
    width: int
    sources: tuple[ColumnSource, ...]
    constants: tuple[Constant, ...]
    shape: MatchShape
    texts: bool


def frames_of(xpath: str, names: NameNumbers) -> tuple[Frame, ...]:
    """The frames of a template: a member matches where one of them says so.

    Args:
        xpath: The template, with parameters.
        names: Numbers names.

    Raises:
        Undecided: Values do not decide it.
    """
    expression = parse_shape(xpath)
    types = tuple([place.type for place in divided(xpath)[1]]) if "$" in xpath else ()
    if may_fail(expression):
        raise Undecided
    translator = Translator(names, references=True)
    alternatives: list[Path | Condition]
    if type_of(expression) is Type.NODES:
        alternatives = [_whole_path(one, translator) for one in location_paths(expression) or ()]
    else:
        alternatives = [translator.truth(expression, True)]
    if not translator.exact or not alternatives:
        raise Undecided
    return tuple([_frame(one, translator, types) for one in alternatives])


def _whole_path(path: LocationPath, translator: Translator) -> Path:
    translated, whole, _ = translator.path(path, True)
    if translated is None or not whole or not translated.steps:
        raise Undecided  # also the document node, which is no result
    return translated


def selects_nodes(xpath: str) -> bool:
    """Whether a template selects nodes, and has no other value."""
    return type_of(parse_shape(xpath)) is Type.NODES


def _frame(
    alternative: Path | Condition, translator: Translator, types: Sequence[ParameterType]
) -> Frame:
    maker = _FrameMaker(translator.cells, types)
    if isinstance(alternative, Path):
        maker.path(alternative)
    else:
        maker.level(())
        maker.require(alternative)
    return maker.frame(translator.texts)


@dataclass
class _Level:
    """A level: the steps from the one above, and its columns."""

    steps: tuple[PathStep, ...]
    columns: list[tuple[_Kind, int, tuple[int, ...]]] = field(default_factory=list)


class _FrameMaker:
    """Makes one frame."""

    def __init__(self, cells: Sequence[Cell], types: Sequence[ParameterType]) -> None:
        self._cells = cells
        self._types = types
        self._words = PathWords(cells)
        self._levels: list[_Level] = []
        self._conjuncts: list[Formula] = []
        self._sources: list[tuple[int, int, Role, bool]] = []  # level, column there, and the rest
        self._constants: list[Constant] = []

    def path(self, path: Path) -> None:
        """Cuts a path from the document node into levels."""
        steps: list[PathStep] = []
        for step in path.steps:
            parts = _conjuncts(step.condition)
            free = [part for part in parts if not _has_cells(part)]
            bound = [part for part in parts if _has_cells(part)]
            steps.append(step._replace(condition=both(free) if free else None))
            if bound:
                self.level(tuple(steps))
                steps.clear()
                for part in bound:
                    self.require(part)
        if steps and self._levels:
            last = self._levels[-1]
            there = [*_conjuncts(last.steps[-1].condition), There(Path(False, tuple(steps)))]
            last.steps = (*last.steps[:-1], last.steps[-1]._replace(condition=both(there)))
        elif steps:
            self.level(())
            self.require(There(Path(True, tuple(steps))))

    def level(self, steps: tuple[PathStep, ...]) -> None:
        """Begins a level."""
        if len(self._levels) == MOST_LEVELS:
            raise Undecided
        self._levels.append(_Level(steps))

    def require(self, condition: Condition) -> None:
        """Adds a condition on the nodes of the last level."""
        self._conjuncts += [self._formula(part) for part in _conjuncts(condition)]

    def frame(self, texts: bool) -> Frame:
        """The frame."""
        first, total = [], 0
        words: list[int] = []
        for level in self._levels:
            first.append(total)
            total += len(level.columns)
            path = self._words.located(Path(False, level.steps))[1:]
            words += (len(path), *path, len(level.columns))
            for kind, wanted, operands in level.columns:
                words += (kind, wanted, len(operands), *operands)
        sources = tuple(
            [
                ColumnSource(first[level] + column, role, string)
                for level, column, role, string in self._sources
            ]
        )
        formula = EveryOf(tuple(self._conjuncts))
        shape = shape_of(formula, sources, tuple([one.is_string for one in self._constants]))
        constants = tuple(self._constants)
        return Frame(array("i", words), len(self._levels), total, sources, constants, shape, texts)

    # -- formulas

    def _formula(self, condition: Condition) -> Formula:
        if not _has_cells(condition):
            operands = tuple(self._words.condition(condition))
            return Flag(self._source(_Kind.HOLDS, operands, Role.FLAG, False))
        match condition:
            case And(parts):
                return EveryOf(tuple([self._formula(part) for part in parts]))
            case Or(parts):
                return OneOf(tuple([self._formula(part) for part in parts]))
            case Not(part):
                return Opposite(self._formula(part))
            case Compare(operator, cell, path):
                return self._comparison(_Kind.NODES, operator, cell, path)
            case First(operator, cell, path):
                return self._comparison(_Kind.FIRST, operator, cell, path)
            case Count(operator, cell, path):
                return self._comparison(_Kind.COUNT, operator, cell, path)
            case InReference(column, path) if not _path_has_cells(path):
                operands = tuple(self._words.located(path))
                return InTable(self._source(_Kind.NODES, operands, Role.EQUAL, True), *column)
        raise Undecided

    def _comparison(
        self, kind: _Kind, operator: Operator, cell: int, path: Path
    ) -> ColumnComparison:
        parameter, is_string, negative = self._cells[cell]
        if _path_has_cells(path):
            raise Undecided  # a level beside others, not below them
        if not is_string and self._types[parameter] == "string":
            raise Undecided  # the database has no number for a string
        if operator in _SEARCHES and kind is not _Kind.FIRST:
            raise Undecided
        role = _role(operator)
        operands = tuple(self._words.located(path))
        source = self._source(kind, operands, role, is_string)
        self._constants.append(Constant(parameter, is_string, negative))
        return ColumnComparison(operator, source, len(self._constants) - 1)

    def _source(self, kind: _Kind, operands: tuple[int, ...], role: Role, is_string: bool) -> int:
        columns, wanted = self._levels[-1].columns, 1 if is_string else 2
        for number, (own, before, same) in enumerate(columns):
            if own == kind and same == operands:
                columns[number] = (kind, before | wanted, operands)
                break
        else:
            number = len(columns)
            columns.append((kind, wanted, operands))
        self._sources.append((len(self._levels) - 1, number, role, is_string))
        return len(self._sources) - 1


def _role(operator: Operator) -> Role:
    if operator is Operator.EQ:
        return Role.EQUAL
    if operator is Operator.NE:
        return Role.OTHER
    if operator in _SEARCHES:
        return Role.TEXT
    return Role.LOW if operator in _LOW else Role.HIGH


def _conjuncts(condition: Condition | None) -> tuple[Condition, ...]:
    if condition is None:
        return ()
    return condition.parts if isinstance(condition, And) else (condition,)


def _has_cells(condition: Condition) -> bool:
    """Whether a condition depends on constants."""
    match condition:
        case And(parts) | Or(parts):
            return any(map(_has_cells, parts))
        case Not(part):
            return _has_cells(part)
        case There(path):
            return _path_has_cells(path)
        case Compare() | First() | Count() | TextLength() | InReference():
            return True
        case TextComparison(_, left, right):
            return _text_has_cells(left) or _text_has_cells(right)
    return False


def _path_has_cells(path: Path) -> bool:
    return any(_has_cells(step.condition) for step in path.steps if step.condition is not None)


def _text_has_cells(text: Text) -> bool:
    match text:
        case ConstantText():
            return True
        case ValueText(path):
            return _path_has_cells(path)
        case NormalisedText(part):
            return _text_has_cells(part)
        case DividedText(_, part, mark):
            return _text_has_cells(part) or _text_has_cells(mark)
        case JoinedText(parts):
            return any(map(_text_has_cells, parts))
    return False
