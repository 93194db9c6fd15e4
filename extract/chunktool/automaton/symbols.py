"""Symbols: numbers for names; names that nothing distinguishes share one.

A name that the schema or a pattern mentions has its own number. All other names of a namespace
share one number, and all namespaces that neither a wildcard nor a pattern distinguishes share one,
so the number of symbols does not grow with the names that documents use (TRAPS 16).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from extract.schema.model import Schema, local_of, namespace_of

_NOWHERE: Final = "\0"  # stands for all namespaces that nothing distinguishes
_NOTHING: Final = "\0"  # stands for all local names that nothing mentions


class NameSymbols:
    """Numbers for names: one for each registered name, one for all others of a namespace.

    Args:
        names: The expanded names to register.
        namespaces: The namespaces to register.
    """

    def __init__(self, names: Iterable[str], namespaces: Iterable[str]) -> None:
        self.expanded: list[str] = []  # by number; an invalid name for each shared number
        self._known: dict[tuple[str, str], int] = {}
        self._others: dict[str, int] = {}
        for uri in (_NOWHERE, *namespaces):
            self.add_namespace(uri)
        for name in dict.fromkeys(names):  # an attribute is named where each element has it
            self.add(namespace_of(name), local_of(name))

    def _number(self, uri: str, local: str) -> int:
        self.expanded.append(f"{{{uri}}}{local}" if uri else local)
        return len(self.expanded) - 1

    def __len__(self) -> int:
        return len(self.expanded)

    def add(self, uri: str, local: str) -> int:
        """Registers a name and returns its number."""
        name = (uri, local)
        number = self._known.get(name)
        if number is None:
            number = self._known[name] = self._number(uri, local)
        return number

    def add_namespace(self, uri: str) -> int:
        """Registers a namespace and returns the number that its unregistered names share."""
        number = self._others.get(uri)
        if number is None:
            number = self._others[uri] = self._number(uri, _NOTHING)
        return number

    def find(self, uri: str, local: str) -> int:
        """Returns the number of any name."""
        number = self._known.get((uri, local))
        if number is None:
            number = self._others.get(uri, 0)
        return number

    def others(self, number: int) -> int:
        """Returns the number of the unregistered names in the same namespace."""
        return self._others.get(namespace_of(self.expanded[number]), 0)


def element_names(schema: Schema) -> NameSymbols:
    """Numbers the element names of a schema."""
    wildcards = [w for d in schema.declarations for w in d.wildcards]
    names = [d.name for d in schema.declarations] + [n for w in wildcards for n in w.excluded]
    return NameSymbols(names, [uri for w in wildcards for uri in w.namespaces])


def attribute_names(schema: Schema) -> NameSymbols:
    """Numbers the attribute names of a schema."""
    wildcards = [w for d in schema.declarations for w in d.attribute_wildcards]
    names = [a.name for d in schema.declarations for a in d.attributes]
    names += [name for w in wildcards for name in w.excluded]
    return NameSymbols(names, [uri for w in wildcards for uri in w.namespaces])
