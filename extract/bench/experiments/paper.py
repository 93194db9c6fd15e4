"""What the eXtract paper measured (section 5), as far as its text has the figures.

Java 1.3.1 and Jaxen on an Athlon with 800 MHz. The diagrams themselves are lost; these figures are
quoted in their discussion.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Quoted(NamedTuple):
    """A figure of the paper.

    Attributes:
        queries, chunks: For how many.
        what: ``parallel``: chunking and the longest chunk. ``sequential``: chunking and all chunks.
            ``earliest``: chunking and the shortest chunk.
        percent: Of the time without chunks.
        source: Where it stands.
    """

    queries: int
    chunks: int
    what: str
    percent: float
    source: str


QUOTED: Final = {
    "university": (
        Quoted(100, 3, "parallel", 75, "figure 11b, (1)"),
        Quoted(100, 5, "parallel", 100 * (13_059 + 10_325) / 30_624, "figure 11b, (2)"),
        Quoted(2_000, 3, "parallel", 100 * (7_491 + 160_981) / 289_365, "figure 11d, (1)"),
        Quoted(2_000, 5, "parallel", 100 * (12_829 + 74_126) / 298_980, "figure 11d, (2)"),
    ),
    "ejb": (
        Quoted(100, 2, "sequential", 100 * 42_871 / 64_473, "figure 12a"),
        Quoted(2_000, 3, "earliest", 2, "figure 12c"),
    ),
}
