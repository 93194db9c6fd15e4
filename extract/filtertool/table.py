"""The node table of a document in memory: the columns of a scan, put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from extract.chunktool.automaton import Automaton
from extract.chunktool.scan import Batch

_Number = TypeVar("_Number", bound=np.generic)


@dataclass(frozen=True, slots=True)
class NodeTable:
    """The elements, texts, comments and processing instructions that some output keeps.

    Elements are numbered in document order, and so are leaves; a parent comes before its children.

    Attributes:
        data: The document's bytes, which all offsets count.
        automaton: What the states mean.
        state: For each element the automaton's state inside of it.
        parent: Its parent's row; -1 for the root.
        start: Where its start tag begins.
        content: Where its content begins, after the start tag.
        close: Where its content ends; for an empty-element tag this is ``end``.
        end: Where it ends.
        position: Its number among the siblings of the same name, from 1.
        symbol: The automaton's symbol of its name.
        leaf_parent, leaf_kind, leaf_start, leaf_end, leaf_number: See `Leaves`.
    """

    data: bytes
    automaton: Automaton
    state: NDArray[np.int32]
    parent: NDArray[np.int32]
    start: NDArray[np.int64]
    content: NDArray[np.int64]
    close: NDArray[np.int64]
    end: NDArray[np.int64]
    position: NDArray[np.int32]
    symbol: NDArray[np.int32]
    leaf_parent: NDArray[np.int32]
    leaf_kind: NDArray[np.int8]
    leaf_start: NDArray[np.int64]
    leaf_end: NDArray[np.int64]
    leaf_number: NDArray[np.int32]

    @classmethod
    def of(cls, data: bytes, automaton: Automaton, batches: Sequence[Batch]) -> NodeTable:
        """Puts the batches of one scan together."""
        elements = [batch.elements for batch in batches if batch.elements is not None]
        ends = [batch.ends for batch in batches if batch.ends is not None]
        leaves = [batch.leaves for batch in batches if batch.leaves is not None]
        start = _joined([part.start for part in elements], np.int64)
        close = _joined([part.close for part in elements], np.int64)
        end = _joined([part.end for part in elements], np.int64)
        for part in ends:
            if len(part.row):  # none but where a document was scanned in several windows
                close[part.row] = part.close
                end[part.row] = part.end
        return cls(
            data,
            automaton,
            _joined([part.state for part in elements], np.int32),
            _joined([part.parent for part in elements], np.int32),
            start,
            _joined([part.content for part in elements], np.int64),
            close,
            end,
            _joined([part.position for part in elements], np.int32),
            _joined([part.symbol for part in elements], np.int32),
            _joined([part.parent for part in leaves], np.int32),
            _joined([part.kind for part in leaves], np.int8),
            _joined([part.start for part in leaves], np.int64),
            _joined([part.end for part in leaves], np.int64),
            _joined([part.number for part in leaves], np.int32),
        )

    def __len__(self) -> int:
        """The number of elements."""
        return len(self.state)


def _joined(parts: Sequence[NDArray[_Number]], dtype: type[_Number]) -> NDArray[_Number]:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.empty(0, dtype)
