"""Decides how documents are filtered: by the push engine, or by columns.

The engine looks at a document once more for each query that may match. Columns look at it once for
each question, however many queries that stands for, and less where questions have steps in common.
So columns are faster for many queries of few questions on documents that are not small, and much
slower for many questions. What both take is measured while documents are filtered, apart for sizes
that differ by a factor of four.

What columns cost before they were measured is uncertain by a factor of ten: questions that have
much in common cost little, joins within a document a lot. A trial that goes wrong is seen by who
waits for that document, so columns are tried only where that does no harm:

- Where many queries share each question, a loop over the queries takes longer than columns, and
  these are tried once they may be faster than the engine.
- Otherwise they are tried where the engine takes several times as long as they are expected to take
  at most.
- The engine was measured some times before, and the least counts: the first documents take longer,
  and now and then something else runs meanwhile.
- Columns that were slower get a second chance, because the first document had to compile questions,
  unless they were much slower. After that they are tried again only if they were nearly as fast,
  and each time wait twice as long.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from extract.filtertool.matchers.column_prices import COLUMNS, SHARED_COLUMNS
from extract.filtertool.matchers.protocol import Select

SMALL: Final = 1 << 14  # bytes below which a document is always for the engine
_CLASSES: Final = 6  # of sizes; the last one is open
_SHARING: Final = 5  # queries of a question, from which on they are taken to share it
_UNSHARED: Final = 4.0  # of the highest price, what the engine takes before columns are tried
_SURE: Final = 2.0  # of the shared price, the same at first sight, by the engine's estimate
_FEW: Final = 500  # questions that columns may be given unmeasured: to compile more takes seconds
_WARM: Final = 3  # measurements of the engine before one is believed: the first ones make states
_COLD: Final = 4.0  # how many times as much the engine must take to be believed at once
_LARGE: Final = 1 << 20  # bytes, from which on it may be
_COMPILING: Final = 4.0  # times the engine's, what columns may take at first to be tried once more
_AGAIN: Final = 8.0  # times their price, what the engine takes before columns are tried again
_NEAR: Final = 1.5  # times the engine's, what columns may take to be tried again at all
_UP: Final = 0.1  # how much a measurement counts that is higher than those before
_DOWN: Final = 0.5  # and one that is lower
_MOST: Final = 2.0  # times what is known, as which a higher one counts at most
_SCAN: Final = 4e-9  # seconds of the engine for a byte
_QUERY: Final = {"doc": 8e-12, "count": 4e-11, "nodes": 4e-11}  # for a byte and query, at most


class _Measured:
    """What one way costs for documents of a class of sizes.

    Attributes:
        rate: Seconds for a byte.
        turns: How often that was measured.

    >>> one = _Measured()
    >>> for seconds in (9.0, 2.0, 3.0, 2.0, 50.0):
    ...     one.learn(seconds)
    >>> round(one.rate, 1), one.turns
    (2.2, 5)
    """

    __slots__ = ("rate", "turns")

    def __init__(self) -> None:
        self.rate = 0.0
        self.turns = 0

    def learn(self, rate: float) -> None:
        """Takes note of a measurement; of the first ones the least counts."""
        self.turns += 1
        if self.turns <= _WARM:
            self.rate = rate if self.turns == 1 else min(rate, self.rate)
        else:
            weight = _DOWN if rate < self.rate else _UP
            self.rate += weight * (min(rate, _MOST * self.rate) - self.rate)


class _Kind:
    """What is known of documents of a class of sizes.

    Attributes:
        engine, columns: What they cost.
        size: The bytes of a document, in the middle.
        spent: Seconds of the engine since columns ran.
        tried: Seconds of columns before the engine ran.
        wait: How long they wait to be tried again, in units of their price.
    """

    __slots__ = ("columns", "engine", "size", "spent", "tried", "wait")

    def __init__(self) -> None:
        self.engine, self.columns = _Measured(), _Measured()
        self.size = 0.0
        self.spent = self.tried = 0.0
        self.wait = _AGAIN

    def learn(self, columns: bool, size: float, rate: float, seconds: float) -> None:
        """Takes note of what documents cost, whose mean size is given."""
        self.size = self.size + 0.1 * (size - self.size) if self.size else size
        if not columns:
            self.engine.learn(rate)
            self.spent += seconds
            return
        self.columns.learn(rate)
        self.spent = 0.0
        if not self.engine.turns:
            self.tried += seconds
        elif self.columns.turns > 1 and rate > self.engine.rate:
            self.wait *= 2


class DocumentChoice:
    """Learns what documents cost in the engine and in columns, and chooses.

    Args:
        questions: The number of questions.
        queries: The number of queries.
        select: What to select.

    >>> DocumentChoice(6, 2000, "count").columns_from <= 3_000_000
    True
    >>> few, many = DocumentChoice(350, 2000, "doc"), DocumentChoice(900, 900, "doc")
    >>> few.columns_from is None, many.columns_from is None
    (True, True)
    >>> for _ in range(3):
    ...     few.learn(False, 3_000_000, 0.2)
    ...     many.learn(False, 3_000_000, 0.2)
    >>> few.columns_from <= 3_000_000, many.columns_from is None
    (True, True)
    >>> few.learn(True, 3_000_000, 5.0)
    >>> few.columns_from is None
    True
    """

    def __init__(self, questions: int, queries: int, select: Select) -> None:
        self._select = select
        self._kinds: dict[int, _Kind] = {}
        self.resize(questions, queries)

    def resize(self, questions: int, queries: int) -> None:
        """Takes note that there are other queries now; what was measured counts on."""
        self._questions = questions
        self._shared = queries >= _SHARING * questions
        self._estimate = _SCAN + queries * _QUERY.get(self._select, 0.0)  # of the engine
        self._from = self._choose()

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
        kind = self._kinds.setdefault(_size_class(size // documents), _Kind())
        kind.learn(columns, size / documents, seconds / size, seconds)
        self._from = self._choose()

    def _choose(self) -> int | None:
        """The smallest size from which on columns cost less, as far as is known."""
        chosen = None
        for size in range(_CLASSES - 1, -1, -1):
            kind = self._kinds.get(size)
            if self._is_for_columns(2.0 * (SMALL << 2 * size), kind):
                chosen = SMALL << 2 * size
            elif kind is not None and kind.engine.turns:
                break
        return chosen

    def _is_for_columns(self, typical: float, kind: _Kind | None) -> bool:
        """Whether the next document of a class of sizes goes to columns."""
        if kind is None:
            if typical < 2 * _LARGE or self._questions > _FEW or not self._shared:
                return False
            return _SURE * SHARED_COLUMNS.of(self._questions, typical) < self._estimate * typical
        engine, columns, size = kind.engine, kind.columns, kind.size
        if not engine.turns:  # columns were tried at first sight
            estimate = self._estimate * size
            return columns.rate * size < estimate and kind.tried < estimate
        if not columns.turns:
            return self._is_worth_trying(kind)
        if columns.rate < engine.rate:
            return True
        if columns.turns == 1:
            return columns.rate < _COMPILING * engine.rate
        is_near = columns.rate < _NEAR * engine.rate
        return is_near and kind.spent >= kind.wait * columns.rate * size

    def _is_worth_trying(self, kind: _Kind) -> bool:
        """Whether columns are tried where only the engine was measured."""
        engine, size = kind.engine, kind.size
        if self._shared:
            price = SHARED_COLUMNS.of(self._questions, size)
        else:
            price = _UNSHARED * COLUMNS.of(self._questions, size)
        if engine.turns < _WARM:
            if size < _LARGE:
                return False
            price *= _COLD
        # Until then compiling does not pay.
        is_paid = kind.spent >= price + self._questions * COLUMNS.seconds_per_question
        return is_paid and engine.rate * size > price


def _size_class(size: int) -> int:
    """The class of a size, from 0; -1 for small documents.

    >>> [_size_class(size) for size in (100, SMALL, 4 * SMALL - 1, 4 * SMALL, 1 << 40)]
    [-1, 0, 0, 1, 5]
    """
    return min(_CLASSES - 1, ((size // SMALL).bit_length() + 1) // 2 - 1)
