"""Where the order of filters and branches depends on the constants of a query.

Normal forms list filters, operands of unions and branches in the order of their texts, each once.
The texts of ``[a = $string1]`` and ``[a = $string2]`` have one order for the constants ``'x'`` and
``'y'``, another for ``'y'`` and ``'x'``, and are one text if both are ``'x'``. So queries of one
template have one normal form only as long as such constants have the same order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, combinations, pairwise
from typing import Final

from extract.subscriptions.wordings import ShapedByConstants
from extract.xpath.ast import Expr, FilterPath, LocationPath, Union
from extract.xpath.parameters import divided
from extract.xpath.traverse import children
from extract.xpath.types import is_positional

ParameterClasses = tuple[tuple[int, ...], ...]

_NUMBER_STARTS: Final = frozenset("./0123456789")  # a number may be before or after what starts so
_QUOTES: Final = frozenset("'\"")
_ORDERED: Final = re.compile(r"\]\[|\|")  # what a text has that lists filters or operands
_FEW: Final = 64  # texts of which every two are compared
_MOST_TOGETHER: Final = 256  # parameters of one class


def parameter_classes(
    branches: Sequence[str], exprs: Iterable[Expr], operands: Sequence[str] = ()
) -> ParameterClasses:
    """The parameters of a normal form whose order decides on the form; one class for each group.

    Args:
        branches: The branches, normalised as if all constants were different.
        exprs: Those of the branches that have parameters, as expressions.
        operands: The operands of the query, if it is a union: of equal ones only one is normalised,
            and those that come first may have more branches.

    Raises:
        ShapedByConstants: A constant would have to be compared with a part of the shape, or with
            very many others, for each query of the template again.

    >>> from extract.xpath.parameters import parse_shape
    >>> branches = ["/a[b = $string1][b = $string2][c > $number3][c < $number4]"]
    >>> parameter_classes(branches, map(parse_shape, branches))
    ((0, 1),)
    """
    if not any("$" in text for text in (*branches, *operands)):
        return ()
    if len(branches) < 2 and not operands and not any(map(_ORDERED.search, branches)):
        return ()
    classes: dict[int, set[int]] = {}
    around = [*_pairs(list(branches)), *_pairs(list(operands))]
    for one, other in chain(around, *map(_inside, exprs)):
        large, small = classes.setdefault(one, {one}), classes.setdefault(other, {other})
        if large is not small:
            if len(large) < len(small):
                large, small = small, large
            large |= small
            for number in small:
                classes[number] = large
    distinct = {id(numbers): numbers for numbers in classes.values()}.values()
    if any(len(numbers) > _MOST_TOGETHER for numbers in distinct):
        raise ShapedByConstants
    return tuple(sorted([tuple(sorted(numbers)) for numbers in distinct]))


def _inside(expr: Expr) -> Iterator[tuple[int, int]]:
    """Yields parameters that decide on the order of the texts that an expression has in order."""
    if isinstance(expr, Union):
        yield from _pairs(list(map(str, expr.parts)))
    if isinstance(expr, (LocationPath, FilterPath)):
        for step in expr.steps:
            if len(step.predicates) > 1:
                yield from _pairs_of(step.predicates)
    if isinstance(expr, FilterPath):
        yield from _pairs_of(expr.predicates)
    for inner in children(expr):
        if "$" in str(inner):
            yield from _pairs_inside(inner)


@lru_cache(maxsize=1 << 12)  # queries of one set share most of their filters
def _pairs_inside(expr: Expr) -> tuple[tuple[int, int], ...]:
    return tuple(_inside(expr))


@lru_cache(maxsize=1 << 12)
def _pairs_of(predicates: tuple[Expr, ...]) -> tuple[tuple[int, int], ...]:
    return tuple(chain.from_iterable(map(_pairs, _runs(predicates))))


def _runs(predicates: tuple[Expr, ...]) -> Iterator[list[str]]:
    """Yields the filters between those that count positions, which stay in their places."""
    run: list[str] = []
    for predicate in predicates:
        if is_positional(predicate):
            yield run
            run = []
        else:
            run.append(str(predicate))
    yield run


def _pairs(texts: list[str]) -> Iterator[tuple[int, int]]:
    """Yields parameters of texts whose constants decide on the order of the texts."""
    if len(texts) <= _FEW:
        for one, other in combinations(texts, 2):
            yield from _compared(one, other)
        return
    for one, other in pairwise(texts):
        if any(True for _ in _compared(one, other)):
            # Too many to compare every two: any constants may be compared with each other.
            for kind in ("string", "number"):
                every = [p.number for text in texts for p in divided(text)[1] if p.type == kind]
                yield from pairwise(every)
            return


def _compared(one: str, other: str) -> Iterator[tuple[int, int]]:
    """Yields the pairs of parameters that are compared, if those before them are equal."""
    if "$" not in one and "$" not in other:
        return
    parts, places = divided(one)
    other_parts, other_places = divided(other)
    for n, (mine, theirs) in enumerate(zip(parts, other_parts, strict=False)):
        if mine != theirs:
            shorter, longer = sorted((mine, theirs), key=len)
            if longer.startswith(shorter):
                after = places if shorter is mine else other_places
                if n < len(after):
                    _check(after[n].type, longer[len(shorter)])
            return
        if n == len(places) or n == len(other_places):
            return
        if places[n].type != other_places[n].type:
            return  # a quote is before any digit
        if places[n].number != other_places[n].number:
            yield places[n].number, other_places[n].number


def _check(kind: str, sign: str) -> None:
    """Makes sure that every constant of a type has the same order with a character."""
    if sign in (_QUOTES if kind == "string" else _NUMBER_STARTS):
        raise ShapedByConstants
