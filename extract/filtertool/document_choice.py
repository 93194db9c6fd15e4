"""Decides how documents are filtered: by the push engine, or by columns.

The engine looks at a document once more for each query that may match. Columns look at it once for
each question, however many queries that stands for, and less where questions have steps in common.
So columns are faster for many queries of few questions on documents that are not small, and much
slower for many questions. What both take is measured while documents are filtered, apart for sizes
that differ by a factor of four. Where only the engine was measured, columns are tried once they
promise much, or once the engine has taken as long as they would at most: a wrong estimate then
costs no more than was spent anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from extract.filtertool.matchers.column_prices import COLUMNS

SMALL: Final = 1 << 14  # bytes below which a document is always for the engine
_CLASSES: Final = 6  # of sizes; the last one is open
_NEW: Final = 0.3  # how much the last measurement counts
_TRY: Final = 1.5  # times its price, what an estimate must save to be worth a try at once
_AGAIN: Final = 8.0  # times its price, what the engine takes before columns are tried again
_WARM: Final = 4  # measurements of the engine before one is believed: the first ones make states
_LARGE: Final = 1 << 20  # bytes, beside which making states does not count


class DocumentChoice:
    """Learns what documents cost in the engine and in columns, and chooses.

    Args:
        questions: The number of questions.

    >>> few, many = DocumentChoice(6), DocumentChoice(900)
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

    def __init__(self, questions: int) -> None:
        self._questions = questions
        self._rates: dict[tuple[int, bool], float] = {}  # seconds a byte, by size, columns or not
        self._spent: dict[int, float] = {}  # seconds of the engine since columns ran, by size
        self._cold: dict[int, int] = {}  # measurements of the engine that may be cold, by size
        self._from: int | None = None

    @property
    def columns_from(self) -> int | None:
        """The bytes from which on the next documents go to columns; None if none do.

        The first documents of a size go to the engine.
        """
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
        rate, before = seconds / size, self._rates.get(key)
        cold = not columns and self._is_cold(key[0], size)
        if before is not None:  # something else may have run meanwhile
            rate = min(rate, before) if cold else before + _NEW * (min(rate, 4 * before) - before)
        self._rates[key] = rate
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
            engine = self._rates.get((size, False))
            if engine is None:
                continue
            columns, typical = self._rates.get((size, True)), 2.0 * (SMALL << 2 * size)
            wait = _AGAIN
            if columns is None:  # the first measurement has what columns prepare only once
                wait = _TRY
                columns = _TRY * COLUMNS.of(self._questions, typical) / typical
            if columns >= engine and self._spent.get(size, 0.0) < wait * columns * typical:
                break
            chosen = SMALL << 2 * size
        return chosen


def _size_class(size: int) -> int:
    """The class of a size, from 0; -1 for small documents.

    >>> [_size_class(size) for size in (100, SMALL, 4 * SMALL - 1, 4 * SMALL, 1 << 40)]
    [-1, 0, 0, 1, 5]
    """
    return min(_CLASSES - 1, ((size // SMALL).bit_length() + 1) // 2 - 1)
