"""Conditions that depend on constants, and such conditions inside of others.

``r[x[a = $1 and b = $2]]`` holds of an ``r`` if there is some ``x`` below it for which both hold:
this ``x`` is a level of its own. An ``or`` of such conditions is several queries, each with one of
its parts; below ``not()`` there is no such way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Final, TypeVar

from extract.filtertool.matchers.push.conditions import (
    Among,
    And,
    Calculated,
    Calculation,
    Compare,
    CompareNumber,
    Condition,
    ConstantNumber,
    ConstantText,
    Count,
    DividedText,
    First,
    InReference,
    JoinedText,
    NameText,
    NodesComparison,
    NodesNumber,
    NormalisedText,
    Not,
    NumberComparison,
    NumberTruth,
    NumberValue,
    Or,
    PartOfText,
    Path,
    Text,
    TextComparison,
    TextLength,
    TextNumber,
    There,
    TranslatedText,
    ValueText,
    both,
)

_MOST_VARIANTS: Final = 16  # queries that one is divided into
_T = TypeVar("_T")


class Undecided(Exception):
    """Values alone do not decide a query, or not in a way that there is a statement for."""


def conjuncts(condition: Condition | None) -> tuple[Condition, ...]:
    """The conditions that all hold where this one does."""
    if condition is None:
        return ()
    if not isinstance(condition, And):
        return (condition,)
    return tuple([one for part in condition.parts for one in conjuncts(part)])


def has_constants(condition: Condition) -> bool:
    """Whether a condition depends on constants."""
    match condition:
        case And(parts) | Or(parts):
            return any(map(has_constants, parts))
        case Not(part):
            return has_constants(part)
        case Among():
            return any(map(has_constants, condition.predicates))
        case There(path):
            return path_has_constants(path)
        case Compare() | First() | Count() | TextLength() | InReference():
            return True
        case TextComparison(_, left, right):
            return _text_has_constants(left) or _text_has_constants(right)
        case NumberComparison(_, first, second):
            return _number_has_constants(first) or _number_has_constants(second)
        case CompareNumber(_, number, path):
            return _number_has_constants(number) or path_has_constants(path)
        case NodesComparison(_, one, other):
            return path_has_constants(one) or path_has_constants(other)
        case NumberTruth(number) | NumberValue(number):
            return _number_has_constants(number)
    return False


def path_has_constants(path: Path) -> bool:
    """Whether the nodes of a path depend on constants."""
    return any(has_constants(step.condition) for step in path.steps if step.condition is not None)


def _text_has_constants(text: Text) -> bool:
    match text:
        case ConstantText():
            return True
        case ValueText(path) | NameText(_, path):
            return path_has_constants(path)
        case NormalisedText(part):
            return _text_has_constants(part)
        case DividedText(_, part, mark):
            return _text_has_constants(part) or _text_has_constants(mark)
        case TranslatedText(part, source, target):
            return any(map(_text_has_constants, (part, source, target)))
        case PartOfText(part, start, length):
            numbers = [start] if length is None else [start, length]
            return _text_has_constants(part) or any(map(_number_has_constants, numbers))
        case JoinedText(parts):
            return any(map(_text_has_constants, parts))
    return False


def _number_has_constants(number: Calculation) -> bool:
    match number:
        case ConstantNumber():
            return True
        case NodesNumber(_, path):
            return path_has_constants(path)
        case TextNumber(_, text):
            return _text_has_constants(text)
        case Calculated(_, parts):
            return any(map(_number_has_constants, parts))
    return False


def is_nested(condition: Condition) -> bool:
    """Whether constants decide which nodes a condition looks at."""
    match condition:
        case And(parts) | Or(parts):
            return any(map(is_nested, parts))
        case Not(part):
            return is_nested(part)
        case There(path) | Compare(_, _, path) | InReference(_, path):
            return path_has_constants(path)
    return False


def path_variants(path: Path) -> Sequence[Path]:
    """The paths one of which selects something wherever this one does, without nested ``or``.

    Raises:
        Undecided: There are too many, or a nested condition is below ``not()``.
    """
    steps = [
        [step]
        if step.condition is None
        else [step._replace(condition=one) for one in variants(step.condition)]
        for step in path.steps
    ]
    return [path._replace(steps=chosen) for chosen in _few(product(*steps))]


def variants(condition: Condition) -> Sequence[Condition]:
    """The conditions one of which holds wherever this one does, without nested ``or``.

    Raises:
        Undecided: As for `path_variants`.
    """
    if not is_nested(condition):
        return [condition]
    match condition:
        case And(parts):
            return [both(list(chosen)) for chosen in _few(product(*map(variants, parts)))]
        case Or(parts):
            return _few([one for part in parts for one in variants(part)])
        case There(path) | Compare(_, _, path) | InReference(_, path):
            return [condition._replace(path=one) for one in path_variants(path)]
    raise Undecided


def _few(found: Iterable[_T]) -> list[_T]:
    few: list[_T] = []
    for one in found:
        if len(few) == _MOST_VARIANTS:
            raise Undecided
        few.append(one)
    return few
