"""Structures of documents: which nodes patterns bind and how they hang together, without values.

Documents of a feed look alike: they have other values at the same places. So the state has a
structure once, however many documents have it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np

from extract.filtertool.joins.documents import JoinDocument, Locator

_KINDS: Final = 4  # of nodes, in a locator
_AT_HAND: Final = 256


@dataclass(frozen=True, slots=True)
class Structure:
    """A structure.

    Attributes:
        locators: As of `JoinDocument`.
        links: As of `JoinDocument`.
        compared: The nodes that have a key.
        edges: For each of these the edges that lead to it.
    """

    locators: list[Locator]
    links: Mapping[int, Mapping[int, tuple[int, ...]]]
    compared: list[int]
    edges: list[tuple[int, ...]]


def packed_structure(document: JoinDocument) -> bytes:
    """Returns the structure of a document in few bytes, the same for the same structure."""
    links = [
        (edge, above + 1, node)
        for edge, nodes_of in document.links.items()
        for above, nodes in nodes_of.items()
        for node in nodes
    ]
    compared = [node for node, key in enumerate(document.keys) if key]
    numbers = [len(document.locators), len(links)]
    for number, kind, rank in document.locators:
        numbers += (number, kind + _KINDS * rank)
    for link in links:
        numbers += link
    column = np.array(numbers + compared, np.int64)
    return packed(column)


def packed(column: Any) -> bytes:
    """Returns numbers from 0 in as few bytes each as the largest needs, which the first tells."""
    small = column.astype(np.min_scalar_type(int(column.max())))
    return bytes([small.itemsize]) + bytes(small.tobytes())


@lru_cache(maxsize=_AT_HAND)
def structure_of(packed: bytes) -> Structure:
    """Returns the structure that `packed_structure` made bytes of."""
    column = np.frombuffer(packed, f"u{packed[0]}", offset=1).tolist()
    nodes, count = column[:2]
    end = 2 + 2 * nodes
    locators = [
        (number, rank % _KINDS, rank // _KINDS)
        for number, rank in zip(column[2:end:2], column[3:end:2], strict=True)
    ]
    links: dict[int, dict[int, tuple[int, ...]]] = {}
    leading: dict[int, dict[int, None]] = {}
    last = end + 3 * count
    for edge, above, node in zip(
        column[end:last:3], column[end + 1 : last : 3], column[end + 2 : last : 3], strict=True
    ):
        nodes_of = links.setdefault(edge, {})
        nodes_of[above - 1] = (*nodes_of.get(above - 1, ()), node)
        leading.setdefault(node, {})[edge] = None
    compared = column[last:]
    return Structure(locators, links, compared, [tuple(leading[node]) for node in compared])
