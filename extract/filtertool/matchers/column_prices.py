"""What columns cost, for those who choose between them and something else.

The figures are seeds: who chooses corrects them by what it measures while it runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class ColumnPrices:
    """Seconds of one core for questions on one document, as `extract bench cost` measures them.

    Attributes:
        seconds_per_batch: For a call, whatever it is about.
        seconds_per_question: For each question, however many queries it stands for.
        seconds_per_byte: For each byte of the document.
        seconds_per_question_byte: For each question and byte.
    """

    seconds_per_batch: float
    seconds_per_question: float
    seconds_per_byte: float
    seconds_per_question_byte: float

    def of(self, questions: int, size: float) -> float:
        """What questions cost on a document of some bytes.

        >>> COLUMNS.of(20, 1e5) < COLUMNS.of(20, 1e6) < COLUMNS.of(40, 1e6)
        True
        """
        return (
            self.seconds_per_batch
            + questions * self.seconds_per_question
            + size * (self.seconds_per_byte + questions * self.seconds_per_question_byte)
        )


COLUMNS: Final = ColumnPrices(7e-4, 4e-4, 3e-9, 3e-10)
SHARED_COLUMNS: Final = ColumnPrices(7e-4, 1e-4, 3e-9, 2e-11)
"""The same for many questions that have most of their steps in common."""
