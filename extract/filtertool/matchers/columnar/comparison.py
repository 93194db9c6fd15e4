"""Comparisons on columns, with libxml2's coercions.

Two node sets compare if some pair of their nodes does; a node set and another value, if some node
does. Nodes compare with numbers as numbers, with strings as strings, and with booleans as one
boolean: whether the set is not empty. ``<`` and ``>`` always compare numbers, and are false for
    NaN.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extract.filtertool.matchers.columnar.axes import Pairs
from extract.filtertool.matchers.columnar.columns import Bools, Ints
from extract.filtertool.matchers.columnar.numbers import to_numbers
from extract.filtertool.matchers.columnar.strings import Coded, as_texts
from extract.xpath.ast import Binary, Expr, LocationPath
from extract.xpath.functions import Type
from extract.xpath.parameters import has_parameters
from extract.xpath.types import type_of

if TYPE_CHECKING:
    from extract.filtertool.matchers.columnar.evaluator import ContextNodes, Evaluator

Floats = NDArray[np.float64]

OPERATORS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
MIRRORED: Final = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def compare(run: Evaluator, expr: Binary, at: ContextNodes) -> Bools:
    """Evaluates a comparison at each context node."""
    op, left, right = expr.op, expr.left, expr.right
    types = (type_of(left), type_of(right))
    if types == (Type.NODES, Type.NODES):
        return _node_sets(run, op, _side(run, left, at), _side(run, right, at), at)
    if Type.NODES in types and Type.BOOLEAN not in types:
        if types[1] is Type.NODES:
            op, left, right = MIRRORED[op], right, left
        return _node_set(run, op, run.nodes(left, at), right, at)
    compared = OPERATORS[op]
    result: Bools
    if op not in ("=", "!="):
        result = compared(_ordered(run, left, at), _ordered(run, right, at))
    elif Type.BOOLEAN in types:
        result = compared(run.truth(left, at), run.truth(right, at))
    elif Type.NUMBER in types:
        result = compared(run.number(left, at), run.number(right, at))
    else:
        pairs = zip(run.string(left, at).tolist(), run.string(right, at).tolist(), strict=True)
        result = np.array([compared(a, b) for a, b in pairs], np.bool_)
    return result


def _ordered(run: Evaluator, expr: Expr, at: ContextNodes) -> Floats:
    """Returns an operand of ``<`` or ``>`` as numbers; node sets only occur against booleans."""
    if type_of(expr) is Type.NODES:
        return run.truth(expr, at).astype(np.float64)
    return run.number(expr, at)


def _node_set(run: Evaluator, op: str, selected: Pairs, value: Expr, at: ContextNodes) -> Bools:
    """Compares a node set with a number or string."""
    out = np.zeros(len(at.nodes), np.bool_)
    if not selected.owner.size:
        return out
    texts = run.strings.of(selected.nodes)
    if op in ("=", "!=") and type_of(value) is Type.STRING:
        others = run.string(value, at)[selected.owner].tolist()
        compared = OPERATORS[op]
        holds = np.array([compared(a, b) for a, b in zip(texts, others, strict=True)], np.bool_)
    else:
        numbers = run.number(value, at)[selected.owner]
        holds = OPERATORS[op](to_numbers(as_texts(texts)), numbers)
    out[selected.owner[holds]] = True
    return out


class _Side(NamedTuple):
    """A node set for each context node or, from an absolute path without parameters, for each
    unit."""

    found: Pairs
    sets: int
    absolute: bool


def _side(run: Evaluator, expr: Expr, at: ContextNodes) -> _Side:
    if isinstance(expr, LocationPath) and expr.absolute and not has_parameters(expr):
        documents = run.columns.documents
        return _Side(
            run.nodes(expr, at._replace(nodes=documents, queries=None)), len(documents), True
        )
    return _Side(run.nodes(expr, at), len(at.nodes), False)


def _node_sets(run: Evaluator, op: str, left: _Side, right: _Side, at: ContextNodes) -> Bools:
    if left.absolute and not right.absolute:
        op, left, right = MIRRORED[op], right, left
    units = run.columns.unit_of(at.nodes)
    # The number of the right set that each left set is compared with.
    other = units if right.absolute and not left.absolute else np.arange(left.sets)
    if not left.found.owner.size or not right.found.owner.size:
        out = np.zeros(left.sets, np.bool_)
    elif op in ("=", "!="):
        out = _equality_of_sets(run, op, left, right, other)
    else:
        out = _order_of_sets(run, op, left, right, other)
    return out[units] if left.absolute else out


def _equality_of_sets(run: Evaluator, op: str, left: _Side, right: _Side, other: Ints) -> Bools:
    nodes = np.concatenate([left.found.nodes, right.found.nodes])
    texts = Coded(run.strings.of(nodes))
    first, second = np.split(texts.code, [len(left.found.nodes)])
    if op == "=":
        out = np.zeros(left.sets, np.bool_)
        span, owner = len(texts.words), left.found.owner
        same = np.isin(other[owner] * span + first, right.found.owner * span + second)
        out[owner[same]] = True
        return out
    # Some pair differs unless all values of both sets are equal.
    sides = []
    for side, code in ((left, first), (right, second)):
        low, high = np.full(side.sets, len(texts.words)), np.full(side.sets, -1)
        np.minimum.at(low, side.found.owner, code)
        np.maximum.at(high, side.found.owner, code)
        sides.append((low, high))
    (low, high), (low_right, high_right) = sides
    low_right, high_right = low_right[other], high_right[other]
    both = (high >= 0) & (high_right >= 0)
    differ: Bools = both & (np.minimum(low, low_right) != np.maximum(high, high_right))
    return differ


def _order_of_sets(run: Evaluator, op: str, left: _Side, right: _Side, other: Ints) -> Bools:
    """Some pair is in order if the smallest and the largest are."""
    less = op in ("<", "<=")
    ends = []
    for side, smallest in ((left, less), (right, not less)):
        numbers = to_numbers(as_texts(run.strings.of(side.found.nodes)))
        numeric = ~np.isnan(numbers)
        owner, numbers = side.found.owner[numeric], numbers[numeric]
        end = np.full(side.sets, np.nan)  # NaN compares with nothing
        end[owner] = np.inf if smallest else -np.inf
        (np.minimum if smallest else np.maximum).at(end, owner, numbers)
        ends.append(end)
    result: Bools = OPERATORS[op](ends[0], ends[1][other])
    return result
