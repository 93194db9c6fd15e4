"""Runs a scanner over a document in windows, and joins its batches.

A window is dropped once it is consumed, as in a real scan: a range that goes back further than
    allowed is
an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from typing import Protocol

import numpy as np

from extract.chunktool.scan.protocol import Batch, Elements, Ends, Leaves, Scanner, Violation


class Different(AssertionError):
    """A scanner violates its contract."""


class Token(Protocol):
    """A token of a document."""

    @property
    def kind(self) -> str:
        """``text`` or ``cdata`` for characters; anything else for markup."""

    @property
    def start(self) -> int:
        """The offset of its first byte."""

    @property
    def end(self) -> int:
        """The offset after its last byte."""


def same(found: object, wanted: object, what: str) -> None:
    """Checks that two values are equal.

    Raises:
        Different: They are not.
    """
    if found != wanted:
        raise Different(f"{what}\nfound:    {found}\nexpected: {wanted}")


@dataclass
class Scan:
    """The batches of a scanner for one document, joined.

    Attributes:
        texts: The bytes of each output.
        violation: The first edge that the schema does not have.
        elements, leaves: Rows of the node table, as they came.
        ends: Row, close and end of each element, by row.
    """

    texts: list[bytes]
    violation: Violation | None = None
    elements: list[tuple[int, ...]] = field(default_factory=list)
    ends: list[tuple[int, ...]] = field(default_factory=list)
    leaves: list[tuple[int, ...]] = field(default_factory=list)


def whole_document() -> Iterator[int]:
    """Cuts for `run`: the whole document at once."""
    while True:
        yield 1 << 40


def windows(rng: Random, largest: int) -> Iterator[int]:
    """Cuts for `run`: windows of random sizes."""
    while True:
        yield 1 + rng.randrange(largest)


def run(
    scanner: Scanner,
    document: bytes,
    outputs: int,
    cuts: Iterator[int],
    parts: Sequence[Token] | None = None,
) -> Scan:
    """Feeds a document to a scanner and joins its batches.

    Args:
        scanner: The scanner.
        document: The document.
        outputs: The number of outputs of the automaton.
        cuts: The number of bytes that each window has beyond the unconsumed ones.
        parts: The tokens of the document, for a scanner that always consumes everything, so that a
            token may begin in one window and end in another; None for any other scanner.
    """
    scan = Scan([b""] * outputs)
    tags: dict[int, bytes] = {}
    consumed = fed = taken = 0

    def take() -> None:
        nonlocal taken
        _add(scan, scanner.take(), document, (taken, consumed, _last(parts or (), taken)), tags)
        taken = consumed

    while fed < len(document):
        fed = min(len(document), fed + next(cuts))
        count = scanner.feed(document[consumed:fed])
        same(0 <= count <= fed - consumed, True, "bytes consumed")
        consumed += count
        if next(cuts) % 3:
            take()
    scanner.finish()
    consumed = fed
    take()
    scan.violation = scanner.violation
    scan.ends.sort()
    return scan


def _last(parts: Sequence[Token], taken: int) -> int:
    """Returns the start of the token in which a window ends, including the texts before it."""
    start = taken
    for part in reversed([part for part in parts if part.start < taken]):
        if part.end < taken and part.kind not in ("text", "cdata"):
            break
        start = part.start
    return start


def _add(
    scan: Scan,
    batch: Batch,
    document: bytes,
    place: tuple[int, int, int],
    tags: dict[int, bytes],
) -> None:
    """Adds a batch; ``place`` has the bytes taken before, consumed now, and still available."""
    taken, consumed, at_hand = place
    taken_rows = len(scan.elements)
    same(len(batch.ranges), len(scan.texts), "number of outputs")
    for output, ranges in enumerate(batch.ranges):
        flat = [int(n) for n in np.asarray(ranges).reshape(-1)]
        if any(a >= b for a, b in pairwise(flat)) or (flat and flat[-1] > consumed):
            raise Different(f"ranges {flat} of output {output} touch, are empty or go too far")
        for start, end in zip(flat[::2], flat[1::2], strict=True):
            at = start
            while at < min(at_hand, end):  # these bytes are dropped, except for open tags
                if at not in tags:
                    raise Different(f"[{start}, {end}) of output {output}: {at} was not kept")
                at += len(tags[at])
            scan.texts[output] += document[start:end]
    for start, tag in batch.tags.items():
        same(tag, document[start : start + len(tag)], f"tag at {start}")
        if not at_hand <= start < consumed:
            raise Different(f"the tag at {start} is none of those since {taken}")
    tags |= batch.tags
    for row, (*others, close, end) in enumerate(_rows(batch.elements), len(scan.elements)):
        scan.elements.append(tuple(others))
        same(close < 0, end < 0, "whether an element has ended")
        if end >= 0:
            scan.ends.append((row, close, end))
    for row, close, end in _rows(batch.ends):
        if row >= taken_rows:
            raise Different(f"row {row} is of this batch, and ended apart from it")
        scan.ends.append((row, close, end))
    scan.leaves.extend(_rows(batch.leaves))


def _rows(table: Elements | Ends | Leaves | None) -> list[tuple[int, ...]]:
    if table is None:
        return []
    return list(zip(*[getattr(table, name).tolist() for name in table.__slots__], strict=True))
