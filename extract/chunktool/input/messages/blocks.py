"""Blocks: consecutive messages of a file, read together and filtered together."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from extract.chunktool.input.messages.splitting import pieces
from extract.chunktool.input.source import Document
from extract.errors import DocumentError

Places = NDArray[np.int64]

BLOCK_BYTES: Final = 1 << 20  # of a file that are read at a time
MOST_BYTES: Final = 1 << 27  # of one message, which is held in memory


class MessageBlock(Protocol):
    """Consecutive messages of a file. A block can be pickled, and opened in another process."""

    def documents(self) -> list[tuple[str, Document]]:
        """The names and the bytes of the messages."""


class FailedMessage(io.RawIOBase):
    """A message without bytes: whoever reads it gets the error that says why."""

    def __init__(self, error: DocumentError) -> None:
        self.error = error

    def readable(self) -> bool:
        """Says that it can be read, in order that somebody tries."""
        return True

    def readinto(self, _buffer: Any) -> NoReturn:
        """Raises the error."""
        raise self.error

    def __reduce__(self) -> tuple[Any, ...]:
        return FailedMessage, (self.error,)


@dataclass(frozen=True, slots=True)
class DocumentBlock:
    """Documents as they are in the file.

    Attributes:
        file: The file's name.
        first: The number of the first message in the file.
        data: Some bytes.
        starts, ends: Where in them each message begins and ends.
        names: The names of the messages, None for the usual one; empty if none has a name.
        failures: Why some of the messages, by their number in this block, cannot be read.
    """

    file: str
    first: int
    data: bytes
    starts: Places
    ends: Places
    names: Sequence[str | None] = ()
    failures: Mapping[int, DocumentError] = field(default_factory=dict)

    def documents(self) -> list[tuple[str, Document]]:
        """The names and the bytes of the messages."""
        made: list[Document] = [*pieces(self.data, self.starts, self.ends)]
        for number, error in self.failures.items():
            made[number] = FailedMessage(error)
        numbers = range(self.first, self.first + len(made))
        if not self.names:
            return [(f"{self.file}#{n}", one) for n, one in zip(numbers, made, strict=True)]
        return [
            (f"{self.file}#{n}" if name is None else name, one)
            for n, name, one in zip(numbers, self.names, made, strict=True)
        ]


def failed_block(file: str, error: DocumentError, number: int | None = None) -> DocumentBlock:
    """A block of one message that cannot be read; without a number it stands for the file."""
    zero = np.zeros(1, np.int64)
    names = (file,) if number is None else ()
    return DocumentBlock(file, number or 0, b"", zero, zero, names, {0: error})
