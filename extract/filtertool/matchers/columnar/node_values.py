"""The values of an expression at many nodes, and their comparison with the constants of queries.

A node set has several values at a node, all other expressions one. A comparison with a constant
holds if it holds for one of the values: for ``<`` and ``>`` the smallest and the largest value
decide, and equality is looked up. So a pair of a node and a query costs the same, however many
values the node has.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extract.filtertool.matchers.columnar.axes import Pairs
from extract.filtertool.matchers.columnar.columns import Bools, Ints
from extract.filtertool.matchers.columnar.comparison import OPERATORS
from extract.filtertool.matchers.columnar.constant_columns import ConstantColumns
from extract.filtertool.matchers.columnar.evaluator import ContextNodes, Evaluator, composed
from extract.filtertool.matchers.columnar.lexicon import Lexicon, QueryNumbers, contained
from extract.filtertool.matchers.columnar.operands import Comparison, StringSearch
from extract.filtertool.matchers.columnar.plan import among
from extract.filtertool.matchers.columnar.strings import Coded
from extract.xpath.ast import Expr, LocationPath
from extract.xpath.functions import Type
from extract.xpath.types import type_of

Floats = NDArray[np.float64]

NO_TEXT: Final = -1  # as the number of a text: there is no node, so it is empty


class ConstantCheck(NamedTuple):
    """A comparison of one number for each node with one for each query.

    Attributes:
        op: The operator.
        values: The number of each node; NaN compares with nothing.
        constants: The number of each query.
    """

    op: str
    values: Floats
    constants: Floats | QueryNumbers


class NodeValues:
    """The values of an expression at some nodes.

    Args:
        owner: The place of each value's node; ascending.
        size: The number of nodes.
        texts: The distinct values, if they are strings.
        code: For each value its number in ``texts``, or `NO_TEXT`.
        numbers: The values, if they are numbers.
        unit: For each node its unit, if ``owner`` and ``size`` refer to units: the values of an
            absolute path are those of the unit.
    """

    def __init__(
        self,
        owner: Ints,
        size: int,
        texts: Coded | None = None,
        code: Ints | None = None,
        numbers: Floats | None = None,
        unit: Ints | None = None,
    ) -> None:
        self.owner = owner
        self.size = size
        self.unit = unit
        self._texts = texts
        self._code = code
        self._numbers = numbers
        self._codes: dict[int, tuple[Lexicon, Ints]] = {}

    @property
    def texts(self) -> Coded:
        """The distinct values."""
        assert self._texts is not None
        return self._texts

    @property
    def code(self) -> Ints:
        """The number of each value in ``texts``, or `NO_TEXT`."""
        assert self._code is not None
        return self._code

    @cached_property
    def numbers(self) -> Floats:
        """The values as numbers."""
        return self.texts.numbers[self.code] if self._numbers is None else self._numbers

    def codes(self, lexicon: Lexicon) -> Ints:
        """Returns the number of each value in a lexicon; -1 if it is not there."""
        cached = self._codes.get(id(lexicon))
        if cached is None:
            codes = lexicon.numbers_of(self.texts)[self.code]
            cached = self._codes[id(lexicon)] = (lexicon, codes)
        return cached[1]

    def below(self, pairs: Pairs, size: int) -> NodeValues:
        """Returns the values of the nodes that are reached from other nodes.

        Args:
            pairs: For each of the other nodes the places of its nodes here.
            size: The number of the other nodes.
        """
        reached = composed(pairs.nodes, Pairs(self.owner, np.arange(len(self.owner))))
        owner = pairs.owner[reached.owner]
        if self._numbers is not None:
            return NodeValues(owner, size, numbers=self._numbers[reached.nodes])
        return NodeValues(owner, size, self.texts, self.code[reached.nodes])

    # -- the values of each node

    @cached_property
    def _begins(self) -> Ints:
        changes = np.ones(len(self.owner), np.bool_)
        changes[1:] = self.owner[1:] != self.owner[:-1]
        return np.flatnonzero(changes)

    @property
    def single(self) -> bool:
        """Whether no node has more than one value."""
        return len(self._begins) == len(self.owner)

    @cached_property
    def _some(self) -> Bools:
        some = np.zeros(self.size, np.bool_)
        some[self.owner] = True
        return some

    def _spread(self, values: Floats | Ints) -> Floats:
        """Returns a column for all nodes from values of those that have some."""
        out = np.full(self.size, np.nan)
        out[self.owner[self._begins]] = values
        return out

    @cached_property
    def lowest(self) -> Floats:
        """The smallest number of each node; NaN if there is none."""
        if self.single:
            return self._spread(self.numbers)
        return self._spread(np.fmin.reduceat(self.numbers, self._begins))

    @cached_property
    def highest(self) -> Floats:
        """The largest number of each node; NaN if there is none."""
        if self.single:
            return self.lowest
        return self._spread(np.fmax.reduceat(self.numbers, self._begins))

    def extreme(self, op: str) -> Floats:
        """Returns for each node the number that compares if one of its numbers does."""
        return self.lowest if op in ("<", "<=") else self.highest

    # -- comparisons

    def check(self, comparison: Comparison, constants: ConstantColumns) -> ConstantCheck | None:
        """Returns a comparison as one of numbers; None if one number for a node is not enough."""
        op, operand = comparison.op, comparison.operand
        if comparison.numeric:
            if op == "!=" or (op == "=" and not self.single):
                return None
            return ConstantCheck(op, self._of_nodes(self.extreme(op)), constants.numbers(operand))
        if op == "!=" or not self.single:
            return None
        lexicon = constants.lexicon(operand)
        codes = self._of_nodes(self._spread(self.codes(lexicon)))
        return ConstantCheck("=", codes, lexicon.codes)

    def _of_nodes(self, values: Floats) -> Floats:
        return values if self.unit is None else values[self.unit]

    def compared(
        self, comparison: Comparison, constants: ConstantColumns, place: Ints, query: Ints
    ) -> Bools:
        """Compares the values of nodes with the constants of queries, pair by pair."""
        check = self.check(comparison, constants)
        if check is not None:
            holds: Bools = OPERATORS[check.op](check.values[place], check.constants[query])
            return holds
        if not self.owner.size:
            return np.zeros(len(place), np.bool_)
        if self.unit is not None:
            place = self.unit[place]
        if comparison.numeric:
            numbers = constants.numbers(comparison.operand)[query]
            if comparison.op == "!=":
                return self._some[place] & ~self._all_equal(numbers, place)
            distinct, keys = self._by_number
            sought = np.minimum(np.searchsorted(distinct, numbers), len(distinct) - 1)
            there: Bools = distinct[sought] == numbers  # NaN is nowhere
            return there & among(place * len(distinct) + sought, keys)
        lexicon = constants.lexicon(comparison.operand)
        codes, code = self.codes(lexicon), lexicon.codes[query]
        if comparison.op == "!=":
            return self._some[place] & ~self._all_same(codes, code, place)
        some = np.flatnonzero(codes >= 0)
        keys = np.sort(self.owner[some] * lexicon.size + codes[some])
        return among(place * lexicon.size + code, keys)

    @cached_property
    def _by_number(self) -> tuple[Floats, Ints]:
        """The distinct numbers, and a key for each node and the place of its number there."""
        distinct, rank = np.unique(self.numbers, return_inverse=True)
        return distinct, np.sort(self.owner * len(distinct) + rank)

    def _all_equal(self, numbers: Floats, place: Ints) -> Bools:
        """Whether all numbers of a node are the given one."""
        none = np.zeros(self.size, np.bool_)
        none[self.owner[np.isnan(self.numbers)]] = True
        low, high = self.lowest[place], self.highest[place]
        equal: Bools = ~none[place] & (low == numbers) & (high == numbers)
        return equal

    def _all_same(self, codes: Ints, code: QueryNumbers, place: Ints) -> Bools:
        """Whether all strings of a node have the given number in a lexicon."""
        low = self._spread(np.minimum.reduceat(codes, self._begins))[place]
        high = self._spread(np.maximum.reduceat(codes, self._begins))[place]
        same: Bools = (low == code) & (high == code)
        return same

    def searched(
        self, search: StringSearch, constants: ConstantColumns, place: Ints, query: Ints
    ) -> Bools:
        """Searches the constants of queries in the only strings of nodes, or the reverse."""
        parts = constants.texts(search.operand)
        code = self.code[place if self.unit is None else self.unit[place]]
        if search.inside:
            holds: Bools = parts.starts[query] == parts.stops[query]  # empty ones are everywhere
        else:
            holds = np.ones(len(place), np.bool_)
        some = np.flatnonzero(code != NO_TEXT)
        here, there = (self.texts.column, code[some]), (parts, query[some])
        texts, sought = (here, there) if search.inside else (there, here)
        holds[some] = contained(*texts, *sought, search.begin)
        return holds


class ValueCache:
    """The values of expressions without parameters, on one batch.

    Args:
        run: The batch.
    """

    def __init__(self, run: Evaluator) -> None:
        self._run = run
        self._lasting: dict[int, Ints] = {}
        self._values: dict[tuple[str, Expr, int], NodeValues] = {}

    def keep(self, nodes: Ints) -> None:
        """Marks an array of nodes as one whose values are kept for the batch."""
        self._lasting[id(nodes)] = nodes

    def of(self, expr: Expr, nodes: Ints) -> NodeValues:
        """Returns all values of an expression at each node."""
        return self._cached("all", expr, nodes)

    def strings(self, expr: Expr, nodes: Ints) -> NodeValues:
        """Returns an expression as one string for each node: of a node set, the first node's."""
        return self._cached("first", expr, nodes)

    def _cached(self, kind: str, expr: Expr, nodes: Ints) -> NodeValues:
        key = (kind, expr, id(nodes))
        values = self._values.get(key)
        if values is None:
            make = self._all if kind == "all" else self._first
            if isinstance(expr, LocationPath) and expr.absolute:
                columns = self._run.columns
                values = make(expr, columns.documents)
                values.unit = columns.unit_of(nodes)
            else:
                values = make(expr, nodes)
            if id(nodes) in self._lasting:
                self._values[key] = values
        return values

    def _all(self, expr: Expr, nodes: Ints) -> NodeValues:
        run, at, every = self._run, ContextNodes(nodes), np.arange(len(nodes))
        if type_of(expr) is Type.NUMBER:
            return NodeValues(every, len(nodes), numbers=run.number(expr, at))
        if type_of(expr) is not Type.NODES:
            return _of_texts(Coded(run.string(expr, at).tolist()))
        selected = run.nodes(expr, at)
        texts = run.strings.coded(selected.nodes)
        return NodeValues(selected.owner, len(nodes), texts, texts.code)

    def _first(self, expr: Expr, nodes: Ints) -> NodeValues:
        run, at = self._run, ContextNodes(nodes)
        if type_of(expr) is not Type.NODES:
            return _of_texts(Coded(run.string(expr, at).tolist()))
        selected = run.nodes(expr, at)
        owner, first = np.unique(selected.owner, return_index=True)
        texts = run.strings.coded(selected.nodes[first])
        code = np.full(len(nodes), NO_TEXT, np.int64)
        code[owner] = texts.code
        return NodeValues(np.arange(len(nodes)), len(nodes), texts, code)


def _of_texts(texts: Coded) -> NodeValues:
    return NodeValues(np.arange(len(texts.code)), len(texts.code), texts, texts.code)
