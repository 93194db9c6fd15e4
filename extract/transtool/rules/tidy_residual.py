"""Writes the filters of a residual tail in one canonical way."""

from __future__ import annotations

from functools import lru_cache

from extract.transtool.branch import spell
from extract.transtool.rules.fold_descendant import fold_descendant
from extract.transtool.rules.fold_self import fold_self
from extract.transtool.rules.simplify_filter import in_order, united
from extract.xpath.ast import Expr, LocationPath, Step, Union, make_path, make_step
from extract.xpath.traverse import rebuild
from extract.xpath.types import conjuncts, is_positional


@lru_cache(maxsize=1 << 14)
def tidy_residual(tail: tuple[Step, ...]) -> tuple[Step, ...]:
    """Splits, sorts and folds filters at steps whose place in the schema is unknown.

    ``/a/b/m//b[m and ./k]`` ==> ``/a/b/m//b[k][m]``

    It needs no schema, so it does less than `simplify_filter`; but queries that differ only in
    their spelling have one normal form even where the schema recurses.
    """
    if not any(step.predicates for step in tail):
        return tail
    tidy = tuple([_tidy_step(step) for step in tail])
    return tail if tidy == tail else tidy


def _tidy_step(step: Step) -> Step:
    if not step.predicates:
        return step
    predicates: list[Expr] = []
    for predicate in step.predicates:
        tidy = _tidy(predicate)
        predicates.extend([tidy] if is_positional(predicate) else conjuncts(tidy))
    ordered = in_order(predicates)
    return step if ordered == step.predicates else make_step(step.axis, step.test, ordered)


def _tidy(expr: Expr) -> Expr:
    if isinstance(expr, LocationPath):
        steps = tuple([_tidy_step(step) for step in _folded(expr).steps])
        return make_path(expr.absolute, spell(steps, expr.absolute))
    if isinstance(expr, Union):
        return united([_tidy(part) for part in expr.parts])
    return rebuild(expr, _tidy)


def _folded(path: LocationPath) -> LocationPath:
    """Folds ``.`` and ``//`` into the steps of a path."""
    for rule in (fold_self, fold_descendant):
        results = rule(path)
        if results:
            return _folded(results[0])
    return path
