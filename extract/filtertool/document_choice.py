"""Decides how documents are filtered: by the push engine, or by columns.

The engine looks at a document once more for each query that may match. Columns look at it once for
each question, however many queries that stands for, and less where questions have steps in common.
So columns are faster for many queries of few questions on documents that are not small, and much
slower for many questions. What both take is measured while documents are filtered, apart for sizes
that differ by a factor of four.

What columns cost before they were measured is uncertain by a factor of ten: questions that have
much in common cost little, others a lot. Large documents go to columns at first sight if many
queries share each question. Where only the engine was measured, columns are tried once they may be
faster and the engine has taken a part of what they cost at most: a wrong estimate then costs little
more than was spent anyway. Each time that columns turn out to be slower, they wait twice as long.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from extract.filtertool.matchers.column_prices import COLUMNS, SHARED_COLUMNS
from extract.filtertool.matchers.protocol import Select

SMALL: Final = 1 << 14  # bytes below which a document is always for the engine
_CLASSES: Final = 6  # of sizes; the last one is open
_NEW: Final = 0.3  # how much the last measurement counts
_TRY: Final = 0.25  # of the highest price, what the engine takes before columns are tried
_AGAIN: Final = 8.0  # times their price, what the engine takes before columns are tried again
_SURE: Final = 2.0  # how much less columns must cost to be tried first
_FEW: Final = 500  # questions that columns may be given unmeasured: to compile more takes seconds
_SCAN: Final = 4e-9  # seconds of the engine for a byte
_QUERY: Final = {"doc": 8e-12, "count": 4e-11, "nodes": 4e-11}  # for a byte and query, at most
_WARM: Final = 4  # measurements of the engine before one is believed: the first ones make states
_LARGE: Final = 1 << 20  # bytes, beside which making states does not count


class DocumentChoice:
    """Learns what documents cost in the engine and in columns, and chooses.

    Args:
        questions: The number of questions.
        queries: The number of queries.
        select: What to select.

    >>> DocumentChoice(300, 2000, "count").columns_from <= 3_000_000
    True
    >>> few, many = DocumentChoice(6, 6, "doc"), DocumentChoice(900, 900, "doc")
    >>> for choice in (few, many):
    ...     choice.learn(False, 3_000_000, 0.2)
    >>> few.columns_from <= 3_000_000, many.columns_from is None
    (True, True)
    >>> few.learn(True, 3_000_000, 5.0)
    >>> few.columns_from is None
    True
    >>> while many.columns_from is None:
    ...     many.learn(False, 3_000_000, 0.2)
    >>> many.learn(True, 3_000_000, 0.05)
    >>> many.columns_from <= 3_000_000
    True
    """

    def __init__(self, questions: int, queries: int, select: Select) -> None:
        self._questions = questions
        self._engine = _SCAN + queries * _QUERY.get(select, 0.0)  # its estimate
        self._rates: dict[tuple[int, bool], float] = {}  # seconds a byte, by size, columns or not
        self._spent: dict[int, float] = {}  # seconds of the engine since columns ran, by size
        self._tried: dict[int, float] = {}  # seconds of columns before the engine ran, by size
        self._wait: dict[int, float] = {}  # before columns are tried again, times their price
        self._cold: dict[int, int] = {}  # measurements of the engine that may be cold, by size
        self._from: int | None = self._choose()

    @property
    def columns_from(self) -> int | None:
        """The bytes from which on the next documents go to columns; None if none do."""
        return self._from

    def note(self, documents: Sequence[bytes], seconds: float) -> None:
        """Takes note of what a batch costs in the engine, if its documents are of one size."""
        sizes = sorted(map(len, documents))
        if sizes and _size_class(sizes[0]) == _size_class(sizes[-1]):
            self.learn(False, sum(sizes), seconds, len(sizes))

    def learn(self, columns: bool, size: int, seconds: float, documents: int = 1) -> None:
        """Takes note of what documents cost.

        Args:
            columns: Whether columns answered.
            size: The bytes of the documents.
            seconds: The processor time.
            documents: The number of documents.
        """
        if size < SMALL * documents:
            return
        key = size_class, _ = _size_class(size // documents), columns
        self._spent[size_class] = 0.0 if columns else self._spent.get(size_class, 0.0) + seconds
        if columns and (size_class, False) not in self._rates:
            self._tried[size_class] = self._tried.get(size_class, 0.0) + seconds
        rate, before = seconds / size, self._rates.get(key)
        cold = not columns and self._is_cold(key[0], size)
        if before is not None:  # something else may have run meanwhile
            rate = min(rate, before) if cold else before + _NEW * (min(rate, 4 * before) - before)
        self._rates[key] = rate
        if columns and rate > self._rates.get((size_class, False), rate):
            self._wait[size_class] = 2 * self._wait.get(size_class, _AGAIN)
        if not cold:
            self._from = self._choose()

    def _is_cold(self, kind: int, size: int) -> bool:
        """Whether a measurement of the engine is one of the first of a size, and small."""
        if size < _LARGE and self._cold.get(kind, 0) < _WARM:
            self._cold[kind] = self._cold.get(kind, 0) + 1
            return True
        return False

    def _choose(self) -> int | None:
        """The smallest size from which on columns cost less, as far as is known."""
        chosen = None
        for size in range(_CLASSES - 1, -1, -1):
            if self._is_for_columns(size):
                chosen = SMALL << 2 * size
            elif (size, False) in self._rates:
                break
        return chosen

    def _is_for_columns(self, size: int) -> bool:
        """Whether the next document of a class of sizes goes to columns."""
        engine, columns = self._rates.get((size, False)), self._rates.get((size, True))
        typical = 2.0 * (SMALL << 2 * size)
        expected = SHARED_COLUMNS.of(self._questions, typical) / typical
        if engine is None:
            if (SMALL << 2 * size) < _LARGE or self._questions > _FEW:
                return False
            if columns is None:
                return _SURE * expected < self._engine
            # It may be faster than expected.
            return columns < self._engine and self._tried[size] < self._engine * typical
        spent = self._spent.get(size, 0.0)
        if columns is None:
            most = COLUMNS.of(self._questions, typical)
            return engine > expected and spent >= _TRY * most
        return columns < engine or spent >= self._wait.get(size, _AGAIN) * columns * typical


def _size_class(size: int) -> int:
    """The class of a size, from 0; -1 for small documents.

    >>> [_size_class(size) for size in (100, SMALL, 4 * SMALL - 1, 4 * SMALL, 1 << 40)]
    [-1, 0, 0, 1, 5]
    """
    return min(_CLASSES - 1, ((size // SMALL).bit_length() + 1) // 2 - 1)
