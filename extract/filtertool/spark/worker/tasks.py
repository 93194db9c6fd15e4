"""Tasks: what a worker has to do, as the driver plans it."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from extract.chunktool.input.find import InputFile
from extract.chunktool.split.survey import Piece


class TaskInput(Enum):
    """What a task reads.

    Attributes:
        DOCUMENTS: Documents as they are.
        CHECKED_PIECES: Pieces of a document that a survey has checked.
        UNCHECKED_PIECES: Pieces that nobody has checked yet.
    """

    DOCUMENTS = "documents"
    CHECKED_PIECES = "checked pieces"
    UNCHECKED_PIECES = "unchecked pieces"


class Task(NamedTuple):
    """Documents that are filtered one batch after the other, or a part of the work on one.

    Attributes:
        number: Which task it is, from 1, in the order of the documents.
        cost: How much work it is, in bytes.
        batches: The documents; those of a batch are filtered together.
        shares: Which shares of the queries are evaluated on its one document, as indices of
            `query_shares`; empty for all.
        chunks: The ids of the shares' chunks, for people.
        pieces: On which pieces of the document; empty for all of it.
        all_pieces: Whether no other task has pieces of the document for the same shares.
        first: Whether the documents count here. One that several tasks share counts once.
        piece_bytes: About how large the pieces are into which the task is to cut its one document;
            0 if it is not to cut it.
        version: The document's `file_version` when the plan was made, if it must be the same still.
        unchecked: Whether nobody has checked yet that the pieces are well-formed and keep to the
            schema.
    """

    number: int
    cost: int
    batches: tuple[tuple[InputFile, ...], ...]
    shares: tuple[int, ...] = ()
    chunks: str = ""
    pieces: tuple[Piece, ...] = ()
    all_pieces: bool = False
    first: bool = True
    piece_bytes: int = 0
    version: tuple[int, int] | None = None
    unchecked: bool = False

    @property
    def input(self) -> TaskInput:
        """What the task reads."""
        if not self.pieces:
            return TaskInput.DOCUMENTS
        return TaskInput.UNCHECKED_PIECES if self.unchecked else TaskInput.CHECKED_PIECES

    @property
    def documents(self) -> int:
        """How many documents it has; one that several tasks share counts where it is first."""
        return sum(map(len, self.batches)) if self.first else 0

    @property
    def document(self) -> InputFile:
        """Its one document, where tasks share one."""
        ((document,),) = self.batches
        return document

    @property
    def part(self) -> str:
        """Tells tasks on one document apart; empty if there is only one."""
        if not self.shares:
            return ""
        return repr((self.shares, [(one.start, one.end) for one in self.pieces]))

    @property
    def summary(self) -> str:
        """What it does, in a few words."""
        if not self.shares:
            return f"{self.documents:,} in {len(self.batches):,} batches"
        if not self.pieces:
            return f"chunks {self.chunks}"
        first, last = self.pieces[0].number + 1, self.pieces[-1].number + 1
        chunks = "chunk" if len(self.shares) == 1 else "chunks"
        return f"{chunks} {self.chunks}, pieces {first:,} to {last:,}"
