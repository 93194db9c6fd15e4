"""From places in a tree to nodes of the table: unique, and in document order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from extract.chunktool.encodings import find_encoding
from extract.errors import MatcherError
from extract.filtertool.matcher import ATTRIBUTE
from extract.filtertool.order import Order
from extract.filtertool.parsed import Place
from extract.filtertool.table import NodeTable
from extract.filtertool.tags import tag_attributes

Columns = tuple[NDArray[np.int8], NDArray[np.int32], NDArray[np.int32]]


class Placing:
    """Turns places (`extract.filtertool.parsed`) into the columns of `Nodes`.

    Args:
        table: The nodes of the unit.
    """

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._order = Order(table)

    def unique(self, found: Sequence[Place]) -> Columns:
        """Kinds, rows and numbers of nodes, each once and in document order.

        Raises:
            MatcherError: A place is not in the table.
        """
        columns = np.array(found, np.int64).reshape(-1, 3)
        kind = columns[:, 0].astype(np.int8)
        row, number = columns[:, 1].astype(np.int32), columns[:, 2].astype(np.int32)
        try:
            for index in np.flatnonzero(kind == ATTRIBUTE).tolist():
                number[index] = self._written(int(row[index]), int(number[index]))
            keys = self._order.keys(kind, row, number)
        except (KeyError, IndexError) as error:
            raise MatcherError(f"the node table does not fit the chunk: {error}") from error
        _, first = np.unique(keys, return_index=True)
        return kind[first], row[first], number[first]

    def _written(self, row: int, number: int) -> int:
        """Which of the tag's attributes an attribute is, namespace declarations counted."""
        start, end = int(self._table.start[row]), int(self._table.content[row])
        tag = self._table.data[start:end].decode(self._codec)
        if "xmlns" in tag:
            for at, attribute in enumerate(tag_attributes(tag)):
                number += attribute.declares and at <= number
        return number

    @cached_property
    def _codec(self) -> str:
        encoding = find_encoding(self._table.data[:1024], True)
        return encoding.codec if encoding is not None and encoding.codec else "utf-8"
