"""What the experiments are done on: a scenario, as large as it is or a part of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from extract.preptool.prepare import prepare
from extract.scenarios import Scenario, scenario
from extract.schema.model import Schema
from extract.scheme import Scheme
from extract.subscriptions import Subscriptions

PAPER_SETS: Final = (100, 500, 2_000)  # queries in the paper's experiments
CHUNKS: Final = range(2, 7)
USUAL_CHUNKS: Final = 5
_SAMPLE: Final = 500_000  # bytes
_FEW: Final = 20  # documents where each is evaluated query by query


@dataclass
class Subject:
    """A scenario and how much of it; makes everything once.

    Attributes:
        scenario: Which.
        scale: The part of its documents' size, their number, and the queries.
    """

    scenario: Scenario
    scale: float = 1.0
    _schemes: dict[tuple[int, int], Scheme] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, name: str, data: Path | None = None, scale: float = 1.0) -> Subject:
        """A scenario by its name."""
        return cls(scenario(name, data), min(1.0, scale))

    @property
    def whole(self) -> bool:
        """Whether it is all of the scenario, as its expected figures have it."""
        return self.scale == 1.0 and not self.scenario.real

    @cached_property
    def schema(self) -> Schema:
        """The schema."""
        return self.scenario.schema()

    def scaled(self, number: int, least: int = 1) -> int:
        """A number of queries or bytes, as many as the scale asks for."""
        return max(min(number, least), round(number * self.scale))

    @cached_property
    def queries(self) -> Subscriptions:
        """All queries."""
        return self.scenario.queries(self.scaled(self.scenario.generator.QUERIES, 10))

    @cached_property
    def documents(self) -> list[bytes]:
        """All documents: fewer, or, if there is only one, a smaller one."""
        generator = self.scenario.generator
        if generator.DOCUMENTS > 1:
            return self.scenario.documents(self.scaled(generator.DOCUMENTS, 3))
        return self.scenario.documents(1, self.scaled(generator.SIZE_BYTES, 20_000))

    @cached_property
    def sample(self) -> bytes:
        """Another document of the same kind, to estimate from."""
        size = min(_SAMPLE, self.scaled(self.scenario.generator.SIZE_BYTES, 20_000))
        return b"".join(self.scenario.document(size, seed=1_001))

    @property
    def few_documents(self) -> list[bytes]:
        """The first of them."""
        return self.documents[:_FEW]

    @property
    def sets(self) -> list[int]:
        """How many queries the paper's experiments are done with."""
        return sorted({self.scaled(number, 10) for number in PAPER_SETS})

    def subscriptions(self, count: int) -> Subscriptions:
        """So many queries."""
        return self.queries if count == len(self.queries) else self.scenario.queries(count)

    def scheme(self, queries: int | None = None, chunks: int = USUAL_CHUNKS) -> Scheme:
        """The scheme of so many queries and chunks."""
        count = len(self.queries) if queries is None else queries
        key = (count, chunks)
        if key not in self._schemes:
            self._schemes[key] = prepare(self.schema, self.subscriptions(count), chunks)
        return self._schemes[key]


def named(documents: Sequence[bytes]) -> list[tuple[str, bytes]]:
    """Documents as FILTERTOOL takes them."""
    return [(str(number), document) for number, document in enumerate(documents)]


def described(documents: Sequence[bytes]) -> str:
    """How many and how large they are, in words.

    >>> described([b"x" * 2_000_000]), described([b"x" * 400] * 20), described([b"x" * 404])
    ('one document of 2.0 MB', '20 documents, 8 KB', 'one document of 404 bytes')
    """
    size = megabytes(documents)
    shown = f"{size:.1f} MB" if size >= 1 else f"{size * 1e3:.3g} KB"
    if size < 1e-3:
        shown = f"{size * 1e6:.0f} bytes"
    many = len(documents)
    return f"one document of {shown}" if many == 1 else f"{many} documents, {shown}"


def megabytes(documents: Sequence[bytes]) -> float:
    """How large they are together."""
    return sum(map(len, documents)) / 1e6
