"""What the internal subset of a document declares that a scan must know about.

Entities, because what they expand to is bounded, and because a document whose entities hold markup
has elements that are nowhere in its bytes (TRAPS 7); attribute types, because libxml2 rejects a
document that gives an ID twice.
"""

from __future__ import annotations

import re
from typing import Final

# For str, because that is what expat gives.
_REFERENCE: Final = re.compile(r"&([^#;& \t\r\n][^;& \t\r\n]*);")
_LONG: Final = 1_000  # characters from which on a default value is counted each time it applies


class Subset:
    """Declarations of an internal subset, as they come.

    Attributes:
        obstacle: Why the document must be evaluated whole; empty if it need not be.
        entities: Replacement texts of general entities.
        ids: By element, names as written, the attributes that are IDs.
        defaults: By element, the characters of long default values of its attributes.
    """

    def __init__(self) -> None:
        self.obstacle = ""
        self.ids: dict[str, set[str]] = {}
        self.defaults: dict[str, int] = {}
        self.entities: dict[str, str] = {}
        self._sizes: dict[str, int] = {}

    @property
    def plain(self) -> bool:
        """Whether elements can be read without a look at the declarations."""
        return not (self.ids or self.defaults or self.entities)

    def entity(self, name: str, value: str) -> None:
        """Takes note of an internal general entity and its replacement text."""
        if name not in self.entities:
            self.entities[name] = value
            if "<" in value:
                self.obstacle = "an entity with markup is declared"

    def attribute(self, element: str, name: str, kind: str, default: str | None) -> None:
        """Takes note of a declared attribute."""
        if kind == "ID":
            self.ids.setdefault(element, set()).add(name)
        if default is not None and len(default) >= _LONG:
            self.defaults[element] = self.defaults.get(element, 0) + len(default)

    def expansion(self, name: str) -> int:
        """How many characters a reference to an entity expands to; 0 if it is not declared here.

        Everything that is read on the way counts. A loop counts as nothing: it is an error anyway.
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
            unknown = [each for each in references if each not in self._sizes]
            if unknown and len(todo) <= len(self.entities):
                todo.append(unknown[0])
                continue
            self._sizes[entity] = len(value) + sum(self._sizes.get(each, 0) for each in references)
            todo.pop()
        if name in self.entities and not self._value(name):
            self.obstacle = self.obstacle or "an entity that stands for nothing is used"
        return self._sizes[name]

    def _value(self, name: str) -> bool:
        """Whether the entity stands for at least one character."""
        seen: set[str] = set()
        todo = [name]
        while todo:
            entity = todo.pop()
            value = self.entities.get(entity)
            if value is None or _REFERENCE.sub("", value):
                return True
            if entity not in seen:
                seen.add(entity)
                todo += _REFERENCE.findall(value)
        return False
