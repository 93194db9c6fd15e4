"""Declarations of a document's internal subset that matter to a scan.

Entities matter because their expansion is limited, and because a document whose entities hold
markup has elements that are not in its bytes (TRAPS 7); attribute types, because libxml2 rejects a
document with a duplicate ID.
"""

from __future__ import annotations

import re
from typing import Final

# A pattern for str: expat reports str.
_REFERENCE: Final = re.compile(r"&([^#;& \t\r\n][^;& \t\r\n]*);")
_LONG: Final = 1_000  # characters from which a default value counts each time it applies


class Subset:
    """The declarations of an internal subset, added one by one.

    Attributes:
        obstacle: Why the document must be evaluated whole; empty if it need not be.
        entities: Replacement texts of general entities.
        ids: By element, names as written, the attributes of type ID.
        defaults: By element, the number of characters of its attributes' long default values.
    """

    def __init__(self) -> None:
        self.obstacle = ""
        self.ids: dict[str, set[str]] = {}
        self.defaults: dict[str, int] = {}
        self.entities: dict[str, str] = {}
        self._sizes: dict[str, int] = {}

    @property
    def plain(self) -> bool:
        """Whether elements can be read without the declarations."""
        return not (self.ids or self.defaults or self.entities)

    def entity(self, name: str, value: str) -> None:
        """Adds an internal general entity with its replacement text."""
        if name not in self.entities:
            self.entities[name] = value
            if "<" in value:
                self.obstacle = "an entity with markup is declared"

    def attribute(self, element: str, name: str, kind: str, default: str | None) -> None:
        """Adds a declared attribute."""
        if kind == "ID":
            self.ids.setdefault(element, set()).add(name)
        if default is not None and len(default) >= _LONG:
            self.defaults[element] = self.defaults.get(element, 0) + len(default)

    def expansion(self, name: str) -> int:
        """Returns the number of characters that an entity expands to; 0 if it is not declared here.

        The texts of all nested entities count. A loop counts as nothing: it is an error anyway.
        """
        todo = [name]
        while todo:
            entity = todo[-1]
            value = self.entities.get(entity)
            if entity in self._sizes or value is None:
                self._sizes.setdefault(entity, 0)
                todo.pop()
                continue
            references = _REFERENCE.findall(value)
            unknown = [name for name in references if name not in self._sizes]
            if unknown and len(todo) <= len(self.entities):
                todo.append(unknown[0])
                continue
            self._sizes[entity] = len(value) + sum(self._sizes.get(name, 0) for name in references)
            todo.pop()
        if name in self.entities and not self._value(name):
            self.obstacle = self.obstacle or "an entity that stands for nothing is used"
        return self._sizes[name]

    def _value(self, name: str) -> bool:
        """Whether the entity expands to at least one character."""
        visited: set[str] = set()
        todo = [name]
        while todo:
            entity = todo.pop()
            value = self.entities.get(entity)
            if value is None or _REFERENCE.sub("", value):
                return True
            if entity not in visited:
                visited.add(entity)
                todo += _REFERENCE.findall(value)
        return False
