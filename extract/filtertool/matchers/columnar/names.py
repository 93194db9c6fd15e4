"""Numbers for names of elements and attributes, the same in all documents."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from extract.chunktool.automaton.automaton import Automaton
from extract.chunktool.scan.node_table import NodeTable
from extract.markup.tags import tag_attributes, tag_name
from extract.markup.values import attribute_value
from extract.schema.model import XML_NAMESPACE

Ids = NDArray[np.int32]

MANY_NAMES: Final = 100_000
_UNSEEN: Final = -1
_SHARED: Final = -2  # a symbol that stands for several names
_NOTHING: Final = "\0"  # a local name that no element has: its symbol is the shared one


class NameBook:
    """Numbers for expanded names."""

    def __init__(self) -> None:
        self.expanded: list[tuple[str, str]] = []
        self._numbers: dict[tuple[str, str], int] = {}
        self._symbols: WeakKeyDictionary[Automaton, Ids] = WeakKeyDictionary()
        self._kept = 0

    def keep(self) -> None:
        """Marks the names so far as those in questions."""
        self._kept = len(self.expanded)

    def forget(self) -> None:
        """Drops names that occurred only in documents, if they are many."""
        if len(self.expanded) > self._kept + MANY_NAMES:
            del self.expanded[self._kept :]
            self._numbers = {name: number for number, name in enumerate(self.expanded)}
            self._symbols.clear()

    def number(self, uri: str, local: str) -> int:
        """Returns the number of a name."""
        name = (uri, local)
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = len(self.expanded)
            self.expanded.append(name)
        return number

    def of_elements(self, table: NodeTable, scopes: Scopes) -> Ids:
        """Returns the numbers of the names of a table's elements."""
        symbols = self._symbols.get(table.automaton)
        if symbols is None or len(symbols) < table.automaton.symbols:
            symbols = np.full(table.automaton.symbols, _UNSEEN, np.int32)
            self._symbols[table.automaton] = symbols
        out = symbols[table.elements.symbol]
        if out.size and out.min() < 0:
            fresh = np.flatnonzero(out == _UNSEEN)
            for row in fresh[np.unique(table.elements.symbol[fresh], return_index=True)[1]]:
                uri, local = scopes.element(int(row))
                shared = table.automaton.symbol(uri, local) == table.automaton.symbol(uri, _NOTHING)
                number = _SHARED if shared else self.number(uri, local)
                symbols[table.elements.symbol[row]] = number
            out = symbols[table.elements.symbol]
            for row in np.flatnonzero(out == _SHARED):
                out[row] = self.number(*scopes.element(int(row)))
        return out


class Scopes:
    """The namespace declarations of one document.

    Args:
        table: The node table of the document.
    """

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._known: dict[int, Mapping[str, str]] = {-1: {"": "", "xml": XML_NAMESPACE}}

    @cached_property
    def _any(self) -> bool:
        return b"xmlns" in self._table.data

    def element(self, row: int) -> tuple[str, str]:
        """Returns the expanded name of an element."""
        name = tag_name(self._table.data, int(self._table.elements.start[row])).decode()
        prefix, _, local = name.rpartition(":")
        return self.at(row)[prefix], local

    def attribute(self, row: int, name: str) -> tuple[str, str]:
        """Returns the expanded name of an attribute of an element."""
        prefix, colon, local = name.rpartition(":")
        return (self.at(row)[prefix] if colon else ""), local

    def at(self, row: int) -> Mapping[str, str]:
        """Returns the namespace of each prefix inside an element."""
        if not self._any:
            row = -1
        todo = []
        while row not in self._known:
            todo.append(row)
            row = int(self._table.elements.parent[row])
        scope = self._known[row]
        for row in reversed(todo):
            scope = self._known[row] = self._inside(row, scope)
        return scope

    def _inside(self, row: int, scope: Mapping[str, str]) -> Mapping[str, str]:
        elements = self._table.elements
        tag = self._table.data[elements.start[row] : elements.content[row]]
        if b"xmlns" not in tag:
            return scope
        declared = {
            attribute.name[6:].decode(): attribute_value(attribute.raw).decode()
            for attribute in tag_attributes(tag)
            if attribute.declares
        }
        return {**scope, **declared} if declared else scope
