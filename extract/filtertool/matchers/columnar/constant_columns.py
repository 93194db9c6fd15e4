"""The constants of one question's queries, in the forms in which they are compared and looked up.

Each form is made when it is needed first, and then kept: for a question the work is done once, not
for each batch.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from extract.filtertool.matchers.columnar.columns import Ints
from extract.filtertool.matchers.columnar.lexicon import Lexicon, QueryNumbers, lexicon_of
from extract.filtertool.matchers.columnar.native import native_module
from extract.filtertool.matchers.columnar.numbers import to_text
from extract.filtertool.matchers.columnar.operands import Operand
from extract.filtertool.matchers.columnar.strings import Texts, as_texts
from extract.subscriptions.columns import TextColumn
from extract.subscriptions.constants import Constants
from extract.subscriptions.records import numbers_of

Floats = NDArray[np.float64]
_Column = Floats | QueryNumbers

ARRANGED: Final = 1 << 12  # queries from which on constants are arranged for the join in C
_SAMPLE: Final = 1024  # constants from which the number of candidates is estimated


class SortedNumbers(NamedTuple):
    """Constants that are numbers, in ascending order, without NaN.

    Attributes:
        numbers: The constants.
        queries: The query of each.
    """

    numbers: Floats
    queries: QueryNumbers

    @classmethod
    def of(cls, numbers: Floats) -> SortedNumbers:
        """Sorts the constants of all queries."""
        queries = np.argsort(numbers).astype(np.int32)
        ascending = numbers[queries]
        valid = int(np.searchsorted(ascending, np.nan))  # NaN comes last
        return cls(ascending[:valid], queries[:valid])

    def ranges(self, op: str, values: Floats) -> tuple[Ints, Ints]:
        """Returns for each value the range of the constants with which it compares."""
        left = np.searchsorted(self.numbers, values)
        right = np.searchsorted(self.numbers, values, "right")
        none, all_ = np.zeros_like(left), np.full_like(left, len(self.numbers))
        low, high = {
            "=": (left, right),
            "<": (right, all_),
            "<=": (left, all_),
            ">": (none, left),
            ">=": (none, right),
        }[op]
        return low, np.where(np.isnan(values), low, high)


class ArrangedColumn(NamedTuple):
    """Constants in the order of an index.

    Attributes:
        constants: The constants.
        lowest, highest: The smallest and the largest of each zone of neighbours, of the size that
            the join in C has; NaN if there is none.
    """

    constants: _Column
    lowest: Floats
    highest: Floats

    @classmethod
    def of(cls, constants: _Column) -> ArrangedColumn:
        """Finds the zones."""
        numbers = constants.astype(np.float64)
        begins = np.arange(0, len(numbers), native_module("join").ZONE)
        if not len(begins):
            return cls(constants, numbers, numbers)
        lowest, highest = [end.reduceat(numbers, begins) for end in (np.fmin, np.fmax)]
        return cls(constants, lowest, highest)


class ConstantColumns:
    """The constants of a question.

    Args:
        constants: The constants.

    Attributes:
        queries: The number of queries.
    """

    def __init__(self, constants: Constants) -> None:
        self.queries = len(constants)
        self._constants = constants
        self._numbers: dict[Operand, Floats] = {}
        self._texts: dict[Operand, TextColumn] = {}
        self._lexicons: dict[Operand, Lexicon] = {}
        self._sorted: dict[Operand, SortedNumbers] = {}
        self._samples: dict[Operand, SortedNumbers] = {}
        self._all: QueryNumbers | None = None
        # The key's arrays stay referenced, so that no other array gets their identity.
        self._arranged: dict[tuple[int, int], tuple[ArrangedColumn, _Column, QueryNumbers]] = {}

    def all_queries(self) -> QueryNumbers:
        """The numbers of all queries."""
        if self._all is None:
            self._all = np.arange(self.queries, dtype=np.int32)
        return self._all

    def numbers(self, operand: Operand) -> Floats:
        """The constants as numbers."""
        numbers = self._numbers.get(operand)
        if numbers is None:
            read = self._constants.numbers[operand.parameter]
            if read is None:
                read = numbers_of(self._constants.texts[operand.parameter])
            numbers = np.ascontiguousarray(-read if operand.negative else read)
            self._numbers[operand] = numbers
        return numbers

    def texts(self, operand: Operand) -> TextColumn:
        """The constants as strings; numbers as libxml2 writes them."""
        texts = self._texts.get(operand)
        if texts is None:
            texts = self._constants.texts[operand.parameter]
            if operand.type == "number":
                distinct, back = np.unique(self.numbers(operand), return_inverse=True)
                written = [to_text(number) for number in distinct.tolist()]
                texts = TextColumn.of_bytes(written).take(back)
            self._texts[operand] = texts
        return texts

    def strings(self, operand: Operand, queries: Ints) -> Texts:
        """The constants of some queries as an array of strings."""
        distinct, back = np.unique(queries, return_inverse=True)
        chosen = self.texts(operand).take(distinct)
        slices = map(slice, chosen.starts.tolist(), chosen.stops.tolist())
        return as_texts(list(map(chosen.buffer.__getitem__, slices)))[back]

    def lexicon(self, operand: Operand) -> Lexicon:
        """The distinct constants as strings."""
        lexicon = self._lexicons.get(operand)
        if lexicon is None:
            lexicon = self._lexicons[operand] = lexicon_of(self.texts(operand))
        return lexicon

    def sorted_numbers(self, operand: Operand) -> SortedNumbers:
        """The constants as numbers in ascending order."""
        index = self._sorted.get(operand)
        if index is None:
            index = self._sorted[operand] = SortedNumbers.of(self.numbers(operand))
        return index

    def estimate(self, op: str, operand: Operand, values: Floats) -> float:
        """Returns about how many pairs of a value and a constant compare; from a sample."""
        step = max(1, self.queries // _SAMPLE)
        sample = self._samples.get(operand)
        if sample is None:
            sample = self._samples[operand] = SortedNumbers.of(self.numbers(operand)[::step])
        low, high = sample.ranges(op, values)
        return float((high - low).sum() * step)

    def arranged(self, columns: list[_Column], order: QueryNumbers) -> list[ArrangedColumn]:
        """Returns columns of constants in an order of queries; none if that is not worth while.

        Queries that are looked up together are then neighbours in memory, and often alike.

        Args:
            columns: The columns, which this object has made.
            order: Numbers of queries, as the indexes of this object have them.
        """
        if self.queries < ARRANGED or order is self._all:
            return []
        out = []
        for column in columns:
            key = (id(column), id(order))
            if key not in self._arranged:
                self._arranged[key] = (ArrangedColumn.of(column[order]), column, order)
            out.append(self._arranged[key][0])
        return out
