"""Symbols: numbers for names, as few as make a difference.

What the schema or a pattern mentions has a number of its own. All other names of a namespace share
one, and all namespaces that neither a wildcard nor a pattern tells apart count as one, so that
whatever names documents make up, there are no more symbols (TRAPS 16).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from extract.schema.model import Schema, local_of, namespace_of

_NOWHERE: Final = "\0"  # stands for all namespaces that nothing tells apart
_NOTHING: Final = "\0"  # stands for all local names that nothing asks for


class NameSymbols:
    """Numbers for names: one for each that is known, and one for all others of a namespace.

    Args:
        known: The expanded names that something asks for.
        namespaces: The namespaces that something tells apart from others as a whole.
    """

    def __init__(self, known: Iterable[str], namespaces: Iterable[str]) -> None:
        self.expanded: list[str] = []  # number to expanded name; for all others one that none has
        self._known: dict[tuple[str, str], int] = {}
        self._others: dict[str, int] = {}
        for uri in (_NOWHERE, *namespaces):
            self.add_namespace(uri)
        for name in known:
            self.add(namespace_of(name), local_of(name))

    def _number(self, uri: str, local: str) -> int:
        self.expanded.append(f"{{{uri}}}{local}" if uri else local)
        return len(self.expanded) - 1

    def __len__(self) -> int:
        return len(self.expanded)

    def add(self, uri: str, local: str) -> int:
        """The number of a name that from now on is known."""
        name = (uri, local)
        number = self._known.get(name)
        if number is None:
            number = self._known[name] = self._number(uri, local)
        return number

    def add_namespace(self, uri: str) -> int:
        """The number of the other names in a namespace that from now on is told apart."""
        number = self._others.get(uri)
        if number is None:
            number = self._others[uri] = self._number(uri, _NOTHING)
        return number

    def find(self, uri: str, local: str) -> int:
        """The number of any name."""
        number = self._known.get((uri, local))
        if number is None:
            number = self._others.get(uri, 0)
        return number

    def others(self, number: int) -> int:
        """The number of the other names in the same namespace as a name."""
        return self._others.get(namespace_of(self.expanded[number]), 0)


def element_names(schema: Schema) -> NameSymbols:
    """Numbers for the names of elements."""
    wildcards = [w for d in schema.declarations for w in d.wildcards]
    known = [d.name for d in schema.declarations] + [n for w in wildcards for n in w.excluded]
    return NameSymbols(known, [uri for w in wildcards for uri in w.namespaces])


def attribute_names(schema: Schema) -> NameSymbols:
    """Numbers for the names of attributes."""
    wildcards = [w for d in schema.declarations for w in d.attribute_wildcards]
    known = [a.name for d in schema.declarations for a in d.attributes]
    known += [name for w in wildcards for name in w.excluded]
    return NameSymbols(known, [uri for w in wildcards for uri in w.namespaces])
