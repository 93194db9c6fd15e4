"""Templates as words for the engine.

Their format is at the top of ``core/templates.c``; that of conditions in ``core/conditions.h``.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import chain
from typing import Final

from extract.filtertool.matchers.push.clauses import (
    Atom,
    AtomKind,
    Clause,
    SlotPath,
    step_names,
)
from extract.filtertool.matchers.push.conditions import (
    Always,
    Among,
    And,
    Calculated,
    Calculation,
    Cell,
    Compare,
    CompareNumber,
    CompareText,
    Condition,
    ConstantNumber,
    ConstantText,
    Count,
    DividedText,
    First,
    FixedNumber,
    FixedText,
    HereNumber,
    InReference,
    JoinedText,
    NamespaceText,
    NameText,
    NodesComparison,
    NodesNumber,
    NormalisedText,
    Not,
    NumberComparison,
    NumberKind,
    NumberText,
    NumberTruth,
    NumberValue,
    Or,
    PartOfText,
    Path,
    PathAxis,
    PathStep,
    Selected,
    Text,
    TextComparison,
    TextLength,
    TextNumber,
    TextValue,
    There,
    TranslatedText,
    TruthNumber,
    TruthText,
    ValueText,
)
from extract.filtertool.matchers.push.translator import Translator

_AND, _OR, _NOT, _TRUE, _FALSE, _THERE, _COMPARE, _FIRST, _COUNT, _STRINGS, _LENGTH = range(11)
_NUMBERS, _COMPARE_NUMBER, _TRUTH, _NUMBER, _NODES = range(11, 16)
_COMPARE_TEXT, _SELECTED, _TEXT, _AMONG = range(16, 20)
_LITERAL, _CELL, _VALUE, _NORMAL, _BEFORE, _AFTER, _TOGETHER, _TRANSLATED, _PART, _NAME = range(10)
_NUMBER_TEXT, _TRUTH_TEXT, _NAMESPACE = 10, 11, 12
_COMPARISONS: Final = {Compare: _COMPARE, First: _FIRST, Count: _COUNT}
_EQUAL_STRING: Final = AtomKind.EQUAL_STRING  # an attribute of an enumeration takes long to find
_EXACTLY = 64  # added to the axis of a step that is taken node by node


class PathWords:
    """Writes paths and conditions as words.

    Args:
        cells: The constants of conditions; more may come.
    """

    def __init__(self, cells: Sequence[Cell]) -> None:
        self._cells = cells
        self._steps = 0  # so far, those in conditions too

    def _path(self, path: Path) -> list[int]:
        words = [len(path.steps)]
        self._steps += len(path.steps)
        for step in path.steps:
            axis, test, condition, parts = step
            if condition is None and parts is None:
                words += (axis, test, 0)
            else:
                words += self.step(step)
        return words

    def step(self, step: PathStep) -> list[int]:
        """A step."""
        if step.parts is not None:
            inner = [word for one in step.parts.paths for word in self._measured(self.located(one))]
            if step.axis is PathAxis.UNION:
                inner.insert(0, len(inner))
            inner += [word for one in step.parts.predicates for word in _condition(self, one)]
            return [step.axis + _EXACTLY, step.test, len(inner), *inner]
        condition = [] if step.condition is None else _condition(self, step.condition)
        return [step.axis, step.test, len(condition), *condition]

    def comparison(self, check: Compare | First | Count) -> list[int]:
        """The operands of a comparison."""
        kind = [] if isinstance(check, Count) else [int(self._cells[check.cell].is_string)]
        return [check.operator, *kind, check.cell, *self.located(check.path)]

    def condition(self, condition: Condition) -> list[int]:
        """A condition."""
        return _condition(self, condition)

    def located(self, path: Path) -> list[int]:
        """A path, and whether it starts at the document node."""
        return [int(path.absolute), *self._path(path)]

    def _measured(self, words: list[int]) -> list[int]:
        return [len(words), *words]


class TemplateWords(PathWords):
    """Writes a template as words."""

    def __init__(self, cells: Sequence[Cell], translator: Translator) -> None:
        super().__init__(cells)
        self._exact = translator.exact
        self._texts = translator.texts
        self._slots: dict[SlotPath, int] = {}

    def template(self, clauses: Sequence[Clause]) -> array[int]:
        """The words of all clauses."""
        parts: list[int] = []
        for clause in clauses:
            parts += self._clause(clause)
        words = [len(self._slots)]
        for slot in self._slots:
            for names in slot:
                words.append(len(names))
                words += chain.from_iterable(names)
        words += (self._exact | self._texts << 1 | max(self._steps, 1) << 2, len(self._cells))
        words += [int(cell.is_string) for cell in self._cells]
        words.append(len(clauses))
        return array("i", words + parts)

    def _slot(self, slot: SlotPath) -> int:
        return self._slots.setdefault(slot, len(self._slots))

    def _clause(self, clause: Clause) -> list[int]:
        groups = [len(clause.groups)]
        for slots, outer in clause.groups:
            groups.append(-1 if outer is None else self._slot(outer))
            groups += (len(slots), *map(self._slot, slots))
        covers = [len(clause.covers)]
        for cover in clause.covers:
            covers += (2 + 4 * len(cover), len(cover))
            for atom in cover:
                covers += (self._slot(atom.slot), self._kind(atom), atom.cell, atom.sure)
        if clause.path is None:
            checks, path = [], _condition(self, clause.condition)
        else:
            checks, path = self._checks(clause, clause.path), self._path(clause.path)
        begin = 8
        offsets = []
        for part in (groups, covers, checks, path):
            offsets.append(begin if part else 0)
            begin += len(part)
        head = [begin, clause.anchor, clause.path is None, clause.decides, *offsets]
        return [*map(int, head), *groups, *covers, *checks, *path]

    def _kind(self, atom: Atom) -> int:
        if atom.kind is _EQUAL_STRING and not self._cells[atom.cell].is_string:
            return AtomKind.EQUAL_NUMBER
        return atom.kind

    def _checks(self, clause: Clause, path: Path) -> list[int]:
        if not clause.checks:
            return []
        anchor = step_names(path.steps[: clause.anchor + 1])
        checks = [len(clause.checks)]
        for check in clause.checks:
            slot = self._slot(SlotPath(anchor, step_names(check.path.steps)))
            words = self._check(check, slot)
            checks += (1 + len(words), *words)
        return checks

    def _check(self, check: There | Compare | First, slot: int) -> list[int]:
        path = self._path(check.path)
        if isinstance(check, There):
            return [_THERE, 0, 0, 0, slot, *path]
        kind = _COMPARE if isinstance(check, Compare) else _FIRST
        return [kind, check.operator, self._cells[check.cell].is_string, check.cell, slot, *path]


def _condition(words: PathWords, condition: Condition) -> list[int]:
    match condition:
        case And(parts) | Or(parts):
            code = _AND if isinstance(condition, And) else _OR
            inner = [word for part in parts for word in _condition(words, part)]
        case Not(part):
            code, inner = _NOT, _condition(words, part)
        case Always(holds):
            code, inner = (_TRUE if holds else _FALSE), []
        case There(path) | Selected(path):
            code = _THERE if isinstance(condition, There) else _SELECTED
            inner = words.located(path)
        case Among(step, constant):
            code, inner = _AMONG, [int(constant), *words.step(step)]
        case Compare() | First() | Count():
            code = _COMPARISONS[type(condition)]
            inner = words.comparison(condition)
        case TextComparison(operator, left, right):
            code, inner = _STRINGS, [operator, *_text(words, left), *_text(words, right)]
        case TextLength(operator, cell, text):
            code, inner = _LENGTH, [operator, cell, *_text(words, text)]
        case NumberComparison(operator, first, second):
            code = _NUMBERS
            inner = [operator, *_number(words, first), *_number(words, second)]
        case CompareNumber(operator, number, path):
            inner = _number(words, number)
            code, inner = _COMPARE_NUMBER, [operator, *inner, *words.located(path)]
        case CompareText(operator, text, path):
            code = _COMPARE_TEXT
            inner = [operator, *_text(words, text), *words.located(path)]
        case NodesComparison(operator, one, other):
            inner = words.located(one)
            code, inner = _NODES, [operator, len(inner), *inner, *words.located(other)]
        case NumberTruth(number) | NumberValue(number):
            code = _TRUTH if isinstance(condition, NumberTruth) else _NUMBER
            inner = _number(words, number)
        case TextValue(text):
            code, inner = _TEXT, _text(words, text)
        case InReference():
            raise AssertionError("the engine knows no tables")
    return [code, len(inner), *inner]


def _text(words: PathWords, text: Text) -> list[int]:
    match text:
        case FixedText(value):
            data = value.encode()
            padded = data + b"\0" * (-len(data) % 4)
            code, inner = _LITERAL, [len(data), *array("i", padded)]
        case ConstantText(cell):
            code, inner = _CELL, [cell]
        case ValueText(path):
            code, inner = _VALUE, words.located(path)
        case NameText(local, path):
            code, inner = _NAME, [int(local), *words.located(path)]
        case NamespaceText(path):
            code, inner = _NAMESPACE, words.located(path)
        case NumberText(number):
            code, inner = _NUMBER_TEXT, _number(words, number)
        case TruthText(condition):
            code, inner = _TRUTH_TEXT, _condition(words, condition)
        case NormalisedText(part):
            code, inner = _NORMAL, _text(words, part)
        case DividedText(behind, part, mark):
            code = _AFTER if behind else _BEFORE
            inner = [*_text(words, part), *_text(words, mark)]
        case TranslatedText(part, source, target):
            inner = [*_text(words, part), *_text(words, source), *_text(words, target)]
            code = _TRANSLATED
        case PartOfText(part, start, length):
            inner = [*_text(words, part), *_number(words, start)]
            code, inner = _PART, inner + ([] if length is None else _number(words, length))
        case JoinedText(parts):
            code, inner = _TOGETHER, [word for part in parts for word in _text(words, part)]
    return [code, len(inner), *inner]


def _number(words: PathWords, number: Calculation) -> list[int]:
    match number:
        case FixedNumber(value):
            code, inner = NumberKind.LITERAL, list(array("i", array("d", [value]).tobytes()))
        case ConstantNumber(cell):
            code, inner = NumberKind.CELL, [cell]
        case NodesNumber(code, path):
            inner = words.located(path)
        case TextNumber(code, text):
            inner = _text(words, text)
        case HereNumber(code):
            inner = []
        case TruthNumber(condition):
            code, inner = NumberKind.TRUTH, _condition(words, condition)
        case Calculated(code, parts):
            inner = [word for part in parts for word in _number(words, part)]
    return [code, len(inner), *inner]
