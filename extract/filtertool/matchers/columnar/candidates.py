"""Finds candidates: pairs of a node and a query that may select something.

An access path (`access`) is chosen for each batch, by the number of candidates that it would give
there. Its pairs come in blocks, so that memory is bounded, and already without those that simple
comparisons rule out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from extract.filtertool.matchers.columnar.access import SELF, Access, AccessLeaf, AllOf
from extract.filtertool.matchers.columnar.axes import Pairs
from extract.filtertool.matchers.columnar.columns import Ints, distinct
from extract.filtertool.matchers.columnar.comparison import OPERATORS
from extract.filtertool.matchers.columnar.constant_columns import ConstantColumns
from extract.filtertool.matchers.columnar.evaluator import ContextNodes, Evaluator, composed
from extract.filtertool.matchers.columnar.lexicon import QueryNumbers
from extract.filtertool.matchers.columnar.native import native_available, native_module
from extract.filtertool.matchers.columnar.node_values import (
    NO_TEXT,
    ConstantCheck,
    NodeValues,
    ValueCache,
)
from extract.filtertool.matchers.columnar.operands import Comparison, StringSearch
from extract.filtertool.matchers.columnar.strings import Coded
from extract.xpath.ast import Expr, LocationPath

_FEW: Final = 8  # candidates for a node that are not worth the search for a better access path
_SAME: Final = 5  # as in C: the operator for numbers of strings
_OPS: Final = {"<": 0, "<=": 1, ">": 2, ">=": 3, "=": 4}

MOST_CHECKS: Final = 64  # that `blocks` takes; as in C


class QueryRanges(NamedTuple):
    """Candidates: the queries ``queries[low:high]`` for each place, where a node is."""

    place: Ints
    low: Ints
    high: Ints
    queries: QueryNumbers

    @property
    def total(self) -> float:
        """The number of candidates."""
        return float((self.high - self.low).sum())


class Found(NamedTuple):
    """An access path on a batch.

    Attributes:
        total: The number of candidates, perhaps estimated.
        ranges: Finds them.
        leaf: The only comparison by which they are found; None if there are several, or none.
    """

    total: float
    ranges: Callable[[], list[QueryRanges]]
    leaf: AccessLeaf | None


class Candidates:
    """Finds the candidates of one question on one batch.

    Args:
        run: The batch.
        values: The values of its nodes.
        constants: The constants of the question.
    """

    def __init__(self, run: Evaluator, values: ValueCache, constants: ConstantColumns) -> None:
        self._run = run
        self._values = values
        self._constants = constants

    def find(self, access: Access | None, nodes: Ints) -> Found:
        """Chooses the access path for some nodes; all pairs if there is none."""
        found = None if access is None else self._found(access, nodes)
        if found is not None:
            return found
        queries = self._constants.all_queries()
        place = np.arange(len(nodes))
        high = np.full(len(nodes), len(queries), np.int64)
        every = QueryRanges(place, np.zeros_like(high), high, queries)
        return Found(float(high.sum()), lambda: [every], None)

    def _found(self, access: Access, nodes: Ints) -> Found | None:
        if isinstance(access, AccessLeaf):
            return self._looked_up(access, nodes)
        if isinstance(access, AllOf):
            best: Found | None = None
            for part in access.parts:
                found = self._found(part, nodes)
                if found is not None and (best is None or found.total < best.total):
                    best = found
                if best is not None and best.total <= _FEW * len(nodes):
                    break
            return best
        parts = [found for part in access.parts if (found := self._found(part, nodes)) is not None]
        if len(parts) < len(access.parts):
            return None
        ranges = [part.ranges for part in parts]
        total = sum([part.total for part in parts])
        return Found(total, lambda: [one for make in ranges for one in make()], None)

    def _looked_up(self, leaf: AccessLeaf, nodes: Ints) -> Found:
        test, values = leaf.test, self._values_of(leaf, nodes)
        if isinstance(test, Comparison) and test.numeric:
            return self._compared(test, leaf, values)
        if isinstance(test, StringSearch):
            ranges = self._searched(test, values)
        else:
            ranges = self._equal_strings(test, values)
        return Found(ranges.total, lambda: [ranges], leaf)

    def _values_of(self, leaf: AccessLeaf, nodes: Ints) -> NodeValues:
        find = self._values.strings if isinstance(leaf.test, StringSearch) else self._values.of
        if leaf.prefix == SELF or _is_absolute(leaf.test.value):
            return find(leaf.test.value, nodes)
        selected = self._run.nodes(leaf.prefix, ContextNodes(nodes))
        inner, back = np.unique(selected.nodes, return_inverse=True)
        return find(leaf.test.value, inner).below(Pairs(selected.owner, back), len(nodes))

    def _equal_strings(self, test: Comparison, values: NodeValues) -> QueryRanges:
        lexicon = self._constants.lexicon(test.operand)
        codes = values.codes(lexicon)
        some = np.flatnonzero(codes >= 0)
        return self._of_codes(values, values.owner[some], codes[some], test)

    def _of_codes(
        self, values: NodeValues, owner: Ints, codes: Ints, test: Comparison | StringSearch
    ) -> QueryRanges:
        """Returns the queries whose constants have a number, for each place and number once."""
        lexicon = self._constants.lexicon(test.operand)
        if isinstance(test, StringSearch) or not values.single:
            keys = distinct(owner * lexicon.size + codes)
            owner, codes = keys // max(1, lexicon.size), keys % max(1, lexicon.size)
        at, queries = lexicon.groups
        return _for_nodes(values, QueryRanges(owner, at[codes], at[codes + 1], queries))

    def _compared(self, test: Comparison, leaf: AccessLeaf, values: NodeValues) -> Found:
        op, operand, constants = test.op, test.operand, self._constants
        if op == "=" and not values.single:
            every, rank = np.unique(values.numbers, return_inverse=True)
            keys = distinct(values.owner * len(every) + rank)
            place, numbers = keys // max(1, len(every)), every[keys % max(1, len(every))]
        else:
            extremes = values.extreme(op)
            place = np.flatnonzero(~np.isnan(extremes))
            numbers = extremes[place]

        def ranges() -> list[QueryRanges]:
            index = constants.sorted_numbers(operand)
            found = QueryRanges(place, *index.ranges(op, numbers), index.queries)
            return [_for_nodes(values, found)]

        if op == "=":  # has few candidates as a rule, so that they are looked up
            (found,) = ranges()
            return Found(found.total, lambda: [found], leaf)
        total = constants.estimate(op, operand, numbers)
        if values.unit is not None:
            total *= len(values.unit) / max(1, values.size)
        return Found(total, ranges, leaf)

    def _searched(self, test: StringSearch, values: NodeValues) -> QueryRanges:
        lexicon = self._constants.lexicon(test.operand)
        word, number = lexicon.found_in(values.texts, test.begin)
        some = np.flatnonzero(values.code != NO_TEXT)
        pairs = composed(values.code[some], Pairs(word, number))
        owner, codes = values.owner[some[pairs.owner]], pairs.nodes
        (empty,) = lexicon.numbers_of(Coded([b""])).tolist()
        if empty >= 0 and len(some) < len(values.code):
            none = values.owner[values.code == NO_TEXT]
            owner = np.concatenate([owner, none])
            codes = np.concatenate([codes, np.full(len(none), empty)])
        return self._of_codes(values, owner, codes, test)


def _is_absolute(value: Expr) -> bool:
    return isinstance(value, LocationPath) and value.absolute


def _for_nodes(values: NodeValues, ranges: QueryRanges) -> QueryRanges:
    """Returns the candidates for nodes from those for their units, if the values are of units."""
    if values.unit is None:
        return ranges
    place, which = composed(values.unit, Pairs(ranges.place, np.arange(len(ranges.place))))
    return QueryRanges(place, ranges.low[which], ranges.high[which], ranges.queries)


def blocks(
    ranges: Sequence[QueryRanges],
    checks: Sequence[ConstantCheck],
    constants: ConstantColumns,
    size: int,
) -> Iterator[tuple[Ints, Ints]]:
    """Yields candidates that pass some comparisons: places and queries.

    Args:
        ranges: The candidates.
        checks: The comparisons; `MOST_CHECKS` at most.
        constants: The constants of the question.
        size: The most candidates at once.
    """
    for one in ranges:
        alive = np.ones(len(one.place), np.bool_)
        for check in checks:
            here = check.values[one.place]
            alive &= here >= 0 if check.constants.dtype == np.int32 else ~np.isnan(here)
        if not alive.all():
            one = QueryRanges(one.place[alive], one.low[alive], one.high[alive], one.queries)
        if native_available():
            yield from _native_blocks(one, checks, constants, size)
        else:
            yield from _blocks(one, checks, size)


def _native_blocks(
    ranges: QueryRanges,
    checks: Sequence[ConstantCheck],
    constants: ConstantColumns,
    size: int,
) -> Iterator[tuple[Ints, Ints]]:
    total = int(np.maximum(ranges.high - ranges.low, 0).sum())
    cursor = np.zeros(2, np.int64)
    ops = [_SAME if check.constants.dtype == np.int32 else _OPS[check.op] for check in checks]
    columns = [check.constants for check in checks]
    arranged = constants.arranged(columns, ranges.queries)
    arguments = (
        np.ascontiguousarray(ranges.place),
        np.ascontiguousarray(ranges.low),
        np.ascontiguousarray(ranges.high),
        ranges.queries,
        np.array(ops, np.int8),
        [check.values for check in checks],
        [column.constants for column in arranged] or columns,
        [column.lowest for column in arranged],
        [column.highest for column in arranged],
        cursor,
    )
    while cursor[0] < len(ranges.place):
        out = np.empty((2, min(size, total)), np.int64)
        count = native_module("join").join(*arguments, out)
        if count:
            yield out[0, :count], out[1, :count]


def _blocks(
    ranges: QueryRanges, checks: Sequence[ConstantCheck], size: int
) -> Iterator[tuple[Ints, Ints]]:
    counts = np.maximum(ranges.high - ranges.low, 0)
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    for start in range(0, total, size):
        number = np.arange(start, min(start + size, total))
        which = np.searchsorted(ends, number, "right")
        place = ranges.place[which]
        query = ranges.queries[ranges.high[which] - ends[which] + number].astype(np.int64)
        for check in checks:
            holds = OPERATORS[check.op](check.values[place], check.constants[query])
            place, query = place[holds], query[holds]
        if len(place):
            yield place, query
