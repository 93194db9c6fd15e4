"""Documents as pieces: many small rows of text, put together to pieces of some 64 KB."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

PIECE_BYTES: Final = 1 << 16


def pieces(head: str, row: Callable[[int], str], tail: str, size_bytes: int) -> Iterator[bytes]:
    """A document of about this size: a head, numbered rows, at least one, and a tail.

    >>> b"".join(pieces("<a>", lambda number: f"<b>{number}</b>", "</a>", 25))
    b'<a><b>0</b><b>1</b><b>2</b></a>'
    """
    budget = size_bytes - len(head) - len(tail)
    rows, room, number = [head], PIECE_BYTES, 0
    while budget > 0 or not number:
        text = row(number)
        rows.append(text)
        number += 1
        budget -= len(text)
        room -= len(text)
        if room <= 0:
            yield "".join(rows).encode("utf-8")
            rows, room = [], PIECE_BYTES
    rows.append(tail)
    yield "".join(rows).encode("utf-8")
