"""Batches of documents: filtering small documents together takes less time for each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

BATCH_BYTES: Final = 1 << 22
BATCH_DOCUMENTS: Final = 256

_T = TypeVar("_T")


def batches(
    documents: Iterable[_T],
    size: Callable[[_T], int],
    most: int = BATCH_BYTES,
    alone: Callable[[_T], bool] = lambda _: False,
) -> Iterator[list[_T]]:
    """Groups consecutive documents into batches.

    A batch has at most `BATCH_DOCUMENTS` documents and at most ``most`` bytes, unless it has only
    one document.

    Args:
        documents: The documents; each is read when its batch is made.
        size: Returns the number of bytes of a document.
        most: The largest number of bytes in a batch.
        alone: Whether a document has a batch of its own, whatever its size.

    >>> list(batches([5, 1, 2, 9, 1, 0], size=int, most=4, alone=lambda n: n == 0))
    [[5], [1, 2], [9], [1], [0]]
    """
    batch: list[_T] = []
    filled, closed = 0, False
    for document in documents:
        bytes_, apart = size(document), alone(document)
        full = filled + bytes_ > most or len(batch) >= BATCH_DOCUMENTS
        if batch and (closed or apart or full):
            yield batch
            batch, filled = [], 0
        batch.append(document)
        filled += bytes_
        closed = apart
    if batch:
        yield batch
