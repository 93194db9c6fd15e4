"""The scanner protocol: what a scan of a document reports, whichever scanner ran.

A scanner walks the bytes of a document once, follows the `Automaton` and reports which bytes each
output keeps. It reads windows and never needs more than one at a time, so that memory does not grow
with the document. Its caller takes the report so far as a `Batch` of plain arrays.

Reports are provisional until `Scanner.finish` has returned: a document that breaks off or breaks
the schema at its last byte is invalid from its first (TRAPS 9).

There are two: `extract.chunktool.scan.reference.scanner` on expat, in Python, and
`extract.chunktool.scan.kernel` in C, some thirty times faster. They pass the same tests.
`extract.chunktool.scan.driver` chooses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Smalls = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Violation:
    """The first edge in a document that the schema does not have.

    Attributes:
        offset: Byte where the element's start tag begins.
        path: Names as written from the root down to the parent, such as ``/db/student``; empty for
            the document node.
        child: The element's name as written, or the attribute's after an ``@``.
    """

    offset: int
    path: str
    child: str


class HandOver(Exception):
    """A scanner found something that it does not support: the kernel hands over to the reference
    scanner, which hands over to libxml2 with the whole document.

    Args:
        reason: What it found, in a few words that are counted in the report.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Elements:
    """Rows of the node table: elements that some output keeps, in document order.

    Columns of equal length. Rows are numbered through all batches of a scan.

    Attributes:
        state: The automaton's state inside the element.
        parent: Row of the parent element; -1 for the root.
        start: Byte where the start tag begins. Unique, and so the element's identity.
        content: Byte after the start tag.
        position: Number among the siblings of the same expanded name, from 1, whether kept or not.
        symbol: The automaton's symbol of the element's name.
        close: Byte where the end tag begins; for an empty-element tag the byte after it. -1 if the
            element is open where the batch ends: then a later batch has it in its `Ends`.
        end: Byte after the end tag; -1 likewise.
    """

    state: Smalls
    parent: Smalls
    start: Numbers
    content: Numbers
    position: Smalls
    symbol: Smalls
    close: Numbers
    end: Numbers


@dataclass(frozen=True, slots=True)
class Ends:
    """The ends of elements of earlier batches; each is reported once, when the scanner reaches it.

    Attributes:
        row: The element.
        close, end: As in `Elements`.
    """

    row: Smalls
    close: Numbers
    end: Numbers


@dataclass(frozen=True, slots=True)
class Leaves:
    """Texts, comments and processing instructions that some output keeps, in document order.

    A text node of XPath may be in several rows, one for each run of characters or CDATA section:
    those with the same ``parent`` and ``number``.

    Attributes:
        parent: Row of the parent element; -1 outside of the root.
        kind: A `NodeKind` from `NodeKind.TEXT` to `NodeKind.PI`.
        start: First byte; of a comment or CDATA section its ``<``.
        end: Byte after the leaf.
        number: Number among the parent's text nodes, comments or processing instructions, from 1.
    """

    parent: Smalls
    kind: NDArray[np.int8]
    start: Numbers
    end: Numbers
    number: Smalls


@dataclass(frozen=True, slots=True)
class Batch:
    """The report of a scanner since the last `Scanner.take`.

    Attributes:
        ranges: For each output of the automaton, in its order, the bytes it keeps: an array of
            shape (n, 2) with start and end of each range, in document order and never touching one
            another within a batch. The ranges of all batches together are a well-formed document.
            Ranges may begin before the last windows: an ancestor's tag is reported when the first
                node below it
            is kept; `tags` has the bytes of such tags.
        tags: Start tags that are open at the end of the window, by the byte they begin at: later
            ranges may go back to them. Only tags that begin in the windows since the last `take`.
        elements, ends, leaves: The node table; empty unless it was requested.
    """

    ranges: Sequence[Numbers]
    tags: dict[int, bytes] = field(default_factory=dict)
    elements: Elements | None = None
    ends: Ends | None = None
    leaves: Leaves | None = None


class Scanner(Protocol):
    """Scans one document."""

    @property
    def violation(self) -> Violation | None:
        """The first edge that the schema does not have; None as long as the document conforms.

        After a violation a scanner only checks well-formedness; the ranges and nodes that it has
        reported are worthless.
        """

    def feed(self, data: bytes | memoryview) -> int:
        """Scans a window.

        Args:
            data: The bytes after the consumed ones.

        Returns:
            The number of bytes consumed. The others are the beginning of a token that does not end
            in this window; the caller passes them again, with more behind them, at the beginning of
            the next window.

        Raises:
            DocumentError: The document is not well-formed, or exceeds a limit.
            HandOver: Another scanner must read the document, from its first byte.
        """

    def take(self) -> Batch:
        """Returns the report since the last call; the scanner drops it."""

    def finish(self) -> None:
        """Ends the document: no bytes follow the ones fed.

        Raises:
            DocumentError: The document ends too early.
            HandOver: Another scanner must read the document, from its first byte.
        """
