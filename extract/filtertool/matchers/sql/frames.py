"""Queries as frames: which values of a document they compare, and what must hold of these.

A path is cut where conditions depend on constants. The nodes there are the levels of a frame:
``/r[p = $1]/s[q = $2]/t`` has two, ``r`` and the ``s`` below it, and a row for each such pair, with
the values of ``p`` and ``q``. So has ``/r[p = $1][s[q = $2]]``. All that does not depend on
constants, as whether there is a ``t``, is decided while the values are read.
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
    Count,
    First,
    InReference,
    NameNumbers,
    Not,
    Operator,
    Or,
    Path,
    PathStep,
    There,
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
from extract.filtertool.matchers.sql.nested import (
    Undecided,
    conjuncts,
    has_constants,
    is_nested,
    path_has_constants,
    path_variants,
    variants,
)
from extract.xpath.ast import LocationPath, ParameterType
from extract.xpath.functions import Type
from extract.xpath.parameters import divided, parse_shape
from extract.xpath.reference_tables import TableColumn
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
        paths = [_whole_path(one, translator) for one in location_paths(expression) or ()]
        alternatives = [one for path in paths for one in path_variants(path)]
    else:
        alternatives = [*variants(translator.truth(expression, True))]
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
        maker.require(alternative, maker.level((), -1))
    return maker.frame(translator.texts)


@dataclass
class _Level:
    """A level: the one that it starts from, the steps from there, and its columns."""

    start: int
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

    def path(self, path: Path, start: int = -1) -> None:
        """Cuts a path into levels.

        Args:
            path: The path; some node must be there.
            start: The level that it starts from; -1 for the document node.
        """
        last, steps = self._cut(path, start)
        if steps and last != start:
            level = self._levels[last]
            there = [*conjuncts(level.steps[-1].condition), There(Path(False, steps))]
            level.steps = (*level.steps[:-1], level.steps[-1]._replace(condition=both(there)))
        elif steps:
            self.require(There(Path(True, steps)), self.level((), -1))

    def _cut(self, path: Path, start: int) -> tuple[int, tuple[PathStep, ...]]:
        """Cuts a path, and returns the last level, and the steps from there."""
        last, steps = -1 if path.absolute else start, tuple[PathStep, ...]()
        for step in path.steps:
            parts = conjuncts(step.condition)
            free = [part for part in parts if not has_constants(part)]
            bound = [part for part in parts if has_constants(part)]
            steps = (*steps, step._replace(condition=both(free) if free else None))
            if bound:
                last, steps = self.level(steps, last), ()
                for part in bound:
                    self.require(part, last)
        return last, steps

    def level(self, steps: tuple[PathStep, ...], start: int) -> int:
        """Begins a level, and returns its number."""
        if len(self._levels) == MOST_LEVELS:
            raise Undecided
        self._levels.append(_Level(start, steps))
        return len(self._levels) - 1

    def require(self, condition: Condition, level: int) -> None:
        """Adds a condition on the nodes of a level."""
        for part in conjuncts(condition):
            if is_nested(part):
                self._require_inside(part, level)
            else:
                self._conjuncts.append(self._formula(part, level))

    def _require_inside(self, condition: Condition, level: int) -> None:
        """Adds a condition on nodes that constants decide: these are another level."""
        match condition:
            case There(path):
                self.path(path, level)
            case Compare(operator, cell, path):
                last, steps = self._cut(path, level)
                rest = Path(False, steps)
                self._conjuncts.append(self._comparison(_Kind.NODES, operator, cell, rest, last))
            case InReference(column, path):
                last, steps = self._cut(path, level)
                self._conjuncts.append(self._in_table(column, Path(False, steps), last))
            case _:
                raise Undecided

    def frame(self, texts: bool) -> Frame:
        """The frame."""
        first, total = [], 0
        words: list[int] = []
        for level in self._levels:
            first.append(total)
            total += len(level.columns)
            path = self._words.located(Path(False, level.steps))[1:]
            words += (level.start, len(path), *path, len(level.columns))
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

    def _formula(self, condition: Condition, level: int) -> Formula:
        if not has_constants(condition):
            operands = tuple(self._words.condition(condition))
            return Flag(self._source(_Kind.HOLDS, operands, Role.FLAG, False, level))
        match condition:
            case And(parts):
                return EveryOf(tuple([self._formula(part, level) for part in parts]))
            case Or(parts):
                return OneOf(tuple([self._formula(part, level) for part in parts]))
            case Not(part):
                return Opposite(self._formula(part, level))
            case Compare(operator, cell, path):
                return self._comparison(_Kind.NODES, operator, cell, path, level)
            case First(operator, cell, path):
                return self._comparison(_Kind.FIRST, operator, cell, path, level)
            case Count(operator, cell, path):
                return self._comparison(_Kind.COUNT, operator, cell, path, level)
            case InReference(column, path):
                return self._in_table(column, path, level)
        raise Undecided

    def _comparison(
        self, kind: _Kind, operator: Operator, cell: int, path: Path, level: int
    ) -> ColumnComparison:
        parameter, is_string, negative = self._cells[cell]
        if path_has_constants(path):
            raise Undecided  # below not(), or where the first node or all are asked for
        if not is_string and self._types[parameter] == "string":
            raise Undecided  # the database has no number for a string
        if operator in _SEARCHES and kind is not _Kind.FIRST:
            raise Undecided
        role = _role(operator)
        operands = tuple(self._words.located(path))
        source = self._source(kind, operands, role, is_string, level)
        self._constants.append(Constant(parameter, is_string, negative))
        return ColumnComparison(operator, source, len(self._constants) - 1)

    def _in_table(self, column: TableColumn, path: Path, level: int) -> InTable:
        if path_has_constants(path):
            raise Undecided
        operands = tuple(self._words.located(path))
        source = self._source(_Kind.NODES, operands, Role.EQUAL, True, level)
        return InTable(source, *column)

    def _source(
        self, kind: _Kind, operands: tuple[int, ...], role: Role, is_string: bool, level: int
    ) -> int:
        columns, wanted = self._levels[level].columns, 1 if is_string else 2
        for number, (own, before, same) in enumerate(columns):
            if own == kind and same == operands:
                columns[number] = (kind, before | wanted, operands)
                break
        else:
            number = len(columns)
            columns.append((kind, wanted, operands))
        self._sources.append((level, number, role, is_string))
        return len(self._sources) - 1


def _role(operator: Operator) -> Role:
    if operator is Operator.EQ:
        return Role.EQUAL
    if operator is Operator.NE:
        return Role.OTHER
    if operator in _SEARCHES:
        return Role.TEXT
    return Role.LOW if operator in _LOW else Role.HIGH
