"""Decides how large documents are filtered: by the push engine, or by columns.

The engine looks at a large document once more for each query that may match. Columns look at it
once for each question, however many queries that stands for. So columns are faster for many queries
of few questions, and much slower for many questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from extract.filtertool.matchers.column_prices import COLUMNS

LARGE: Final = 1 << 18  # bytes from which on a document is large

_NEW: Final = 0.3  # how much the last measurement counts


class LargeDocumentChoice:
    """Learns what large documents cost in the engine and in columns, and chooses.

    Args:
        questions: The number of questions.

    >>> few, many = LargeDocumentChoice(6), LargeDocumentChoice(900)
    >>> for choice in (few, many):
    ...     choice.learn(False, 3_000_000, 0.2)
    >>> few.takes_columns, many.takes_columns
    (True, False)
    >>> few.learn(True, 3_000_000, 5.0)
    >>> few.takes_columns
    False
    """

    def __init__(self, questions: int) -> None:
        self._questions = questions
        self._rates: dict[bool, float] = {}  # seconds a byte, by columns or not
        self._size = 0.0

    @property
    def takes_columns(self) -> bool:
        """Whether the next large document goes to columns; the first one goes to the engine."""
        if False not in self._rates:
            return False
        columns = self._rates.get(True)
        if columns is None:
            # It is an estimate: only worth a try if it promises much.
            columns = 2 * COLUMNS.of(self._questions, self._size) / self._size
        return columns < self._rates[False]

    def note(self, columns: bool, documents: Sequence[bytes], seconds: float) -> None:
        """Takes note of what a batch costs, if its documents are large."""
        size = sum(map(len, documents))
        if size >= LARGE * len(documents):
            self.learn(columns, size, seconds)

    def learn(self, columns: bool, size: int, seconds: float) -> None:
        """Takes note of what documents cost.

        Args:
            columns: Whether columns answered.
            size: The bytes of the documents.
            seconds: The processor time.
        """
        if size < LARGE:
            return
        rate, before = seconds / max(1, size), self._rates.get(columns)
        self._rates[columns] = rate if before is None else before + _NEW * (rate - before)
        self._size = float(size)
