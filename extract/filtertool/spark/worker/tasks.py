"""Tasks: the units of work that the driver plans and workers run."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from extract.chunktool.input.find import InputFile
from extract.chunktool.split.survey import Piece


class TaskInput(Enum):
    """The input of a task.

    Attributes:
        DOCUMENTS: Complete documents.
        CHECKED_PIECES: Pieces of a document that a survey has checked.
        UNCHECKED_PIECES: Pieces that have not been checked.
    """

    DOCUMENTS = "documents"
    CHECKED_PIECES = "checked pieces"
    UNCHECKED_PIECES = "unchecked pieces"


class Task(NamedTuple):
    """Documents that are filtered one batch after the other, or a part of the work on one.

    Attributes:
        number: The number of the task, from 1, in the order of the documents.
        cost: Its work, in bytes.
        batches: The documents; those of a batch are filtered together.
        shares: The shares of the queries to evaluate on its one document, as indices of
            `query_shares`; empty for all.
        chunks: The ids of the shares' chunks, for people.
        pieces: The pieces of the document to read; empty for all of it.
        all_pieces: Whether no other task has pieces of the document for the same shares.
        first: Whether the documents count here. A document that several tasks share counts once.
        piece_bytes: The approximate size of the pieces into which the task cuts its one document; 0
            if it does not.
        version: The document's `file_version` at the time of the plan, if it must not change.
        unchecked: Whether it is unknown that the pieces are well-formed and keep to the schema.
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
        """The kind of input."""
        if not self.pieces:
            return TaskInput.DOCUMENTS
        return TaskInput.UNCHECKED_PIECES if self.unchecked else TaskInput.CHECKED_PIECES

    @property
    def documents(self) -> int:
        """The number of documents; one that several tasks share counts in the first task only."""
        return sum(map(len, self.batches)) if self.first else 0

    @property
    def document(self) -> InputFile:
        """Its one document, for tasks that share one."""
        ((document,),) = self.batches
        return document

    @property
    def part(self) -> str:
        """Identifies the task among those on one document; empty if there is only one."""
        messages = self.batches[0][0].messages
        if messages is not None and messages.shares > 1:
            return repr((messages.share, messages.shares))
        if not self.shares:
            return ""
        return repr((self.shares, [(piece.start, piece.end) for piece in self.pieces]))

    @property
    def summary(self) -> str:
        """The work of the task in a few words."""
        messages = self.batches[0][0].messages
        if messages is not None:
            share = f", share {messages.share + 1} of {messages.shares}"
            return f"{messages.form}{share if messages.shares > 1 else ''}"
        if not self.shares:
            return f"{self.documents:,} in {len(self.batches):,} batches"
        if not self.pieces:
            return f"chunks {self.chunks}"
        first, last = self.pieces[0].number + 1, self.pieces[-1].number + 1
        chunks = "chunk" if len(self.shares) == 1 else "chunks"
        return f"{chunks} {self.chunks}, pieces {first:,} to {last:,}"
