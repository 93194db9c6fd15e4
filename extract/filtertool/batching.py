"""Batches of documents: small ones are filtered together, which saves time for each of them."""

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
    """Puts documents that follow one another into batches.

    A batch has at most `BATCH_DOCUMENTS` documents, and no more than so many bytes unless it has
    one document only.

    Args:
        documents: The documents; they are taken when their batch is made.
        size: How many bytes a document has.
        most: How many bytes a batch has.
        alone: Which documents have a batch of their own, whatever their size.

    >>> list(batches([5, 1, 2, 9, 1, 0], size=int, most=4, alone=lambda one: one == 0))
    [[5], [1, 2], [9], [1], [0]]
    """
    batch: list[_T] = []
    filled, closed = 0, False
    for one in documents:
        bytes_, apart = size(one), alone(one)
        full = filled + bytes_ > most or len(batch) >= BATCH_DOCUMENTS
        if batch and (closed or apart or full):
            yield batch
            batch, filled = [], 0
        batch.append(one)
        filled += bytes_
        closed = apart
    if batch:
        yield batch
