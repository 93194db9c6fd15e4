"""The units of a document, on which questions are evaluated, and the protocol of their makers.

`DocumentFilter` takes a `UnitCutter`. There are three: for documents
(`extract.filtertool.document_cutter`), for pieces of a large document
(`extract.filtertool.pieces`), and for the files that ``extract chunk`` wrote
(`extract.filtertool.chunk_files`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from extract.chunktool.scan.driver import Outcome, Verdict
from extract.filtertool.matchers.protocol import Unit

Origin: TypeAlias = Callable[[NDArray[np.int64]], NDArray[np.int64]]

DocumentT_contra = TypeVar("DocumentT_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class DocumentUnits:
    """A document that was scanned, with its units.

    Attributes:
        name: The document's name.
        size: Its bytes; -1 if it was not read to its end.
        outcome: The outcome of the scan.
        read: Reads the whole document.
        units: Its units, one for each part of the plan; none unless it conforms.
        origins: For each unit a function that maps offsets of its table to offsets of the document;
            None if they are the same.
        reason: Why the document is evaluated whole; empty if it is not.
    """

    name: str
    size: int
    outcome: Outcome
    read: Callable[[], bytes] = field(repr=False)
    units: Sequence[Unit] = field(default=(), repr=False)
    origins: Sequence[Origin | None] = field(default=(), repr=False)
    reason: str = ""

    @classmethod
    def unread(cls, name: str) -> DocumentUnits:
        """Makes a placeholder for a document that could not be scanned."""
        return cls(name, 0, Outcome(Verdict.WHOLE), bytes)


class UnitCutter(Protocol[DocumentT_contra]):
    """Makes the units of documents."""

    def cut(self, name: str, document: DocumentT_contra) -> DocumentUnits:
        """Reads and scans one document.

        Args:
            name: The document's name in messages; empty for its own name.
            document: The document, in the form that this cutter takes.

        Raises:
            DocumentError: The document cannot be read, is not well-formed, or exceeds a limit.
        """
