"""The units of a document: the parts that questions are asked of, and what makes them.

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
        outcome: What the scan says of it.
        read: Reads the whole document.
        units: Its units, one for each part of the plan; none unless it conforms.
        origins: For each unit what turns offsets of its table into offsets of the document; None if
            they are the same.
        reason: Why the document is to be evaluated whole; empty if it is not.
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
        """Makes what stands for a document that could not be scanned."""
        return cls(name, 0, Outcome(Verdict.WHOLE), bytes)


class UnitCutter(Protocol[DocumentT_contra]):
    """Makes the units of documents."""

    def cut(self, name: str, document: DocumentT_contra) -> DocumentUnits:
        """Reads and scans one document.

        Args:
            name: The document's name for messages; empty for the name it has itself.
            document: The document, as this cutter takes it.

        Raises:
            DocumentError: It cannot be read, is not well-formed, or passes a limit.
        """
